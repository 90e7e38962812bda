// Package engine runs the core: linked into this program, or as core.wasm under wazero.
package engine

import (
	"context"
	"errors"
	"fmt"

	"holdfast/actor"
	"holdfast/actor/store"
)

// Engine runs the core's two entry points. Calls may run side by side.
//
// An error means that the call came to nothing and whatever it did to the database must be rolled back: ErrFuel, or
// ErrCrash for a trap, an exit, a panic or an rc over 1. Without one, rc is 0 (commit; out is a Verdict or a Result)
// or 1 (roll back; out is an error in JSON). The caller owns out.
type Engine interface {
	Route(ctx context.Context, in []byte) (out []byte, rc int, err error)
	Handle(ctx context.Context, conn store.Conn, call Call) (out []byte, rc int, err error)
	Close(ctx context.Context) error
}

// Call is one event for an actor.
type Call struct {
	Now     int64    // unix ms: the clock that the guest sees
	Entropy [32]byte // the seed of the randomness that it sees
	Event   []byte   // JSON of actor.Event, with the same now and entropy
}

// ErrCrash means that the core trapped, exited, panicked or answered an rc over 1.
var ErrCrash = errors.New("the core crashed")

// ErrFuel is the ErrCrash of a call that took more steps than it was given.
var ErrFuel = fmt.Errorf("%w: it ran out of fuel", ErrCrash)

// check turns what an entry point gave into what an Engine gives.
func check(out []byte, rc int) ([]byte, int, error) {
	if rc != 0 && rc != 1 {
		return nil, rc, fmt.Errorf("%w: rc %d", ErrCrash, rc)
	}
	if len(out) > actor.MaxResult {
		return nil, rc, fmt.Errorf("%w: its output has %d bytes, at most %d", ErrCrash, len(out), actor.MaxResult)
	}
	return out, rc, nil
}
