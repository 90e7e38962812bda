//go:build js && wasm

// Command operator is a stand-in for worker/edge/operator that breaks in every way a program can.
package main

import (
	"io"
	"net/http"
	"os"
	"time"

	"github.com/syumai/workers"
)

func main() {
	http.HandleFunc("/v1/status", func(http.ResponseWriter, *http.Request) { panic("before the answer") })
	http.HandleFunc("/v1/workspaces", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half of the ans")
		panic("in the middle of it")
	})
	http.HandleFunc("/v1/workspaces/1/exit/events", func(http.ResponseWriter, *http.Request) { os.Exit(3) })
	http.HandleFunc("/v1/workspaces/1/timer/events", func(w http.ResponseWriter, _ *http.Request) {
		time.AfterFunc(50*time.Millisecond, func() { panic("after the answer") })
		_, _ = io.WriteString(w, "whole")
	})
	workers.Serve(nil)
}
