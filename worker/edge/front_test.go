package edge_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// verdict posts a request whose body the test core takes for its verdict.
func (d *deployment) verdict(text string) answer {
	d.t.Helper()
	return d.request("POST", "/verdict", []byte(text), nil)
}

const reply200 = `{"v":1,"reply":{"status":200,"body":{"n":%d}}}`

// delivery is a delivery of an operator event that the test core answers with result.
func delivery(to, result string) string {
	return fmt.Sprintf(`{"id":"e","%s,"type":"operator","data":{"op":"do","args":%s}}`, to, result)
}

const (
	toHome  = `actor":"workspace:11/main"`
	toPlace = `resolve":{"place":{"guild":"11","channel":"5","type":0,"parent":"","category":""},"id":"%s"}`
)

func TestModeOne(t *testing.T) {
	d := start(t, nil, nil)
	d.make(home)
	answers := func(n int) string { return delivery(toHome, fmt.Sprintf(reply200, n)) }
	refuses := delivery(toHome, `{"v":1,"reply":{"status":409,"headers":{"X-Mine":"1","Content-Type":"text/plain"},"body":"no"}}`)
	tests := []struct {
		name, verdict string
		status        int
		body          string
	}{
		{"a reply", `{"reply":{"status":202,"body":{"a": 1.0}}}`, 202, `{"a": 1.0}`},
		{"no body", `{"reply":{"status":204}}`, 204, ``},
		{"one delivery", `{"mode":"one","deliver":[` + answers(1) + `]}`, 200, `{"n":1}`},
		{"the last answers", `{"mode":"one","deliver":[` + answers(1) + `,` + answers(2) + `]}`, 200, `{"n":2}`},
		{"an answer at hand", `{"mode":"one","deliver":[{"answer":{"status":200,"body":{"x":1.0}}}]}`, 200, `{"x":1.0}`},
		{"a refusal ends it", `{"mode":"one","deliver":[` + refuses + `,` + answers(2) + `]}`, 409, `"no"`},
		{"no such actor", `{"mode":"one","deliver":[` + delivery(`actor":"workspace:../x"`, "{}") + `]}`, 404, `{"error":{"code":"not_found","message":"There is no such workspace."}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d.t = t
			if a := d.verdict(tt.verdict); a.Status != tt.status || a.Body != tt.body {
				t.Errorf("%d %s", a.Status, a.Body)
			}
		})
	}
	a := d.verdict(`{"mode":"one","deliver":[` + refuses + `]}`)
	if a.Header.Get("X-Mine") != "1" || a.Header.Get("Content-Type") != "text/plain" {
		t.Errorf("%v", a.Header)
	}
}

// bind makes the directory answer resolve with result.
func (d *deployment) bind(result string) {
	d.t.Helper()
	d.must("directory:11", "plan", fmt.Sprintf(`{"on":"resolve","result":%s}`, result))
}

// resolved counts what the directory was asked, and gives the last question.
func (d *deployment) resolved() (n int, last string) {
	d.t.Helper()
	for _, e := range d.seen("directory:11") {
		if strings.Contains(string(e.Data), `"op":"resolve"`) {
			n, last = n+1, string(e.Data)
		}
	}
	return n, last
}

func TestResolve(t *testing.T) {
	d := start(t, nil, nil)
	d.make(home)
	ask := func(id string) answer {
		return d.verdict(`{"mode":"one","deliver":[` + delivery(fmt.Sprintf(toPlace, id), fmt.Sprintf(reply200, 7)) + `],"unbound":{"status":200,"body":{"unbound":true}}}`)
	}
	d.bind(`{"v":1,"reply":{"status":404,"body":{}}}`)
	for range 2 {
		if a := ask("900"); a.Body != `{"unbound":true}` {
			t.Errorf("%+v", a)
		}
	}
	if n, _ := d.resolved(); n != 2 {
		t.Errorf("asked %d times: a 404 is not kept", n)
	}
	d.bind(`{"v":1,"reply":{"status":200,"body":{"workspace":"main"}}}`)
	for _, tt := range []struct {
		id    string
		asked int
	}{{"900", 3}, {"900", 3}, {"1000", 3}, {"899", 4}} {
		if a := ask(tt.id); a.Body != `{"n":7}` {
			t.Errorf("%+v", a)
		}
		if n, _ := d.resolved(); n != tt.asked {
			t.Errorf("after %s the directory was asked %d times, want %d", tt.id, n, tt.asked)
		}
	}
	// A workspace that says it is the wrong one is believed once.
	a := d.verdict(`{"mode":"one","deliver":[` + delivery(fmt.Sprintf(toPlace, "1000"), `{"v":1,"reply":{"status":409,"body":{"error":{"code":"moved"}}}}`) + `]}`)
	if n, _ := d.resolved(); n != 5 || a.Status != 409 {
		t.Errorf("the directory was asked %d times; %+v", n, a)
	}
	if _, last := d.resolved(); !strings.Contains(last, `"args":{"place":{"guild":"11","channel":"5"`) {
		t.Error(last)
	}
}

func TestModeGateway(t *testing.T) {
	d := start(t, nil, nil)
	for _, name := range []string{home, "workspace:11/other", "workspace:11/third"} {
		d.make(name)
	}
	d.bind(`{"v":1,"reply":{"status":404,"body":{}}}`)
	committed := delivery(toHome, `{"v":1,"reply":{"status":200,"body":{"id":"e","status":"committed"}}}`)
	a := d.verdict(`{"mode":"gateway","deliver":[` + strings.Join([]string{
		committed,
		delivery(fmt.Sprintf(toPlace, "900"), "{}"),
		`{"answer":{"status":200,"body":{"id":"e","status":"rejected"}}}`,
		delivery(`actor":"nobody"`, "{}"),
		strings.Replace(committed, `"do"`, `"fail"`, 1),
		committed, // the actor gets its events in order, so this one waits for the one before
		strings.Replace(strings.Replace(committed, "main", "other", 1), `"do"`, `"panic"`, 1),
		strings.Replace(committed, "main", "third", 1),
	}, ",") + `]}`)
	want := `{"results":[{"id":"e","status":"committed"},{"id":"e","status":"ignored","reason":"unbound"},{"id":"e","status":"rejected"},` +
		strings.Repeat(`{"id":"e","status":"retry"},`, 4) + `{"id":"e","status":"committed"}],"gaps":[]}`
	if a.Status != 200 || a.Body != want {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a := d.verdict(`{"mode":"gateway","deliver":[]}`); a.Body != `{"results":[],"gaps":[]}` {
		t.Errorf("%+v", a)
	}
}

// F32: an actor that does not answer in time is answered for, and what it may still do is withdrawn.
func TestF32_Late(t *testing.T) {
	d := start(t, nil, nil)
	d.make(home)
	d.must(home, "seen", "null")
	const late = `"late":{"status":200,"body":{"late":true}},"withdraw":"k1"}`
	begin := time.Now()
	a := d.verdict(`{"mode":"one","deadline_ms":1000,"deliver":[` + delivery(toHome, `{"v":1,"reply":{"status":200,"body":1}}`) + `],` + late)
	if a.Body != "1" {
		t.Errorf("in time: %+v", a)
	}
	for _, e := range d.seen(home) {
		if off := e.Deadline - begin.UnixMilli() - 1000; strings.Contains(string(e.Data), `"do"`) && (off < -100 || off > 5000) {
			t.Errorf("the deadline is %d ms off", off)
		}
	}
	// A crash four times over is no answer either.
	a = d.verdict(`{"mode":"one","deadline_ms":60000,"deliver":[` + strings.Replace(delivery(toHome, `1`), `"do"`, `"panic"`, 1) + `],` + late)
	if a.Status != 200 || a.Body != `{"late":true}` {
		t.Errorf("%+v", a)
	}
	if e := d.await(home, "withdraw"); string(e.Data) != `{"key":"k1"}` {
		t.Errorf("%+v", e)
	}
}

// The core hears of a request what it needs, and nothing that is secret.
func TestRequestAsTheCoreSeesIt(t *testing.T) {
	d := start(t, nil, nil)
	h := bearer("operator.maya+read+approve.2", "v1|operator|maya|read,approve|2")
	h.Set("Cookie", "a=b")
	h.Set("X-Signature-Ed25519", "ff")
	a := d.request("POST", "/do/echo?a=1&b=%20&a=2", []byte("body"), h)
	var got struct {
		Method, Path   string
		Query, Headers map[string]string
		Caller         struct {
			Kind, Subject string
			Roles         []string
		}
		Config struct {
			PublicKeys []string `json:"public_keys"`
		}
	}
	if err := json.Unmarshal([]byte(a.Body), &got); err != nil {
		t.Fatal(err, a.Body)
	}
	if got.Method != "POST" || got.Path != "/do/echo" || got.Query["a"] != "1" || got.Query["b"] != " " || got.Headers["x-signature-ed25519"] != "ff" {
		t.Errorf("%s", a.Body)
	}
	if got.Caller.Kind != "operator" || got.Caller.Subject != "maya" || fmt.Sprint(got.Caller.Roles) != "[read approve]" || len(got.Config.PublicKeys) != 1 {
		t.Errorf("%s", a.Body)
	}
	for _, word := range []string{"hf1.", "a=b", "bot-token", "key-a", secret} {
		if strings.Contains(a.Body, word) {
			t.Errorf("the core was told %q", word)
		}
	}
}

func TestCallers(t *testing.T) {
	const old = "fedcba9876543210fedcba9876543210"
	d := start(t, nil, map[string]string{"HOLDFAST_SECRET_OLD": old, "HOLDFAST_TOKENS_LEAST": `{"operator.maya":2,"runner.11/main":5,"relay.relay":1}`})
	body := []byte(`{"x":1}`)
	relay := func(n, secret string, skew time.Duration, signed string) http.Header {
		at := fmt.Sprint(time.Now().Add(skew).UnixMilli())
		return http.Header{"X-Holdfast-Key": {"relay.relay." + n}, "X-Holdfast-Timestamp": {at},
			"X-Holdfast-Signature": {"v1=" + key(key(secret, "v1|relay|"+n), at+"."+signed)}}
	}
	tests := []struct {
		name   string
		header http.Header
		want   string
	}{
		{"nobody", nil, ""},
		{"operator", bearer("operator.maya+read.2", "v1|operator|maya|read|2"), "operator maya [read]"},
		{"operator without roles", bearer("operator.maya.2", "v1|operator|maya||2"), "operator maya []"},
		{"roles that were not given", bearer("operator.maya+read+admin.2", "v1|operator|maya|read|2"), ""},
		{"unknown role", bearer("operator.maya+root.2", "v1|operator|maya|root|2"), ""},
		{"revoked", bearer("operator.maya+read.1", "v1|operator|maya|read|1"), ""},
		{"another's number", bearer("operator.leo+read.1", "v1|operator|leo|read|1"), "operator leo [read]"},
		{"runner", bearer("runner.11/main.5", "v1|runner|11/main|5"), "runner 11/main []"},
		{"revoked runner", bearer("runner.11/main.4", "v1|runner|11/main|4"), ""},
		{"a number written differently", bearer("runner.11/main.05", "v1|runner|11/main|05"), ""},
		{"old secret", http.Header{"Authorization": {"Bearer hf1.runner.11/main.5." + key(old, "v1|runner|11/main|5")}}, "runner 11/main []"},
		{"wrong secret", http.Header{"Authorization": {"Bearer hf1.runner.11/main.5." + key("wrong", "v1|runner|11/main|5")}}, ""},
		{"no key", http.Header{"Authorization": {"Bearer hf1.runner.11/main.5."}}, ""},
		{"inherited kind", bearer("constructor.x.1", "v1|constructor|x|1"), ""},
		{"a relay has no bearer", bearer("relay.relay.1", "v1|relay|1"), ""},
		{"relay", relay("1", secret, 0, string(body)), "relay relay []"},
		{"relay of the old secret", relay("1", old, 0, string(body)), "relay relay []"},
		{"relay, a little late", relay("1", secret, -4*time.Minute, string(body)), "relay relay []"},
		{"relay, too late", relay("1", secret, -6*time.Minute, string(body)), ""},
		{"relay, too early", relay("1", secret, 6*time.Minute, string(body)), ""},
		{"relay, another body", relay("1", secret, 0, `{"x":2}`), ""},
		{"relay, revoked", relay("0", secret, 0, string(body)), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d.t = t
			var got struct {
				Caller *struct {
					Kind, Subject string
					Roles         []string
				}
			}
			a := d.request("POST", "/do/echo", body, tt.header)
			if err := json.Unmarshal([]byte(a.Body), &got); err != nil {
				t.Fatal(err, a.Body)
			}
			who := ""
			if got.Caller != nil {
				who = fmt.Sprint(got.Caller.Kind, " ", got.Caller.Subject, " ", got.Caller.Roles)
			}
			if who != tt.want {
				t.Errorf("got %q, want %q", who, tt.want)
			}
		})
	}
}

// Bad input is the sender's fault: never a 5xx.
func TestBadInput(t *testing.T) {
	d := start(t, nil, nil)
	tests := []struct {
		name, method, path string
		body               []byte
		header             http.Header
		status             int
	}{
		{"long body", "POST", "/verdict", make([]byte, 1<<20+1), nil, 413},
		{"longest body", "POST", "/do/echo", make([]byte, 1<<20), nil, 200},
		{"refused by the core", "POST", "/do/fail", nil, nil, 400},
		{"no UTF-8", "POST", "/do/echo?%ff=%zz", []byte{0xff, 0xfe}, nil, 200},
		{"odd escapes", "GET", "/do/fail", nil, http.Header{"Authorization": {"Bearer hf1.%.%.%.%"}}, 400},
		{"odd relay headers", "POST", "/do/fail", nil, http.Header{"X-Holdfast-Key": {"relay.relay.999999999999"}, "X-Holdfast-Timestamp": {"1e9"}, "X-Holdfast-Signature": {"v1=zz"}}, 400},
		{"runner without a key", "GET", "/v1/workspaces/11/main/runner", nil, nil, 401},
		{"runner of another workspace", "GET", "/v1/workspaces/11/main/runner", nil, bearer("runner.11/other.1", "v1|runner|11/other|1"), 403},
		{"runner without an upgrade", "GET", "/v1/workspaces/11/main/runner", nil, bearer("runner.11/main.1", "v1|runner|11/main|1"), 426},
		{"runner by POST", "POST", "/v1/workspaces/11/main/runner", nil, bearer("runner.11/main.1", "v1|runner|11/main|1"), 426},
		{"metrics", "GET", "/metrics", nil, nil, 404},
		{"health", "GET", "/healthz", nil, nil, 200},
		{"ready", "GET", "/readyz", nil, nil, 200},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d.t = t
			if a := d.request(tt.method, tt.path, tt.body, tt.header); a.Status != tt.status {
				t.Errorf("%d %.300s", a.Status, a.Body)
			}
		})
	}
}

func TestIncompleteConfigurationIsNotReady(t *testing.T) {
	d := start(t, nil, map[string]string{"HOLDFAST_SECRET": "short", "HOLDFAST_MODELS": `{"A":{"format":"x"}}`, "HOLDFAST_TOKENS_LEAST": `{"relay.relay":"2"}`, "HOLDFAST_DISCORD_PUBLIC_KEYS": ""})
	a := d.request("GET", "/readyz", nil, nil)
	for _, name := range []string{"HOLDFAST_SECRET", "HOLDFAST_MODELS", "HOLDFAST_TOKENS_LEAST", "HOLDFAST_DISCORD_PUBLIC_KEYS"} {
		if !strings.Contains(a.Body, name) {
			t.Errorf("nothing about %s: %s", name, a.Body)
		}
	}
	if a.Status != 503 || strings.Contains(a.Body, "short") {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a := d.verdict(`{"reply":{"status":200}}`); a.Status != 503 {
		t.Errorf("it serves: %+v", a)
	}
}

// What is deployed has no rig: neither its paths nor its points.
func TestProductionHasNoRig(t *testing.T) {
	d := start(t, nil, nil)
	d.make(home)
	d.Kill()
	d.options.Rig = false
	d.options.Env["HOLDFAST_RIG_KILL"] = "before commit admit"
	d.run()
	for _, path := range []string{"/rig/core", "/rig/counters", "/rig/deliver"} {
		if a := d.request("POST", path, []byte(`{"reply":{"status":418}}`), nil); a.Status != 418 {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
	a := d.verdict(`{"mode":"one","deliver":[` + delivery(toHome, `{"v":1,"reply":{"status":200,"body":1},"trace":[{"name":"admit"}]}`) + `]}`)
	if a.Body != "1" {
		t.Errorf("%+v", a)
	}
}
