package edge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

const runnerPath = "/v1/workspaces/11/main/runner"

func (d *deployment) dial(h http.Header) *websocket.Conn {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	c, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(d.URL, "http")+runnerPath, &websocket.DialOptions{HTTPHeader: h})
	if err != nil {
		d.t.Fatal(err)
	}
	c.SetReadLimit(1 << 20)
	d.t.Cleanup(func() { c.CloseNow() })
	return c
}

func (d *deployment) runner() *websocket.Conn {
	d.t.Helper()
	return d.dial(bearer("runner.11/main.1", "v1|runner|11/main|1"))
}

func (d *deployment) write(c *websocket.Conn, kind websocket.MessageType, text string) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := c.Write(ctx, kind, []byte(text)); err != nil {
		d.t.Fatal(err)
	}
}

// read gives the next frame, or the code and reason of the close.
func (d *deployment) read(c *websocket.Conn) (string, websocket.StatusCode, string) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	_, b, err := c.Read(ctx)
	var closed websocket.CloseError
	if errors.As(err, &closed) {
		return "", closed.Code, closed.Reason
	}
	if err != nil {
		d.t.Fatal(err)
	}
	return string(b), 0, ""
}

func socketOf(t *testing.T, e event) (s struct {
	Socket, Reason string
	Code           int
	Frame          json.RawMessage
}) {
	t.Helper()
	if err := json.Unmarshal(e.Data, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRunnerSocket(t *testing.T) {
	d := start(t, nil, nil)
	c := d.runner()
	// The test core sends each frame back; it must come as it went.
	for frame, want := range map[string]string{
		`{"type":"x","args":{"a":1.0,"b":12345678901234567890,"c":"\u003c"}}`: ``,
		`no JSON`: `"no JSON"`,
		`"` + strings.Repeat("x", 512<<10-2) + `"`: ``,
	} {
		if want == "" {
			want = frame
		}
		d.write(c, websocket.MessageText, frame)
		if got, code, _ := d.read(c); got != want {
			t.Errorf("got %.200s (%d), want %.200s", got, code, want)
		}
	}
	opened := d.await(home, "runner.open")
	socket := socketOf(t, opened).Socket
	if len(opened.Sockets) != 1 || opened.Sockets[0] != socket {
		t.Errorf("%+v", opened)
	}
	second := d.runner()
	d.write(second, websocket.MessageText, "{}")
	if got, _, _ := d.read(second); got != "{}" {
		t.Error(got)
	}
	c.Close(4444, "bye")
	closed := d.await(home, "runner.close")
	if s := socketOf(t, closed); s.Socket != socket || s.Code != 4444 || s.Reason != "bye" || len(closed.Sockets) != 1 || closed.Sockets[0] == socket {
		t.Errorf("%+v with %v", s, closed.Sockets)
	}
}

func TestRunnerClose(t *testing.T) {
	d := start(t, nil, nil)
	for _, tt := range []struct {
		name, effect, reason string
		code                 websocket.StatusCode
	}{
		{"as asked", `"code":4409,"reason":"hello again"`, "hello again", 4409},
		{"long reason", fmt.Sprintf(`"code":4400,"reason":%q`, strings.Repeat("ü", 100)), strings.Repeat("ü", 61), 4400},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d.t = t
			c := d.runner()
			d.write(c, websocket.MessageText, "{}")
			d.read(c)
			all := d.seen(home)
			socket := all[len(all)-1].Sockets[0]
			d.must(home, "do", fmt.Sprintf(`{"v":1,"reply":{"status":200},"effects":[{"type":"runner.send","socket":"gone","message":1},{"type":"runner.close","socket":%q,%s}]}`, socket, tt.effect))
			if _, code, reason := d.read(c); code != tt.code || reason != tt.reason {
				t.Errorf("closed with %d %q", code, reason)
			}
			d.until(func() bool { all := d.seen(home); return len(all[len(all)-1].Sockets) == 0 })
		})
	}
}

