package host

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"

	"holdfast/actor"
	"holdfast/actor/errs"
	"holdfast/actor/store"
	"holdfast/worker/host/sqlite"
)

// item is an event on its way to an actor.
type item struct {
	kind     string // event type
	id       string // "": the host mints one
	data     []byte // JSON, or nil
	deadline int64  // unix ms, 0 for none
	peek     string // why nothing can be committed, when the event is only to be answered
	landing  string // of an outcome: the owner under which its effect was launched
	done     func(answer)

	// direct is done instead of an event, between two events, and sees to its answer itself.
	direct func(*resident)
}

// answer is what came of an event. Without err it was committed.
type answer struct {
	reply *actor.Reply
	err   *errs.Error
	done  bool // whoever waits has it already
}

// resident is an actor that is open in this process. One goroutine, run, owns its database and all fields that have
// no lock; it takes one event at a time out of the mailbox.
type resident struct {
	host *Host
	name string
	box  chan *item
	quit chan struct{} // closed by eviction
	done chan struct{} // closed once the file is closed
	prev chan struct{} // done of the resident before this one, or nil

	// guarded by host.mu
	refs int
	idle *list.Element

	// of the goroutine
	db       *sqlite.DB
	owner    string
	flying   int // effects whose outcome this instance waits for
	flight   context.Context
	ground   context.CancelFunc // gives up what is in flight
	failures int                // wakes that failed in a row
	damage   string             // what is wrong with the database; "": nothing
	suspect  bool               // the last process did not stop in order: a quick_check is due
	ahead    []*item            // taken out of the mailbox and put back: they come before what is in it

	mu      sync.Mutex
	sockets map[string]*socket
	waking  *item // the wake that is still to look at the actor; nil: none
}

func newResident(h *Host, name string, prev chan struct{}) *resident {
	r := &resident{host: h, name: name, box: make(chan *item, h.opts.Limits.Mailbox), quit: make(chan struct{}),
		done: make(chan struct{}), prev: prev, sockets: map[string]*socket{}}
	r.flight, r.ground = context.WithCancel(h.ctx)
	r.owner = cmp.Or(h.owners[name].owner, h.owner)
	return r
}

func (r *resident) run() {
	defer r.host.wg.Done()
	defer close(r.done)
	defer r.host.closed(r)
	defer r.close()
	if r.prev != nil {
		<-r.prev // it holds the file's lock until then
	}
	for {
		select {
		case <-r.host.dead:
			return
		default:
		}
		it := r.waiting()
		if it == nil {
			select {
			case it = <-r.box:
			case <-r.quit:
				return
			case <-r.host.dead:
				return
			}
		}
		r.take(it)
		r.whileQuiet()
		r.host.release(r)
	}
}

// take handles one item and answers it.
func (r *resident) take(it *item) {
	if !r.lands(it) {
		return
	}
	if it.direct != nil {
		it.direct(r)
		return
	}
	r.settle(it, r.handle(it))
}

// settle answers an item, unless its turn has done so.
func (r *resident) settle(it *item, a answer) {
	if a.done {
		return
	}
	if it.landing == r.owner && comesAgain(a) {
		r.flying++
	}
	if a.err != nil {
		a = r.peekInstead(it, a.err)
	}
	r.host.metrics.event(it.kind, a.err)
	it.finish(a)
}

// handle opens and starts the actor where needed, and runs the event.
func (r *resident) handle(it *item) answer {
	if r.asksNobody(it) {
		return answer{err: errAbsent}
	}
	if err := r.open(); err != nil {
		return answer{err: err}
	}
	if r.damage != "" {
		return answer{err: errDamaged}
	}
	if err := r.start(); err != nil {
		return answer{err: err}
	}
	if it.kind == actor.EventStart {
		return answer{} // start did it
	}
	a := r.turn(it)
	a.done = a.err == nil // turn has answered before it launched the effects
	return a
}

func (it *item) finish(a answer) {
	if it.done != nil {
		it.done(a)
	}
}

