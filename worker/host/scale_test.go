package host

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast/actor"
)

// scale multiplies the sizes of these tests: with HOLDFAST_SCALE=25 a conversation has 50,000 entries, with 125 there
// are 10,000 workspaces (spec 8.3). What they assert is
// counted work, which does not depend on the machine.
func scale(n int) int {
	if k, err := strconv.Atoi(os.Getenv("HOLDFAST_SCALE")); err == nil && k > 0 {
		return n * k
	}
	return n
}

// lengthen gives a workspace's first conversation that many entries more, of 20 kB each.
func (s *site) lengthen(entries int) {
	s.t.Helper()
	err := s.inTurn(context.Background(), realWS, func(r *resident) error {
		if err := r.db.Begin(); err != nil {
			return err
		}
		_, err := r.db.Do(fmt.Sprintf(`INSERT INTO entry(conversation, kind, turn, body, created_wall)
			WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
			SELECT 1, CASE WHEN i %% 2 THEN 'user' ELSE 'assistant' END, 1, json_object('text', hex(randomblob(10000)), 'author', '1', 'name', 'maya'), 1 FROM n`, entries), nil)
		if err != nil {
			return err
		}
		return r.db.Commit()
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// rest waits until the workspace has nothing left to do.
func (s *site) rest() {
	s.t.Helper()
	s.advanceUntil("rest", func() bool {
		open := true
		err := s.inTurn(context.Background(), realWS, func(r *resident) error {
			rows, err := r.db.Do(`SELECT due FROM task WHERE due IS NOT NULL UNION ALL SELECT due FROM delivery WHERE due IS NOT NULL`, nil)
			open = len(rows) > 0
			return err
		})
		return err == nil && !open
	})
}

// wakeUp has the workspace handle one wake.
func (s *site) wakeUp() {
	s.t.Helper()
	if a := s.ask(context.Background(), realWS, &item{kind: actor.EventWake}, true); a.err != nil {
		s.t.Fatal(a.err)
	}
}

// steps are what SQLite has done for an actor since the last call.
func (s *site) steps() (n int) {
	s.t.Helper()
	if err := s.inTurn(context.Background(), realWS, func(r *resident) error { n = r.db.Steps(); return nil }); err != nil {
		s.t.Fatal(err)
	}
	return n
}

// TestTheWorkOfAWakeIsConstant opens a conversation of ever more entries, wakes it, and has it take another question:
// the statements do the same work (spec 3.7).
func TestTheWorkOfAWakeIsConstant(t *testing.T) {
	type work struct{ wake, turn int }
	measure := func(entries int) work {
		c := newTown(t)
		s := c.real("")
		s.configure("a")
		s.mention(realWS, messageID(0))
		until(t, "the answer", func() bool { return len(c.answers()) == 1 })
		s.rest()
		s.lengthen(entries)
		s.stop()

		begin := time.Now()
		s = c.real(s.opts.Data)
		s.wakeUp()
		took := time.Since(begin)
		s.rest()
		s.steps()
		s.clock.Advance(time.Second) // an event in the same millisecond as the last one moves the actor's clock too
		s.wakeUp()
		w := work{wake: s.steps()}
		if !s.mention(realWS, messageID(1)) {
			t.Fatal("the question was not taken")
		}
		until(t, "the model's call", func() bool { return c.modelCalls() == 2 })
		s.rest()
		w.turn = s.steps()
		t.Logf("%d entries: open, start and wake in %v; a wake %d steps, a turn %d", entries, took.Round(time.Millisecond), w.wake, w.turn)
		return w
	}
	small, large := measure(200), measure(scale(2000))
	// With ten times the entries, work that depends on them would be ten times as much; which branches of a statement
	// are taken makes a few steps' difference.
	if large.wake > small.wake*5/4 {
		t.Errorf("a wake took %d steps with few entries, %d with many", small.wake, large.wake)
	}
	if large.turn > small.turn*3/2 {
		t.Errorf("a turn took %d steps with few entries, %d with many", small.turn, large.turn)
	}
}

// openFiles counts this process's open databases below a directory.
func openFiles(t *testing.T, dir string) (n int) {
	t.Helper()
	fds, err := filepath.Glob("/proc/self/fd/*")
	if err != nil || len(fds) == 0 {
		t.Skip("no /proc here")
	}
	for _, fd := range fds {
		if target, err := os.Readlink(fd); err == nil && strings.HasPrefix(target, dir) && strings.HasSuffix(target, ".db") {
			n++
		}
	}
	return n
}

// TestManyWorkspacesFewOpenFiles touches many workspaces: only as many databases stay open as are allowed to.
func TestManyWorkspacesFewOpenFiles(t *testing.T) {
	const limit = 16
	c := newTown(t)
	s := c.real("", func(o *Options) { o.Limits.Open = limit })
	n := scale(80)
	for i := range n {
		s.configure(fmt.Sprintf("w%d", i))
	}
	s.eventuallyOpen(limit)
	until(t, "the others' files to be closed", func() bool { return openFiles(t, filepath.Join(s.opts.Data, actorsDir)) <= limit })
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	rss, _ := os.ReadFile("/proc/self/statm")
	pages, _ := strconv.Atoi(strings.Fields(string(rss) + " 0 0")[1])
	t.Logf("%d workspaces, %d of them open: heap %d MiB, resident %d MiB", n, limit, m.HeapInuse>>20, pages*os.Getpagesize()>>20)
	names, err := s.Workspaces(context.Background())
	if err != nil || len(names) != n {
		t.Errorf("%d workspaces are listed, %v", len(names), err)
	}
}

// TestAStartOpensOnlyWhoIsDue has many alarms in the index, of which a few are due.
func TestAStartOpensOnlyWhoIsDue(t *testing.T) {
	s := open(t, "")
	n, due := scale(80), 3
	for i := range n {
		at := 3_600_000
		if i < due {
			at = 60_000
		}
		s.must(fmt.Sprintf("workspace:1/w%d", i), fmt.Sprintf(`{"alarm":%d}`, at))
	}
	begin := time.Now()
	again := s.again(func(o *Options) {
		s.clock.Advance(2 * time.Minute)
		o.Clock = s.clock
	})
	again.eventuallyOpen(float64(due))
	t.Logf("%d workspaces, %d due: %v until those were open", n, due, time.Since(begin).Round(time.Millisecond))
	for i := range due {
		again.eventually(fmt.Sprintf("workspace:1/w%d", i), "count(*)", "type = 'wake'", "[[1]]")
	}
	if got := again.metric("actors_open"); got != float64(due) {
		t.Errorf("%v actors are open, want %d", got, due)
	}
}
