package rig

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// pause is how long a poll waits between two looks.
const pause = 40 * time.Millisecond

// never wraps what waiting cannot mend.
type never struct{ error }

func (n never) Unwrap() error { return n.error }

// neverf says that something is wrong for good: a count that was passed, a job that ended otherwise.
func neverf(format string, args ...any) error { return never{fmt.Errorf(format, args...)} }

// poll looks until look gives nil. It ends early with an error that waiting cannot mend, and with the last error when
// ctx does.
func poll(ctx context.Context, look func(context.Context) error) error {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	var last error
	for {
		err := look(ctx)
		if err == nil || errors.As(err, new(never)) {
			return err
		}
		if ctx.Err() == nil || last == nil {
			last = err // not the cancellation of a look that was under way
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited in vain: %w", last)
		case <-tick.C:
		}
	}
}
