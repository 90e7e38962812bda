package playground

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"holdfast/playground/openapi"
	"holdfast/playground/world"
)

type obj = map[string]any

// maxRequest is Discord's limit for a whole request, bytes.
const maxRequest = 25 << 20

// call is one REST request that passed every check.
type call struct {
	params map[string]string // of the path
	query  url.Values
	body   json.RawMessage
	files  []world.File
}

// handler answers a call; a nil value is an empty body.
type handler func(*Server, *call) (int, any, error)

// serveAPI is Discord's REST API.
func (s *Server) serveAPI(w http.ResponseWriter, r *http.Request) {
	p := canonical(strings.TrimPrefix(strings.TrimPrefix(r.URL.EscapedPath(), "/api"), "/v10"))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	entry, finish := s.newEntry("rest", r.Method, withQuery(p, r.URL.RawQuery), body)
	h := w.Header()
	h.Set("Via", "1.1 google") // without it disgo takes a 429 for a block by Cloudflare
	fault := s.faults.take(r.Method, p)
	if fault != nil && fault.Kind == "delay" {
		s.wait(r, fault)
	}
	var status int
	var answer []byte
	if err != nil {
		status, answer = errorBody(world.ErrTooLarge)
	} else {
		status, answer = s.answer(h, r, p, body, fault, &entry)
	}
	done := finish(status, answer)
	done.Violations, done.Ours, done.Note = entry.Violations, entry.Ours, entry.Note
	if fault != nil {
		done.Fault = fault.String()
	}
	s.wire.add(done)
	if len(done.Violations)+len(done.Ours) > 0 {
		s.log.Warn("playground: violation of Discord's API", "method", r.Method, "path", redact(p), "theirs", done.Violations, "ours", done.Ours)
	}
	if fault != nil && fault.Kind == "cut" {
		panic(http.ErrAbortHandler) // the documented way to cut a connection
	}
	if len(answer) > 0 { // a JSON content type on a 204 makes @discordjs/rest throw
		h.Set("Content-Type", "application/json")
	}
	w.WriteHeader(status)
	_, _ = w.Write(answer)
}

// answer finds the operation, applies a fault, and lets serve do the rest.
func (s *Server) answer(h http.Header, r *http.Request, p string, body []byte, fault *Fault, entry *Entry) (int, []byte) {
	op, ok := s.spec.Find(r.Method, p)
	name := p
	if ok {
		name = op.Path
	}
	params := pathParams(name, p)
	major := params["channel_id"] + params["guild_id"] + params["webhook_id"] + params["webhook_token"]
	if free := s.limits.spend(h, r.Method+" "+name, major, s.clock.Now()); !free {
		return limited(h, bucketTime.Seconds(), false, false)
	}
	hit := fault != nil && (fault.Kind == "status" || fault.Kind == "cut")
	if hit && fault.When == "before" {
		return fault.answer(h)
	}
	status, answer := http.StatusNotFound, []byte(nil)
	if !ok {
		entry.Violations = append(entry.Violations, "no such operation in Discord's API")
		status, answer = errorBody(world.ErrNotFound)
	} else {
		status, answer = s.serve(op, r, params, body, entry)
		entry.Ours = op.Response(status, answer)
	}
	if hit {
		return fault.answer(h)
	}
	return status, answer
}

// serve checks a request from the outside in and runs its handler.
func (s *Server) serve(op *openapi.Operation, r *http.Request, params map[string]string, body []byte, entry *Entry) (int, []byte) {
	run := handlers[op.Method+" "+op.Path]
	if run == nil {
		entry.Note = "not part of the playground"
		return errorBody(world.ErrNotFound)
	}
	if !op.Open() && !s.botToken(r) {
		return errorBody(world.ErrUnauthorized)
	}
	if r.UserAgent() == "" {
		return errorBody(&world.Error{Status: 403, Code: 40333, Message: "internal network error"})
	}
	c := &call{params: params, query: r.URL.Query()}
	var err error
	if c.body, c.files, err = content(r.Header.Get("Content-Type"), body); err != nil {
		entry.Violations = append(entry.Violations, "body: "+err.Error())
		return errorBody(err)
	}
	if len(c.files) > 0 {
		entry.Request = kept(c.body)
	}
	var refused []openapi.Violation
	if c.body, refused, err = entry.check(op, c.query, c.body); err != nil {
		return errorBody(err)
	}
	if len(refused) > 0 {
		return violationBody(refused)
	}
	status, value, err := run(s, c)
	if err != nil {
		return errorBody(err)
	}
	if value == nil {
		return status, nil
	}
	return status, mustJSON(value)
}

func (s *Server) botToken(r *http.Request) bool {
	want := "Bot " + s.world.Meta().Token
	return subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte(want)) == 1
}

