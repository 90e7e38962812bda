package rig

import (
	"math/rand/v2"
	"testing"
	"time"
)

// Killed again and again while people ask: each question is answered once, no command runs twice, and no database is
// damaged. make crash does this for longer.
func TestF30_KilledAgainAndAgain(t *testing.T) {
	onEachHost(t, func(t *testing.T, h Host) {
		run := LinkedRunner
		if h, ok := h.(interface {
			StartRunner(s *Stage, name string) (Runner, error)
		}); ok {
			run = h.StartRunner
		}
		c, err := Crash(t.Context(), h, run, t.TempDir(), Crashing{Kills: 12, Seed: rand.Uint64()})
		if err != nil {
			t.Fatal(err)
		}
		t.Log("\n" + c.Table())
		if err := c.Broken(); err != nil {
			t.Error(err)
		}
		if c.Answered == 0 || h.Name() != Workerd && c.Databases < 2 {
			t.Errorf("nothing was shown: %d answers, %d databases", c.Answered, c.Databases)
		}
	})
}

func TestPercentile(t *testing.T) {
	var list []time.Duration
	if got := Percentile(list, 99); got != 0 {
		t.Errorf("of none: %s", got)
	}
	for n := 200; n > 0; n-- {
		list = append(list, time.Duration(n))
	}
	for p, want := range map[int]time.Duration{0: 1, 50: 100, 99: 198, 100: 200} {
		if got := Percentile(list, p); got != want {
			t.Errorf("p%d: %d, want %d", p, got, want)
		}
	}
	if got := Percentile(list[:1], 99); got != 200 {
		t.Errorf("of one: %d", got)
	}
}
