package main

import (
	"fmt"
	"math"
	"strings"
	"sync/atomic"

	"holdfast/actor/sim"
)

// playMutants plays each planted defect until an invariant catches it, and fails when one survives all seeds.
func playMutants(o options) (ok bool) {
	survived := 0
	fmt.Printf("%-50s %6s  %s\n", "planted defect", "seeds", "caught by")
	for _, m := range sim.Mutants {
		if o.mutant != "" && o.mutant != m.Name {
			continue
		}
		needed, by := catch(o, m.Name)
		if by == "" {
			survived++
			by = "NOTHING: " + m.Defect
		}
		fmt.Printf("%-50s %6d  %s\n", m.Name, needed, by)
	}
	fmt.Printf("%d defects, %d survived %d seeds; ", len(sim.Mutants), survived, o.seeds)
	return survived == 0
}

// catch plays seeds with a defect until one fails: how many it took, and which invariant it was.
func catch(o options, mutant string) (seeds uint64, by string) {
	sim.Plant(mutant)
	defer sim.Plant("")
	var first atomic.Uint64
	first.Store(math.MaxUint64)
	caught := make([]string, o.seeds)
	spread(o, func(seed uint64) bool {
		if seed > first.Load() {
			return false
		}
		s := o.seed(seed)
		s.Mutant = mutant
		r := sim.Run(s)
		if r.Violation == "" {
			return true
		}
		caught[seed-o.from] = r.Violation
		for seen := first.Load(); seed < seen && !first.CompareAndSwap(seen, seed); seen = first.Load() {
		}
		return true
	})
	if first.Load() == math.MaxUint64 {
		return o.seeds, ""
	}
	text, _, _ := strings.Cut(caught[first.Load()-o.from], "\n")
	return first.Load() - o.from + 1, text[:min(len(text), 110)]
}
