//go:build wasip1

// Command core is the test core behind the same exports as the real one.
package main

import (
	"holdfast/worker/core/abi"
	"holdfast/worker/engine/enginetest"
)

func init() { abi.Handle, abi.Route = enginetest.Handle, enginetest.Route }

func main() {}
