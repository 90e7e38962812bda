// Package alarm is the self-hosted edge's alarm index: when each actor wants to be woken, and which actors had
// effects in flight, in one small database for all actors (spec 3.1, rule 2).
//
// A time that is earlier than the recorded one is recorded before the actor's commit, any other change some time
// after it. So an actor may be woken too early, by a commit that never happened, but never too late. An actor that is
// recorded as having effects in flight is opened by every start, so that no time need be recorded for it: an actor at
// work costs two writes, when it begins and when it has come to rest.
package alarm

import (
	"container/heap"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/actor/store"
	"holdfast/clock"
	"holdfast/worker/host/sqlite"
)

// lazily is how long a change that may wait does wait, counted from the actor's last commit.
const lazily = time.Second

// row is what the index says of one actor. due is unix ms, 0 for none.
type row struct {
	due      int64
	inFlight bool
}

// covers says whether a start that finds r on the disk comes in time for what other says.
func (r row) covers(other row) bool {
	return r.inFlight || !other.inFlight && !earlier(other.due, r.due)
}

type entry struct {
	actor    string
	saved    row        // on disk
	writing  *row       // on its way there, or perhaps there after a failure: the disk may say either
	expected chan error // gets the outcome of Expect's write; nil: none is under way
	now      row        // in truth
	changed  time.Time  // when it last did
	fired    bool
	open     bool // between Before and After: what is on disk must stay
	heapPos  int  // -1: not in the heap
}

// settled says that the disk certainly tells the truth.
func (e *entry) settled() bool { return e.saved == e.now && e.writing == nil }

// weaker covers what both rows cover.
func weaker(a, b row) row {
	switch {
	case a.inFlight:
		return b
	case b.inFlight || earlier(b.due, a.due):
		return a
	}
	return b
}

// covered says whether the disk covers next, whichever of its rows it holds.
func (e *entry) covered(next row) bool {
	return e.saved.covers(next) && (e.writing == nil || e.writing.covers(next))
}

// Index is an open alarm index. Its methods may be called from any goroutine, for one actor by one at a time.
type Index struct {
	clock  clock.Clock
	wake   func(actor string)
	dbMu   sync.Mutex
	db     *sqlite.DB
	writes chan write
	stop   chan struct{}
	done   chan struct{}
	fresh  bool

	written atomic.Int64

	mu      sync.Mutex
	entries map[string]*entry
	heap    dueHeap
	timer   clock.Timer
	running bool
	closed  bool
	dirty   bool
}

// write is what the writer is asked for. Without an actor it looks for changes that have waited long enough.
type write struct {
	actor  string
	row    row
	expect bool // the actor as it is on the disk, with effects in flight, instead of row
	done   chan error
}

// Open loads the index. Nothing is woken before Start. One that is damaged anywhere is an error with code
// store.Corrupt. One that is new, or was lost, wakes each of known at once: waking too early does no harm.
func Open(path string, clk clock.Clock, o sqlite.Options, known ...string) (*Index, error) {
	db, err := sqlite.OpenWith(path, o)
	if err != nil {
		return nil, fmt.Errorf("alarm index: %w", err)
	}
	x := &Index{clock: clk, db: db, writes: make(chan write), stop: make(chan struct{}), done: make(chan struct{}),
		entries: map[string]*entry{}}
	err = db.Check()
	if err == nil {
		err = x.load(known)
	}
	if err != nil {
		db.Close()
		return nil, fmt.Errorf("alarm index: %w", err)
	}
	go x.writer()
	return x, nil
}

// Fresh says that Open found no index and made one.
func (x *Index) Fresh() bool { return x.fresh }

// InFlight gives the actors that had effects in flight when the index was last written. Their owner is gone; each
// needs a start event.
func (x *Index) InFlight() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	var actors []string
	for name, e := range x.entries {
		if e.saved.inFlight {
			actors = append(actors, name)
		}
	}
	slices.Sort(actors)
	return actors
}

// Writes is how many commits the index has made since it was opened.
func (x *Index) Writes() int64 { return x.written.Load() }

// Start begins to call wake, in a goroutine of its own, for each actor whose time has come. An actor is called once
// for each time that was set.
func (x *Index) Start(wake func(actor string)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.wake, x.running = wake, true
	x.arm()
}

// Pause ends the waking; times go on being recorded.
func (x *Index) Pause() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.running = false
	x.arm()
}

