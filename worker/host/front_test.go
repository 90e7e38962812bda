package host

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// verdict has the test core answer a request with this verdict.
func (s *site) verdict(v string, header ...string) (int, string) {
	s.t.Helper()
	return s.do("POST", "/verdict", v, header...)
}

func deliveries(script ...string) string {
	var all []string
	for i, steps := range script {
		all = append(all, fmt.Sprintf(`{"id":"m%d","actor":"workspace:1/a","type":"gateway","data":{"do":[%s]}}`, i, steps))
	}
	return `"deliver":[` + strings.Join(all, ",") + `]`
}

func TestModeOneStopsAtTheFirstThatIsNoSuccess(t *testing.T) {
	s := open(t, "")
	reply := func(status int, body string) string {
		return fmt.Sprintf(`{"reply":{"status":%d,"body":%q,"headers":{"X-A":"b"}}}`, status, body)
	}
	status, body := s.verdict(`{"mode":"one",` + deliveries(reply(201, "one"), reply(202, "two")) + `}`)
	if status != 202 || body != `"two"` {
		t.Errorf("all succeed: %d %s, want the last", status, body)
	}
	status, body = s.verdict(`{"mode":"one",` + deliveries(reply(404, "none"), reply(200, "never")) + `}`)
	if status != 404 || body != `"none"` {
		t.Errorf("one fails: %d %s, want it", status, body)
	}
	if got := s.seen(ws, "count(*)", "data LIKE '%never%'"); got != "[[0]]" {
		t.Errorf("the next one was delivered: %s", got)
	}
	status, body = s.verdict(`{"mode":"one","deliver":[{"answer":{"status":207,"body":1},"type":""}]}`)
	if status != 207 || body != "1" {
		t.Errorf("an answer without a delivery: %d %s", status, body)
	}
}

func TestModeGateway(t *testing.T) {
	s := open(t, "")
	ok := func(id string) string {
		return fmt.Sprintf(`{"reply":{"status":200,"body":{"id":%q,"status":"committed"}}}`, id)
	}
	for name, c := range map[string]struct{ verdict, want string }{
		"each one's answer": {deliveries(ok("m0"), ok("m1")), `{"id":"m0","status":"committed"},{"id":"m1","status":"committed"}`},
		"a failure holds back what comes after it, for the same actor": {
			strings.Replace(deliveries(ok("m0"), `{"sql":"nonsense"}`, ok("m2"), ok("m3")), `{"id":"m3","actor":"workspace:1/a"`, `{"id":"m3","actor":"workspace:1/b"`, 1),
			`{"id":"m0","status":"committed"},{"id":"m1","status":"retry"},{"id":"m2","status":"retry"},{"id":"m3","status":"committed"}`},
		"no success is a retry":    {deliveries(`{"reply":{"status":409,"body":{}}}`), `{"id":"m0","status":"retry"}`},
		"an answer of the front's": {`"deliver":[{"id":"x","type":"","answer":{"status":200,"body":{"id":"x","status":"ignored"}}}]`, `{"id":"x","status":"ignored"}`},
		"a place of nobody":        {`"deliver":[{"id":"x","type":"gateway","resolve":{"place":{"guild":""},"id":"1"}}]`, `{"id":"x","status":"ignored","reason":"unbound"}`},
		"nothing":                  {`"deliver":[]`, ``},
	} {
		status, body := s.verdict(`{"mode":"gateway",` + c.verdict + `}`)
		if want := `{"results":[` + c.want + `],"gaps":[]}`; status != 200 || body != want {
			t.Errorf("%s: %d %s, want %s", name, status, body, want)
		}
	}
}

