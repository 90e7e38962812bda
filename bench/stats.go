package main

import (
	"math"
	"slices"
	"time"
)

// sample is a set of durations that were measured alike.
type sample []time.Duration

// quantile is the smallest duration that a share q of the sample does not exceed; 0 when there is none.
func (s sample) quantile(q float64) time.Duration {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
}

func (s sample) median() time.Duration { return s.quantile(0.5) }

func (s sample) sum() (total time.Duration) {
	for _, d := range s {
		total += d
	}
	return total
}

// ratios compares a thing with its floor, round by round: both sides of one ratio were measured within the same moment
// of the same machine, so what disturbs the machine for longer than a round disturbs both.
type ratios []float64

func (r ratios) quantile(q float64) float64 {
	if len(r) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(r))
	at := q * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
}

func (r ratios) median() float64 { return r.quantile(0.5) }

// spread is how far the middle half of the rounds lies apart, as a share of the median.
func (r ratios) spread() float64 {
	if len(r) < 2 {
		return 0
	}
	return (r.quantile(0.75) - r.quantile(0.25)) / r.median()
}

// pair is a thing and its floor over several rounds.
type pair struct {
	ours, floor sample // all rounds together
	ratios      ratios // of the rounds' medians
}

// add takes one round of both.
func (p *pair) add(ours, floor sample) {
	p.ours = append(p.ours, ours...)
	p.floor = append(p.floor, floor...)
	p.ratios = append(p.ratios, float64(ours.median())/float64(floor.median()))
}
