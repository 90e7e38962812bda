package playground

import "sync"

// event is one line of the page's stream.
type event struct {
	Type    string `json:"type"`
	Channel string `json:"channel,omitempty"`
	For     string `json:"-"` // the one user who may see it
	Data    any    `json:"data,omitempty"`
}

// hub hands events to the open pages. A page that does not keep up is cut off and connects again.
type hub struct {
	mu     sync.Mutex
	closed bool
	subs   map[chan event]string // → user
}

// subscribe returns the events that user may see. The channel is closed when the reader was too slow, or at the end.
func (h *hub) subscribe(user string) chan event {
	h.mu.Lock()
	defer h.mu.Unlock()
	ch := make(chan event, 512)
	if h.closed {
		close(ch)
		return ch
	}
	if h.subs == nil {
		h.subs = map[chan event]string{}
	}
	h.subs[ch] = user
	return ch
}

func (h *hub) unsubscribe(ch chan event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.subs[ch]; ok {
		delete(h.subs, ch)
		close(ch)
	}
}

func (h *hub) send(e event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for ch, user := range h.subs {
		if e.For != "" && user != "" && e.For != user {
			continue
		}
		select {
		case ch <- e:
		default:
			delete(h.subs, ch)
			close(ch)
		}
	}
}

func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for ch := range h.subs {
		delete(h.subs, ch)
		close(ch)
	}
}
