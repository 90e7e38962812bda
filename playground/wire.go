package playground

import (
	"encoding/json"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	wireEntries = 2000     // kept
	wireBody    = 64 << 10 // bytes of each body kept
)

// Entry is one exchange between the playground and the deployment: a REST request ("rest"), an interaction that the
// playground posted ("interaction"), or a batch of events ("events").
type Entry struct {
	N          int64    `json:"n"`
	At         int64    `json:"at"` // unix ms, by the playground's clock
	Kind       string   `json:"kind"`
	Method     string   `json:"method"`
	Path       string   `json:"path"` // with query
	Status     int      `json:"status"`
	Micros     int64    `json:"micros"` // how long it took, by the machine's clock
	Request    string   `json:"request,omitempty"`
	Response   string   `json:"response,omitempty"`
	Violations []string `json:"violations"` // of the API's description by the caller
	Ours       []string `json:"our_violations,omitempty"`
	Fault      string   `json:"fault,omitempty"` // injected
	Note       string   `json:"note,omitempty"`
}

// brief is an entry without its bodies.
func (e Entry) brief() Entry {
	e.Request, e.Response = "", ""
	return e
}

// wire keeps the last exchanges.
type wire struct {
	watch func(Entry)
	mu    sync.Mutex
	n     int64
	list  []Entry
}

func (w *wire) add(e Entry) {
	w.mu.Lock()
	w.n++
	e.N = w.n
	if e.Violations == nil {
		e.Violations = []string{}
	}
	w.list = append(w.list, e)
	if len(w.list) > wireEntries {
		w.list = append(w.list[:0:0], w.list[len(w.list)-wireEntries/2:]...)
	}
	w.mu.Unlock()
	w.watch(e)
}

// after lists the entries with a higher number.
func (w *wire) after(n int64) []Entry {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := []Entry{}
	for _, e := range w.list {
		if e.N > n {
			out = append(out, e)
		}
	}
	return out
}

// kept is a body as the log keeps it.
func kept(body []byte) string {
	if len(body) > wireBody {
		body = body[:wireBody]
	}
	if !utf8.Valid(body) {
		return "(binary)"
	}
	return string(body)
}

func (s *Server) newEntry(kind, method, path string, request []byte) (Entry, func(int, []byte) Entry) {
	e := Entry{At: s.clock.Now().UnixMilli(), Kind: kind, Method: method, Path: path, Request: kept(request)}
	began := time.Now()
	return e, func(status int, response []byte) Entry {
		e.Status, e.Response, e.Micros = status, kept(response), time.Since(began).Microseconds()
		return e
	}
}

// mustJSON encodes values that this package built.
func mustJSON(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic("playground: encode: " + err.Error())
	}
	return raw
}
