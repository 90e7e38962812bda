package host

import (
	"time"

	"holdfast/actor"
	"holdfast/actor/errs"
)

// maxGroup is how many events may share a commit. The first of them waits for the others to be decided, which takes
// about as long for each as the commit that it saves.
const maxGroup = 16

// groupTime is how long the first event of a group may wait for others to be decided: somebody may wait for its answer, and
// some events take far longer than a commit.
const groupTime = 250 * time.Millisecond

// decided is an event that was handled and is not committed yet.
type decided struct {
	it  *item
	res *actor.Result
}

// join decides the events that wait in the mailbox in the same transaction, each behind the ones before it and each in a
// savepoint of its own. To the actor that is what it always was, one event after another; only that the disk is asked once,
// and that no answer and no effect leaves before it has all of them. An event that does not succeed is undone and put
// back: it comes again, alone. Where SQLite undid more than that, as it does when a disk is full, join rolls back, puts back
// all but the first, and returns false.
func (r *resident) join(group *[]decided) bool {
	if (*group)[0].it.kind == actor.EventStart {
		return true
	}
	for begun := time.Now(); len(*group) < maxGroup && time.Since(begun) < groupTime; {
		it := r.waiting()
		switch {
		case it == nil:
			return true
		case !r.lands(it):
			r.host.release(r)
			continue
		case it.direct != nil || it.peek != "" || it.kind == actor.EventStart:
			r.putBack(it)
			return true
		}
		res, err := r.decideApart(it)
		if err != nil {
			r.part(append(*group, decided{it, nil}))
			return false
		}
		if res == nil {
			r.putBack(it)
			return true
		}
		*group = append(*group, decided{it, res})
	}
	return true
}

// part rolls a group back and puts back all but the first of it.
func (r *resident) part(group []decided) {
	var others []*item
	for _, d := range group[1:] {
		others = append(others, d.it)
	}
	r.putBack(others...)
	r.rollback()
}

// decideApart handles an event so that it can be undone alone. Without a result it was.
func (r *resident) decideApart(it *item) (*actor.Result, error) {
	if err := r.db.Save(); err != nil {
		return nil, err
	}
	res, _, crash := r.decide(it, 1, false)
	if crash != nil { // counted, and logged as an attempt, when it comes again
		r.host.opts.Log.Warn("core.crashed.in_group", "actor", r.name, "event", it.id, "type", it.kind, "err", crash.Error())
	}
	if res == nil {
		if err := r.db.Undo(); err != nil {
			return nil, err
		}
		return nil, r.db.Damage()
	}
	return res, r.db.Keep()
}

// waiting takes the next item, if there is one.
func (r *resident) waiting() *item {
	if n := len(r.ahead); n > 0 {
		it := r.ahead[0]
		r.ahead = r.ahead[1:]
		return it
	}
	select {
	case it := <-r.box:
		return it
	default:
		return nil
	}
}

// putBack makes items the next ones again, in this order.
func (r *resident) putBack(items ...*item) {
	for _, it := range items {
		if it.landing == r.owner {
			r.flying++
		}
	}
	r.ahead = append(items, r.ahead...)
}

// lands says whether an item is to be handled. The outcome of an effect that an instance launched which was dropped is
// not: its rows are orphans by now.
func (r *resident) lands(it *item) bool {
	if it.landing == "" {
		return true
	}
	if it.landing != r.owner {
		return false
	}
	r.flying--
	return true
}

// scatter ends a group whose first event got its answer from its own turn: the others get the same one.
func (r *resident) scatter(group []decided, failed *errs.Error) {
	for _, d := range group[1:] {
		r.settle(d.it, answer{err: failed})
		r.host.release(r)
	}
}
