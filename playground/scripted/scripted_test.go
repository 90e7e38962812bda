package scripted

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"holdfast/actor/model"
)

// client plays the core: it encodes the transcript, sends it and decodes the answer.
type client struct {
	t      *testing.T
	server *httptest.Server
	format string
	req    model.Request
}

func newClient(t *testing.T, h http.Handler, format string) *client {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	tools := []model.Tool{{Name: "read", Schema: json.RawMessage(`{"type":"object"}`)}, {Name: "bash", Schema: json.RawMessage(`{"type":"object"}`)}}
	return &client{t: t, server: s, format: format, req: model.Request{Model: "m", Tools: tools}}
}

func (c *client) say(text string) {
	c.req.Messages = append(c.req.Messages, model.Message{Role: model.User, Text: text})
}

func (c *client) ask() (model.Answer, *model.Failure) {
	c.t.Helper()
	w, err := model.Encode(c.format, c.req)
	if err != nil {
		c.t.Fatal(err)
	}
	path := w.Path
	if c.format == model.OpenAI {
		path = "/v1" + path
	}
	r, err := http.NewRequest(http.MethodPost, c.server.URL+path, bytes.NewReader(w.Body))
	if err != nil {
		c.t.Fatal(err)
	}
	for k, v := range w.Headers {
		r.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body) // a cut stream fails here; what came is the answer
	headers := map[string]string{}
	for k := range resp.Header {
		headers[strings.ToLower(k)] = resp.Header.Get(k)
	}
	return model.Decode(c.format, resp.StatusCode, headers, body)
}

// step asks and takes the answer into the transcript, with result as the result of each call.
func (c *client) step(result string) model.Answer {
	c.t.Helper()
	a, f := c.ask()
	if f != nil {
		c.t.Fatal(f)
	}
	c.req.Messages = append(c.req.Messages, model.Message{Role: model.Assistant, Text: a.Text, Calls: a.Calls})
	if len(a.Calls) > 0 {
		m := model.Message{Role: model.ToolRole}
		for _, call := range a.Calls {
			m.Results = append(m.Results, model.Result{CallID: call.ID, Text: result})
		}
		c.req.Messages = append(c.req.Messages, m)
	}
	return a
}

func both(t *testing.T, test func(t *testing.T, s *Server, c *client)) {
	for _, format := range []string{model.Anthropic, model.OpenAI} {
		t.Run(format, func(t *testing.T) {
			s := New()
			test(t, s, newClient(t, s, format))
		})
	}
}

func TestFollowsTheScript(t *testing.T) {
	both(t, func(t *testing.T, s *Server, c *client) {
		const q = "maya says:\n!tool read {\"path\":\"a\"}\nignored\n!tool read {\"path\":\"b\"} && bash {\"command\":\"x && y\"}"
		c.say("an earlier message")
		c.say(q)
		a := c.step("first")
		if len(a.Calls) != 1 || a.Calls[0].Name != "read" || string(a.Calls[0].Args) != `{"path":"a"}` {
			t.Fatalf("first call: %+v", a)
		}
		b := c.step("second")
		if len(b.Calls) != 2 || string(b.Calls[1].Args) != `{"command":"x && y"}` {
			t.Fatalf("second call: %+v", b)
		}
		if b.Calls[0].ID == a.Calls[0].ID || b.Calls[0].ID == b.Calls[1].ID {
			t.Error("an id is used twice")
		}
		if end := c.step(""); end.Text != "second" || len(end.Calls) > 0 {
			t.Errorf("end: %+v", end)
		}
		if n := s.Calls(q); n != 3 {
			t.Errorf("%d calls counted", n)
		}
		c.say("hello")
		if echo := c.step(""); echo.Text != "hello" {
			t.Errorf("echo: %+v", echo)
		}
		if s.Total() != 4 {
			t.Errorf("%d calls in all", s.Total())
		}
	})
}

