// Command core is the program inside core.wasm: the actors and the router behind the exports of docs/protocol.md.
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o raw.wasm ./worker/core
//	go run ./worker/fuel/instrument raw.wasm core.wasm
package main

func main() {} // never runs: a reactor has exports only
