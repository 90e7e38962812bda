package main

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/actor/sim"
)

// mostFailures is how many failing seeds are shown, and shrunk, before a run gives up.
const mostFailures = 5

// matrixSeeds is how many seeds must reach every row of the failure matrix.
const matrixSeeds = 2_000

// total gathers what workers find.
type total struct {
	mu       sync.Mutex
	began    time.Time
	runs     int
	coverage map[string]int
	failures int
}

// spread gives each worker seeds, one at a time, until they are used up or more says no.
func spread(o options, play func(seed uint64) (more bool)) {
	var next atomic.Uint64
	next.Store(o.from)
	var wg sync.WaitGroup
	for range max(1, o.workers) {
		wg.Go(func() {
			for {
				seed := next.Add(1) - 1
				if seed >= o.from+o.seeds || !play(seed) {
					return
				}
			}
		})
	}
	wg.Wait()
}

// playSeeds plays each seed, and all or some of them twice: the second run must be the same to the last byte.
func playSeeds(o options) (ok bool) {
	t := &total{began: time.Now(), coverage: map[string]int{}}
	spread(o, func(seed uint64) bool {
		s := o.seed(seed)
		if o.log {
			s.Log = func(line string) { fmt.Println(line) }
		}
		r := sim.Run(s)
		s.Log = nil
		if r.Violation == "" && o.playTwice(seed) && sim.Run(s).Hash != r.Hash {
			r.Violation = "the seed is not deterministic"
		}
		return t.add(o, s, r)
	})
	fmt.Fprintln(os.Stderr)
	fmt.Print(sim.Table(t.coverage))
	fmt.Printf("\n%d seeds, %d failed", t.runs, t.failures)
	missing := sim.Unreached(t.coverage)
	if len(missing) > 0 {
		fmt.Printf("; rows not reached: %s", strings.Join(missing, ", "))
	}
	fmt.Print("; ")
	return t.failures == 0 && (len(missing) == 0 || o.seeds < matrixSeeds)
}

// add takes a report. It is false when enough has failed.
func (t *total) add(o options, s sim.Options, r sim.Report) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.runs++
	for name, n := range r.Coverage {
		t.coverage[name] += n
	}
	if r.Violation != "" {
		t.failures++
		fmt.Print(failure(o, s, r))
	}
	if t.runs%100 == 0 {
		fmt.Fprintf(os.Stderr, "\r%d played, %d failed, %.0f ms each", t.runs, t.failures, float64(time.Since(t.began).Milliseconds())/float64(t.runs))
	}
	return t.failures < mostFailures
}

// failure tells of a failing seed with one command that plays it again: the shrunk schedule, and what happens in it.
func failure(o options, s sim.Options, r sim.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nseed %d, %d steps, %d decisions: %s\n", r.Seed, r.Steps, len(r.Fired), r.Violation)
	if s.Force.Class != "" {
		fmt.Fprintf(&b, "  with %s\n", s.Force)
	}
	short := r
	if o.budget > 0 {
		short = sim.Shrink(s, r, o.budget)
	}
	var only []string
	for _, d := range short.Fired {
		only = append(only, d.String())
	}
	fmt.Fprintf(&b, "  shrunk to %d steps, %d decisions: %s\n", short.Steps, len(short.Fired), short.Violation)
	tags, mutant := "", ""
	if s.Mutant != "" {
		tags, mutant = "-tags mutants ", fmt.Sprintf(" -mutant '%s'", s.Mutant)
	}
	fmt.Fprintf(&b, "  replay: go run %s./actor/sim/cmd -from %d -faults %g%s -only '%s'\n", tags, r.Seed, o.faults, mutant, strings.Join(only, ","))
	return b.String()
}

// playEveryCommit kills the host before and after each commit and each effect of each seed, in turn.
func playEveryCommit(o options) (ok bool) {
	t := &total{began: time.Now(), coverage: map[string]int{}}
	spread(o, func(seed uint64) bool {
		more := true
		sim.EveryCommit(o.seed(seed), func(s sim.Options, r sim.Report) bool {
			more = t.add(o, s, r)
			return more
		})
		return more
	})
	fmt.Fprintln(os.Stderr)
	fmt.Print(sim.Table(t.coverage))
	fmt.Printf("\n%d seeds, %d runs, %d failed; ", o.seeds, t.runs, t.failures)
	return t.failures == 0
}
