package host

import (
	"time"

	"holdfast/actor"
)

// wake posts a wake event, unless one is waiting already that sees what this one is for. At most cap(h.wakes) actors
// are being woken at once, so that a start with ten thousand of them due does not open all their files together.
func (h *Host) wake(name string) {
	select {
	case h.wakes <- struct{}{}:
	case <-h.dead:
		return
	}
	r := h.acquire(name)
	defer h.release(r)
	it := &item{kind: actor.EventWake}
	it.done = func(a answer) {
		<-h.wakes
		r.woken(it, a)
	}
	if !r.awaits(it) || h.post(name, it, true) != nil {
		<-h.wakes
	}
}

// awaits makes a wake the one that waits, unless there is one.
func (r *resident) awaits(it *item) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waking != nil {
		return false
	}
	r.waking = it
	return true
}

// looks ends the time in which a wake stands for others: it looks at the actor now, and what comes due later needs
// another one. One that looks again, after its group was undone, lets go of no other's place, so that at most one waits
// which has not looked.
func (r *resident) looks(it *item) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waking == it {
		r.waking = nil
	}
}

// woken has a wake that failed tried again, later each time.
func (r *resident) woken(it *item, a answer) {
	r.looks(it) // of one that never came to it
	if a.err == nil {
		r.failures = 0
		return
	}
	if r.damage != "" {
		return // nothing can become of it
	}
	r.host.opts.Log.Error("actor.wake.failed", "actor", r.name, "code", string(a.err.Code), "err", a.err.Message)
	delay := time.Second << min(r.failures, 6)
	r.failures++
	r.host.index.Again(r.name, r.host.now().Add(delay).UnixMilli())
}
