package world

import (
	"encoding/json"
	"fmt"
	"slices"
)

// emit queues a Gateway dispatch. id is the message's for MESSAGE_CREATE, else empty.
func (w *World) emit(kind, id string, c *Channel, data any) {
	if w.dropEvents > 0 {
		w.dropEvents--
		return
	}
	copies := 1
	if w.doubleEvents > 0 {
		w.doubleEvents--
		copies = 2
	}
	raw, err := json.Marshal(data)
	if err != nil {
		panic("playground: an event that cannot be encoded: " + err.Error()) // built here from plain values
	}
	for range copies {
		w.meta.Seq++
		e := &Event{N: w.meta.Seq, ID: id, Type: kind, Channel: c.ID, Place: w.place(c), Data: raw}
		if id == "" {
			e.ID = fmt.Sprintf("%s:%d", w.meta.Session, e.N)
		}
		w.put(e)
	}
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Queued is signalled when events were added.
func (w *World) Queued() <-chan struct{} { return w.wake }

// NextEvents returns the oldest untaken event of each channel, at most n in all: one per channel, so that a retry
// never lets a later event of the same channel overtake.
func (w *World) NextEvents(n int) []Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	order := make([]int64, 0, len(w.events))
	for k := range w.events {
		order = append(order, k)
	}
	slices.Sort(order)
	seen := map[string]bool{}
	var out []Event
	for _, k := range order {
		e := w.events[k]
		if !seen[e.Channel] && len(out) < n {
			seen[e.Channel] = true
			out = append(out, *e)
		}
	}
	return out
}

// Taken removes events from the spool.
func (w *World) Taken(ns []int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range ns {
		if w.events[n] != nil {
			delete(w.events, n)
			w.drop(fmt.Sprintf("event/%d", n))
		}
	}
	return w.flush()
}

// Backlog is the number of events in the spool.
func (w *World) Backlog() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.events)
}

// DropEvents loses the next n events; DoubleEvents delivers the next n twice.
func (w *World) DropEvents(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dropEvents += n
}

// DoubleEvents delivers each of the next n events twice, with the same id.
func (w *World) DoubleEvents(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.doubleEvents += n
}