// wait holds a request back, by the clock, until its caller gives up.
func (s *Server) wait(r *http.Request, f *Fault) {
	over, gone := make(chan struct{}), r.Context().Done()
	t := s.clock.AfterFunc(time.Duration(f.MS)*time.Millisecond, func() { close(over) })
	defer t.Stop()
	if f.When == "after" {
		gone = nil
	}
	select {
	case <-over:
	case <-gone:
	case <-s.stopping.Done():
	}
}

// answer is what a fault says in place of the API.
func (f *Fault) answer(h http.Header) (int, []byte) {
	if f.Kind == "cut" {
		return 0, nil
	}
	if f.Status == http.StatusTooManyRequests {
		return limited(h, f.RetryAfter, f.Global, f.Bare)
	}
	e := map[int]*world.Error{401: world.ErrUnauthorized, 403: world.ErrPermissions, 404: world.ErrUnknownWebhook}[f.Status]
	if e == nil {
		e = &world.Error{Status: f.Status, Message: http.StatusText(f.Status)}
	}
	known := *e
	if f.Code != 0 {
		known.Code = f.Code
	}
	return errorBody(&known)
}

// errorBody is Discord's JSON for an error; anything that is not one of Discord's is a 500.
func errorBody(err error) (int, []byte) {
	var e *world.Error
	if !errors.As(err, &e) {
		return http.StatusInternalServerError, mustJSON(obj{"message": "500: Internal Server Error", "code": 0})
	}
	body := obj{"message": e.Message, "code": e.Code}
	if e.Field != "" {
		reason, text, _ := strings.Cut(e.Reason, "\x00")
		body["errors"] = nested(strings.Split(e.Field, "."), obj{"_errors": []obj{{"code": reason, "message": text}}})
	}
	return e.Status, mustJSON(body)
}

func nested(keys []string, leaf obj) obj {
	if len(keys) == 0 {
		return leaf
	}
	return obj{keys[0]: nested(keys[1:], leaf)}
}

// check notes what does not fit the description, for the log. It returns the body without what Discord ignores, and
// what Discord refuses: libraries send fields that are not described, and whoever tests a deployment reads the log.
func (e *Entry) check(op *openapi.Operation, query url.Values, body []byte) (known []byte, refused []openapi.Violation, err error) {
	found := op.Request(query, body)
	e.Violations = openapi.Texts(found)
	for _, v := range found {
		if !v.Ignored {
			refused = append(refused, v)
		}
	}
	known, err = openapi.Known(body, found)
	return known, refused, err
}

// violationBody is a 50035: in Discord's own words where they are known, otherwise in those of the description's check.
func violationBody(list []openapi.Violation) (int, []byte) {
	all := obj{}
	for _, v := range list {
		if v.Longest > 0 {
			note(all, v.Field, "BASE_TYPE_MAX_LENGTH", fmt.Sprintf("Must be %d or fewer in length.", v.Longest))
		} else {
			note(all, []string{"request"}, "OPENAPI_VIOLATION", v.Text)
		}
	}
	return http.StatusBadRequest, mustJSON(obj{"message": "Invalid Form Body", "code": 50035, "errors": all})
}

// note adds an error about a field to the tree of a 50035.
func note(tree obj, field []string, code, message string) {
	for _, key := range field {
		next, ok := tree[key].(obj)
		if !ok {
			next = obj{}
			tree[key] = next
		}
		tree = next
	}
	list, _ := tree["_errors"].([]obj)
	tree["_errors"] = append(list, obj{"code": code, "message": message})
}

// canonical writes an escaped path in one way: @discordjs/rest asks for /users/%40me.
func canonical(p string) string {
	segs := strings.Split(p, "/")
	for i, seg := range segs {
		if plain, err := url.PathUnescape(seg); err == nil {
			segs[i] = url.PathEscape(plain)
		}
	}
	return strings.Join(segs, "/")
}

func withQuery(p, query string) string {
	if query == "" {
		return p
	}
	return p + "?" + query
}

// redact takes the token out of a webhook's or interaction's path, for the operator's log.
func redact(p string) string {
	segs := strings.Split(p, "/")
	if len(segs) > 3 && (segs[1] == "webhooks" || segs[1] == "interactions") {
		segs[3] = "…"
	}
	return strings.Join(segs, "/")
}

// pathParams reads the values of a template's parameters.
func pathParams(template, p string) map[string]string {
	out := map[string]string{}
	values := strings.Split(p, "/")
	for i, seg := range strings.Split(template, "/") {
		if strings.HasPrefix(seg, "{") && i < len(values) {
			v, err := url.PathUnescape(values[i])
			if err != nil {
				v = values[i]
			}
			out[strings.Trim(seg, "{}")] = v
		}
	}
	return out
}