func TestRunnerBreaksTheProtocol(t *testing.T) {
	d := start(t, nil, nil)
	for _, tt := range []struct {
		name, frame string
		kind        websocket.MessageType
	}{
		{"binary", "{}", websocket.MessageBinary},
		{"too long", strings.Repeat("x", 512<<10+1), websocket.MessageText},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d.t = t
			c := d.runner()
			d.write(c, tt.kind, tt.frame)
			if _, code, _ := d.read(c); code != 4400 {
				t.Errorf("closed with %d", code)
			}
		})
	}
}

// An event that was not committed must not be lost in silence: the socket ends, and the runner says hello again.
func TestRunnerFrameThatFails(t *testing.T) {
	d := start(t, nil, nil)
	c := d.runner()
	d.must(home, "sql", `{"sql":"CREATE TRIGGER no BEFORE INSERT ON seen WHEN NEW.event LIKE '%runner.message%' BEGIN SELECT RAISE(ABORT, 'no'); END"}`)
	d.write(c, websocket.MessageText, "{}")
	if _, code, _ := d.read(c); code != 1013 {
		t.Errorf("closed with %d", code)
	}
}

// The sockets outlive the object: workerd evicts it after ten seconds without work, and the next frame makes another.
func TestRunnerSocketHibernates(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 12 seconds")
	}
	d := start(t, nil, nil)
	c := d.runner()
	d.write(c, websocket.MessageText, "1")
	d.read(c)
	<-time.After(12 * time.Second)
	d.write(c, websocket.MessageText, "2")
	if got, code, _ := d.read(c); got != "2" {
		t.Fatalf("%q, closed with %d", got, code)
	}
	owners, sockets := map[string]bool{}, map[string]bool{}
	for _, e := range d.seen(home) {
		if e.Type == "runner.message" {
			owners[e.Owner], sockets[socketOf(t, e).Socket] = true, true
		}
	}
	if len(owners) != 2 || len(sockets) != 1 {
		t.Errorf("%d owners, %d sockets", len(owners), len(sockets))
	}
}

func TestRevokedKeyIsRefused(t *testing.T) {
	d := start(t, nil, nil)
	c := d.runner()
	d.write(c, websocket.MessageText, "1")
	d.read(c)
	// A new configuration is a new deployment, which ends all sockets; the next one is refused.
	d.Kill()
	d.options.Env["HOLDFAST_TOKENS_LEAST"] = `{"runner.11/main":2}`
	d.run()
	if a := d.request("GET", runnerPath, nil, bearer("runner.11/main.1", "v1|runner|11/main|1")); a.Status != 401 {
		t.Errorf("%+v", a)
	}
	d.dial(bearer("runner.11/main.2", "v1|runner|11/main|2"))
}

// A key that is revoked while its socket is open ends it at the next message, which is not handled.
func TestRevokedKeyClosesItsSocket(t *testing.T) {
	d := start(t, nil, nil)
	c := d.runner()
	d.write(c, websocket.MessageText, "1")
	if got, _, _ := d.read(c); got != "1" {
		t.Fatal(got)
	}
	d.request("GET", "/rig/least?runner.11/main=2&runner.11/other=9", nil, nil)
	d.write(c, websocket.MessageText, "2")
	if got, code, reason := d.read(c); code != 4401 || !strings.Contains(reason, "revoked") {
		t.Errorf("%q, closed with %d %q", got, code, reason)
	}
	d.await(home, "runner.close")
	for _, e := range d.seen(home) {
		if e.Type == "runner.message" && string(socketOf(t, e).Frame) == "2" {
			t.Error("the message was handled")
		}
	}
	fresh := d.dial(bearer("runner.11/main.2", "v1|runner|11/main|2"))
	d.write(fresh, websocket.MessageText, "3")
	if got, code, _ := d.read(fresh); got != "3" {
		t.Errorf("the next key: %q, closed with %d", got, code)
	}
}
