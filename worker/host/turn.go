package host

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"holdfast/actor"
	"holdfast/actor/errs"
	"holdfast/actor/store"
	"holdfast/worker/engine"
)

// maxAttempts is how often an event that crashes the core is tried. The core answers the fourth attempt without
// doing anything of substance (spec 3.1, rule 2).
const maxAttempts = 4

var (
	errAgain   = errs.New(errs.Unavailable, "The database had to be opened again.").WithHint("Try again in a moment.")
	errApart   = errs.New(errs.Unavailable, "What came behind it undid it.") // for turn alone: the event is tried again by itself
	errCrashed = errs.New(errs.Internal, "Internal error.").WithHint("The operator's log has the details.")
)

// turn runs one event to its commit, which it may share with those behind it, or to the error that its sender gets. After
// the commit it answers, and then launches the effects.
func (r *resident) turn(it *item) answer {
	h := r.host
	full, alone := it.kind == actor.EventStart, false
	for attempt := 1; attempt <= maxAttempts; {
		if r.db == nil { // dropped by the attempt before: a start event comes first now
			return answer{err: errAgain}
		}
		group, failed, crash := r.attempt(it, attempt, full, alone)
		switch {
		case h.killed.Load():
			return answer{err: errDown}
		case failed == errApart:
			alone = true
		case crash != nil:
			h.metrics.crashes.Inc()
			h.opts.Log.Error("core.crashed", "actor", r.name, "event", it.id, "type", it.kind, "attempt", attempt, "err", crash.Error())
			attempt++
		case failed != nil && failed.Code == actor.CodeNeedConfig && !full:
			full = true
		case failed != nil && failed.Code == errs.Internal: // a defect, which comes again: it must be counted
			h.opts.Log.Error("core.failed", "actor", r.name, "event", it.id, "type", it.kind, "attempt", attempt, "err", failed.Message)
			attempt++
		case failed != nil:
			return answer{err: failed}
		default:
			r.committed(group)
			return answer{}
		}
	}
	return answer{err: errCrashed}
}

// committed answers the events of a group and launches their effects.
func (r *resident) committed(group []decided) {
	for i, d := range group {
		r.host.metrics.event(d.it.kind, nil)
		d.it.finish(answer{reply: d.res.Reply})
		r.launch(d.res.Effects)
		if i > 0 { // the first one's reference is given back by whoever took it out of the mailbox
			r.host.release(r)
		}
	}
}

// attempt runs the event once, unless alone together with those that wait behind it, and commits. crash means that the
// core trapped on it; failed, that nothing was committed for a reason that a repetition does not cure.
func (r *resident) attempt(it *item, n int, full, alone bool) (group []decided, failed *errs.Error, crash error) {
	if err := r.db.Begin(); err != nil {
		r.abandon(err)
		return nil, openError(err), nil
	}
	res, failed, crash := r.decide(it, n, full)
	if res == nil {
		r.rollback()
		return nil, failed, crash
	}
	group = []decided{{it, res}}
	if !alone && !r.join(&group) {
		return nil, errApart, nil
	}
	if failed := r.commit(group); failed != nil {
		r.scatter(group, failed)
		return nil, failed, nil
	}
	return group, nil, nil
}

// decide has the core handle an event inside the open transaction. Without a result nothing of it may be committed.
func (r *resident) decide(it *item, n int, full bool) (res *actor.Result, failed *errs.Error, crash error) {
	h := r.host
	if it.kind == actor.EventWake {
		r.looks(it)
	}
	if it.id == "" {
		it.id = h.owner[:8] + "." + strconv.FormatInt(h.serial.Add(1), 10)
	}
	call, err := r.call(it, n, full)
	if err != nil {
		return nil, errs.Public(err), nil
	}
	timer := h.metrics.timer(it.kind)
	out, rc, err := h.opts.Engine.Handle(h.ctx, r.db, call)
	timer.ObserveDuration()
	switch {
	case err != nil:
		if errors.Is(err, engine.ErrCrash) {
			return nil, nil, err
		}
		return nil, errDown, nil // the host is ending
	case rc != 0:
		failed := &errs.Error{Code: errs.Internal, Message: "the core gave an error that is no JSON"}
		_ = json.Unmarshal(out, failed) // the text above stays when it is none
		return nil, failed, nil
	}
	res = &actor.Result{}
	if err := actor.Decode(out, res); err != nil {
		return nil, nil, fmt.Errorf("%w: its result: %v", engine.ErrCrash, err)
	}
	return res, nil, nil
}