// Expect is a hint that the actor is about to begin work: its record is made while the core still runs, and Before finds
// it done. It returns at once; when nothing comes of it, a start opens the actor in vain.
func (x *Index) Expect(actor string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := x.entry(actor)
	if x.closed || e.expected != nil || e.covered(row{inFlight: true}) {
		return
	}
	e.expected = make(chan error, 1)
	w := write{actor: actor, expect: true, done: e.expected}
	go func() {
		select {
		case x.writes <- w:
		case <-x.stop:
			w.done <- errClosed
		}
	}()
}

var errClosed = &store.Error{Code: store.IO, Message: "the alarm index is closed"}

// Before is called ahead of an actor's commit. When it returns nil, the disk says a time at or before due, and that
// effects are in flight if they are to be; or it says the latter anyway, so that a start opens the actor whatever is
// due. After or Undo must follow.
func (x *Index) Before(actor string, due *int64, inFlight bool) error {
	next := row{inFlight: inFlight}
	if due != nil {
		next.due = *due
	}
	x.mu.Lock()
	e := x.entry(actor)
	e.open = true
	for e.expected != nil && !e.covered(next) {
		done := e.expected
		e.expected = nil
		x.mu.Unlock()
		<-done // after a failure the next write says why
		x.mu.Lock()
	}
	covered := e.covered(next)
	if !earlier(next.due, e.saved.due) {
		next.due = e.saved.due
	}
	next.inFlight = next.inFlight || e.saved.inFlight
	x.mu.Unlock()
	if covered {
		return nil
	}
	w := write{actor: actor, row: next, done: make(chan error, 1)}
	select {
	case x.writes <- w:
		return <-w.done
	case <-x.stop:
		return errClosed
	}
}

// After is called behind an actor's commit: this is now the truth.
func (x *Index) After(actor string, due *int64, inFlight bool) {
	next := row{inFlight: inFlight}
	if due != nil {
		next.due = *due
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	e := x.entry(actor)
	e.now, e.changed, e.fired, e.open = next, time.Now(), false, false
	x.place(e)
	x.arm()
	x.soil(e)
}

// Undo is called instead of After when the commit certainly did not happen. When that is uncertain, neither is: the
// disk keeps the earlier time until the actor was asked again.
func (x *Index) Undo(actor string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := x.entry(actor)
	e.open = false
	x.soil(e)
}

// Again calls the actor once more at the given time, unless it is called before or a commit sets another: for a
// wake that failed.
func (x *Index) Again(actor string, at int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := x.entry(actor)
	if e.heapPos >= 0 && x.heap[e.heapPos].at <= at {
		return
	}
	// The disk keeps the time that is overdue: a start must see it.
	e.fired = false
	x.push(e, at)
	x.arm()
}

// entry finds or makes an actor's entry. The caller holds the lock.
func (x *Index) entry(actor string) *entry {
	e, ok := x.entries[actor]
	if !ok {
		e = &entry{actor: actor, heapPos: -1}
		x.entries[actor] = e
	}
	return e
}

// soil has the writer look at an entry that differs from the disk, after a while.
func (x *Index) soil(e *entry) {
	if !e.settled() && !x.dirty && !x.closed {
		x.dirty = true
		time.AfterFunc(lazily, func() {
			select {
			case x.writes <- write{}:
			case <-x.stop:
			}
		})
	}
}

func earlier(a, b int64) bool { return a != 0 && (b == 0 || a < b) }

// place puts an entry where its time belongs in the heap.
func (x *Index) place(e *entry) {
	if e.now.due == 0 {
		if e.heapPos >= 0 {
			heap.Remove(&x.heap, e.heapPos)
		}
		return
	}
	x.push(e, e.now.due)
}

func (x *Index) push(e *entry, at int64) {
	if e.heapPos >= 0 {
		x.heap[e.heapPos].at = at
		heap.Fix(&x.heap, e.heapPos)
		return
	}
	heap.Push(&x.heap, slot{e, at})
}

// arm sets the timer for the earliest entry. The caller holds the lock.
func (x *Index) arm() {
	if x.timer != nil {
		x.timer.Stop()
		x.timer = nil
	}
	if !x.running || x.closed || len(x.heap) == 0 {
		return
	}
	d := time.UnixMilli(x.heap[0].at).Sub(x.clock.Now())
	x.timer = x.clock.AfterFunc(max(d, 0), x.fire)
}

func (x *Index) fire() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.running || x.closed {
		return
	}
	now := x.clock.Now().UnixMilli()
	for len(x.heap) > 0 && x.heap[0].at <= now {
		e := heap.Pop(&x.heap).(slot).entry
		e.fired = true
		go x.wake(e.actor)
	}
	x.arm()
}
