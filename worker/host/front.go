package host

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"holdfast/actor"
	"holdfast/actor/errs"
	"holdfast/interactions"
	"holdfast/worker/api"
	"holdfast/worker/engine"
)

// Handler is the whole HTTP surface (spec 9.4). Time-outs of connections are the server's business.
func (h *Host) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /readyz", h.ready)
	mux.Handle("GET /metrics", h.only(interactions.RoleRead, promhttp.HandlerFor(h.metrics.registry, promhttp.HandlerOpts{})))
	mux.HandleFunc("GET /v1/workspaces/{guild}/{workspace}/runner", h.runner)
	mux.Handle("POST /v1/backup", h.only(interactions.RoleAdmin, http.HandlerFunc(h.backUp)))
	mux.Handle("/", api.Handler(h))
	return h.guard(mux)
}

func (h *Host) ready(w http.ResponseWriter, _ *http.Request) {
	if h.isDraining() || h.isDead() {
		http.Error(w, "stopping", http.StatusServiceUnavailable)
		return
	}
	io.WriteString(w, "ready\n")
}

// guard turns a panic into a 500 and counts what was answered. A host that was killed answers nothing.
func (h *Host) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := &statusWriter{ResponseWriter: w}
		defer func() {
			p := recover()
			if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(p)
			}
			if p != nil {
				h.opts.Log.Error("front.panic", "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
				if s.status == 0 {
					h.fail(s, errs.Public(errs.New(errs.Internal, "Internal error.")))
				}
			}
			h.metrics.requests.WithLabelValues(strconv.Itoa(s.status)).Inc()
		}()
		if r.Body != http.NoBody {
			deadline(w, time.Now().Add(h.reading))
		}
		next.ServeHTTP(s, r)
	})
}

// bodyTimeout is how long a client may take to send its body, of at most 1 MiB: whoever sends a head and then nothing
// would hold its connection, and what came so far, for ever. It also holds for a body that nobody reads.
const bodyTimeout = 10 * time.Second

// deadline sets the time until which a client's bytes are read; none when it is zero. Where there is no connection, as
// for a question of the host to itself, there is nothing to set.
func deadline(w http.ResponseWriter, t time.Time) {
	_ = http.NewResponseController(w).SetReadDeadline(t)
}

// statusWriter remembers the status; Unwrap lets a WebSocket take the connection over.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (s *statusWriter) WriteHeader(status int) {
	if s.status == 0 {
		s.status = status
	}
	s.ResponseWriter.WriteHeader(status)
}

func (s *statusWriter) Write(b []byte) (int, error) {
	if s.status == 0 {
		s.status = http.StatusOK
	}
	return s.ResponseWriter.Write(b)
}

func (s *statusWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// ServeHTTP is the front: it asks the core what to do with a request, and does it.
func (h *Host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.isDraining() {
		h.fail(w, errDown)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, interactions.MaxBody))
	if err == nil {
		deadline(w, time.Time{}) // a client that waits sends nothing, and is watched all the same
	}
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		h.reply(w, failed(http.StatusRequestEntityTooLarge, errs.New(errs.Invalid, "The body is over 1 MiB.")))
		return
	case err != nil:
		h.fail(w, errs.New(errs.Invalid, "The body ended too early."))
		return
	}
	verdict, failure := h.route(r, body)
	if failure != nil {
		h.fail(w, failure)
		return
	}
	if verdict.Reply != nil {
		h.reply(w, verdict.Reply)
		return
	}
	// A client that goes away, or only closes its half of the connection, takes nothing back: the deadline does.
	answer := h.deliver(h.ctx, verdict)
	if h.killed.Load() {
		panic(http.ErrAbortHandler) // as a connection ends when its process dies
	}
	h.reply(w, answer)
}

// route asks the core for its verdict. A signature that does not hold is refused here: strangers can send as many as they
// like, and the core would verify each again.
func (h *Host) route(r *http.Request, body []byte) (*interactions.Verdict, *errs.Error) {
	headers := read(r.Header)
	signer := ""
	if r.URL.Path == "/interactions" && r.Method == http.MethodPost {
		if signer = interactions.Signer(h.config.full.PublicKeys, headers, body); signer == "" {
			return &interactions.Verdict{Reply: interactions.Unsigned()}, nil
		}
	}
	in, err := h.request(r, headers, signer, body)
	if err != nil {
		return nil, errs.Public(err)
	}
	out, rc, err := h.opts.Engine.Route(h.ctx, in)
	switch {
	case err != nil && !errors.Is(err, engine.ErrCrash):
		return nil, errDown // the host is ending
	case err != nil:
		h.metrics.crashes.Inc()
		h.opts.Log.Error("core.route.crashed", "err", err.Error())
		return nil, errCrashed
	case rc != 0:
		e := &errs.Error{Code: errs.Internal}
		_ = json.Unmarshal(out, e)
		if e.Code == errs.Internal {
			h.opts.Log.Error("core.route.failed", "err", e.Message)
			e = errCrashed
		}
		return nil, e
	}
	v := &interactions.Verdict{}
	if err := actor.Decode(out, v); err != nil {
		h.opts.Log.Error("core.route.failed", "err", err.Error())
		return nil, errCrashed
	}
	return v, nil
}

// read gives the headers that the core reads.
func read(h http.Header) actor.Strings {
	headers := actor.Strings{}
	for _, name := range interactions.Headers {
		if value := h.Get(name); value != "" {
			headers[name] = value
		}
	}
	return headers
}

// request is the input of route: a line of JSON, a newline, the body.
func (h *Host) request(r *http.Request, headers actor.Strings, signer string, body []byte) ([]byte, error) {
	req := struct {
		interactions.Request
		Config *struct{} `json:"config,omitempty"` // hides Request.Config, whose JSON is spliced in
	}{Request: interactions.Request{Now: h.now().UnixMilli(), Method: r.Method, Path: r.URL.Path, Headers: headers, Signer: signer, Caller: h.caller(r, body)}}
	if query := r.URL.Query(); len(query) > 0 {
		req.Query = make(map[string]string, len(query))
		for name, values := range query {
			req.Query[name] = values[0]
		}
	}
	head, err := json.Marshal(req)
	if err != nil {
		return nil, err
	}
	in := append(splice(head, "config", h.config.json), '\n')
	return append(in, body...), nil
}

// failed is an error as a reply (spec 9.4).
func failed(status int, e *errs.Error) *actor.Reply {
	body, _ := json.Marshal(map[string]*errs.Error{"error": e}) // three strings
	return &actor.Reply{Status: status, Body: body}
}

func (h *Host) fail(w http.ResponseWriter, e *errs.Error) { h.reply(w, failed(e.Code.Status(), e)) }

func (h *Host) reply(w http.ResponseWriter, a *actor.Reply) {
	header := w.Header()
	if len(a.Body) > 0 {
		header.Set("Content-Type", "application/json")
	}
	for name, value := range a.Headers {
		header.Set(name, value)
	}
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	status := a.Status
	if status < 200 || status > 599 {
		status = http.StatusInternalServerError
	}
	w.WriteHeader(status)
	if status != http.StatusNoContent && status != http.StatusNotModified {
		_, _ = w.Write(a.Body) // whoever went away cannot be told
	}
}
