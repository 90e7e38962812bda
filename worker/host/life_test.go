package host

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/clock"
)

func TestAlarms(t *testing.T) {
	s := open(t, "")
	s.on(ws, "on_wake", `{"alarm":3600000}`)
	s.must(ws, `{"alarm":60000}`)
	s.clock.Advance(50 * time.Second)
	if got := s.must(ws, `{"alarm":10000},{"sql":"SELECT count(*) FROM seen WHERE type = 'wake'"}`); got != "[[0]]" {
		t.Fatalf("woken too early: %s", got)
	}
	s.clock.Advance(11 * time.Second)
	s.eventually(ws, "count(*)", "type = 'wake'", "[[1]]")
}

func TestAnAlarmOutlivesTheProcess(t *testing.T) {
	s := open(t, "")
	s.must(ws, `{"alarm":60000}`)
	s.must("workspace:1/later", `{"alarm":3600000}`)
	s.must("workspace:1/never", `{"trace":"x"}`)
	late := &clock.Shifted{}
	late.Advance(2 * time.Minute)
	s = s.again(func(o *Options) { o.Clock = late })
	s.eventuallyOpen(1)
	s.eventually(ws, "count(*)", "type = 'wake'", "[[1]]")
	if n := s.metric("actors_open"); n != 1 {
		t.Errorf("%v actors are open, want the one that is due", n)
	}
}

// eventuallyOpen waits until so many actors are open.
func (s *site) eventuallyOpen(n float64) {
	s.t.Helper()
	until(s.t, fmt.Sprintf("%v open actors", n), func() bool { return s.metric("actors_open") == n })
}

func TestEffectsInFlightAreTheNextStarts(t *testing.T) {
	arrived := make(chan struct{}, 10)
	release := make(chan struct{})
	srv := remote(t, func(http.ResponseWriter, *http.Request) { arrived <- struct{}{}; <-release })
	defer close(release)
	s := open(t, "", targets(srv.URL))
	s.must(ws, `{"alarm":3600000},{"effect":{"id":"t1","type":"http","target":"discord","method":"GET","path":"/"}}`)
	<-arrived
	s = s.again(targets(srv.URL))
	s.eventuallyOpen(1)
	s.eventually(ws, "count(*)", "type = 'start'", "[[2]]")
	s.eventually(ws, "count(*)", "type = 'effect'", "[[0]]")
}

func TestOneProcessPerDirectory(t *testing.T) {
	s := open(t, "")
	_, err := New(context.Background(), s.opts)
	if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), fmt.Sprintf("process %d;", os.Getpid())) {
		t.Fatalf("a second host: %v, want ErrLocked with our pid", err)
	}
	s.must(ws, `{"trace":"x"}`)
	s = s.again()
	if s.lock.clean {
		t.Error("after a kill the directory passes for clean")
	}
	s.must(ws, `{"trace":"x"}`)
	s.stop()
	if s = open(t, s.opts.Data); !s.lock.clean {
		t.Error("after a Close the directory passes for unclean")
	}
}

func TestAProcessThatIsEndingIsWaitedFor(t *testing.T) {
	dir := t.TempDir()
	never := func() bool { return false }
	old, err := lockDir(dir, never)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lockDir(dir, never); !errors.Is(err, ErrLocked) {
		t.Fatalf("while it runs: %v", err)
	}
	next, err := lockDir(dir, func() bool { return old.release(true) == nil })
	if err != nil {
		t.Fatalf("while it ends: %v", err)
	}
	if !next.clean {
		t.Error("what the old process said last was not read")
	}
	if err := next.release(true); err != nil {
		t.Fatal(err)
	}
}

func TestIdleActorsAreClosedOthersAreNot(t *testing.T) {
	release := make(chan struct{})
	srv := remote(t, func(http.ResponseWriter, *http.Request) { <-release })
	s := open(t, "", targets(srv.URL), func(o *Options) { o.Limits.Open = 3 })
	const busy = "workspace:1/busy"
	s.must(busy, `{"effect":{"id":"t1","type":"http","target":"discord","method":"GET","path":"/"}}`)
	for i := range 10 {
		s.must(fmt.Sprintf("workspace:1/w%d", i), `{"trace":"x"}`)
	}
	s.eventuallyOpen(3)
	s.mu.Lock()
	_, open := s.actors[busy]
	_, last := s.actors["workspace:1/w9"]
	_, first := s.actors["workspace:1/w0"]
	s.mu.Unlock()
	if !open || !last || first {
		t.Errorf("busy open: %t, last open: %t, first open: %t", open, last, first)
	}
	// Opening again under the same owner is no start.
	if got, want := s.seen("workspace:1/w0", "type", "1"), `[["start"],["interaction"]]`; got != want {
		t.Errorf("events: %s, want %s", got, want)
	}
	close(release)
	s.eventually(busy, "count(*)", "type = 'effect'", "[[1]]")
}

