//go:build js && wasm

// Command operator is the program inside api.wasm: the operator API of worker/api, as the Cloudflare edge serves it.
//
// operator.mjs makes a new instance of it for each call that is about a whole deployment or that waits. It reaches the
// rest of the Worker through two services that are functions of the front, not bindings of the deployment: whatever it
// asks is answered as if the operator had asked it.
//
//	GOOS=js GOARCH=wasm go build -o api.wasm ./worker/edge/operator
package main

import (
	"encoding/json"
	"log"

	"github.com/syumai/workers"
	"github.com/syumai/workers/cloudflare"
	"github.com/syumai/workers/cloudflare/fetch"

	"holdfast/worker/api"
)

func main() {
	b := backend{front: service("FRONT"), directories: service("DIRECTORIES")}
	if err := json.Unmarshal([]byte(cloudflare.Getenv("CALLER")), &b.caller); err != nil {
		log.Fatal("operator: CALLER is no caller")
	}
	workers.Serve(api.Handler(b))
}

func service(name string) *fetch.Client {
	return fetch.NewClient(fetch.WithBinding(cloudflare.GetBinding(name)))
}
