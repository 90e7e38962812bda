// Command cmd plays the simulator: seeds, all or some of them twice; one seed with the host killed at each commit and effect; or the
// planted defects, each until an invariant catches it.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"holdfast/actor/sim"
)

type options struct {
	seeds, from uint64
	workers     int
	faults      float64
	every       bool
	mutants     bool
	mutant      string
	only        string
	log         bool
	budget      int
	twice       uint64
}

// manySeeds is how many seeds are all played twice.
const manySeeds = 20_000

// playTwice says whether a seed is played a second time, to see that its run is the same.
func (o options) playTwice(seed uint64) bool {
	every := o.twice
	switch {
	case every == 0 && o.seeds > manySeeds:
		every = 8
	case every == 0:
		every = 1
	}
	return seed%every == 0
}

func main() {
	var o options
	flag.Uint64Var(&o.seeds, "seeds", 1000, "how many seeds to play")
	flag.Uint64Var(&o.from, "from", 1, "the first seed")
	flag.IntVar(&o.workers, "workers", min(runtime.NumCPU(), 8), "runs at the same time")
	flag.Float64Var(&o.faults, "faults", 1, "scales the probability of every fault; 0: none happens by itself")
	flag.BoolVar(&o.every, "every-commit", false, "for each seed, kill the host before and after each commit and each effect in turn")
	flag.BoolVar(&o.mutants, "mutants", false, "play each planted defect until it is caught (needs -tags mutants)")
	flag.StringVar(&o.mutant, "mutant", "", "with one of the planted defects (needs -tags mutants)")
	flag.StringVar(&o.only, "only", "", "take only these decisions, as a shrunk schedule lists them; prints the steps")
	flag.BoolVar(&o.log, "log", false, "print each step")
	flag.IntVar(&o.budget, "shrink", 400, "at most so many runs to shrink a failing schedule; 0: do not")
	flag.Uint64Var(&o.twice, "twice", 0, fmt.Sprintf("play every n-th seed twice, to see that the runs are the same; 0: each one, of more than %d every 8th", manySeeds))
	flag.Parse()
	debug.SetGCPercent(400) // many short runs, little that lives
	began := time.Now()
	ok, err := run(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	fmt.Printf("%.0f s\n", time.Since(began).Seconds())
	if !ok {
		os.Exit(1)
	}
}

func run(o options) (ok bool, err error) {
	if (o.mutants || o.mutant != "") && !sim.CanPlant {
		return false, fmt.Errorf("this build has no planted defects: go run -tags mutants ./actor/sim/cmd")
	}
	sim.Plant(o.mutant)
	switch {
	case o.mutants:
		return playMutants(o), nil
	case o.only != "":
		return replay(o)
	case o.every:
		return playEveryCommit(o), nil
	}
	return playSeeds(o), nil
}

func (o options) seed(n uint64) sim.Options {
	return sim.Options{Seed: n, Faults: o.faults, Mutant: o.mutant}
}

// replay plays one seed with chosen decisions, step by step.
func replay(o options) (ok bool, err error) {
	s := o.seed(o.from)
	if s.Only, err = sim.ParseDecisions(o.only); err != nil {
		return false, err
	}
	s.Log = func(line string) { fmt.Println(line) }
	r := sim.Run(s)
	fmt.Printf("\n%d steps: %s\n", r.Steps, orFine(r.Violation))
	return r.Violation == "", nil
}

func orFine(violation string) string {
	if violation == "" {
		return "every invariant holds"
	}
	return violation
}
