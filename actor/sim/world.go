// Package sim runs whole deployments in one goroutine: workspaces with their databases, Discord, a model, runners with
// the real protocol machine, people and clocks, on a seeded random schedule that drops, duplicates, delays, reorders
// and half-fails what it can, and kills the host before and after commits and effects (spec 3.7).
//
// The same seed gives the same run. After every step the invariants hold, or the run ends with a violation.
package sim

import (
	"container/heap"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"math/rand/v2"
	"sort"
	"strings"
)

// Times of a run, in ms.
const (
	faultyFor = 20 * 60_000 // faults and people act this long
	calmFor   = 6 * 3_600_000
	maxSteps  = 60_000
)

// Options shape a run.
type Options struct {
	Seed uint64
	// Faults scales the probability of every fault; 1 is usual, 0 none.
	Faults float64
	// Log gets one line per step when set.
	Log func(string)
}

// Report is what a run came to.
type Report struct {
	Seed      uint64
	Hash      string // of everything that happened
	Steps     int
	Violation string // "" when every invariant held
	Coverage  map[string]int
}

// violation unwinds a run from wherever an invariant broke.
type violation struct{ text string }

// world is one run.
type world struct {
	opts   Options
	rng    *rand.Rand
	now    int64 // true time, unix ms
	skew   int64 // of the host's clock
	queue  queue
	serial int64
	steps  int
	calm   bool // no more faults, no more people
	hash   hash.Hash
	cover  map[string]int

	spaces  []*space
	discord *discord
	model   *model
	owner   int
}

// Run plays one seed.
func Run(o Options) (r Report) {
	w := &world{opts: o, rng: rand.New(rand.NewPCG(o.Seed, 0x486f6c6466617374)), now: 1764470000000, hash: sha256.New(), cover: map[string]int{}}
	defer func() {
		for _, s := range w.spaces {
			s.close()
		}
		r = Report{Seed: o.Seed, Steps: w.steps, Coverage: w.cover, Hash: hex.EncodeToString(w.hash.Sum(nil)), Violation: r.Violation}
		switch v := recover().(type) {
		case nil:
		case violation:
			r.Violation = v.text
		default:
			r.Violation = fmt.Sprintf("panic: %v", v)
		}
	}()
	w.build()
	w.play()
	w.atRest()
	return r
}

func (w *world) build() {
	w.discord = newDiscord(w)
	w.model = &model{world: w}
	for i := range 1 + w.rng.IntN(2) {
		w.spaces = append(w.spaces, newSpace(w, fmt.Sprintf("ws%d", i), i))
	}
	w.people()
	w.weather()
}

func (w *world) play() {
	end := w.now + faultyFor
	for w.queue.Len() > 0 {
		e := heap.Pop(&w.queue).(*event)
		if !w.calm && e.at > end {
			w.becalm()
		}
		if e.at > end+calmFor {
			return // what is still open then is atRest's to judge
		}
		w.now = max(w.now, e.at)
		w.steps++
		if w.steps > maxSteps {
			w.fail("invariant 8: the deployment does not come to rest within %d steps", maxSteps)
		}
		e.run()
	}
	if !w.calm {
		w.becalm()
		w.play()
	}
}

// becalm ends all faults and brings everything back that is down.
func (w *world) becalm() {
	w.calm = true
	w.note("calm")
	for _, s := range w.spaces {
		s.heal()
	}
}

func (w *world) fail(format string, args ...any) {
	panic(violation{fmt.Sprintf(format, args...)})
}

// note is one line of the run: it goes into the hash, and to the log.
func (w *world) note(format string, args ...any) {
	line := fmt.Sprintf("%d ", w.now-1764470000000) + fmt.Sprintf(format, args...)
	w.hash.Write([]byte(line))
	if w.opts.Log != nil {
		w.opts.Log(line)
	}
}

func (w *world) covered(what string) { w.cover[what]++ }

// chance is true with probability p, scaled by the run's faults and never once it is calm.
func (w *world) chance(p float64) bool {
	hit := w.rng.Float64() < p*w.opts.Faults
	return hit && !w.calm
}

// latency is mostly short and sometimes long, in ms.
func (w *world) latency() int64 {
	if w.chance(0.02) {
		return 1_000 + w.rng.Int64N(14_000)
	}
	return 1 + w.rng.Int64N(60)
}

// after runs f in d ms.
func (w *world) after(d int64, f func()) {
	w.serial++
	heap.Push(&w.queue, &event{at: w.now + d, serial: w.serial, run: f})
}

type event struct {
	at, serial int64
	run        func()
}

type queue []*event

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].serial < q[j].serial
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(*event)) }
func (q *queue) Pop() any {
	old := *q
	e := old[len(old)-1]
	*q = old[:len(old)-1]
	return e
}

// Table is the coverage of many runs, a line each, sorted.
func Table(total map[string]int) string {
	names := make([]string, 0, len(total))
	for name := range total {
		names = append(names, name)
	}
	sort.Strings(names)
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "%-40s %d\n", name, total[name])
	}
	return b.String()
}