// commit makes the results durable together with the alarm.
func (r *resident) commit(group []decided) *errs.Error {
	h := r.host
	alarm, inFlight := group[len(group)-1].res.Alarm, r.flying > 0
	for _, d := range group {
		inFlight = inFlight || hasOutcome(d.res.Effects)
	}
	begin := time.Now()
	if err := h.index.Before(r.name, alarm, inFlight); err != nil {
		r.rollback()
		h.index.Undo(r.name)
		return h.indexError(err)
	}
	r.points("before", group)
	if err := r.commitUnlessKilled(); err != nil {
		var e *store.Error
		if errors.As(err, &e) && (e.Code == store.Busy || e.Code == store.Constraint || e.Code == store.Full) {
			// With no room for all of its frames, the last of which says "committed", the WAL holds no commit. An encrypted
			// one may: it is filled up to a multiple of 4096 bytes with copies of that frame, for which there may be no room.
			// The next commit takes its place, but a crash before that brings it back: the index must have its time.
			r.rollback()
			if e.Code != store.Full || h.opts.Key == nil {
				h.index.Undo(r.name)
			}
		} else {
			r.abandon(err)
		}
		return openError(err)
	}
	h.metrics.commits.Observe(time.Since(begin).Seconds())
	h.index.After(r.name, alarm, inFlight)
	r.points("after", group)
	for _, d := range group {
		for _, t := range d.res.Trace {
			h.opts.Log.Debug(t.Name, "actor", r.name, "event", d.it.id, "type", d.it.kind, "ref", t.Ref)
		}
	}
	if h.killed.Load() {
		return errDown
	}
	return nil
}

// commitUnlessKilled holds Kill off while it commits.
func (r *resident) commitUnlessKilled() error {
	r.host.gate.RLock()
	defer r.host.gate.RUnlock()
	if r.host.killed.Load() {
		return &store.Error{Code: store.IO, Message: "killed"}
	}
	return r.db.Commit()
}

// abandon drops the instance after an error of the database, unless the host is ending anyway.
func (r *resident) abandon(err error) {
	if r.host.killed.Load() {
		return
	}
	if isCorrupt(err) {
		r.broken(err)
		return
	}
	r.host.opts.Log.Error("actor.commit.uncertain", "actor", r.name, "err", err.Error())
	r.drop()
}

// rollback ends the transaction. A database that cannot even do that, or that met damage, is opened again.
func (r *resident) rollback() {
	if err := r.db.Rollback(); err != nil {
		r.abandon(err)
	} else if err := r.db.Damage(); err != nil {
		r.abandon(err)
	}
}

func (r *resident) points(when string, group []decided) {
	for _, d := range group {
		for _, t := range d.res.Trace {
			r.host.point(when, "commit", t.Name)
		}
	}
}

// call makes the event that the core gets.
func (r *resident) call(it *item, attempt int, full bool) (engine.Call, error) {
	h := r.host
	c := engine.Call{Now: h.now().UnixMilli()}
	if _, err := io.ReadFull(h.opts.Entropy, c.Entropy[:]); err != nil {
		return c, fmt.Errorf("entropy: %w", err)
	}
	e := actor.Event{V: actor.EnvelopeVersion, ID: it.id, Type: it.kind, Attempt: attempt, Now: c.Now,
		Entropy: hex.EncodeToString(c.Entropy[:]), Owner: r.owner, Sockets: []string{}, Deadline: it.deadline,
		Config: h.config.ref, Actor: r.name}
	for _, s := range r.openSockets() {
		e.Sockets = append(e.Sockets, s.id)
	}
	if full {
		e.Config.Full = &h.config.full
	}
	e.Peek = it.peek
	head, err := actor.Encode(e)
	if err != nil {
		return c, err
	}
	if c.Event = head; it.data != nil {
		c.Event = splice(head, "data", it.data)
	}
	if len(c.Event) > actor.MaxEvent {
		return c, errs.New(errs.Invalid, "An event of %d bytes, at most %d.", len(c.Event), actor.MaxEvent)
	}
	return c, nil
}

// splice adds a member to a JSON object. The value, which is JSON already, is not looked at again.
func splice(object []byte, key string, value []byte) []byte {
	out := make([]byte, 0, len(object)+len(key)+len(value)+4)
	out = append(out, bytes.TrimSuffix(object, []byte("}"))...)
	out = append(out, `,"`...)
	out = append(out, key...)
	out = append(out, `":`...)
	out = append(out, value...)
	return append(out, '}')
}

func hasOutcome(effects []actor.Effect) bool {
	for _, e := range effects {
		if e.Type == actor.EffectHTTP || e.Type == actor.EffectActor {
			return true
		}
	}
	return false
}
