// Package actor decides. It handles one event at a time inside a transaction that its host owns, and answers with
// the effects to perform after the commit (spec 2.2, 3.1). It reads no clock, no randomness and no network of its
// own: the same database and the same event give the same effects.
//
// There is a file per record or task kind: its struct, its SQL, its transitions and its texts for people.
package actor

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"holdfast/actor/errs"
	"holdfast/actor/policy"
	"holdfast/actor/store"
)

// Handle runs one event. rc 0 means commit, and out is a Result; rc 1 means roll back, and out is an errs.Error as
// JSON. A failed statement is rc 1; any other panic is a defect and leaves through Handle, so that the host discards
// the instance.
func Handle(conn store.Conn, event []byte) (out []byte, rc int) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *store.Abort:
			out, rc = failure(sqlFailure(r.Err))
		default:
			panic(r)
		}
	}()
	result, err := handle(store.Tx{Conn: conn}, event)
	if err != nil {
		return failure(err)
	}
	out, err = Encode(result)
	switch {
	case err != nil:
		return failure(err)
	case len(out) > MaxResult:
		return failure(errs.New(errs.Internal, "a result of %d bytes, at most %d", len(out), MaxResult))
	}
	return out, 0
}

func failure(err error) ([]byte, int) {
	e := errs.Public(err)
	if e.Code == errs.Internal {
		e = errs.New(errs.Internal, "%v", err) // the host logs it; people get errs.Public of it
	}
	out, _ := json.Marshal(e)
	return out, 1
}

// sqlFailure says what a failed statement means to whoever waits.
func sqlFailure(err error) error {
	var e *store.Error
	if !errors.As(err, &e) {
		return errs.Wrap(errs.Internal, err, "the database failed")
	}
	switch e.Code {
	case store.Full:
		return errs.New(errs.Unavailable, "The disk is full; nothing was recorded.").WithHint("Make room; work goes on by itself.")
	case store.Busy, store.IO:
		return errs.New(errs.Unavailable, "The database could not be written; nothing was recorded.").WithHint("Try again.")
	case store.Corrupt:
		return errs.New(errs.Unavailable, "The database is damaged; it was left untouched.").WithHint("Restore a backup.")
	}
	return errs.New(errs.Internal, "%v", err)
}

// work is one event being handled.
type work struct {
	tx    store.Tx
	ev    *Event
	cfg   Config
	meta  map[string]string
	now   int64 // ms of the actor's own clock: due, leases, timers
	wall  int64 // unix ms as the host reads them: what people see
	guild string
	name  string // of the workspace

	effects []Effect
	trace   []Trace
	reply   *Reply

	// read once per event, when first needed
	tools *runnerState
	set   *Settings
	rules *policy.Policy

	reviewed string // the message that a review has just cleared
}

func handle(tx store.Tx, raw []byte) (*Result, error) {
	if len(raw) > MaxEvent {
		return nil, errs.New(errs.Invalid, "an event of %d bytes, at most %d", len(raw), MaxEvent)
	}
	ev := &Event{}
	if err := Decode(raw, ev); err != nil {
		return nil, errs.New(errs.Invalid, "the event is no JSON of an event: %v", err)
	}
	if ev.V != EnvelopeVersion {
		return nil, errs.New(errs.Invalid, "envelope version %d, this core speaks %d", ev.V, EnvelopeVersion)
	}
	w := &work{tx: tx, ev: ev, wall: ev.Now}
	kind, rest, _ := strings.Cut(ev.Actor, ":")
	run, migrations := w.directoryEvent, store.Directory
	switch kind {
	case "workspace":
		w.guild, w.name, _ = strings.Cut(rest, "/")
		run, migrations = w.workspaceEvent, store.Workspace
	case "directory":
		w.guild = rest
	case "application":
		run, migrations = w.applicationEvent, store.Application
	default:
		return nil, errs.New(errs.Invalid, "no actor is called %q", ev.Actor)
	}
	if ev.Peek != "" {
		run = w.peek
	}
	if err := w.open(migrations); err != nil {
		return nil, err
	}
	if err := run(); err != nil {
		return nil, err
	}
	return &Result{V: EnvelopeVersion, Reply: w.reply, Alarm: w.reviewAlarm(w.alarm(kind)), Effects: nonNil(w.effects), Trace: nonNil(w.trace)}, nil
}

func nonNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// open migrates at a start, then reads and advances the actor's clock and its copy of the configuration.
func (w *work) open(migrations [][]string) error {
	if w.ev.Type == EventStart {
		if err := store.Migrate(w.tx, migrations); err != nil {
			return errs.Wrap(errs.Unavailable, err, "%v", err)
		}
	}
	w.meta = map[string]string{}
	for _, row := range w.tx.Rows(`SELECT key, value FROM meta ORDER BY key`) {
		w.meta[row.Str(0)] = row.Str(1)
	}
	if err := w.mayPeek(len(migrations)); err != nil {
		return err
	}
	if w.meta["incarnation"] == "" {
		w.setMeta("incarnation", fmt.Sprint(w.wall/1000))
	}
	w.advanceClock()
	return w.configure()
}

// advanceClock makes time neither go back nor stand still (spec 3.1, rule 7).
func (w *work) advanceClock() {
	offset, last := parseInt(w.meta["offset"]), parseInt(w.meta["now_max"])
	w.now = w.wall + offset
	if w.now <= last && !mutant("the clock goes back") {
		offset += last - w.now + 1
		w.now = last + 1
		w.setMeta("offset", fmt.Sprint(offset))
	}
	w.setMeta("now_max", fmt.Sprint(w.now))
}

