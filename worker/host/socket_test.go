package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"holdfast/actor/frame"
)

// runnerConn is a runner's end of a socket.
type runnerConn struct {
	*websocket.Conn
	t  *testing.T
	id string
}

func (s *site) dial(t *testing.T, n int) (*runnerConn, error) {
	t.Helper()
	token, err := Token(testSecret, KindRunner, "1/a", nil, n)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, s.server.URL+"/v1/workspaces/1/a/runner",
		&websocket.DialOptions{HTTPHeader: map[string][]string{"Authorization": {"Bearer " + token}}})
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { conn.CloseNow() })
	conn.SetReadLimit(1 << 20)
	return &runnerConn{Conn: conn, t: t}, nil
}

// connect dials and waits until the workspace knows the socket.
func (s *site) connect(t *testing.T) *runnerConn {
	t.Helper()
	c, err := s.dial(t, 1)
	if err != nil {
		t.Fatal(err)
	}
	opened := func() []string {
		var e struct{ Sockets []string }
		if err := json.Unmarshal([]byte(s.must(ws, `{"echo":true}`)), &e); err != nil {
			t.Fatal(err)
		}
		return e.Sockets
	}
	until(t, "an open socket", func() bool { return len(opened()) > 0 })
	all := opened()
	c.id = all[len(all)-1]
	s.eventually(ws, "count(*)", fmt.Sprintf(`type = 'runner.open' AND json_extract(data, '$.socket') = '%s'`, c.id), "[[1]]")
	return c
}

func (c *runnerConn) say(text string) {
	c.t.Helper()
	if err := c.Write(context.Background(), websocket.MessageText, []byte(text)); err != nil {
		c.t.Fatal(err)
	}
}

func (c *runnerConn) hear() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	_, b, err := c.Read(ctx)
	return string(b), err
}

// ends waits for the close frame and checks its code.
func (c *runnerConn) ends(code int, reason string) {
	c.t.Helper()
	for {
		_, err := c.hear()
		var closed websocket.CloseError
		if errors.As(err, &closed) && int(closed.Code) == code && closed.Reason == reason {
			return
		}
		if err != nil {
			c.t.Fatalf("ended by %v, want %d %q", err, code, reason)
		}
	}
}

func TestRunnerSocket(t *testing.T) {
	s := open(t, "")
	c := s.connect(t)
	c.say(`{"type":"hello","n":1}`)
	c.say("no JSON \x01 \u00e9")
	s.eventually(ws, `json_extract(data, '$.socket') = '`+c.id+`', json_extract(data, '$.frame')`, "type = 'runner.message'",
		`[[1,"{\"type\":\"hello\",\"n\":1}"],[1,"no JSON \u0001 é"]]`)
	var effects []string
	for i := range 100 {
		effects = append(effects, fmt.Sprintf(`{"effect":{"type":"runner.send","socket":%q,"message":{"n":%d}}}`, c.id, i))
	}
	effects = append(effects, `{"effect":{"type":"runner.send","socket":"s0","message":{}}}`,
		fmt.Sprintf(`{"effect":{"type":"runner.close","socket":%q,"code":4409,"reason":"lease"}}`, c.id))
	s.must(ws, strings.Join(effects, ","))
	for i := range 100 {
		if got, err := c.hear(); err != nil || got != fmt.Sprintf(`{"n":%d}`, i) {
			t.Fatalf("frame %d: %s %v", i, got, err)
		}
	}
	c.ends(4409, "lease")
	s.eventually(ws, "json_extract(data, '$.code'), json_extract(data, '$.reason')", "type = 'runner.close'", `[[4409,"lease"]]`)
	if body := s.must(ws, `{"echo":true}`); !strings.Contains(body, `"sockets":[]`) {
		t.Errorf("sockets: %s", body)
	}
}

func TestRunnerThatLeaves(t *testing.T) {
	s := open(t, "")
	s.connect(t).Close(4000, "bye")
	s.eventually(ws, "json_extract(data, '$.code'), json_extract(data, '$.reason')", "type = 'runner.close'", `[[4000,"bye"]]`)
	s.connect(t).CloseNow()
	s.eventually(ws, "json_extract(data, '$.code')", "type = 'runner.close'", `[[4000],[1006]]`)
	until(t, "an idle actor", func() bool { return s.metric("backlog") == 0 })
}

func TestRunnersThatAreCutOff(t *testing.T) {
	for name, c := range map[string]struct {
		do     func(*site, *runnerConn)
		code   int
		reason string
	}{
		"binary":         {func(_ *site, c *runnerConn) { c.Write(context.Background(), websocket.MessageBinary, []byte("x")) }, frame.CloseProtocol, "frames are text"},
		"too long":       {func(_ *site, c *runnerConn) { c.say(strings.Repeat("x", frame.MaxFrame+1)) }, frame.CloseProtocol, "a frame has at most 512 KiB"},
		"not committed":  {func(_ *site, c *runnerConn) { c.say(`{"do":[{"sql":"nonsense"}]}`) }, 1013, "try again"},
		"revoked":        {func(s *site, c *runnerConn) { s.SetLeast(map[string]int{"runner.1/a": 2}); c.say(`{}`) }, frame.CloseRevoked, "this token was revoked"},
		"edge is closed": {func(s *site, _ *runnerConn) { go s.Drain(context.Background()) }, 1001, "the edge is restarting"},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, "")
			conn := s.connect(t)
			c.do(s, conn)
			conn.ends(c.code, c.reason)
			if name != "edge is closed" {
				s.eventually(ws, "json_extract(data, '$.code')", "type = 'runner.close'", fmt.Sprintf("[[%d]]", c.code))
			}
		})
	}
}

func TestSlowRunnerIsCutOff(t *testing.T) {
	s := open(t, "")
	c := s.connect(t)
	big := fmt.Sprintf(`{"effect":{"type":"runner.send","socket":%q,"message":%q}}`, c.id, strings.Repeat("x", 500<<10))
	// Nothing is read at the other end: buffers fill, then the outbox, then it is cut.
	until(t, "the cut", func() bool {
		s.must(ws, big)
		return strings.Contains(s.must(ws, `{"echo":true}`), `"sockets":[]`)
	})
	s.eventually(ws, "json_extract(data, '$.code'), json_extract(data, '$.reason')", "type = 'runner.close'", `[[1008,"too slow"]]`)
}

func TestWhoMayConnect(t *testing.T) {
	s := open(t, "", func(o *Options) { o.Least = map[string]int{"runner.1/a": 1} })
	operator, _ := Token(testSecret, KindOperator, "ann", []string{"admin"}, 0)
	other, _ := Token(testSecret, KindRunner, "1/b", nil, 0)
	revoked, _ := Token(testSecret, KindRunner, "1/a", nil, 0)
	valid, _ := Token(testSecret, KindRunner, "1/a", nil, 1)
	for name, c := range map[string]struct {
		token string
		want  int
	}{
		"nobody":              {"", 401},
		"revoked":             {revoked, 401},
		"another workspace's": {other, 403},
		"an operator":         {operator, 403},
		"no WebSocket":        {valid, 426},
	} {
		if status, body := s.do("GET", "/v1/workspaces/1/a/runner", "", "Authorization", "Bearer "+c.token); status != c.want {
			t.Errorf("%s: %d %s, want %d", name, status, body, c.want)
		}
	}
	if n := s.metric("events_total", "type", "runner.open", "result", "committed"); n != 0 {
		t.Errorf("the actor was woken %v times", n)
	}
	for range maxSockets {
		s.connect(t)
	}
	if _, err := s.dial(t, 1); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("one too many: %v, want 503", err)
	}
}
