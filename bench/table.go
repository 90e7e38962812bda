package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// noisy is the spread of a ratio (ratios.spread) from which on it decides nothing.
const noisy = 0.35

// row is one line of the table: a value and, where it has one, the floor that was measured beside it.
type row struct {
	What   string  `json:"what"`
	Value  string  `json:"value"`
	Floor  string  `json:"floor,omitempty"` // the floor's own value, and what it is
	Ratio  float64 `json:"ratio,omitempty"` // value by floor; of a row without a floor what Bound bounds
	Spread float64 `json:"spread,omitempty"`
	Bound  float64 `json:"bound,omitempty"` // greatest permitted Ratio; bounds only get tighter
	Unit   string  `json:"unit,omitempty"`  // of Ratio and Bound, when they are no ratios
	Note   string  `json:"note,omitempty"`
}

// Verdicts of a row's bound.
const (
	unbounded = ""
	met       = "met"
	broken    = "broken"
	undecided = "too noisy"
)

// verdict judges the bound. A ratio that is over it and whose rounds lie far apart decides nothing.
func (r row) verdict() string {
	switch {
	case r.Bound == 0:
		return unbounded
	case r.Ratio <= r.Bound:
		return met
	case r.Spread > noisy:
		return undecided
	}
	return broken
}

// of compares durations with their floor.
func of(what, floor string, p pair, bound float64) row {
	return row{What: what, Value: show(p.ours), Floor: show(p.floor) + ", " + floor,
		Ratio: p.ratios.median(), Spread: p.ratios.spread(), Bound: bound}
}

func show(s sample) string { return short(s.median()) + " / " + short(s.quantile(0.99)) }

// short writes a duration with three digits.
func short(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < time.Second:
		return fmt.Sprintf("%.3g ms", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.3g s", d.Seconds())
}

// table is the whole report.
type table struct {
	Machine string `json:"machine"`
	Took    string `json:"took"`
	Noise   string `json:"noise"` // "" on a quiet machine
	Rows    []row  `json:"rows"`
}

func (t *table) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Benchmarks\n\n%s Measured in %s. Two times are p50 / p99; a floor is the least that the same machine can do for "+
		"the same promise, measured in the same moments.\n\n", t.Machine, t.Took)
	if t.Noise != "" {
		fmt.Fprintf(&b, "**%s**\n\n", t.Noise)
	}
	b.WriteString("| what | Holdfast | floor | ratio | bound | |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, r := range t.Rows {
		ratio, bound := "", ""
		if r.Ratio != 0 {
			ratio = amount(r.Ratio, r.Unit)
			if r.Spread != 0 {
				ratio += fmt.Sprintf(" ± %.0f %%", 50*r.Spread)
			}
		}
		if r.Bound != 0 {
			bound = "≤ " + amount(r.Bound, r.Unit)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", r.What, r.Value, r.Floor, ratio, bound, strings.Join(filled(r.verdict(), r.Note), "; "))
	}
	return b.String()
}

func amount(v float64, unit string) string {
	switch {
	case math.IsNaN(v):
		return "?"
	case unit != "":
		return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0") + " " + unit
	}
	return fmt.Sprintf("%.2f ×", v)
}

func filled(all ...string) (some []string) {
	for _, s := range all {
		if s != "" {
			some = append(some, s)
		}
	}
	return some
}

// failures names the rows whose bound was broken.
func (t *table) failures() (names []string) {
	for _, r := range t.Rows {
		if r.verdict() == broken {
			names = append(names, r.What)
		}
	}
	return names
}

// write puts the report into dir as bench.md and bench.json.
func (t *table) write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "bench.md"), []byte(t.markdown()), 0o644); err != nil {
		return err
	}
	raw, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "bench.json"), append(raw, '\n'), 0o644)
}

// noise says how much the rounds of the bounded rows differ, when that is too much.
func (t *table) noise() string {
	n := 0
	for _, r := range t.Rows {
		if r.Spread > noisy {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("The machine is too noisy: %d of the comparisons differ by more than %.0f %% from round to round. Run it again when nothing else runs.", n, 100*noisy)
}
