package rig

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// A model call that outlives the alarm which keeps the object awake completes, and is made once. With HOLDFAST_SLOW=1
// it takes 150 s, longer than an idle object is kept.
func TestF31_ALongModelCall(t *testing.T) {
	h := WorkerdHost{real(t, buildWorkerd)}
	t.Parallel()
	wait := 35 * time.Second
	if os.Getenv("HOLDFAST_SLOW") == "1" {
		wait = 150 * time.Second
	}
	s, err := Parse("F31.txtar", fmt.Appendf(nil, `# F31 a model call longer than the keep-alive alarm
patience: %s
-- steps --
kill runner
model: !slow %d
as maya: ask "what is a berth?"
expect anchor final contains "what is a berth?"
expect job done
expect restarts 0
expect messages 1
expect model calls 1
`, wait+defaultPatience, wait.Milliseconds()))
	if err != nil {
		t.Fatal(err)
	}
	play(t, h, h.StartRunner, s)
}
