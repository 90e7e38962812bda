package host

import (
	"testing"
	"time"

	"holdfast/actor"
)

// An alarm that fires when a wake has committed, and before that has been said, is for something the wake did not see.
func TestAnAlarmAtTheEndOfAWakeIsNotLost(t *testing.T) {
	var s *site
	first := true
	s = open(t, "", func(o *Options) {
		o.OnPoint = func(when, what, point string) {
			if first && when+what+point == "aftercommitwoken" {
				first = false
				s.wake(ws) // as the index does when the time has come
			}
		}
	})
	s.on(ws, "on_wake", `{"trace":"woken"},{"alarm":3600000}`)
	s.wake(ws)
	until(t, "the second wake", func() bool { return s.handled("wake") == 2 })
}

func TestOneWakeWaits(t *testing.T) {
	a, b, c := &item{}, &item{}, &item{}
	r := &resident{}
	for i, step := range []struct {
		looks, awaits *item
		want          bool
	}{
		{nil, a, true},
		{nil, b, false}, // a will see it
		{a, b, true},    // a has looked already
		{a, c, false},   // a was put back and looks again; b still waits
		{b, c, true},
	} {
		r.looks(step.looks)
		if got := r.awaits(step.awaits); got != step.want {
			t.Errorf("step %d: waits %t, want %t", i, got, step.want)
		}
	}
}

// A wake whose group is undone by another event of it comes again, and only once however often it was asked for.
func TestAWakeInAGroupThatIsUndone(t *testing.T) {
	s := open(t, "")
	s.must(ws, `{"sql":"CREATE TABLE mine (x TEXT) STRICT"}`)
	holds, let := make(chan error), make(chan struct{})
	hold := &item{direct: func(r *resident) { holds <- r.db.Limit(60); <-let }}
	if err := s.post(ws, hold, true); err != nil {
		t.Fatal(err)
	}
	if err := <-holds; err != nil {
		t.Fatal(err)
	}
	refused := make(chan answer, 2)
	post := func(steps string) {
		it := &item{kind: actor.EventInteraction, data: []byte(`{"do":[` + steps + `]}`), done: func(a answer) { refused <- a }}
		if err := s.post(ws, it, true); err != nil {
			t.Fatal(err)
		}
	}
	post(count)
	s.wake(ws)
	s.wake(ws)
	post(`{"sql":"INSERT INTO mine WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 9000) SELECT 'text that fills a page' FROM n"}`)
	close(let)
	if a, b := <-refused, <-refused; a.err != nil || b.err == nil {
		t.Fatalf("answers %+v and %+v, want the second refused for want of room", a, b)
	}
	if n := s.handled("wake"); n != 1 {
		t.Errorf("%d wakes, want one", n)
	}
	s.wake(ws)
	until(t, "another wake", func() bool { return s.handled("wake") == 2 })
}

func TestAWakeThatFailsIsTriedAgain(t *testing.T) {
	for result, steps := range map[string]string{
		"unavailable": `{"sql":"SELECT * FROM ready"}`,
		"internal":    `{"panic":"poison"}`,
	} {
		t.Run(result, func(t *testing.T) {
			s := open(t, "")
			s.on(ws, "on_wake", steps)
			s.must(ws, `{"alarm":1000}`)
			s.clock.Advance(2 * time.Second)
			failures := func() float64 { return s.metric("events_total", "type", "wake", "result", result) }
			until(t, "a failed wake", func() bool { return failures() > 0 })
			// Nothing else may happen meanwhile: any commit would set the alarm anew.
			for range 5 {
				before := failures()
				until(t, "another try", func() bool {
					s.clock.Advance(time.Minute)
					return failures() > before
				})
			}
		})
	}
}
