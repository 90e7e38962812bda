// Package api is the part of the operator API that is about a whole deployment instead of one workspace: which
// workspaces there are, how each does, and waiting for events.
//
// Everything about one workspace is decided by the core (interactions.Route) and passes through untouched, so both
// hosts answer it alike; this handler only asks the same front again, with the caller's own key.
package api

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/actor/errs"
)

// Backend is a host, as far as this handler needs to know it.
type Backend interface {
	// Caller finds who holds the key of r; nil for nobody.
	Caller(r *http.Request) *Caller
	// Workspaces lists what the host serves, as "<guild>/<workspace>".
	Workspaces(ctx context.Context) ([]string, error)
	// ServeHTTP is the host's front. It checks keys by itself.
	http.Handler
}

// Limits of waiting for events.
const (
	MaxWait   = 30 * time.Second       // a longer wait is cut to this
	firstStep = 200 * time.Millisecond // between the first two looks at the event log; each next step is double that
	longStep  = time.Second            // until this: a look is an event of the workspace, and costs like one
)

// roleRead is interactions.RoleRead.
const roleRead = "read"

// Handler answers GET /v1/status, GET /v1/workspaces and GET …/events?wait=; b answers everything else.
func Handler(b Backend) http.Handler {
	h := handler{b}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/status", h.reader(h.status))
	mux.HandleFunc("GET /v1/workspaces", h.reader(h.workspaces))
	mux.HandleFunc("GET /v1/workspaces/{guild}/{workspace}/events", h.events)
	mux.HandleFunc("GET /v1/workspaces/{guild}/{workspace}/jobs/{job}/events", h.events)
	mux.Handle("/", b)
	return mux
}

type handler struct{ Backend }

// Workspace is one line of GET /v1/workspaces and GET /v1/status.
type Workspace struct {
	Guild     string          `json:"guild"`
	Workspace string          `json:"workspace"`
	Status    json.RawMessage `json:"status,omitempty"` // what the workspace says of itself
	Error     json.RawMessage `json:"error,omitempty"`  // why it did not
}

// Listing is the answer of GET /v1/workspaces and GET /v1/status.
type Listing struct {
	Workspaces []Workspace `json:"workspaces"`
	Notes      []string    `json:"notes,omitempty"` // of GET /v1/status: what an operator should know of the deployment itself
}

// noter is a Backend that has something to say about itself.
type noter interface{ Notes() []string }

// reader lets only operators with the role read through.
func (h handler) reader(next func(http.ResponseWriter, *http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch c := h.Caller(r); {
		case c == nil:
			fail(w, 401, errs.New(errs.Unauthorized, "There is no valid key in this request.").WithHint("`holdfast token` prints one."))
		case c.Kind != "operator" || !slices.Contains(c.Roles, roleRead):
			fail(w, 403, errs.New(errs.Unauthorized, "This key may not do that.").WithHint("It takes an operator's key with the role read."))
		default:
			next(w, r)
		}
	}
}

func (h handler) list(r *http.Request) (Listing, error) {
	names, err := h.Workspaces(r.Context())
	if err != nil {
		return Listing{}, err
	}
	slices.Sort(names)
	l := Listing{Workspaces: []Workspace{}}
	for _, name := range names {
		guild, workspace, _ := strings.Cut(name, "/")
		l.Workspaces = append(l.Workspaces, Workspace{Guild: guild, Workspace: workspace})
	}
	return l, nil
}

func (h handler) workspaces(w http.ResponseWriter, r *http.Request) {
	l, err := h.list(r)
	if err != nil {
		fail(w, errs.CodeOf(err).Status(), errs.Public(err))
		return
	}
	writeJSON(w, 200, l)
}

// status asks each workspace, one after the other. One that cannot answer takes nothing from the others.
func (h handler) status(w http.ResponseWriter, r *http.Request) {
	l, err := h.list(r)
	if err != nil {
		fail(w, errs.CodeOf(err).Status(), errs.Public(err))
		return
	}
	for i, s := range l.Workspaces {
		a := h.ask(r, "/v1/workspaces/"+s.Guild+"/"+s.Workspace+"/status", nil)
		if a.status == 200 && json.Valid(a.body.Bytes()) {
			l.Workspaces[i].Status = a.body.Bytes()
			continue
		}
		l.Workspaces[i].Error = a.reason()
	}
	if n, ok := h.Backend.(noter); ok {
		l.Notes = n.Notes()
	}
	writeJSON(w, 200, l)
}

// events repeats the question until there is something to say or the wait is over.
func (h handler) events(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	wait, err := strconv.ParseFloat(q.Get("wait"), 64)
	if q.Get("wait") == "" {
		wait, err = 0, nil
	}
	if err != nil || !(wait >= 0) {
		fail(w, 400, errs.New(errs.Invalid, "The parameter wait: expected seconds, as 20."))
		return
	}
	q.Del("wait")
	ctx, cancel := context.WithTimeout(r.Context(), min(MaxWait, time.Duration(min(wait, 3600)*float64(time.Second))))
	defer cancel()
	for step := firstStep; ; step = min(2*step, longStep) {
		a := h.ask(r, r.URL.Path, q)
		if a.status != 200 || a.hasEvents() || !pause(ctx, step) {
			a.write(w)
			return
		}
	}
}

// pause waits, and reports false when ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return ctx.Err() == nil
	}
}

// ask puts another question to the front in the name of r's caller.
func (h handler) ask(r *http.Request, path string, q url.Values) *answer {
	ask := r.Clone(r.Context())
	ask.URL = &url.URL{Path: path, RawQuery: q.Encode()}
	ask.RequestURI = ask.URL.RequestURI()
	ask.Body = http.NoBody
	a := &answer{header: http.Header{}, status: 200}
	h.ServeHTTP(a, ask)
	return a
}

// answer keeps a response of the front.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }

func (a *answer) hasEvents() bool {
	var list struct {
		Events []json.RawMessage `json:"events"`
	}
	return json.Unmarshal(a.body.Bytes(), &list) == nil && len(list.Events) > 0
}

// reason is the error inside an answer, or one that says which status came.
func (a *answer) reason() json.RawMessage {
	var e struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(a.body.Bytes(), &e) == nil && len(e.Error) > 0 {
		return e.Error
	}
	raw, err := json.Marshal(errs.New(errs.Unavailable, "The workspace answered %d.", a.status))
	if err != nil {
		return json.RawMessage(`{}`)
	}
	return raw
}

func (a *answer) write(w http.ResponseWriter) {
	for k, v := range a.header {
		w.Header()[k] = v
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body.Bytes()) // the caller is gone; there is nobody to tell
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the caller is gone; there is nobody to tell
}

func fail(w http.ResponseWriter, status int, e *errs.Error) {
	writeJSON(w, status, map[string]*errs.Error{"error": e})
}
