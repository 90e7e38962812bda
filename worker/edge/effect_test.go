package edge_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// outcome is actor.Outcome as it arrived.
type outcome struct {
	ID, Kind, Body, Detail string
	Epoch                  int64
	Status, Parts, Seq     int
	Headers                map[string]string
	BodyB64                string `json:"body_b64"`
}

func (e event) outcome(t *testing.T) (o outcome) {
	t.Helper()
	if err := json.Unmarshal(e.Data, &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// perform makes an actor of its own perform an effect, and gives all it saw once the outcome is there.
func (d *deployment) perform(actor, effect string) (outcome, []event) {
	d.t.Helper()
	d.must(actor, "do", `{"v":1,"reply":{"status":200},"effects":[`+effect+`]}`)
	e := d.await(actor, "effect")
	return e.outcome(d.t), d.seen(actor)
}

func TestHTTPEffectSendsWhatTheCoreSaid(t *testing.T) {
	type request struct {
		method, path, body string
		header             http.Header
	}
	got := make(chan request, 1)
	d := start(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got <- request{r.Method, r.URL.RequestURI(), string(b), r.Header}
		w.Header().Set("X-Answer", "Yes")
		w.WriteHeader(207)
		fmt.Fprint(w, "ünï")
	}, nil)
	// Numbers and escapes that JSON.parse and JSON.stringify would change.
	body := `{"a":1.0,"b":12345678901234567890,"c":"\u003cx\u003e","a":2, "d":[ ]}`
	tests := []struct{ name, target, credential, header, value, path string }{
		{"discord", "discord", "bot", "Authorization", "Bot bot-token", "/discord/channels/5?x=%20y"},
		{"no credential", "discord", "", "Authorization", "", "/discord/channels/5?x=%20y"},
		{"anthropic", "model:a", "model:a", "X-Api-Key", "key-a", "/a/channels/5?x=%20y"},
		{"openai", "model:o", "model:o", "Authorization", "Bearer key-o", "/o/channels/5?x=%20y"},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d.t = t
			o, _ := d.perform(fmt.Sprintf("workspace:11/w%d", i), fmt.Sprintf(`{"id":"d9","epoch":3,"type":"http","target":%q,"credential":%q,
				"method":"POST","path":"/channels/5?x=%%20y","headers":{"X-Mine":"1"},"body":%s,"timeout_ms":5000}`, tt.target, tt.credential, body))
			r := <-got
			if r.method != "POST" || r.path != tt.path || r.body != body || r.header.Get(tt.header) != tt.value {
				t.Errorf("%+v", r)
			}
			if r.header.Get("X-Mine") != "1" || r.header.Get("Content-Type") != "application/json" {
				t.Errorf("%v", r.header)
			}
			if strings.HasPrefix(r.header.Get("User-Agent"), "DiscordBot (") != (tt.target == "discord") {
				t.Errorf("User-Agent %q", r.header.Get("User-Agent"))
			}
			if o.ID != "d9" || o.Epoch != 3 || o.Kind != "response" || o.Status != 207 || o.Body != "ünï" || o.Headers["x-answer"] != "Yes" {
				t.Errorf("%+v", o)
			}
		})
	}
}

func TestHTTPOutcomes(t *testing.T) {
	hang := make(chan struct{})
	d := start(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/discord/redirect":
			http.Redirect(w, r, "/discord/elsewhere", http.StatusFound)
		case "/discord/hang":
			w.WriteHeader(200)
			w.(http.Flusher).Flush()
			<-hang
		case "/discord/cut":
			c, _, _ := w.(http.Hijacker).Hijack()
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
			c.Close()
		case "/discord/binary":
			w.Write([]byte{0xff, 0, 1})
		case "/discord/escapes":
			w.Write(make([]byte, 400<<10)) // six bytes each, as JSON
		case "/discord/huge":
			w.Write(make([]byte, 8<<20+1))
		}
	}, nil)
	t.Cleanup(func() { close(hang) })
	tests := []struct {
		name, effect, kind string
		status             int
	}{
		{"redirect", `"target":"discord","path":"/redirect"`, "response", 302},
		{"timeout", `"target":"discord","path":"/hang"`, "timeout", 0},
		{"cut", `"target":"discord","path":"/cut"`, "network", 0},
		{"nobody listens", `"target":"model:gone","path":"/x"`, "network", 0},
		{"binary", `"target":"discord","path":"/binary"`, "response", 200},
		{"escapes", `"target":"discord","path":"/escapes"`, "response", 200},
		{"too long", `"target":"discord","path":"/huge"`, "refused", 0},
		{"unknown target", `"target":"elsewhere","path":"/x"`, "refused", 0},
		{"inherited target", `"target":"constructor","path":"/x"`, "refused", 0},
		{"unknown model", `"target":"model:x","credential":"model:x","path":"/x"`, "refused", 0},
		{"wrong credential", `"target":"model:a","credential":"bot","path":"/x"`, "refused", 0},
		{"path leaves", `"target":"discord","path":"/../a/x"`, "refused", 0},
		{"path is no path", `"target":"discord","path":"@127.0.0.1/x"`, "refused", 0},
		{"bad header", `"target":"discord","path":"/x","headers":{"a b":"c"}`, "refused", 0},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d.t = t
			o, _ := d.perform(fmt.Sprintf("workspace:11/w%d", i), `{"id":"d1","type":"http","method":"GET","timeout_ms":1500,`+tt.effect+`}`)
			if o.Kind != tt.kind || o.Status != tt.status {
				t.Errorf("%.500s", fmt.Sprint(o))
			}
			if strings.Contains(o.Detail, "127.0.0.1") {
				t.Errorf("the detail names an address: %s", o.Detail)
			}
			if tt.name == "binary" && o.BodyB64 != base64.StdEncoding.EncodeToString([]byte{0xff, 0, 1}) {
				t.Errorf("%+v", o)
			}
			if b, _ := base64.StdEncoding.DecodeString(o.BodyB64); tt.name == "escapes" && len(b) != 400<<10 {
				t.Errorf("%d bytes", len(b))
			}
		})
	}
}

