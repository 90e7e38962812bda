package host

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

const ws = "workspace:1/a"

func TestStartComesFirstAndOnce(t *testing.T) {
	s := open(t, "")
	body := s.must(ws, `{"echo":true}`)
	for _, want := range []string{`"v":1`, `"attempt":1`, `"sockets":[]`, `"owner":"` + s.owner + `"`, `"actor":"workspace:1/a"`, `"config":{"version":1,"hash":"`} {
		if !strings.Contains(body, want) {
			t.Errorf("event lacks %s:\n%s", want, body)
		}
	}
	if strings.Contains(body, "application_id") {
		t.Errorf("the whole configuration is in an ordinary event:\n%s", body)
	}
	s.must(ws, `{"trace":"x"}`)
	if got, want := s.seen(ws, "type, attempt", "1"), `[["start",1],["interaction",1],["interaction",1]]`; got != want {
		t.Errorf("events: %s, want %s", got, want)
	}
	// Another owner starts again, and a changed configuration has a new version.
	s = s.again(func(o *Options) { o.Config.ApplicationID = "100" })
	if body := s.must(ws, `{"echo":true}`); !strings.Contains(body, `"config":{"version":2`) {
		t.Errorf("version: %s", body)
	}
	if got, want := s.seen(ws, "count(DISTINCT owner)", "type = 'start'"), `[[2]]`; got != want {
		t.Errorf("owners: %s, want %s", got, want)
	}
}

func TestNeedConfigIsRepeatedWithIt(t *testing.T) {
	s := open(t, "")
	s.must(ws, `{"sql":"UPDATE conf SET hash = 'another'"}`)
	if body := s.must(ws, `{"echo":true}`); !strings.Contains(body, `"full":{"application_id":"99"`) || !strings.Contains(body, `"attempt":1`) {
		t.Errorf("event: %s", body)
	}
}

func TestAttempts(t *testing.T) {
	s := open(t, "")
	for name, c := range map[string]struct {
		steps  string
		status int
		body   string
	}{
		"crashes always":            {`{"panic":"secret content"}`, 500, `"code":"internal"`},
		"rc 2 always":               {`{"rc":2}`, 500, `"code":"internal"`},
		"is refused":                {`{"error":{"code":"conflict","message":"no"}}`, 409, `"message":"no"`},
		"is refused, without code":  {`{"error":{"code":"","message":"strange"}}`, 500, `"error"`},
		"an SQL failure":            {`{"sql":"SELECT nothing"}`, 503, `"code":"unavailable"`},
		"an internal error is kept": {`{"error":{"code":"internal","message":"secret content"}}`, 500, `"Internal error."`},
	} {
		status, body := s.script(ws, c.steps)
		if status != c.status || !strings.Contains(body, c.body) || strings.Contains(body, "secret content") {
			t.Errorf("%s: %d %s, want %d with %s", name, status, body, c.status, c.body)
		}
	}
	if got, want := s.seen(ws, "count(*)", "data LIKE '%panic%' OR data LIKE '%error%'"), `[[0]]`; got != want {
		t.Errorf("what was rolled back is there: %s", got)
	}
}

func TestACrashIsTriedFourTimes(t *testing.T) {
	s := open(t, "")
	s.must(ws, `{"trace":"x"}`)
	for _, how := range []string{"crash_before", "fault_before"} { // a trap, or an error of the core's own
		status, body := s.script(ws, `{"`+how+`":4},{"echo":true}`)
		if status != 200 || !strings.Contains(body, `"attempt":4`) {
			t.Fatalf("%s: %d %s, want the fourth attempt", how, status, body)
		}
		if status, body = s.script(ws, `{"`+how+`":5},{"echo":true}`); status != 500 {
			t.Fatalf("%s: %d %s, want to give up after the fourth", how, status, body)
		}
	}
}

func TestAThousandAtOnce(t *testing.T) {
	s := open(t, "", func(o *Options) { o.Limits.Mailbox = 1000 })
	const actors, each = 5, 200
	var wg sync.WaitGroup
	work := make(chan int)
	for range 50 {
		wg.Go(func() {
			for i := range work {
				name := fmt.Sprintf("workspace:1/w%d", i%actors)
				if status, body := s.script(name, fmt.Sprintf(`{"trace":"n%d"}`, i)); status != 200 {
					t.Errorf("post %d: %d %s", i, status, body)
				}
			}
		})
	}
	for i := range actors * each {
		work <- i
	}
	close(work)
	wg.Wait()
	for a := range actors {
		name := fmt.Sprintf("workspace:1/w%d", a)
		if got, want := s.seen(name, "count(*), count(DISTINCT id), count(DISTINCT data)", "type = 'interaction'"), "[[200,200,200]]"; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestAFullMailboxIsBusy(t *testing.T) {
	g := hold("before commit slow")
	s := open(t, "", g.option, func(o *Options) { o.Limits.Mailbox = 2 })
	var wg sync.WaitGroup
	statuses := make(chan int, 10)
	post := func() {
		wg.Go(func() {
			status, _ := s.script(ws, `{"trace":"slow"}`)
			statuses <- status
		})
	}
	post()
	<-g.reached
	for range 5 {
		post()
	}
	for range 3 { // two fit into the mailbox, three are turned away
		if got := <-statuses; got != 503 {
			t.Errorf("status %d, want 503", got)
		}
	}
	close(g.open)
	wg.Wait()
	if got, want := s.seen(ws, "count(*)", "data LIKE '%slow%'"), "[[3]]"; got != want {
		t.Errorf("committed: %s, want %s", got, want)
	}
}