func TestSteeringAndSystemNotes(t *testing.T) {
	both(t, func(t *testing.T, _ *Server, c *client) {
		c.say("!tool read {}\n!say done")
		c.step("r")
		c.say("[system] something happened")
		if a := c.step(""); a.Text != "done" {
			t.Errorf("a system note moved the script: %+v", a)
		}
		c.say("!tool read {}\n!say one")
		c.step("r")
		c.say("!say two") // joins the turn: its own script counts from it
		if a := c.step(""); a.Text != "two" {
			t.Errorf("steering: %+v", a)
		}
	})
}

func TestFailures(t *testing.T) {
	both(t, func(t *testing.T, _ *Server, c *client) {
		c.say("!status 429 7\n!say never")
		for range 2 {
			if _, f := c.ask(); f == nil || f.Kind != model.FailRetry || f.RetryAfter != 7000 {
				t.Fatalf("status: %+v", f)
			}
		}
		c.say("!cut")
		if _, f := c.ask(); f == nil || f.Kind != model.FailRetry || !strings.Contains(f.Message, "cut") {
			t.Fatalf("cut: %+v", f)
		}
		c.say("!args {\"command\": \"rm")
		a, f := c.ask()
		if f != nil || len(a.Calls) != 1 || a.Calls[0].Name != "bash" || a.Calls[0].Broken != `{"command": "rm` {
			t.Fatalf("args: %+v, %v", a, f)
		}
		c.say("!flaky k 2 529\n!flaky k2 1 cut\n!say through")
		for i, kind := range []string{model.FailRetry, model.FailRetry, model.FailRetry, ""} {
			a, f = c.ask()
			if (f == nil) != (kind == "") {
				t.Fatalf("flaky, call %d: %+v, %v", i, a, f)
			}
		}
		if a.Text != "through" {
			t.Errorf("flaky: %+v", a)
		}
		for _, wrong := range []string{"!tool", "!tool read {", "!tool read {} x", "!dance", "!status 200", "!status"} {
			c.say(wrong)
			if _, f := c.ask(); f == nil || f.Kind != model.FailInvalid || !strings.Contains(f.Message, "script is wrong") {
				t.Errorf("%s: %+v", wrong, f)
			}
		}
	})
}

func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"!slow 90000\n!say late"}]}`))
		w := httptest.NewRecorder()
		done := make(chan struct{})
		go func() {
			New().ServeHTTP(w, r)
			close(done)
		}()
		synctest.Wait()
		select {
		case <-done:
			t.Fatal("answered at once")
		default:
		}
		<-done // the bubble's clock moves on by itself
		if !strings.Contains(w.Body.String(), `"late"`) {
			t.Errorf("answer %s", w.Body)
		}
	})
}

func TestRefusesWrongRequests(t *testing.T) {
	s := New()
	for _, c := range []struct {
		method, path, body, version string
		status                      int
	}{
		{"POST", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"x"}],"colour":1}`, "", 400},
		{"POST", "/v1/messages", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"}]}`, "", 400},
		{"POST", "/v1/messages", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"}]}`, "2023-06-01", 200},
		{"GET", "/v1/messages", "", "2023-06-01", 405},
		{"POST", "/v1/other", "{}", "", 404},
	} {
		r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
		if c.version != "" {
			r.Header.Set("anthropic-version", c.version)
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != c.status {
			t.Errorf("%s %s: %d, want %d: %s", c.method, c.path, w.Code, c.status, w.Body)
		}
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("GET", "/calls", nil))
	if got := strings.TrimSpace(w.Body.String()); got != `{"calls":{"x":1},"total":1}` {
		t.Errorf("calls: %s", got)
	}
}

// FuzzParse: no question makes the script fail, and every place in it is a step.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "!", "!flaky", "!flaky a", "!flaky a b c", "!slow x\n!tool", "!tool a {} && b", "x\r\n!say y"} {
		f.Add(s, 0)
	}
	f.Fuzz(func(t *testing.T, question string, n int) {
		st := parse(question).at(max(n, 0))
		if st.action.verb == "" && st.action.rest != "" {
			t.Errorf("%+v", st)
		}
		if st.action.verb == "!tool" {
			calls, err := toolCalls(st.action.rest, func(int) string { return "c" })
			if err == nil && len(calls) == 0 {
				t.Error("neither calls nor an error")
			}
		}
	})
}