func TestLongAnswerComesInParts(t *testing.T) {
	want := strings.Repeat("0123456789abcdef", 80<<10) // 1.25 MiB
	d := start(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, want) }, nil)
	o, all := d.perform(home, `{"id":"t1","epoch":2,"type":"http","target":"model:a","method":"GET","path":"/x","timeout_ms":9000}`)
	var got strings.Builder
	parts := 0
	for _, e := range all {
		if e.Type != "effect.part" {
			continue
		}
		p := e.outcome(t)
		b, err := base64.StdEncoding.DecodeString(p.BodyB64)
		if err != nil || p.Seq != parts || p.ID != "t1" || p.Epoch != 2 || len(b) > 512<<10 {
			t.Errorf("part %d: %v %d bytes, %v", p.Seq, p.ID, len(b), err)
		}
		got.Write(b)
		parts++
	}
	if got.String() != want || o.Parts != 3 || parts != 3 || o.Status != 200 || o.Body != "" {
		t.Errorf("%d bytes in %d parts, outcome %+v", got.Len(), parts, o)
	}
}

// F31: a long call keeps its object, and says that it is alive. The alarm that keeps the object is not put off by that:
// the platform evicts an object 70 to 140 s after its last event, whatever it waits for.
func TestF31_LongCall(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 13 seconds")
	}
	begin := time.Now().UnixMilli()
	d := start(t, slow(13*time.Second), nil)
	d.must(home, "plan", fmt.Sprintf(`{"on":"progress","result":{"v":1,"alarm":%d}}`, begin+60_000))
	d.must(home, "do", fmt.Sprintf(`{"v":1,"alarm":%d,"reply":{"status":200},"effects":[%s]}`, begin+8000, longCall))
	<-time.After(14 * time.Second) // no request meanwhile
	if o := d.await(home, "effect").outcome(t); o.Kind != "response" || len(o.Body) < 10 {
		t.Errorf("%+v", o)
	}
	count := map[string]int{}
	for _, e := range d.seen(home) {
		count[e.Type]++
	}
	if count["progress"] != 2 || count["wake"] < 1 || count["start"] != 1 { // an alarm may be run twice (Cloudflare, "Alarms")
		t.Errorf("%v", count)
	}
}

const longCall = `{"id":"t1","type":"http","target":"model:a","method":"POST","path":"/x","timeout_ms":300000}`

// slow answers with a dot a second for so long.
func slow(long time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		end := time.After(long)
		for {
			select {
			case <-tick.C:
				fmt.Fprint(w, ".")
				w.(http.Flusher).Flush()
			case <-end:
				return
			}
		}
	}
}

func TestActorEffectReachesTheOtherActorOnce(t *testing.T) {
	d := start(t, nil, nil)
	o, _ := d.perform(home, `{"id":"o3","epoch":1,"type":"actor","actor":"directory:11","data":{"x":1.0}}`)
	if o.ID != "o3" || o.Kind != "response" || o.Status != 200 {
		t.Errorf("%+v", o)
	}
	e := d.await("directory:11", "actor")
	if string(e.Data) != `{"id":"workspace:11/main#o3","from":"workspace:11/main","data":{"x":1.0}}` || e.Actor != "directory:11" {
		t.Errorf("%s for %s", e.Data, e.Actor)
	}
	if o, _ := d.perform("workspace:11/b", `{"id":"o4","type":"actor","actor":"nobody","data":{}}`); o.Kind != "refused" {
		t.Errorf("%+v", o)
	}
}
