// Package scripted is a model provider that follows a script in the question itself. Tests and benchmarks use it; it
// speaks Anthropic Messages at /v1/messages and OpenAI Chat Completions at /v1/chat/completions.
//
// The script is in the last message that a person wrote: its lines that begin with "!". The n-th call after that
// message takes the n-th action; a question without such lines is echoed. After the last action the answer is the
// head of the last tool result.
//
//	!tool NAME {json}           calls a tool
//	!say TEXT                   answers, which ends the turn
//	!args {broken               calls a tool (bash, or the first one offered) with these bytes as arguments
//	!cut                        breaks the connection in the middle of an answer
//	!status CODE [retry-after]  fails with an HTTP status; the header is in seconds
//
// Two lines are no actions but change the action behind them:
//
//	!slow MS                    waits before it
//	!flaky KEY N CODE           fails its first N calls of that key with CODE ("cut" for a cut stream), then lets it pass
//
// Several !tool lines are several rounds; "!tool a {} && b {}" is one round with two calls. Only the counts behind !flaky and GET /calls
// are state; the place in the script follows from the transcript alone.
package scripted

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"holdfast/actor/model"
	"holdfast/playground/chat"
)

// maxSlow bounds !slow, so that a mistyped script cannot hold a server for long.
const maxSlow = 10 * time.Minute

// Server is the provider. Its zero value is not usable; New makes one.
type Server struct {
	mux *http.ServeMux

	mu    sync.Mutex
	calls map[string]int // by question
	flaky map[string]int // failures so far, by key
}

// New makes a provider that nobody has called yet.
func New() *Server {
	s := &Server{mux: http.NewServeMux(), calls: map[string]int{}, flaky: map[string]int{}}
	s.mux.HandleFunc("/v1/messages", func(w http.ResponseWriter, r *http.Request) { s.answer(w, r, model.Anthropic) })
	s.mux.HandleFunc("/v1/chat/completions", func(w http.ResponseWriter, r *http.Request) { s.answer(w, r, model.OpenAI) })
	s.mux.HandleFunc("GET /calls", s.serveCalls)
	return s
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Calls is how many valid requests asked this question, failed ones included.
func (s *Server) Calls(question string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[question]
}

// Total is how many valid requests there were.
func (s *Server) Total() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, c := range s.calls {
		n += c
	}
	return n
}

// serveCalls answers {"total":3,"calls":{"<question>":3}}.
func (s *Server) serveCalls(w http.ResponseWriter, _ *http.Request) {
	total := s.Total()
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{"total": total, "calls": s.calls})
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, format string) {
	body, ok := chat.Body(w, r, format)
	if !ok {
		return
	}
	read := chat.ReadOpenAI
	if format == model.Anthropic {
		read = chat.ReadAnthropic
		if r.Header.Get("anthropic-version") == "" {
			chat.Fail(w, format, http.StatusBadRequest, "anthropic-version: header is required")
			return
		}
	}
	q, err := read(body)
	if err != nil {
		chat.Fail(w, format, http.StatusBadRequest, err.Error())
		return
	}
	question, n := q.Question()
	s.mu.Lock()
	s.calls[question]++
	s.mu.Unlock()
	st := parse(question).at(n)
	if st.slow > 0 && !wait(r, st.slow) {
		return
	}
	s.perform(w, format, q, st)
}

// wait returns false when the client went away first.
func wait(r *http.Request, d time.Duration) bool {
	timer := time.NewTimer(min(d, maxSlow))
	defer timer.Stop()
	select {
	case <-r.Context().Done():
		return false
	case <-timer.C:
		return true
	}
}

func (s *Server) perform(w http.ResponseWriter, format string, q chat.Request, st step) {
	if code := s.failsNow(st.flaky); code != "" {
		st.action = action{verb: "!status", rest: code}
		if code == "cut" {
			st.action.verb = "!cut"
		}
	}
	id := func(i int) string { return fmt.Sprintf("call_%d", q.Calls()+1+i) }
	switch st.action.verb {
	case "!status":
		fail(w, format, st.action.rest)
	case "!cut":
		chat.Write(w, format, q, chat.Answer{Text: "This answer is cut in its middle, before it has an end.", Cut: true})
	case "!args":
		chat.Write(w, format, q, chat.Answer{Calls: []model.Call{{ID: id(0), Name: anyTool(q), Broken: st.action.rest}}})
	case "!say":
		chat.Write(w, format, q, chat.Answer{Text: st.action.rest})
	case "!tool":
		calls, err := toolCalls(st.action.rest, id)
		if err != nil {
			chat.Fail(w, format, http.StatusBadRequest, "the script is wrong: "+err.Error())
			return
		}
		chat.Write(w, format, q, chat.Answer{Calls: calls})
	case "":
		chat.Write(w, format, q, chat.Answer{Text: closing(q)})
	default:
		chat.Fail(w, format, http.StatusBadRequest, "the script is wrong: unknown line "+st.action.verb)
	}
}

// failsNow counts a failure of the first flaky line that still has some, and returns its code.
func (s *Server) failsNow(lines []flakyLine) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range lines {
		if s.flaky[f.key] < f.times {
			s.flaky[f.key]++
			return f.code
		}
	}
	return ""
}

func fail(w http.ResponseWriter, format, rest string) {
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		fields = []string{""}
	}
	code, err := strconv.Atoi(fields[0])
	if err != nil || code < 400 || code > 599 {
		chat.Fail(w, format, http.StatusBadRequest, "the script is wrong: status "+rest)
		return
	}
	if len(fields) > 1 {
		w.Header().Set("Retry-After", fields[1])
	}
	chat.Fail(w, format, code, "scripted failure")
}

func anyTool(q chat.Request) string {
	name := "bash"
	for i, t := range q.Tools {
		if t.Name == "bash" {
			return t.Name
		}
		if i == 0 {
			name = t.Name
		}
	}
	return name
}
