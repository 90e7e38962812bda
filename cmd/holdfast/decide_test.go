package main

import (
	"strings"
	"testing"
)

// An operator decides from the command line as a person does with a button.
func TestDecisions(t *testing.T) {
	r := up(t, t.TempDir())
	defer r.down()
	job := func() string {
		t.Helper()
		lines := strings.Split(r.verb("jobs").out, "\n")
		if len(lines) < 2 {
			t.Fatalf("jobs: %q", lines)
		}
		return strings.Fields(lines[1])[0]
	}
	waits := func() bool { return strings.Contains(r.verb("job", job()).out, "approval") }

	for _, c := range []struct {
		verb []string
		says string
	}{
		{[]string{"approve"}, "approved"},
		{[]string{"deny", "--reason", "not now"}, "denied"},
		{[]string{"stop"}, "stopped"},
	} {
		before := strings.Count(r.verb("jobs").out, "\n")
		r.ask("maya", `!tool bash {"command":"git push origin HEAD"}`)
		r.poll("another job", func() bool { return strings.Count(r.verb("jobs").out, "\n") > max(before, 1) })
		r.poll("an approval", waits)
		id := job()
		got := r.verb(append([]string{c.verb[0], id}, c.verb[1:]...)...)
		if got.code != 0 || !strings.Contains(got.out, "job "+id+": "+c.says) {
			t.Errorf("%v: %+v", c.verb, got)
		}
		if again := r.verb(c.verb[0], id); again.code != exitRefused && again.code != exitNotFound {
			t.Errorf("%v once more: %+v, want it to be refused", c.verb, again)
		}
		r.poll("the job's end", func() bool { return strings.Contains(r.verb("jobs", "--active").out, id) == false })
	}
	if missing := r.verb("approve", "zz"); missing.code != exitNotFound {
		t.Errorf("a job that is not there: %+v", missing)
	}
	if unknown := r.verb("stop", "1", "--reason", "x"); unknown.code != exitUsage {
		t.Errorf("a reason to stop: %+v", unknown)
	}
}
