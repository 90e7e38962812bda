package sim

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strconv"
	"strings"
)

// Decision names the n-th draw of a class, from 1: one fault, or one thing that a person does.
type Decision struct {
	Class string
	N     int
}

func (d Decision) String() string { return fmt.Sprintf("%s#%d", d.Class, d.N) }

// ParseDecisions reads a list as a replay command has it: "asks#1,kill-before-commit#17".
func ParseDecisions(list string) ([]Decision, error) {
	var ds []Decision
	for _, item := range strings.Split(list, ",") {
		class, n, ok := strings.Cut(strings.TrimSpace(item), "#")
		number, err := strconv.Atoi(n)
		if !ok || err != nil || number < 1 {
			return nil, fmt.Errorf("decision %q; expected class#number", item)
		}
		ds = append(ds, Decision{class, number})
	}
	return ds, nil
}

// stream is the randomness of one class. Each class has its own, so that leaving out a decision of one class does
// not change what the others draw.
type stream struct {
	*rand.Rand
	n int // decisions drawn
}

func (w *world) dice(class string) *stream {
	s, ok := w.streams[class]
	if !ok {
		h := fnv.New64a()
		h.Write([]byte(class))
		s = &stream{Rand: rand.New(rand.NewPCG(w.opts.Seed, h.Sum64()))}
		w.streams[class] = s
	}
	return s
}

// decide draws the next decision of a class: yes with probability p. The options may know better.
func (w *world) decide(class string, p float64) bool {
	s := w.dice(class)
	s.n++
	hit := s.Float64() < p
	d := Decision{class, s.n}
	if w.opts.only != nil {
		hit = w.opts.only[d]
	}
	if d == w.opts.Force {
		hit = true
	}
	if hit {
		w.fired = append(w.fired, d)
	}
	return hit
}

// chance is a fault of class: it happens with probability p, scaled by the run's faults, never once it is calm, and
// never where a check must not be disturbed.
func (w *world) chance(class string, p float64) bool {
	if w.calm || w.muted {
		return false
	}
	if !w.decide(class, p*w.opts.Faults) {
		return false
	}
	w.covered("fault: " + class)
	return true
}

// between is uniform in [low, high), from a class's own randomness.
func (w *world) between(class string, low, high int64) int64 {
	return low + w.dice(class).Int64N(high-low)
}

// pick is one of n, from a class's own randomness.
func (w *world) pick(class string, n int) int { return w.dice(class).IntN(n) }
