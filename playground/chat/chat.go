// Package chat is the server's side of the two wire formats of model providers, for the playground's own providers.
// It reads requests strictly, as the strictest real server would, and writes streamed and plain answers.
package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"holdfast/actor/model"
)

// MaxBody is the longest request that is read, in bytes; Anthropic's documented limit.
const MaxBody = 32 << 20

// Request is what both formats say, in the terms of the model package. Messages are as on the wire: an OpenAI tool
// message is a message of its own, an Anthropic user message with results and texts is a tool message and then one
// user message for each text.
type Request struct {
	model.Request
	Stream bool
	Usage  bool // the stream ends with the usage
}

// Question is the last text that a person wrote and how many answers the assistant gave since. Texts that begin with
// "[system] " are notes of Holdfast and no person's.
func (r Request) Question() (text string, answers int) {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		switch m := r.Messages[i]; {
		case m.Role == model.Assistant:
			answers++
		case m.Role == model.User && !strings.HasPrefix(m.Text, "[system] "):
			return m.Text, answers
		}
	}
	return "", answers
}

// Calls is the number of tool calls in the transcript, from which ids are made that the transcript does not have.
func (r Request) Calls() int {
	n := 0
	for _, m := range r.Messages {
		n += len(m.Calls)
	}
	return n
}

// ErrRequest marks a request that a provider refuses with status 400.
var ErrRequest = errors.New("invalid request")

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrRequest, fmt.Sprintf(format, args...))
}

// Answer is what a provider says. A call with Broken sends it as its arguments.
type Answer struct {
	Text  string
	Calls []model.Call
	Cut   bool // the stream ends in the middle, without its terminal event
}

// Body reads a request's body, at most MaxBody. It answers the request itself and returns false when it is longer or
// no POST.
func Body(w http.ResponseWriter, r *http.Request, format string) ([]byte, bool) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		Fail(w, format, http.StatusMethodNotAllowed, "only POST is served here")
		return nil, false
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		Fail(w, format, http.StatusRequestEntityTooLarge, "the request is too large")
	case err != nil:
		Fail(w, format, http.StatusBadRequest, "the body could not be read")
	}
	return body, err == nil
}

// Fail answers with an error in the format's own shape.
func Fail(w http.ResponseWriter, format string, status int, message string) {
	var body any
	if format == model.Anthropic {
		body = map[string]any{"type": "error", "error": map[string]any{"type": anthropicErrorType(status), "message": message}}
	} else {
		body = map[string]any{"error": map[string]any{"message": message, "type": openaiErrorType(status), "param": nil, "code": nil}}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(encode(body))
}

// encode is v as JSON without HTML escapes. Everything that is encoded here is made of maps, strings and valid JSON.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("encode an answer: %v", err))
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

func anthropicErrorType(status int) string {
	switch status {
	case 401:
		return "authentication_error"
	case 402:
		return "billing_error"
	case 403:
		return "permission_error"
	case 404:
		return "not_found_error"
	case 413:
		return "request_too_large"
	case 429:
		return "rate_limit_error"
	case 529:
		return "overloaded_error"
	}
	if status >= 500 {
		return "api_error"
	}
	return "invalid_request_error"
}

func openaiErrorType(status int) string {
	switch {
	case status == 429:
		return "rate_limit_error"
	case status == 401:
		return "authentication_error"
	case status >= 500:
		return "server_error"
	}
	return "invalid_request_error"
}

// Write answers q with a: as a stream when the request asks for one, otherwise as plain JSON.
func Write(w http.ResponseWriter, format string, q Request, a Answer) {
	usage := usage{in: model.EstimateTokens(q.Request), out: len(a.Text)/4 + 1}
	for _, c := range a.Calls {
		usage.out += 10 + (len(c.Args)+len(c.Broken))/4
	}
	s := &stream{w: w, cut: a.Cut}
	switch {
	case !q.Stream:
		writePlain(w, format, q.Model, a, usage)
		return
	case format == model.Anthropic:
		anthropicStream(s, q.Model, a, usage)
	default:
		openaiStream(s, q, a, usage)
	}
	if a.Cut { // the connection breaks where the stream is
		s.flush()
		panic(http.ErrAbortHandler)
	}
}

type usage struct{ in, out int }

// stream writes server-sent events. With cut, events after the first part are dropped.
type stream struct {
	w     http.ResponseWriter
	cut   bool
	begun bool
	over  bool // cut: nothing more is written
}

func (s *stream) send(event string, data any) {
	if s.over {
		return
	}
	if !s.begun {
		s.begun = true
		s.w.Header().Set("Content-Type", "text/event-stream")
		s.w.Header().Set("Cache-Control", "no-store")
	}
	b, ok := data.([]byte)
	if !ok {
		b = encode(data)
	}
	if event != "" {
		fmt.Fprintf(s.w, "event: %s\n", event)
	}
	fmt.Fprintf(s.w, "data: %s\n\n", b)
	s.flush()
}

// half ends a cut stream here.
func (s *stream) half() { s.over = s.over || s.cut }

func (s *stream) flush() {
	if f, ok := s.w.(http.Flusher); ok {
		f.Flush()
	}
}

// pieces cuts s into a few pieces at rune borders, so that readers meet more than one delta.
func pieces(s string) []string {
	const n = 24
	var out []string
	var b strings.Builder
	for _, r := range s {
		b.WriteRune(r)
		if b.Len() >= n && len(out) < 40 {
			out = append(out, b.String())
			b.Reset()
		}
	}
	if b.Len() > 0 {
		out = append(out, b.String())
	}
	return out
}

// rawArgs is what is sent as a call's arguments.
func rawArgs(c model.Call) string {
	if c.Broken != "" {
		return c.Broken
	}
	if len(c.Args) == 0 {
		return "{}"
	}
	return string(c.Args)
}
