package rig

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Host starts edges of one kind.
type Host interface {
	// Name is Linked, Selfhosted or Workerd.
	Name() string
	// Start starts the edge of a stage on what an earlier one left, and returns once it answers.
	Start(ctx context.Context, s *Stage, t Trap) (Edge, error)
}

// Edge is a running edge.
type Edge interface {
	// Down is closed when it is gone, also by itself at its trap.
	Down() <-chan struct{}
	// Kill ends it as kill -9 would and returns once it is gone.
	Kill() error
	// Said is the end of what it logged.
	Said() string
}

// Trap says where an edge dies or hangs, in the words of docs/protocol.md. Each happens once.
type Trap struct {
	Kill  string // "before commit admit"
	Stall string
	For   time.Duration // how long it hangs
}

// sprung says whether an edge died at its trap, which each of them says.
func (t Trap) sprung(e Edge) bool {
	select {
	case <-e.Down():
		return t.Kill != "" && strings.Contains(e.Said(), "rig: "+t.Kill)
	default:
		return false
	}
}

// readyIn is how long an edge may take to answer after its start: on a busy machine the first one of a test run also
// compiles the core.
const readyIn = 60 * time.Second

// ready waits until the edge answers. One that died at its trap before it could answer has started well enough.
func ready(ctx context.Context, s *Stage, e Edge, t Trap) error {
	ctx, cancel := context.WithTimeout(ctx, readyIn)
	defer cancel()
	err := poll(ctx, func(ctx context.Context) error {
		select {
		case <-e.Down():
			return neverf("it ended while it started")
		default:
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL()+"/readyz", nil)
		if err != nil {
			return err
		}
		res, err := client.Do(req)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return fmt.Errorf("/readyz answered %d", res.StatusCode)
		}
		return nil
	})
	if err == nil || t.sprung(e) {
		return nil
	}
	return errors.Join(fmt.Errorf("start the edge: %w\nit said:\n%s", err, e.Said()), e.Kill())
}