func TestKillAtEachPoint(t *testing.T) {
	for point, want := range map[string]struct{ committed, sent, outcome bool }{
		"before commit admit": {},
		"after commit admit":  {committed: true},
		"before effect model": {committed: true},
		"after effect model":  {committed: true, sent: true},
	} {
		t.Run(point, func(t *testing.T) {
			sent := make(chan struct{}, 10)
			srv := remote(t, func(http.ResponseWriter, *http.Request) { sent <- struct{}{} })
			killed := make(chan struct{})
			var s *site
			s = open(t, "", targets(srv.URL), func(o *Options) {
				o.OnPoint = func(when, what, name string) {
					if when+" "+what+" "+name == point {
						s.Kill()
						close(killed)
					}
				}
			})
			status, _ := s.script(ws, `{"trace":"admit"},{"effect":{"id":"t1","type":"http","target":"discord","method":"GET","path":"/","point":"model"}}`)
			<-killed
			if strings.Contains(point, "commit") && status != 0 {
				t.Errorf("answered %d", status)
			}
			s = s.again(targets(srv.URL))
			if got := s.seen(ws, "count(*)", "data LIKE '%admit%'"); (got == "[[1]]") != want.committed {
				t.Errorf("committed: %s, want %t", got, want.committed)
			}
			if got := s.seen(ws, "count(*)", "type = 'effect'"); got != "[[0]]" {
				t.Errorf("the outcome was delivered: %s", got)
			}
			if got := len(sent) == 1; got != want.sent {
				t.Errorf("sent: %t, want %t", got, want.sent)
			}
		})
	}
}

func TestDrainSaysTheSameEachTime(t *testing.T) {
	s := open(t, "")
	over, cancel := context.WithCancel(context.Background())
	cancel()
	for range 50 {
		if err := s.Drain(over); err != nil { // it is quiet: that the time is over too does not matter
			t.Fatalf("a quiet host: %v", err)
		}
	}
	s.Kill()
	for range 50 {
		if err := s.Drain(context.Background()); err == nil {
			t.Fatal("a dead host passes for drained")
		}
	}
}

func TestDrainFinishesWhatWasAccepted(t *testing.T) {
	release, arrived := make(chan struct{}), make(chan struct{})
	srv := remote(t, func(http.ResponseWriter, *http.Request) { close(arrived); <-release })
	s := open(t, "", targets(srv.URL))
	s.on(ws, "on_effect", `{"effect":{"id":"t2","type":"http","target":"discord","method":"GET","path":"/"}}`)
	s.on(ws, "on_wake", `{"trace":"x"}`)
	s.must(ws, `{"effect":{"id":"t1","type":"http","target":"discord","method":"GET","path":"/"}}`)
	<-arrived
	drained := make(chan error, 1)
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	go func() { drained <- s.Drain(ctx) }()
	until(t, "draining", s.isDraining)
	if status, _ := s.script(ws, `{"trace":"x"}`); status != 503 {
		t.Errorf("a new request: %d, want 503", status)
	}
	if status, _ := s.do("GET", "/readyz", ""); status != 503 {
		t.Errorf("readyz: %d, want 503", status)
	}
	close(release)
	// Each outcome asks for another effect, which comes back unsent, and so on: the context ends it.
	if err := <-drained; !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("drain: %v", err)
	}
}

func TestDamage(t *testing.T) {
	s := open(t, "")
	s.must(ws, `{"trace":"x"}`)
	s.stop()
	file := filepath.Join(s.opts.Data, "actors", "workspace_1_a.db")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	copy(b, "this is no database file")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	s = open(t, s.opts.Data)
	for range 2 {
		status, body := s.script(ws, `{"trace":"x"}`)
		if status != 503 || !strings.Contains(body, "The database is damaged") {
			t.Errorf("%d %s", status, body)
		}
	}
	if now, err := os.ReadFile(file); err != nil || string(now) != string(b) {
		t.Error("the damaged file was touched")
	}
	s.must("workspace:1/b", `{"trace":"x"}`) // others go on
}

func TestAFullDisk(t *testing.T) {
	s := open(t, "")
	s.must(ws, `{"trace":"x"}`)
	s.limit(ws, 40)
	big := `{"sql":"CREATE TABLE IF NOT EXISTS fill (x BLOB) STRICT"},{"sql":"INSERT INTO fill VALUES (?)","args":[{"blob":1000000}]}`
	status, body := s.script(ws, big)
	if status != 503 || !strings.Contains(body, "sql full") {
		t.Fatalf("%d %s, want the code full", status, body)
	}
	s.must(ws, `{"trace":"x"}`)
	s.limit(ws, 1<<20)
	s.must(ws, big)
}

// limit bounds an open actor's file.
func (s *site) limit(name string, pages int) {
	s.t.Helper()
	r := s.acquire(name)
	defer s.release(r)
	s.must(name, `{"trace":"settled"}`)
	if err := r.db.Limit(pages); err != nil { // the actor is idle: nobody else uses its database now
		s.t.Fatal(err)
	}
}
