package host

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// breakFile makes every write to an open file fail: its descriptor becomes one that is for reading only.
func breakFile(t *testing.T, name string) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	fds, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		target, err := os.Readlink(fd)
		n, _ := strconv.Atoi(filepath.Base(fd))
		if err == nil && strings.HasSuffix(target, name) {
			if err := syscall.Dup3(int(null.Fd()), n, syscall.O_CLOEXEC); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("%s is not open", name)
}

func TestAnUncertainCommitDropsTheInstance(t *testing.T) {
	arrived, release, first := make(chan struct{}, 10), make(chan struct{}), make(chan struct{})
	srv := remote(t, func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		if r.URL.Path == "/api/first" {
			<-first
		} else {
			<-release
		}
	})
	var broken bool
	var s *site
	s = open(t, "", targets(srv.URL), func(o *Options) {
		o.OnPoint = func(when, what, point string) {
			if when == "before" && point == "break" && !broken {
				broken = true
				close(first) // its outcome is in the mailbox when the instance is dropped, the other one in flight
				until(t, "an outcome that waits", func() bool { return len(s.actors[ws].box) == 1 })
				breakFile(t, "workspace_1_a.db-wal")
			}
		}
	})
	s.must(ws, `{"effect":{"id":"t1","type":"http","target":"discord","method":"GET","path":"/first"}},`+
		`{"effect":{"id":"t2","type":"http","target":"discord","method":"GET","path":"/second"}}`)
	<-arrived
	<-arrived
	if status, body := s.script(ws, `{"trace":"break"}`); status != 503 {
		t.Fatalf("%d %s", status, body)
	}
	close(release)
	// The new instance has a new owner, whose start event comes first; the old effect's outcome is nobody's.
	s.eventually(ws, "count(DISTINCT owner)", "type = 'start'", "[[2]]")
	s.must(ws, `{"trace":"x"}`)
	if got := s.seen(ws, "count(*)", "type = 'effect' OR data LIKE '%break%'"); got != "[[0]]" {
		t.Errorf("of the old instance: %s", got)
	}
}

// The new owner stays the actor's when the instance that was dropped is evicted before its wake comes.
func TestADroppedInstanceThatIsEvictedComesBackUnderTheNewOwner(t *testing.T) {
	broken := false
	s := open(t, "", func(o *Options) {
		o.Limits.Open = 1
		o.OnPoint = func(when, what, point string) {
			if when == "before" && point == "break" && !broken {
				broken = true
				breakFile(t, "workspace_1_a.db-wal")
			}
		}
	})
	s.must(ws, `{"trace":"x"}`)
	for range cap(s.wakes) { // many others are being woken
		s.wakes <- struct{}{}
	}
	defer s.release(s.acquire("workspace:1/busy"))
	if status, body := s.script(ws, `{"trace":"break"}`); status != 503 {
		t.Fatalf("%d %s", status, body)
	}
	until(t, "eviction", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.actors[ws] == nil
	})
	if got := s.seen(ws, "count(*), count(DISTINCT owner)", "type = 'start'"); got != "[[2,2]]" {
		t.Errorf("starts and their owners: %s, want two under two", got)
	}
	if got := s.seen(ws, "count(*)", "type = 'start'"); got != "[[2]]" { // opened again, since only one stays open
		t.Errorf("starts: %s, want no third", got)
	}
	for range cap(s.wakes) {
		<-s.wakes
	}
}
