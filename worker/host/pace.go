package host

import (
	"context"
	"errors"
	"sync"
	"time"

	"holdfast/clock"
)

// discordPace is how many requests a second the bot's token makes, below Discord's 50 (developer documentation, "Rate
// Limits", global rate limit). Requests with an interaction's token do not count there.
const discordPace = 45

// pacePatience is how long a request waits for its turn. It is then given up unsent, and its row due again: with its
// time-out it must be over before the claim's lease is (actor, deliverLease), or it goes out behind its own repetition.
const pacePatience = 10 * time.Second

var errPace = errors.New("no room in the pace that all workspaces share")

// pace spaces requests evenly. Bursts are what buckets are for, and those the actors keep.
type pace struct {
	mu   sync.Mutex
	next time.Time
}

// wait returns when the next request may go, at once with errPace when that is too late for it, or with the context's
// error.
func (p *pace) wait(ctx context.Context, c clock.Clock) error {
	p.mu.Lock()
	now := c.Now()
	at := p.next
	if at.Before(now) {
		at = now
	}
	late := at.Sub(now) > pacePatience
	if !late {
		p.next = at.Add(time.Second / discordPace)
	}
	p.mu.Unlock()
	if late {
		return errPace
	}
	if !at.After(now) {
		return nil
	}
	passed := make(chan struct{})
	timer := c.AfterFunc(at.Sub(now), func() { close(passed) })
	defer timer.Stop()
	select {
	case <-passed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
