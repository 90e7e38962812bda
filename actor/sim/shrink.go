package sim

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

var digits = regexp.MustCompile(`\d+`)

// kindOf is what two violations share when they are of the same defect: their words without the numbers, to the first
// quotation or line break.
func kindOf(violation string) string {
	text, _, _ := strings.Cut(violation, "\n")
	text, _, _ = strings.Cut(text, `"`)
	return digits.ReplaceAllString(text[:min(len(text), 70)], "#")
}

// Shrink looks for few decisions that still break the invariant that a run broke, in at most budget runs: it takes
// away ever smaller pieces of the schedule (delta debugging). It gives the shortest one found.
func Shrink(o Options, r Report, budget int) Report {
	want := kindOf(r.Violation)
	best := r
	fails := func(ds []Decision) bool {
		budget--
		try := o
		try.Only, try.Force, try.Log = ds, Decision{}, nil
		got := Run(try)
		if got.Violation == "" || kindOf(got.Violation) != want {
			return false
		}
		got.Fired = ds
		best = got
		return true
	}
	if !fails(distinct(r.Fired)) {
		return r
	}
	for pieces := 2; budget > 0; {
		reduced := false
		for i, size := 0, (len(best.Fired)+pieces-1)/pieces; i < len(best.Fired) && budget > 0; {
			if fails(slices.Delete(slices.Clone(best.Fired), i, min(i+size, len(best.Fired)))) {
				reduced = true
				continue // what follows has moved to i
			}
			i += size
		}
		switch {
		case reduced:
			pieces = max(pieces-1, 2)
		case pieces >= len(best.Fired):
			return best
		default:
			pieces = min(2*pieces, len(best.Fired))
		}
	}
	return best
}

func distinct(ds []Decision) []Decision {
	ds = slices.Clone(ds)
	slices.SortFunc(ds, func(a, b Decision) int { return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.N, b.N)) })
	return slices.Compact(ds)
}

// EveryCommit plays a seed once to count its commits and effects, and then again for each of them with the host
// killed right before and right after it. done gets each report; it ends when done says no.
func EveryCommit(o Options, done func(Options, Report) bool) {
	base := Run(o)
	if !done(o, base) {
		return
	}
	for _, kill := range []struct {
		class string
		n     int
	}{{killBeforeCommit, base.Commits}, {killAfterCommit, base.Commits}, {killBeforeEffect, base.Effects}, {killAfterEffect, base.Effects}} {
		for n := range kill.n {
			o.Force = Decision{kill.class, n + 1}
			if !done(o, Run(o)) {
				return
			}
		}
	}
}
