package host

import (
	"context"
	"strings"

	"holdfast/actor/errs"
)

// Every resident counts references: one for each event in its mailbox, each effect in flight, each open socket. One
// with references is never closed; of the others, Limits.Open stay open.

var (
	errBusy = errs.New(errs.Unavailable, "The workspace is busy.").WithHint("Try again in a moment.")
	errDown = errs.New(errs.Unavailable, "The edge is stopping.").WithHint("Try again in a moment.")
)

// acquire gives the actor's resident with one reference more. It opens no file: the resident does, at its first event.
func (h *Host) acquire(name string) *resident {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.actors[name]
	if r == nil {
		r = newResident(h, name, h.closing[name])
		h.actors[name] = r
		if !h.ended { // else post sees that the host is dead
			h.wg.Add(1)
			go r.run()
		}
	}
	r.refs++
	h.refs++
	if r.idle != nil {
		h.idle.Remove(r.idle)
		r.idle = nil
	}
	return r
}

// release gives a reference back.
func (h *Host) release(r *resident) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r.refs--
	h.refs--
	if r.refs == 0 {
		r.idle = h.idle.PushFront(r)
	}
	for len(h.actors) > h.opts.Limits.Open && h.idle.Len() > 0 {
		h.evict(h.idle.Remove(h.idle.Back()).(*resident))
	}
	if h.refs == 0 && h.draining && !h.ended {
		select {
		case <-h.quiet:
		default:
			close(h.quiet)
		}
	}
}

// evict closes a resident without references. The caller holds the lock.
func (h *Host) evict(r *resident) {
	delete(h.actors, r.name)
	h.closing[r.name] = r.done
	close(r.quit)
}

// closed is called by a resident that closed its file after it was evicted.
func (h *Host) closed(r *resident) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing[r.name] == r.done {
		delete(h.closing, r.name)
	}
}

// post puts an event into an actor's mailbox. With wait it waits for room; otherwise a full mailbox is errBusy. When
// post returns an error, it.done is not called.
func (h *Host) post(name string, it *item, wait bool) error {
	r := h.acquire(name)
	if !wait {
		select {
		case r.box <- it:
			return nil
		default:
			h.release(r)
			return errBusy
		}
	}
	select {
	case r.box <- it:
		return nil
	case <-h.dead:
		h.release(r)
		return errDown
	}
}

// ask posts an event and waits for what came of it.
func (h *Host) ask(ctx context.Context, name string, it *item, wait bool) answer {
	got := make(chan answer, 1)
	it.done = func(a answer) { got <- a }
	if err := h.post(name, it, wait); err != nil {
		return answer{err: errs.Public(err)}
	}
	select {
	case a := <-got:
		return a
	case <-h.dead:
		return answer{err: errDown}
	case <-ctx.Done():
		return answer{err: errBusy}
	}
}

// Workspaces lists what this data directory holds, as "<guild>/<workspace>", in order.
func (h *Host) Workspaces(context.Context) ([]string, error) {
	actors, err := h.actorNames()
	if err != nil {
		return nil, errs.Wrap(errs.Internal, err, "The data directory cannot be read.")
	}
	var names []string
	for _, actor := range actors {
		if name, ok := strings.CutPrefix(actor, workspacePrefix); ok {
			names = append(names, name)
		}
	}
	return names, nil
}
