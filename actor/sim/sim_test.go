package sim

import (
	"slices"
	"strings"
	"testing"
)

// The short version of make sim. Each seed runs twice: the second run must be the same to the last byte.
func TestSeeds(t *testing.T) {
	seeds := uint64(60)
	if testing.Short() {
		seeds = 15
	}
	total := map[string]int{}
	for seed := uint64(1); seed <= seeds; seed++ {
		r := Run(Options{Seed: seed, Faults: 1})
		if r.Violation != "" {
			t.Errorf("seed %d after %d steps: %s\nreplay: go run ./actor/sim/cmd -seeds 1 -from %d", seed, r.Steps, r.Violation, seed)
			continue
		}
		if again := Run(Options{Seed: seed, Faults: 1}); again.Hash != r.Hash {
			t.Errorf("seed %d is not deterministic", seed)
		}
		for name, n := range r.Coverage {
			total[name] += n
		}
	}
	if missing := Unreached(total); len(missing) > 3 && !testing.Short() {
		t.Errorf("%d seeds do not reach %v", seeds, missing)
	}
}

// A run is its seed and its decisions: taking just those that a run took repeats it to the last byte, without them it
// is another.
func TestDecisionsRepeatTheRun(t *testing.T) {
	for _, seed := range []uint64{7, 8, 9} {
		r := Run(Options{Seed: seed, Faults: 1})
		again := Run(Options{Seed: seed, Faults: 1, Only: r.Fired})
		if again.Hash != r.Hash {
			t.Errorf("seed %d: its own %d decisions give another run", seed, len(r.Fired))
		}
		if calm := Run(Options{Seed: seed, Faults: 1, Only: []Decision{}}); calm.Hash == r.Hash || len(calm.Fired) > 0 {
			t.Errorf("seed %d: nothing was left out", seed)
		}
	}
}

// The host dies before and after commits and effects, one of them in each run; make sim has a mode for all of them.
func TestKilledAtACommit(t *testing.T) {
	base := Run(Options{Seed: 3})
	if base.Violation != "" || base.Commits < 50 || base.Effects < 20 {
		t.Fatalf("%d commits, %d effects: %s", base.Commits, base.Effects, base.Violation)
	}
	for class, n := range map[string]int{killBeforeCommit: base.Commits, killAfterCommit: base.Commits, killBeforeEffect: base.Effects, killAfterEffect: base.Effects} {
		for i := 1; i <= n; i += max(1, n/10) {
			kill := Decision{class, i}
			r := Run(Options{Seed: 3, Force: kill})
			if r.Violation != "" {
				t.Errorf("%s: %s", kill, r.Violation)
			}
			if !slices.Contains(r.Fired, kill) {
				t.Errorf("%s did not happen", kill)
			}
		}
	}
}

func TestEveryCommitEndsWhenItIsTold(t *testing.T) {
	var kills []Decision
	EveryCommit(Options{Seed: 3}, func(o Options, r Report) bool {
		kills = append(kills, o.Force)
		return len(kills) < 4
	})
	if want := []Decision{{}, {killBeforeCommit, 1}, {killBeforeCommit, 2}, {killBeforeCommit, 3}}; !slices.Equal(kills, want) {
		t.Errorf("got %v, want %v", kills, want)
	}
}

// A defect is caught, and shrinking keeps it with fewer decisions.
func TestADefectIsCaughtAndItsScheduleShrunk(t *testing.T) {
	o := Options{Seed: 2, Faults: 1, Mutant: mutantTwice}
	r := Run(o)
	if !strings.HasPrefix(r.Violation, "invariant 3: task") {
		t.Fatalf("got %q, want a violation of invariant 3", r.Violation)
	}
	short := Shrink(o, r, 60)
	if len(short.Fired) > len(r.Fired)/2 || kindOf(short.Violation) != kindOf(r.Violation) {
		t.Fatalf("%d of %d decisions are left, with %q", len(short.Fired), len(r.Fired), short.Violation)
	}
	o.Only = short.Fired
	if again := Run(o); again.Violation != short.Violation || again.Hash != short.Hash {
		t.Errorf("the shrunk schedule gives %q, said was %q", again.Violation, short.Violation)
	}
}

func TestKindOf(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"invariant 3: task 7 started 2 times", "invariant 3: task 12 started 3 times", true},
		{"invariant 3: task 7 started 2 times", "invariant 3: task 7 starts without an approval", false},
		{`turn 1 is done: "ANSWER-1."`, `turn 2 is done: "ANSWER-9."`, true},
		{"", "", true},
	} {
		if got := kindOf(c.a) == kindOf(c.b); got != c.same {
			t.Errorf("%q and %q: got %v, want %v", c.a, c.b, got, c.same)
		}
	}
}

func TestTheMatrixComesFirstAndShowsWhatIsMissing(t *testing.T) {
	table := Table(map[string]int{"event: start": 3, "F05 killed during a model call": 2, "F99 no such row": 1})
	if !strings.HasPrefix(table, "F01 NOT REACHED") || !strings.Contains(table, "F05 killed during a model call") || strings.Contains(table, "F05 NOT") {
		t.Error(table)
	}
	if missing := Unreached(map[string]int{"F05 killed": 2, "F06 nothing": 0}); slices.Contains(missing, "F05") || !slices.Contains(missing, "F06") {
		t.Errorf("got %v", missing)
	}
}

// A list of decisions survives its text; anything else is refused, not guessed.
func FuzzDecisions(f *testing.F) {
	f.Add("asks#1,kill-before-commit#17")
	f.Add("asks#0")
	f.Add("#1,")
	f.Add(" a #2")
	f.Fuzz(func(t *testing.T, list string) {
		ds, err := ParseDecisions(list)
		if err != nil {
			return
		}
		var again []string
		for _, d := range ds {
			if d.N < 1 {
				t.Fatalf("%q gives %v", list, d)
			}
			again = append(again, d.String())
		}
		if more, err := ParseDecisions(strings.Join(again, ",")); err != nil || !slices.Equal(more, ds) {
			t.Fatalf("%q gives %v, then %v (%v)", list, ds, more, err)
		}
	})
}
