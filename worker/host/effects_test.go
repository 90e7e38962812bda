package host

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"holdfast/actor"
)

// remote is a server that effects go to.
func remote(t testing.TB, f http.HandlerFunc) *httptest.Server {
	srv := httptest.NewServer(f)
	t.Cleanup(srv.Close)
	return srv
}

func targets(base string) func(*Options) {
	return func(o *Options) {
		o.Targets = map[string]Target{
			"discord":      {BaseURL: base + "/api", Credential: "bot-token"},
			"model:claude": {BaseURL: base, Credential: "claude-key", Format: "anthropic"},
			"model:gpt":    {BaseURL: base, Credential: "gpt-key", Format: "openai"},
			"model:local":  {BaseURL: base, Format: "openai"},
		}
	}
}

// outcome runs an effect and gives what came back.
func (s *site) outcome(effect string) (out actor.Outcome) {
	s.t.Helper()
	id := fmt.Sprintf("e%d", s.serial.Load())
	effect = strings.Replace(effect, "{", `{"id":"`+id+`","epoch":7,`, 1)
	s.must(ws, `{"effect":`+effect+`}`)
	where := fmt.Sprintf(`type = 'effect' AND json_extract(data, '$.id') = '%s'`, id)
	s.eventually(ws, "count(*)", where, "[[1]]")
	var rows [][]string
	if err := json.Unmarshal([]byte(s.seen(ws, "data", where)), &rows); err != nil {
		s.t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(rows[0][0]), &out); err != nil {
		s.t.Fatal(err)
	}
	if out.Epoch != 7 {
		s.t.Errorf("epoch %d, want 7", out.Epoch)
	}
	return out
}

func TestRequestsOfEffects(t *testing.T) {
	srv := remote(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-RateLimit-Bucket", "b")
		fmt.Fprintf(w, "%s %s auth=%q key=%q type=%q agent=%t x=%q %s", r.Method, r.URL, r.Header.Get("Authorization"),
			r.Header.Get("X-Api-Key"), r.Header.Get("Content-Type"), strings.HasPrefix(r.UserAgent(), "DiscordBot ("), r.Header.Get("X-Extra"), body)
	})
	s := open(t, "", targets(srv.URL))
	for _, c := range []struct{ effect, want string }{
		{`{"type":"http","target":"discord","method":"PATCH","path":"/channels/1?a=b","credential":"bot","body":{"content":"<é>"}}`,
			`PATCH /api/channels/1?a=b auth="Bot bot-token" key="" type="application/json" agent=true x="" {"content":"\u003cé\u003e"}`},
		{`{"type":"http","target":"discord","method":"POST","path":"/webhooks/1/t"}`,
			`POST /api/webhooks/1/t auth="" key="" type="" agent=true x="" `},
		{`{"type":"http","target":"model:claude","method":"POST","path":"/v1/messages","credential":"model:claude","headers":{"X-Extra":"1"},"body":[]}`,
			`POST /v1/messages auth="" key="claude-key" type="application/json" agent=false x="1" []`},
		{`{"type":"http","target":"model:gpt","method":"POST","path":"/v1/chat","credential":"model:gpt"}`,
			`POST /v1/chat auth="Bearer gpt-key" key="" type="" agent=false x="" `},
		{`{"type":"http","target":"model:local","method":"GET","path":"/v1/chat","credential":"model:local"}`,
			`GET /v1/chat auth="" key="" type="" agent=false x="" `},
	} {
		out := s.outcome(c.effect)
		if out.Kind != actor.OutcomeResponse || out.Status != 200 || out.Headers["x-ratelimit-bucket"] != "b" || out.Body != c.want {
			t.Errorf("%s:\n got %+v\nwant %s", c.effect, out, c.want)
		}
	}
}

