// Package clock is time as an argument: the real one, or one that a test moves.
package clock

import (
	"sort"
	"sync"
	"time"
)

// Clock tells the time and calls back.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f in its own goroutine once d has passed. Stopping the timer twice is harmless.
	AfterFunc(d time.Duration, f func()) Timer
}

// Timer is a pending call.
type Timer interface{ Stop() bool }

// Real is the machine's clock.
type Real struct{}

// Now is time.Now.
func (Real) Now() time.Time { return time.Now() }

// AfterFunc is time.AfterFunc.
func (Real) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }

// Shifted runs with the machine's clock and can be moved forward. Its zero value is ready.
type Shifted struct {
	mu     sync.Mutex
	offset time.Duration
	timers map[*shifted]bool
}

type shifted struct {
	clock *Shifted
	at    time.Time // in the shifted time
	f     func()
	real  *time.Timer
}

// Now is the machine's time plus what it was advanced by.
func (c *Shifted) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.offset)
}

// AfterFunc calls f after d, or as soon as Advance passes that time.
func (c *Shifted) AfterFunc(d time.Duration, f func()) Timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &shifted{clock: c, at: time.Now().Add(c.offset + d), f: f}
	if c.timers == nil {
		c.timers = map[*shifted]bool{}
	}
	c.timers[t] = true
	t.real = time.AfterFunc(d, t.fire)
	return t
}

// Advance moves the clock by d and fires, in order, what came due.
func (c *Shifted) Advance(d time.Duration) {
	c.mu.Lock()
	c.offset += d
	now := time.Now().Add(c.offset)
	var due []*shifted
	for t := range c.timers {
		if !t.at.After(now) {
			due = append(due, t)
		} else {
			t.real.Reset(t.at.Sub(now))
		}
	}
	c.mu.Unlock()
	sort.Slice(due, func(i, j int) bool { return due[i].at.Before(due[j].at) })
	for _, t := range due {
		t.fire()
	}
}

func (t *shifted) fire() {
	if t.Stop() {
		go t.f()
	}
}

// Stop prevents the call and says whether it did.
func (t *shifted) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	if !t.clock.timers[t] {
		return false
	}
	delete(t.clock.timers, t)
	t.real.Stop()
	return true
}
