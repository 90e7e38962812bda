package host

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"holdfast/actor"
	"holdfast/actor/errs"
)

// held fills an actor's mailbox while the actor is held, so that all of it waits when it is let go, and gives the
// answers in the order of the scripts.
func (s *site) held(name string, scripts ...string) []answer {
	s.t.Helper()
	holds, let := make(chan struct{}), make(chan struct{})
	if err := s.post(name, &item{direct: func(*resident) { close(holds); <-let }}, true); err != nil {
		s.t.Fatal(err)
	}
	<-holds
	got := make([]chan answer, len(scripts))
	for i, steps := range scripts {
		got[i] = make(chan answer, 1)
		it := &item{kind: actor.EventInteraction, data: []byte(`{"do":[` + steps + `]}`), done: func(a answer) { got[i] <- a }}
		if err := s.post(name, it, true); err != nil {
			s.t.Fatal(err)
		}
	}
	close(let)
	answers := make([]answer, len(scripts))
	for i := range got {
		select {
		case answers[i] = <-got[i]:
		case <-s.dead:
			answers[i] = answer{err: errDown}
		}
	}
	return answers
}

// commits is how many commits the host has made.
func (s *site) commits() uint64 {
	s.t.Helper()
	var m dto.Metric
	if err := s.metrics.commits.(prometheus.Metric).Write(&m); err != nil {
		s.t.Fatal(err)
	}
	return m.Histogram.GetSampleCount()
}

// handled is how many events of a type were committed.
func (s *site) handled(kind string) int {
	s.t.Helper()
	var m dto.Metric
	if err := s.metrics.events.WithLabelValues(kind, "committed").Write(&m); err != nil {
		s.t.Fatal(err)
	}
	return int(m.Counter.GetValue())
}

const count = `{"sql":"SELECT count(*) FROM seen"}`

func TestEventsThatWaitShareACommit(t *testing.T) {
	s := open(t, "")
	s.must(ws, count)
	before := s.commits()
	answers := s.held(ws, count, count, count, count, count)
	for i, a := range answers {
		if want := fmt.Sprintf("[[%d]]", 3+i); a.err != nil || string(a.reply.Body) != want {
			t.Errorf("answer %d: %+v, want %s: each sees the ones before it", i, a, want)
		}
	}
	if n := s.commits() - before; n != 1 {
		t.Errorf("%d commits, want one", n)
	}
}

func TestAGroupEnds(t *testing.T) {
	s := open(t, "")
	s.must(ws, count)
	before := s.commits()
	scripts := make([]string, 2*maxGroup+1)
	for i := range scripts {
		scripts[i] = `{"trace":"x"}`
	}
	s.held(ws, scripts...)
	if n := s.commits() - before; n != 3 {
		t.Errorf("%d commits for %d events, want 3", n, len(scripts))
	}
}

// The first event's answer waits for a slow one behind it, and for no more.
func TestAGroupEndsWithASlowEvent(t *testing.T) {
	s := open(t, "")
	s.must(ws, count)
	before := s.commits()
	slow := `{"sql":"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 5000000) SELECT count(*) FROM n"}`
	s.held(ws, count, slow, count, count)
	if n := s.commits() - before; n != 2 {
		t.Errorf("%d commits, want 2", n)
	}
}