func TestKindsOfOutcomes(t *testing.T) {
	release := make(chan struct{})
	srv := remote(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/redirect":
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		case "/api/slow":
			<-release
		case "/api/cut":
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, "short")
			panic(http.ErrAbortHandler)
		case "/api/huge":
			for range 9 {
				w.Write(make([]byte, 1<<20))
			}
		case "/api/binary":
			w.Write([]byte{0xff, 0xfe})
		case "/api/quotes":
			io.WriteString(w, strings.Repeat("\x01", 400<<10))
		default:
			w.WriteHeader(404)
		}
	})
	defer close(release)
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody.Close()
	s := open(t, "", targets(srv.URL), func(o *Options) {
		o.Targets["model:gone"] = Target{BaseURL: "http://" + nobody.Addr().String()}
	})
	get := func(path, more string) string {
		return `{"type":"http","target":"discord","method":"GET","path":"` + path + `"` + more + `}`
	}
	for name, c := range map[string]struct {
		effect, kind string
		status       int
	}{
		"a redirect is an answer":   {get("/redirect", ""), actor.OutcomeResponse, 302},
		"so is an error":            {get("/nothing", ""), actor.OutcomeResponse, 404},
		"no answer in time":         {get("/slow", `,"timeout_ms":20`), actor.OutcomeTimeout, 0},
		"cut off":                   {get("/cut", ""), actor.OutcomeNetwork, 0},
		"too long":                  {get("/huge", ""), actor.OutcomeRefused, 200},
		"nobody listens":            {`{"type":"http","target":"model:gone","method":"GET","path":"/"}`, actor.OutcomeUnsent, 0},
		"unknown target":            {`{"type":"http","target":"model:other","method":"GET","path":"/"}`, actor.OutcomeRefused, 0},
		"path is no path":           {`{"type":"http","target":"discord","method":"GET","path":"@evil.example/"}`, actor.OutcomeRefused, 0},
		"path leaves the base":      {get("/../x", ""), actor.OutcomeRefused, 0},
		"bad method":                {`{"type":"http","target":"discord","method":"A B","path":"/"}`, actor.OutcomeRefused, 0},
		"bot token to a model":      {`{"type":"http","target":"model:gpt","method":"GET","path":"/","credential":"bot"}`, actor.OutcomeRefused, 0},
		"model key to Discord":      {get("/x", `,"credential":"model:gpt"`), actor.OutcomeRefused, 0},
		"a model's key to another":  {`{"type":"http","target":"model:gpt","method":"GET","path":"/","credential":"model:claude"}`, actor.OutcomeRefused, 0},
		"Discord's is the bot only": {get("/x", `,"credential":"discord"`), actor.OutcomeRefused, 0},
	} {
		out := s.outcome(c.effect)
		if out.Kind != c.kind || out.Status != c.status {
			t.Errorf("%s: %s %d (%s), want %s %d", name, out.Kind, out.Status, out.Detail, c.kind, c.status)
		}
		for _, secret := range []string{"bot-token", "gpt-key", srv.URL} {
			if strings.Contains(out.Detail, secret) {
				t.Errorf("%s: the detail shows %s: %s", name, secret, out.Detail)
			}
		}
	}
	if out := s.outcome(get("/binary", "")); out.BodyB64 != "//4=" || out.Body != "" {
		t.Errorf("binary body: %+v", out)
	}
	if out := s.outcome(get("/quotes", "")); len(out.BodyB64) != 546136 || out.Body != "" {
		t.Errorf("a body that JSON would blow up beyond an event: %d base64 bytes", len(out.BodyB64))
	}
}

func TestLongAnswersComeInParts(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", (actor.MaxInlineBody*2+16)/16)
	srv := remote(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, long) })
	s := open(t, "", targets(srv.URL))
	out := s.outcome(`{"type":"http","target":"discord","method":"GET","path":"/"}`)
	if out.Parts != 3 || out.Body != "" || out.Status != 200 {
		t.Errorf("outcome: %+v", out)
	}
	got := s.seen(ws, `json_extract(data, '$.seq'), length(json_extract(data, '$.body_b64')), json_extract(data, '$.epoch')`, "type = 'effect.part'")
	if want := `[[0,699052,7],[1,699052,7],[2,24,7]]`; got != want {
		t.Errorf("parts: %s, want %s", got, want)
	}
	if got, want := s.seen(ws, "type", "type LIKE 'effect%'"), `[["effect.part"],["effect.part"],["effect.part"],["effect"]]`; got != want {
		t.Errorf("order: %s, want %s", got, want)
	}
}

