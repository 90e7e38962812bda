package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestVerdict(t *testing.T) {
	for _, tt := range []struct {
		name string
		row  row
		want string
	}{
		{"no bound", row{Ratio: 9}, unbounded},
		{"below", row{Ratio: 1.4, Bound: 1.5}, met},
		{"at it", row{Ratio: 1.5, Bound: 1.5}, met},
		{"below, noisy", row{Ratio: 1.4, Bound: 1.5, Spread: 2}, met},
		{"over", row{Ratio: 1.6, Bound: 1.5, Spread: 0.1}, broken},
		{"over, noisy", row{Ratio: 1.6, Bound: 1.5, Spread: 0.5}, undecided},
		{"nothing was measured", row{Ratio: math.NaN(), Bound: 1.5}, broken},
	} {
		if got := tt.row.verdict(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestReport(t *testing.T) {
	var p pair
	p.add(sample{3 * time.Millisecond}, sample{time.Millisecond})
	tab := table{Machine: "one.", Took: "1 s", Rows: []row{
		of("a thing", "its floor", p, 1.5), {What: "memory", Value: "12 MB", Ratio: 12, Bound: 60, Unit: "MB"}}}
	text := tab.markdown()
	for _, line := range []string{
		"| a thing | 3 ms / 3 ms | 1 ms / 1 ms, its floor | 3.00 × | ≤ 1.50 × | broken |",
		"| memory | 12 MB |  | 12 MB | ≤ 60 MB | met |",
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %q in\n%s", line, text)
		}
	}
	if got := tab.failures(); len(got) != 1 || got[0] != "a thing" {
		t.Errorf("failures: %q", got)
	}
	dir := filepath.Join(t.TempDir(), "build")
	if err := tab.write(dir); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "bench.json"))
	var again table
	if err != nil || json.Unmarshal(raw, &again) != nil || len(again.Rows) != 2 || again.Rows[0].Ratio != 3 {
		t.Errorf("bench.json: %v\n%s", err, raw)
	}
}

func TestNoise(t *testing.T) {
	quiet, loud := row{Spread: 0.1}, row{Spread: 0.9}
	for _, tt := range []struct {
		rows []row
		want bool
	}{{nil, false}, {[]row{quiet, quiet}, false}, {[]row{quiet, loud}, true}} {
		if got := (&table{Rows: tt.rows}).noise(); (got != "") != tt.want {
			t.Errorf("%v: %q", tt.rows, got)
		}
	}
}

func TestShort(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0 µs", 999 * time.Microsecond: "999 µs", 1234 * time.Microsecond: "1.23 ms", 61 * time.Second: "61 s"} {
		if got := short(d); got != want {
			t.Errorf("%d: %q, want %q", d, got, want)
		}
	}
}
