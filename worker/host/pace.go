package host

import (
	"context"
	"sync"
	"time"

	"holdfast/clock"
)

// discordPace is how many requests a second the bot's token makes, below Discord's 50 (developer documentation, "Rate
// Limits", global rate limit). Requests with an interaction's token do not count there.
const discordPace = 45

// pace spaces requests evenly. Bursts are what buckets are for, and those the actors keep.
type pace struct {
	mu   sync.Mutex
	next time.Time
}

// wait returns when the next request may go, or with the context's error.
func (p *pace) wait(ctx context.Context, c clock.Clock) error {
	p.mu.Lock()
	now := c.Now()
	at := p.next
	if at.Before(now) {
		at = now
	}
	p.next = at.Add(time.Second / discordPace)
	p.mu.Unlock()
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