func TestResolve(t *testing.T) {
	s := open(t, "")
	const dir = "directory:1"
	bind := func(workspace string) {
		s.on(dir, "on_resolve", `{"reply":{"status":200,"body":{"workspace":"`+workspace+`"}}}`)
	}
	asked := func() string { return s.seen(dir, "count(*)", "type = 'operator'") }
	ask := func(id, steps string) (int, string) {
		return s.verdict(`{"mode":"one","unbound":{"status":200,"body":"unbound"},"deliver":[{"type":"gateway","data":{"do":[` + steps +
			`]},"resolve":{"id":"` + id + `","place":{"guild":"1","channel":"5"}}}]}`)
	}
	where := func(workspace string) string {
		return s.seen("workspace:1/"+workspace, "count(*)", "type = 'gateway'")
	}
	s.on(dir, "on_resolve", `{"reply":{"status":404}}`)
	for range 2 { // a 404 is not kept
		if _, body := ask("100", ""); body != `"unbound"` {
			t.Fatalf("unbound: %s", body)
		}
	}
	if got := asked(); got != "[[2]]" {
		t.Errorf("asked %s times, want 2", got)
	}
	bind("a")
	ask("100", "")
	ask("101", "")
	if got := asked() + where("a"); got != "[[3]][[2]]" {
		t.Errorf("a later id within a minute: asked and delivered %s", got)
	}
	ask("99", "")
	if got := asked(); got != "[[4]]" {
		t.Errorf("an earlier id: asked %s times, want 4", got)
	}
	bind("b")
	ask("102", "")
	s.clock.Advance(61 * time.Second)
	ask("103", "")
	if got := where("a") + where("b"); got != "[[4]][[1]]" {
		t.Errorf("after a minute: %s", got)
	}
	// The workspace knows better than what is remembered.
	bind("a")
	ask("104", `{"error":{"code":"moved","message":"elsewhere"}}`)
	if got := where("a") + where("b"); got != "[[4]][[1]]" { // both said moved; the second time counts
		t.Errorf("moved: %s", got)
	}
	if status, body := ask("105", ""); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	if got := where("a"); got != "[[5]]" {
		t.Errorf("what the directory said after moved is remembered: %s", got)
	}
	bind("No Such Name")
	s.clock.Advance(61 * time.Second)
	if status, _ := ask("106", ""); status != 503 {
		t.Errorf("a directory that talks nonsense: %d, want 503", status)
	}
}

func TestLate(t *testing.T) {
	g := hold("before commit slow")
	s := open(t, "", g.option)
	answers := make(chan string, 1)
	go func() {
		status, body := s.verdict(`{"mode":"one","deadline_ms":2000,"withdraw":"k1","late":{"status":200,"body":"late"},` + deliveries(`{"trace":"slow"}`) + `}`)
		answers <- fmt.Sprint(status, body)
	}()
	<-g.reached
	s.clock.Advance(3 * time.Second)
	if got := <-answers; got != `200"late"` {
		t.Errorf("answer: %s", got)
	}
	close(g.open)
	s.eventually(ws, "type, json_extract(data, '$.key')", "type <> 'start'", `[["gateway",null],["withdraw","k1"]]`)
	// An actor that cannot commit is as good as late; without a late answer its own error is the answer.
	status, text := s.verdict(`{"mode":"one","late":{"status":200,"body":"late"},` + deliveries(`{"sql":"nonsense"}`) + `}`)
	if status != 200 || text != `"late"` {
		t.Errorf("unavailable with a late answer: %d %s", status, text)
	}
	if status, _ = s.verdict(`{"mode":"one",` + deliveries(`{"sql":"nonsense"}`) + `}`); status != 503 {
		t.Errorf("unavailable without one: %d", status)
	}
}

func TestDeadlineIsInTheEvent(t *testing.T) {
	s := open(t, "")
	_, body := s.verdict(`{"mode":"one","deadline_ms":2000,` + deliveries(`{"echo":true}`) + `}`)
	var e struct{ Now, Deadline int64 }
	if err := json.Unmarshal([]byte(body), &e); err != nil {
		t.Fatal(err)
	}
	if d := e.Deadline - e.Now; d > 2000 || d < 1000 {
		t.Errorf("%d ms are left, want 2000 at most", d)
	}
}

