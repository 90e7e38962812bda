//go:build wasip1 && rig

package main

import (
	"bytes"
	"encoding/json"
)

// hoard keeps what rig-core-memory allocates reachable.
var hoard [][]byte

// rig makes a test build fail where a person's input asks for it (spec F18). The fourth attempt is left alone: it is
// the core's to reject.
func rig(event []byte) {
	var e struct {
		Attempt int
		Data    json.RawMessage
	}
	if json.Unmarshal(event, &e) != nil || e.Attempt >= 4 {
		return
	}
	switch {
	case bytes.Contains(e.Data, []byte("rig-core-loop")):
		for {
			hoard = nil
		}
	case bytes.Contains(e.Data, []byte("rig-core-panic")):
		panic("rig-core-panic")
	case bytes.Contains(e.Data, []byte("rig-core-memory")):
		for {
			hoard = append(hoard, bytes.Repeat([]byte{1}, 8<<20))
		}
	}
}