// An event that does not succeed takes nothing with it, whatever way it fails.
func TestOneFailureInAGroup(t *testing.T) {
	for name, c := range map[string]struct {
		steps string
		code  errs.Code
	}{
		"refused":      {`{"sql":"INSERT INTO conf (id, hash) VALUES (1, 'x')"}`, errs.Unavailable},
		"an error":     {`{"error":{"code":"invalid","message":"no"}}`, errs.Invalid},
		"a crash":      {`{"panic":"poison"}`, errs.Internal},
		"crashes once": {`{"crash_before":2}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, "")
			s.must(ws, `{"sql":"CREATE TABLE mine (x TEXT) STRICT"}`)
			put := func(x string) string { return `{"sql":"INSERT INTO mine VALUES ('` + x + `') RETURNING x"}` }
			answers := s.held(ws, put("a"), put("b")+","+c.steps, put("c"), put("d"))
			for i, want := range []errs.Code{"", c.code, "", ""} {
				if got := answers[i].err; (got == nil) != (want == "") || got != nil && got.Code != want {
					t.Errorf("answer %d: %v, want %q", i, got, want)
				}
			}
			want := `[["a"],["c"],["d"]]`
			if c.code == "" {
				want = `[["a"],["b"],["c"],["d"]]`
			}
			if got := s.must(ws, `{"sql":"SELECT x FROM mine ORDER BY rowid"}`); got != want {
				t.Errorf("recorded %s, want %s", got, want)
			}
		})
	}
}

// A statement that finds no room takes the whole transaction with it: the ones before it are then tried without it.
func TestNoRoomForOneOfAGroup(t *testing.T) {
	s := open(t, "")
	s.must(ws, `{"sql":"CREATE TABLE mine (x TEXT) STRICT"}`)
	limited := make(chan error, 1)
	if err := s.post(ws, &item{direct: func(r *resident) { limited <- r.db.Limit(60) }}, true); err != nil {
		t.Fatal(err)
	}
	if err := <-limited; err != nil {
		t.Fatal(err)
	}
	put := func(x string) string { return `{"sql":"INSERT INTO mine VALUES ('` + x + `')"}` }
	big := `{"sql":"INSERT INTO mine WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 9000) SELECT 'text that fills a page' FROM n"}`
	for i, a := range s.held(ws, put("a"), put("b"), big, put("c"), put("d")) {
		if failed := a.err != nil; failed != (i == 2) {
			t.Errorf("answer %d: %v", i, a.err)
		}
	}
	if got := s.must(ws, `{"sql":"SELECT x FROM mine ORDER BY rowid"}`); got != `[["a"],["b"],["c"],["d"]]` {
		t.Errorf("recorded %s", got)
	}
	if err := s.Drain(context.Background()); err != nil {
		t.Error(err)
	}
}

// When the commit fails, all of a group learn it and nothing of it is there.
func TestAGroupWhoseCommitFails(t *testing.T) {
	s := open(t, "")
	s.must(ws, `{"sql":"CREATE TABLE child (x INTEGER REFERENCES seen(n) DEFERRABLE INITIALLY DEFERRED) STRICT"}`)
	before := s.must(ws, count)
	answers := s.held(ws, `{"trace":"x"}`, `{"sql":"INSERT INTO child VALUES (1000000)"}`, `{"trace":"y"}`)
	for i, a := range answers {
		if a.err == nil {
			t.Errorf("answer %d: %s, though nothing was committed", i, a.reply.Body)
		}
	}
	var n, m [][]int
	if json.Unmarshal([]byte(before), &n) != nil || json.Unmarshal([]byte(s.must(ws, count)), &m) != nil || m[0][0] != n[0][0]+1 {
		t.Errorf("%v events before, %v after, want one more", n, m)
	}
}

// A kill between the commit of a group and its answers loses nothing, one before it records nothing, of all of them.
func TestF01_AGroupIsCommittedAsAWhole(t *testing.T) {
	for when, want := range map[string]string{"before": `[[0]]`, "after": `[[3]]`} {
		var s *site
		s = open(t, "", func(o *Options) {
			o.OnPoint = func(w, what, name string) {
				if w+what+name == when+"commitlast" {
					s.Kill()
				}
			}
		})
		s.must(ws, `{"sql":"CREATE TABLE mine (x INTEGER) STRICT"}`)
		put := `{"sql":"INSERT INTO mine VALUES (1)"}`
		for i, a := range s.held(ws, put, put, put+`,{"trace":"last"}`) {
			if a.err == nil {
				t.Errorf("%s: answer %d left a host that was killed", when, i)
			}
		}
		s = s.again(func(o *Options) { o.OnPoint = nil })
		if got := s.must(ws, `{"sql":"SELECT count(*) FROM mine"}`); got != want {
			t.Errorf("killed %s the commit: %s, want %s", when, got, want)
		}
	}
}

// The outcomes of effects join groups too, and an actor's idleness is still seen.
func TestOutcomesInAGroup(t *testing.T) {
	s := open(t, "", targets(remote(t, func(http.ResponseWriter, *http.Request) {}).URL))
	effect := func(id int) string {
		return fmt.Sprintf(`{"effect":{"id":"d%d","epoch":1,"type":"http","target":"discord","method":"GET","path":"/"}}`, id)
	}
	s.must(ws, effect(0))
	var all []string
	for i := range 20 {
		all = append(all, effect(i+1))
	}
	for i, a := range s.held(ws, all...) {
		if a.err != nil {
			t.Errorf("event %d: %v", i, a.err)
		}
	}
	s.eventually(ws, "count(*)", "type = 'effect'", `[[21]]`)
	if err := s.Drain(context.Background()); err != nil {
		t.Error(err)
	}
}
