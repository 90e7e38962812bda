package main

import (
	"math"
	"testing"
	"time"
)

func TestQuantile(t *testing.T) {
	hundred := sample{}
	for i := 100; i >= 1; i-- {
		hundred = append(hundred, time.Duration(i))
	}
	for _, tt := range []struct {
		s    sample
		q    float64
		want time.Duration
	}{
		{nil, 0.5, 0},
		{sample{7}, 0.99, 7},
		{sample{3, 1, 2}, 0.5, 2},
		{sample{3, 1, 2}, 0, 1},
		{sample{3, 1, 2}, 1, 3},
		{hundred, 0.5, 50},
		{hundred, 0.99, 99},
	} {
		if got := tt.s.quantile(tt.q); got != tt.want {
			t.Errorf("%v at %v: %d, want %d", tt.s, tt.q, got, tt.want)
		}
	}
}

func TestPairComparesWithinARound(t *testing.T) {
	var p pair
	p.add(sample{20, 20, 900}, sample{10, 10, 10}) // twice
	p.add(sample{200}, sample{100})                // twice, on a machine that got ten times slower
	p.add(sample{30}, sample{10})
	if got := p.ratios.median(); got != 2 {
		t.Errorf("median ratio %v, want 2", got)
	}
	if got := p.ratios.spread(); got != 0.25 {
		t.Errorf("spread %v, want 0.25", got)
	}
	if len(p.ours) != 5 || len(p.floor) != 5 {
		t.Errorf("%d and %d durations kept", len(p.ours), len(p.floor))
	}
}

func TestNoRatio(t *testing.T) {
	if !math.IsNaN(ratios(nil).median()) || (ratios{1}).spread() != 0 {
		t.Error("nothing measured has a ratio, or one round a spread")
	}
}