func TestProgressWhileAnAnswerTakesLong(t *testing.T) {
	release, started := make(chan struct{}), make(chan struct{})
	srv := remote(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "seven b")
		w.(http.Flusher).Flush()
		close(started)
		<-release
	})
	s := open(t, "", targets(srv.URL))
	s.must(ws, `{"effect":{"id":"t1","epoch":2,"type":"http","target":"discord","method":"GET","path":"/","timeout_ms":600000}}`)
	<-started
	where := `type = 'progress' AND json_extract(data, '$.id') = 't1' AND json_extract(data, '$.epoch') = 2`
	for i := 1; i <= 2; i++ {
		s.clock.Advance(6 * time.Second)
		s.eventually(ws, "count(*)", where, fmt.Sprintf("[[%d]]", i))
	}
	s.eventually(ws, "max(json_extract(data, '$.bytes'))", where, "[[7]]")
	close(release)
	s.eventually(ws, "json_extract(data, '$.body')", "type = 'effect'", `[["seven b"]]`)
	s.clock.Advance(time.Hour)
	s.eventually(ws, "count(*)", where, "[[2]]")
}

func TestReplyComesBeforeEffects(t *testing.T) {
	answered := make(chan struct{})
	srv := remote(t, func(w http.ResponseWriter, r *http.Request) { <-answered })
	g := hold("before effect answer")
	s := open(t, "", targets(srv.URL), g.option)
	s.must(ws, `{"effect":{"id":"t1","type":"http","target":"discord","method":"GET","path":"/","point":"answer"}}`)
	close(answered) // must returned although the effect had not begun
	<-g.reached
	close(g.open)
	s.eventually(ws, "count(*)", "type = 'effect'", "[[1]]")
}

func TestActorsTellEachOther(t *testing.T) {
	s := open(t, "")
	const other = "directory:1"
	data := `{"do":[{"trace":"told"}]}`
	s.must(ws, `{"effect":{"id":"o1","epoch":3,"type":"actor","actor":"`+other+`","data":`+data+`}}`)
	s.eventually(ws, "json_extract(data, '$.kind'), json_extract(data, '$.status')", "type = 'effect'", `[["response",200]]`)
	got := s.seen(other, `json_extract(data, '$.id'), json_extract(data, '$.from')`, "type = 'actor'")
	if want := `[["workspace:1/a#o1","workspace:1/a"]]`; got != want {
		t.Errorf("message: %s, want %s", got, want)
	}
	// What cannot be committed is tried again, until it can.
	s.must(other, `{"sql":"CREATE TABLE ready (x INTEGER) STRICT"},{"sql":"DROP TABLE ready"}`)
	s.must(ws, `{"effect":{"id":"o2","type":"actor","actor":"`+other+`","data":{"do":[{"sql":"SELECT * FROM ready"}]}}}`)
	until(t, "a refused delivery", func() bool { return s.metric("events_total", "type", "actor", "result", "unavailable") > 0 })
	s.must(other, `{"sql":"CREATE TABLE ready (x INTEGER) STRICT"}`)
	until(t, "the retry", func() bool {
		s.clock.Advance(30 * time.Second)
		return s.seen(ws, "count(*)", "type = 'effect'") == "[[2]]"
	})
	// An actor that cannot exist is refused.
	s.must(ws, `{"effect":{"id":"o3","type":"actor","actor":"../x","data":{}}}`)
	s.eventually(ws, "json_extract(data, '$.kind')", "type = 'effect' AND json_extract(data, '$.id') = 'o3'", `[["refused"]]`)
}

// metric reads a counter of the host.
func (s *site) metric(name string, labels ...string) float64 {
	families, err := s.metrics.registry.Gather()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "holdfast_"+name {
			continue
		}
	next:
		for _, m := range f.GetMetric() {
			have := map[string]string{}
			for _, l := range m.GetLabel() {
				have[l.GetName()] = l.GetValue()
			}
			for i := 0; i < len(labels); i += 2 {
				if have[labels[i]] != labels[i+1] {
					continue next
				}
			}
			return m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return 0
}
