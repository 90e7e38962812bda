package main

import (
	"strings"
	"sync"
	"testing"

	"holdfast/actor/sim"
)

func TestEachSeedIsPlayedOnce(t *testing.T) {
	var mu sync.Mutex
	played := map[uint64]int{}
	spread(options{seeds: 50, from: 7, workers: 4}, func(seed uint64) bool {
		mu.Lock()
		defer mu.Unlock()
		played[seed]++
		return true
	})
	for seed := uint64(7); seed < 57; seed++ {
		if played[seed] != 1 {
			t.Errorf("seed %d was played %d times", seed, played[seed])
		}
	}
	if len(played) != 50 {
		t.Errorf("%d seeds were played, want 50", len(played))
	}
}

func TestSpreadEndsWhenItIsTold(t *testing.T) {
	n := 0
	spread(options{seeds: 1000, workers: 1}, func(uint64) bool {
		n++
		return n < 3
	})
	if n != 3 {
		t.Errorf("%d seeds were played, want 3", n)
	}
}

func TestHowManySeedsArePlayedTwice(t *testing.T) {
	for _, c := range []struct{ seeds, twice, want uint64 }{{100, 0, 100}, {manySeeds, 0, manySeeds}, {manySeeds + 8, 0, manySeeds/8 + 1}, {100, 4, 25}, {manySeeds + 8, 1, manySeeds + 8}} {
		o, n := options{seeds: c.seeds, twice: c.twice}, uint64(0)
		for seed := range c.seeds {
			if o.playTwice(seed + 1) {
				n++
			}
		}
		if n != c.want {
			t.Errorf("%d seeds with -twice %d: %d are played twice, want %d", c.seeds, c.twice, n, c.want)
		}
	}
}

// A failing seed is told with a command whose schedule breaks the same invariant again.
func TestAFailureCanBePlayedAgain(t *testing.T) {
	s := sim.Options{Seed: 2, Faults: 1, Mutant: "runner: a call is executed twice"}
	text := failure(options{faults: 1, budget: 30}, s, sim.Run(s))
	_, command, ok := strings.Cut(text, "replay: go run -tags mutants ./actor/sim/cmd -from 2 -faults 1 -mutant 'runner: a call is executed twice' -only '")
	if !ok {
		t.Fatal(text)
	}
	only, _, _ := strings.Cut(command, "'")
	var err error
	if s.Only, err = sim.ParseDecisions(only); err != nil {
		t.Fatal(err)
	}
	if r := sim.Run(s); !strings.HasPrefix(r.Violation, "invariant 3") {
		t.Errorf("the command %q gives %q", command, r.Violation)
	}
}

func TestMutantsNeedTheirTag(t *testing.T) {
	if sim.CanPlant {
		t.Skip("built with -tags mutants")
	}
	if _, err := run(options{mutants: true}); err == nil || !strings.Contains(err.Error(), "-tags mutants") {
		t.Errorf("got %v", err)
	}
}