func (w *work) configure() error {
	ref := w.ev.Config
	if ref.Full != nil {
		w.cfg = *ref.Full
		if w.meta["config_hash"] != ref.Hash {
			raw, err := json.Marshal(ref.Full)
			if err != nil {
				return err
			}
			w.setMeta("config", string(raw))
			w.setMeta("config_hash", ref.Hash)
		}
		return nil
	}
	if ref.Hash != w.meta["config_hash"] {
		return errs.New(CodeNeedConfig, "the configuration %.12s is not known here", ref.Hash)
	}
	var err error
	if w.cfg, err = decodeConfig([]byte(w.meta["config"])); err != nil {
		return errs.New(CodeNeedConfig, "the stored configuration cannot be read")
	}
	return nil
}

func (w *work) setMeta(key, value string) {
	w.meta[key] = value
	if w.ev.Peek != "" {
		return
	}
	w.tx.Exec(`INSERT INTO meta(key, value) VALUES (?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value`, key, value)
}

// workspaceEvent runs the event, then everything that is due.
func (w *work) workspaceEvent() error {
	if w.ev.Attempt >= 4 && w.ev.Type != EventWake && w.ev.Type != EventStart {
		w.rejectEvent()
		return nil
	}
	if w.meta["review"] == ReviewRestored {
		w.beginReview()
	}
	if w.ev.Owner != w.meta["owner"] {
		w.takeOver()
	}
	if d := w.ev.Deadline; d != 0 && w.wall > d && !mutant("a deadline is ignored") {
		return errs.New(errs.Unavailable, "This came too late to be answered; nothing was recorded.").WithHint("Try again.")
	}
	if err := w.dispatch(); err != nil {
		return err
	}
	w.pump()
	return nil
}

func (w *work) dispatch() error {
	switch w.ev.Type {
	case EventStart, EventWake, EventRunnerOpen:
		return nil // takeOver and pump do the work; a runner speaks first
	case EventInteraction:
		return with(w.ev.Data, w.interaction)
	case EventWithdraw:
		return with(w.ev.Data, w.withdraw)
	case EventGateway:
		return with(w.ev.Data, w.gateway)
	case EventOperator:
		return with(w.ev.Data, w.operator)
	case EventEffect:
		return with(w.ev.Data, w.outcome)
	case EventEffectPart:
		return with(w.ev.Data, w.outcomePart)
	case EventProgress:
		return with(w.ev.Data, w.progress)
	case EventRunnerMessage:
		return with(w.ev.Data, w.runnerMessage)
	case EventRunnerClose:
		return with(w.ev.Data, w.runnerClosed)
	case EventActor:
		return with(w.ev.Data, w.actorMessage)
	}
	return errs.New(errs.Invalid, "a workspace knows no event %q", w.ev.Type)
}

// rejectEvent is the fourth attempt of an event that made the core fail three times (F35): it is kept as a name,
// answered, and blocks nobody.
func (w *work) rejectEvent() {
	w.event("event.rejected", 0, w.ev.Type, "")
	switch w.ev.Type {
	case EventEffect:
		var o Outcome
		_ = Decode(w.ev.Data, &o) // an unreadable one is of no row
		w.parkOutcome(o)
	case EventGateway:
		var g GatewayEvent
		_ = Decode(w.ev.Data, &g) // an unreadable one is rejected without its id
		w.answer(200, GatewayResult{ID: g.ID, Status: StatusRejected, Reason: "the core failed on it three times"})
	case EventRunnerMessage:
		var m RunnerMessage
		_ = Decode(w.ev.Data, &m) // as above
		w.rejectFrame(m)
	case EventInteraction:
		w.ephemeral("Something went wrong with this; it was not accepted. The operator can see it.")
	case EventOperator:
		w.answer(500, map[string]any{"error": errs.New(errs.Internal, "The core failed on this three times.")})
	}
}

// with decodes what a host encoded.
func with[T any, P interface {
	*T
	Decoder
}](data []byte, f func(T) error) error {
	var v T
	if err := Decode(data, P(&v)); err != nil {
		return errs.New(errs.Invalid, "the event's data cannot be read: %v", err)
	}
	return f(v)
}

// withArgs decodes what somebody else wrote: an operator, or another actor of another version.
func withArgs[T any](data json.RawMessage, f func(T) error) error {
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		return errs.New(errs.Invalid, "the event's data cannot be read: %v", err)
	}
	return f(v)
}

func (w *work) answer(status int, body any) {
	w.reply = &Reply{Status: status, Body: raw(body)}
}

// point marks the commit for the operator's log and for tests (spec 9.8).
func (w *work) point(name, ref string) { w.trace = append(w.trace, Trace{Name: name, Ref: ref}) }

// event appends an operator's safe event: names and ids, never content (spec 7.4).
func (w *work) event(name string, turn int64, ref, detail string) {
	var of any
	if turn != 0 {
		of = turn
	}
	w.tx.Exec(`INSERT INTO event(name, turn, ref, detail, created_wall) VALUES (?, ?, ?, ?, ?)`, name, of, ref, detail, w.wall)
	w.trace = append(w.trace, Trace{Name: name, Ref: ref})
}

func (w *work) audit(actor, action, ref, detail string) {
	w.tx.Exec(`INSERT INTO audit(actor, action, ref, detail, created_wall) VALUES (?, ?, ?, ?, ?)`, actor, action, ref, detail, w.wall)
}

func (w *work) do(e Effect) { w.effects = append(w.effects, e) }
