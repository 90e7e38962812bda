package host

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"holdfast/actor"
	"holdfast/clock"
	"holdfast/worker/engine"
	"holdfast/worker/engine/enginetest"
)

const testSecret = Secret("an old deployment secret")

// site is a host under test and its server.
type site struct {
	*Host
	t      testing.TB
	clock  *clock.Shifted
	server *httptest.Server
	opts   Options
}

// open starts a host on dir ("" for a new one) with the linked test core.
func open(t testing.TB, dir string, change ...func(*Options)) *site {
	t.Helper()
	if dir == "" {
		dir = t.TempDir()
	}
	s := &site{t: t, clock: &clock.Shifted{}}
	s.opts = Options{Data: dir, Secrets: []Secret{testSecret}, Clock: s.clock, Config: actor.Config{ApplicationID: "99"},
		Engine: engine.Linked{HandleFunc: enginetest.Handle, RouteFunc: enginetest.Route}}
	for _, f := range change {
		f(&s.opts)
	}
	var err error
	if s.Host, err = New(context.Background(), s.opts); err != nil {
		t.Fatal(err)
	}
	s.server = httptest.NewServer(s.Handler())
	t.Cleanup(s.stop)
	return s
}

func (s *site) stop() {
	s.server.CloseClientConnections()
	if err := s.Close(); err != nil {
		s.t.Error(err)
	}
	s.server.Close()
}

// again kills the host and opens another one on the same directory.
func (s *site) again(change ...func(*Options)) *site {
	s.t.Helper()
	s.Kill()
	s.stop()
	return open(s.t, s.opts.Data, change...)
}

// do sends a request and gives status and body; status 0 means that there was no answer.
func (s *site) do(method, path, body string, header ...string) (int, string) {
	s.t.Helper()
	req, err := http.NewRequest(method, s.server.URL+path, bytes.NewReader([]byte(body)))
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := s.server.Client().Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(b)
}

// script runs steps on an actor as one event and gives status and body.
func (s *site) script(actor, steps string) (int, string) {
	s.t.Helper()
	return s.do("POST", "/t/"+actor, `{"do":[`+steps+`]}`)
}

// must is script, and fails the test unless the answer is 200.
func (s *site) must(actor, steps string) string {
	s.t.Helper()
	status, body := s.script(actor, steps)
	if status != 200 {
		s.t.Fatalf("%s: %d %s", steps, status, body)
	}
	return body
}

// on sets what the test core does at its own events: on_start, on_wake, on_effect or on_resolve.
func (s *site) on(actor, column, steps string) {
	s.t.Helper()
	arg, _ := json.Marshal(`{"do":[` + steps + `]}`)
	s.must(actor, fmt.Sprintf(`{"sql":"UPDATE conf SET %s = ? WHERE id = 1","args":[%s]}`, column, arg))
}

// seen gives a query's rows as JSON, without the query's own event.
func (s *site) seen(actor, columns, where string) string {
	s.t.Helper()
	return s.must(actor, fmt.Sprintf(`{"sql":"SELECT %s FROM seen WHERE (%s) AND data NOT LIKE '%%FROM seen%%' ORDER BY n"}`, columns, where))
}

// eventually waits until seen gives want.
func (s *site) eventually(actor, columns, where, want string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		got := s.seen(actor, columns, where)
		if got == want {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			s.t.Fatalf("%s where %s: %s, want %s", columns, where, got, want)
		}
	}
}

// until waits until ok.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited in vain for: %s", what)
		}
	}
}

// gates let a test hold the host at a point.
type gates struct {
	reached chan string
	open    chan struct{}
	point   string
}

func hold(point string) *gates {
	return &gates{reached: make(chan string, 100), open: make(chan struct{}), point: point}
}

func (g *gates) option(o *Options) {
	o.OnPoint = func(when, what, point string) {
		if here := when + " " + what + " " + point; here == g.point {
			g.reached <- here
			<-g.open
		}
	}
}