// open opens the database, if it is not.
func (r *resident) open() *errs.Error {
	if r.db != nil {
		return nil
	}
	r.damage = r.readMark()
	db, err := sqlite.OpenWith(r.path(), sqlite.Options{Key: r.host.opts.Key, Untouched: r.damage != ""})
	if err != nil {
		return r.unopened(err)
	}
	r.db = db
	return nil
}

func (r *resident) path() string { return filepath.Join(r.host.dir, fileName(r.name)) }

// openError names what is wrong with a database that does not open.
func openError(err error) *errs.Error {
	var e *store.Error
	if errors.As(err, &e) {
		switch e.Code {
		case store.Corrupt:
			return errDamaged
		case store.Busy:
			return errs.New(errs.Unavailable, "Another program holds the database.").WithHint("Close it there.")
		case store.Full:
			return errs.New(errs.Unavailable, "The disk is full; nothing was recorded.").WithHint("Make room; work goes on by itself.")
		}
	}
	return errs.New(errs.Unavailable, "The database cannot be opened.").WithHint("The operator's log says why.")
}

// start handles the start event, if this owner's first event is still to come.
func (r *resident) start() *errs.Error {
	h := r.host
	h.mu.Lock()
	started := h.owners[r.name].started
	h.mu.Unlock()
	if started {
		return nil
	}
	a := r.turn(&item{kind: actor.EventStart})
	if a.err != nil {
		h.opts.Log.Error("actor.start.failed", "actor", r.name, "code", string(a.err.Code), "err", a.err.Message)
		return a.err
	}
	h.mu.Lock()
	h.owners[r.name] = tenure{r.owner, true}
	h.mu.Unlock()
	r.suspect = !h.lock.clean
	return nil
}

// whileQuiet does what can wait until nobody does.
func (r *resident) whileQuiet() {
	if r.db == nil || len(r.box)+len(r.ahead) > 0 {
		return
	}
	r.check()
	if r.db == nil || r.flying > 0 {
		return // in the middle of a turn the next event is never far
	}
	if err := r.db.Reserve(); err != nil {
		r.host.opts.Log.Warn("actor.reserve.failed", "actor", r.name, "err", err.Error())
	}
}

// check looks for damage after an unclean stop, once.
func (r *resident) check() {
	if !r.suspect {
		return
	}
	r.suspect = false
	if err := r.db.Check(); isCorrupt(err) {
		r.broken(err)
	} else if err != nil {
		r.host.opts.Log.Error("actor.check.failed", "actor", r.name, "err", err.Error())
	}
}

// drop gives this instance up after a commit whose outcome is uncertain: the database is opened again under a new
// owner, whose start event sorts out what was in flight (spec 3.1, rule 5).
func (r *resident) drop() {
	h := r.host
	h.opts.Log.Warn("actor.instance.dropped", "actor", r.name)
	h.metrics.drops.Inc()
	r.close()
	r.flight, r.ground = context.WithCancel(h.ctx)
	r.flying = 0
	owner, err := h.random(16)
	if err != nil {
		h.opts.Log.Error("actor.owner.failed", "actor", r.name, "err", err.Error())
		return // the old owner goes on; its leases end what was in flight
	}
	r.owner = owner
	h.mu.Lock()
	h.owners[r.name] = tenure{owner: owner} // also for an instance after this one: whoever starts takes over
	h.mu.Unlock()
	go h.wake(r.name)
}

// close closes the database and gives up what is in flight.
func (r *resident) close() {
	r.ground()
	if r.db == nil {
		return
	}
	if err := r.db.Close(); err != nil {
		r.host.opts.Log.Error("actor.close.failed", "actor", r.name, "err", err.Error())
	}
	r.db = nil
}

// openSockets lists the sockets that are open now.
func (r *resident) openSockets() []*socket {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]*socket, 0, len(r.sockets))
	for _, s := range r.sockets {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *socket) int { return a.order - b.order })
	return all
}