func TestWhatRouteGets(t *testing.T) {
	s := open(t, "")
	operator, err := Token(testSecret, KindOperator, "ann", []string{"read", "admin"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	status, body := s.do("PUT", "/echo?a=1&a=2&b=%ff", "ignored", "Authorization", "Bearer "+operator, "X-Signature-Ed25519", "AB", "Cookie", "secret=1")
	if status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	for _, want := range []string{`"method":"PUT"`, `"path":"/echo"`, `"a":"1"`, `"x-signature-ed25519":"AB"`, `"config":{"application_id":"99"`,
		`"caller":{"kind":"operator","subject":"ann","roles":["read","admin"]}`} {
		if !strings.Contains(body, want) {
			t.Errorf("the request lacks %s:\n%s", want, body)
		}
	}
	for _, secret := range []string{operator, "cookie", "authorization"} {
		if strings.Contains(body, secret) {
			t.Errorf("the core was shown %s", secret)
		}
	}
	for path, want := range map[string]int{"/panic": 500, "/refuse": 409, "/nothing": 404, "/healthz": 200, "/readyz": 200} {
		method := "POST"
		if strings.HasSuffix(path, "z") {
			method = "GET"
		}
		if status, body := s.do(method, path, ""); status != want {
			t.Errorf("%s: %d %s, want %d", path, status, body, want)
		}
	}
	if _, body := s.operator("GET", "/metrics", ""); !strings.Contains(body, `holdfast_http_requests_total{status="409"} 1`) {
		t.Errorf("metrics:\n%s", body)
	}
	if status, _ := s.do("POST", "/t/"+ws, strings.Repeat(" ", 1<<20+1)); status != 413 {
		t.Errorf("a body over 1 MiB: %d, want 413", status)
	}
}

func TestRelaySignature(t *testing.T) {
	s := open(t, "", func(o *Options) { o.Least = map[string]int{"relay.relay": 3} })
	key := func(n int) string { return token{kind: KindRelay, subject: "relay", n: n}.key(testSecret) }
	now := s.clock.Now().UnixMilli()
	for name, c := range map[string]struct {
		n      int
		at     int64
		signed string
		ok     bool
	}{
		"as it should be": {3, now, "body", true},
		"too old a key":   {2, now, "body", false},
		"another body":    {3, now, "other", false},
		"long ago":        {3, now - 301_000, "body", false},
		"in the future":   {3, now + 310_000, "body", false},
	} {
		stamp := strconv.FormatInt(c.at, 10)
		_, body := s.do("POST", "/echo", "body", "X-Holdfast-Key", fmt.Sprintf("relay.relay.%d", c.n), "X-Holdfast-Timestamp", stamp,
			"X-Holdfast-Signature", "v1="+sign(key(c.n), stamp+"."+c.signed))
		if got := strings.Contains(body, `"caller":{"kind":"relay"`); got != c.ok {
			t.Errorf("%s: caller found: %t, want %t", name, got, c.ok)
		}
	}
}

// TestMalformedRequests sends what no client would, as bytes: nothing may be answered with a 5xx.
func TestMalformedRequests(t *testing.T) {
	s := open(t, "")
	for name, raw := range map[string]string{
		"no HTTP":               "hello\r\n\r\n",
		"bad length":            "POST /t/workspace:1/a HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
		"cut body":              "POST /t/workspace:1/a HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\nConnection: close\r\n\r\n{}",
		"no JSON":               "POST /t/workspace:1/a HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n{",
		"actor with dots":       "POST /t/workspace:1/%2e%2e%2f HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}",
		"actor with NUL":        "POST /t/workspace:1/a%00 HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}",
		"actor with underscore": "POST /t/workspace:1/a_b HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}",
		"bytes in the path":     "GET /%ff%fe HTTP/1.1\r\nHost: x\r\n\r\n",
		"bytes in a header":     "GET /echo HTTP/1.1\r\nHost: x\r\nX-A: \xff\xfe\r\n\r\n",
		"bearer of nothing":     "GET /echo HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer hf1....\r\n\r\n",
		"bearer of numbers":     "GET /echo HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer hf1.runner.1/a.99999999999999999999.00\r\n\r\n",
		"relay of nothing":      "POST /echo HTTP/1.1\r\nHost: x\r\nX-Holdfast-Key: ..\r\nX-Holdfast-Timestamp: x\r\nContent-Length: 0\r\n\r\n",
		"runner without token":  "GET /v1/workspaces/1/a/runner HTTP/1.1\r\nHost: x\r\n\r\n",
		"odd method":            "BREW /echo HTTP/1.1\r\nHost: x\r\n\r\n",
		"two slashes":           "GET //echo HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		conn, err := net.Dial("tcp", s.server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, raw)
		conn.(*net.TCPConn).CloseWrite()
		conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		switch {
		case err != nil && name != "cut body":
			t.Errorf("%s: no answer: %v", name, err)
		case err == nil && resp.StatusCode >= 500:
			t.Errorf("%s: %s", name, resp.Status)
		}
		conn.Close()
	}
	files, err := filepath.Glob(filepath.Join(s.opts.Data, "actors", "*"))
	if err != nil || len(files) != 0 {
		t.Errorf("files were made: %v %v", files, err)
	}
	if _, err := os.Stat(s.opts.Data); err != nil {
		t.Fatal(err)
	}
}

func TestWhoMayReadMetrics(t *testing.T) {
	s := open(t, "")
	for name, c := range map[string]struct {
		kind, subject string
		roles         []string
		status        int
	}{
		"a reader":                     {KindOperator, "prometheus", []string{"read"}, 200},
		"an operator without the role": {KindOperator, "ann", []string{"approve"}, 403},
		"a runner":                     {KindRunner, "1/a", nil, 403},
	} {
		key, err := Token(testSecret, c.kind, c.subject, c.roles, 0)
		if err != nil {
			t.Fatal(err)
		}
		status, body := s.do("GET", "/metrics", "", "Authorization", "Bearer "+key)
		if status != c.status || strings.Contains(body, "holdfast_backlog") != (c.status == 200) {
			t.Errorf("%s: %d %.200s, want %d", name, status, body, c.status)
		}
	}
	for path, want := range map[string]int{"/metrics": 401, "/healthz": 200, "/readyz": 200} {
		if status, body := s.do("GET", path, ""); status != want {
			t.Errorf("%s of nobody: %d %s, want %d", path, status, body, want)
		}
	}
}
