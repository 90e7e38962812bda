//go:build wasip1

package main

import (
	"holdfast/actor"
	"holdfast/actor/store"
	"holdfast/interactions"
	"holdfast/worker/core/abi"
)

func init() {
	abi.Route = interactions.Route
	abi.Handle = func(conn store.Conn, event []byte) ([]byte, int) {
		rig(event)
		return actor.Handle(conn, event)
	}
}
