package sim

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

var (
	seeds = flag.Int("seeds", 60, "how many seeds to play")
	from  = flag.Uint64("from", 1, "the first seed")
)

// TestSeeds plays seeds, each twice: the second run must be the same to the last byte.
func TestSeeds(t *testing.T) {
	total := map[string]int{}
	for i := range uint64(*seeds) {
		seed := *from + i
		r := Run(Options{Seed: seed, Faults: 1})
		if r.Violation != "" {
			t.Errorf("seed %d after %d steps: %s", seed, r.Steps, r.Violation)
			continue
		}
		if again := Run(Options{Seed: seed, Faults: 1}); again.Hash != r.Hash {
			t.Errorf("seed %d is not deterministic", seed)
		}
		for k, n := range r.Coverage {
			total[k] += n
		}
	}
	if testing.Verbose() {
		fmt.Print(Table(total))
	}
}

// TestReplay logs one seed, step by step, to the file that SIM_LOG names.
func TestReplay(t *testing.T) {
	path := os.Getenv("SIM_LOG")
	if path == "" {
		return
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := Run(Options{Seed: *from, Faults: 1, Log: func(s string) { fmt.Fprintln(f, s) }})
	t.Log("seed ", *from, ": "+r.Violation)
}
