//go:build wasip1

// Package abi is the guest's side of the WASM boundary (docs/protocol.md): the exports route and handle, the imports
// pull, push, sql and log. A main package sets Handle and Route in an init function and has an empty main.
package abi

import (
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"holdfast/actor/store"
)

// What the exports run. Both give an output and an rc, see docs/protocol.md.
var (
	Handle func(conn store.Conn, event []byte) (out []byte, rc int)
	Route  func(in []byte) (out []byte, rc int)
)

//go:wasmimport holdfast pull
func hostPull(p unsafe.Pointer)

//go:wasmimport holdfast push
func hostPush(p unsafe.Pointer, n uint32)

//go:wasmimport holdfast sql
func hostSQL(p unsafe.Pointer, n uint32) uint32

//go:wasmimport holdfast log
func hostLog(p unsafe.Pointer, n uint32)

//go:wasmexport route
func route(n uint32) int32 { return call(n, Route) }

//go:wasmexport handle
func handle(n uint32) int32 {
	return call(n, func(in []byte) ([]byte, int) { return Handle(conn{}, in) })
}

// call runs f on the pending input. A panic is reported as rc 2, by which the host discards this instance.
func call(n uint32, f func([]byte) ([]byte, int)) (rc int32) {
	defer func() {
		if p := recover(); p != nil {
			Log(describe(p))
			rc = 2
		}
	}()
	out, code := f(pull(n))
	hostPush(unsafe.Pointer(unsafe.SliceData(out)), uint32(len(out)))
	return int32(code)
}

func pull(n uint32) []byte {
	in := make([]byte, n)
	hostPull(unsafe.Pointer(unsafe.SliceData(in)))
	return in
}

// Log writes one line to the operator's log: a fixed text and ids, never content.
func Log(line string) {
	hostLog(unsafe.Pointer(unsafe.StringData(line)), uint32(len(line)))
}

// describe says where a panic came from. Its value may quote content, so only runtime errors are spelled out.
func describe(p any) string {
	var b strings.Builder
	fmt.Fprintf(&b, "panic %T", p)
	if e, ok := p.(runtime.Error); ok {
		fmt.Fprintf(&b, ": %v", e)
	}
	pcs := make([]uintptr, 12)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(4, pcs)])
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, "runtime.") {
			fmt.Fprintf(&b, " < %s:%d", f.Function, f.Line)
		}
		if !more {
			return b.String()
		}
	}
}

// request is reused by every statement: one call runs at a time.
var request []byte

type conn struct{}

func (conn) Do(sql string, args []store.Value) ([]store.Row, error) {
	request = store.AppendRequest(request[:0], sql, args)
	n := hostSQL(unsafe.Pointer(unsafe.SliceData(request)), uint32(len(request)))
	if cap(request) > 1<<20 {
		request = nil // one long value must not stay for ever
	}
	return store.ParseReply(pull(n))
}
