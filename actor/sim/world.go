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
	"runtime/debug"
)

// Times of a run, in ms.
const (
	epoch     = 1764470000000 // when each run begins
	shortDay  = 20 * 60_000   // faults and people act this long
	longDay   = 4 * 3_600_000 // in one run of eight
	calmFor   = 6 * 3_600_000
	maxEvents = 60_000
)

// Options shape a run.
type Options struct {
	Seed uint64
	// Faults scales the probability of every fault; 1 is usual, 0 none.
	Faults float64
	// Only, when set, are the decisions that are taken; no other fault happens and nobody does anything else.
	Only []Decision
	// Force is one decision that is taken whatever its probability.
	Force Decision
	// Mutant is the name of a defect planted in the simulator's own runner, "" for none.
	Mutant string
	// Log gets one line per step when set.
	Log func(string)

	only map[Decision]bool
}

// Report is what a run came to.
type Report struct {
	Seed      uint64
	Hash      string // of everything that happened
	Steps     int
	Violation string     // "" when every invariant held
	Fired     []Decision // the decisions that were taken
	Commits   int        // decisions "kill-before-commit" that were drawn
	Effects   int        // decisions "kill-before-effect" that were drawn
	Coverage  map[string]int
}

// violation unwinds a run from wherever an invariant broke.
type violation struct{ text string }

// world is one run.
type world struct {
	opts    Options
	streams map[string]*stream
	fired   []Decision
	now     int64 // true time, unix ms
	skew    int64 // of the host's clock
	day     int64 // how long faults and people act, in ms
	queue   queue
	serial  int64
	steps   int
	calm    bool // no more faults, no more people
	muted   bool // a check is being made: no fault may disturb it
	hash    hash.Hash
	line    []byte
	cover   map[string]int

	spaces  []*space
	discord *discord
	model   *model
	people  *people
	app     *application
	owner   int
}

// Run plays one seed.
func Run(o Options) (r Report) {
	if o.Only != nil {
		o.only = map[Decision]bool{}
		for _, d := range o.Only {
			o.only[d] = true
		}
	}
	w := &world{opts: o, streams: map[string]*stream{}, now: epoch, hash: sha256.New(), cover: map[string]int{}}
	w.app = &application{world: w}
	defer func() {
		for _, s := range w.spaces {
			workspaces.giveBack(s.db)
		}
		if w.app.started {
			applications.giveBack(w.app.db)
		}
		r = Report{Seed: o.Seed, Steps: w.steps, Coverage: w.cover, Hash: hex.EncodeToString(w.hash.Sum(nil)), Fired: w.fired,
			Commits: w.dice(killBeforeCommit).n, Effects: w.dice(killBeforeEffect).n}
		switch v := recover().(type) {
		case nil:
		case violation:
			r.Violation = v.text
		default:
			r.Violation = fmt.Sprintf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	w.build()
	w.play()
	w.atRest()
	return r
}

func (w *world) build() {
	w.muted = true
	w.day = shortDay
	if w.pick("setup", 8) == 0 {
		w.day = longDay
		w.covered("a day of hours")
	}
	w.discord = newDiscord(w)
	w.model = &model{world: w}
	w.people = &people{world: w, asked: map[string]*asked{}}
	for i := range 1 + w.pick("setup", 2) {
		w.spaces = append(w.spaces, newSpace(w, fmt.Sprintf("ws%d", i), i))
	}
	w.muted = false
	w.people.schedule()
	w.weather()
}

func (w *world) play() {
	end := w.now + w.day
	for w.queue.Len() > 0 || !w.calm {
		if w.queue.Len() == 0 || !w.calm && w.queue[0].at > end {
			w.becalm(max(w.now, end))
			continue
		}
		e := heap.Pop(&w.queue).(*event)
		if e.at > end+calmFor {
			return // what is still open then is atRest's to judge
		}
		w.now = max(w.now, e.at)
		w.steps++
		if w.steps > maxEvents {
			w.fail("invariant 8: the deployment does not come to rest within %d steps", maxEvents)
		}
		e.run()
	}
}

// becalm ends all faults and brings everything back that is down.
func (w *world) becalm(at int64) {
	w.now, w.calm = at, true
	w.note("calm")
	w.discord.heal()
	for _, s := range w.spaces {
		s.heal()
	}
}

func (w *world) fail(format string, args ...any) {
	panic(violation{fmt.Sprintf(format, args...)})
}

// note is one line of the run: it goes into the hash, and to the log.
func (w *world) note(format string, args ...any) {
	w.line = fmt.Appendf(w.line[:0], "%d ", w.now-epoch)
	w.line = fmt.Appendf(w.line, format, args...)
	w.hash.Write(w.line)
	if w.opts.Log != nil {
		w.opts.Log(string(w.line))
	}
}

func (w *world) covered(what string) { w.cover[what]++ }

// latency is mostly short and sometimes long, in ms.
func (w *world) latency() int64 {
	if w.chance("slow-network", 0.02) {
		return w.between("latency", 1_000, 15_000)
	}
	return w.between("latency", 1, 61)
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
