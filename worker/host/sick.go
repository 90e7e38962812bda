package host

import (
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"strings"

	"holdfast/actor"
	"holdfast/actor/errs"
	"holdfast/actor/store"
	"holdfast/worker/host/sqlite"
)

// What cannot be written can often still be read: a full disk and a damaged database refuse events, and answer
// operators who ask how things stand.

var errDamaged = errs.New(errs.Unavailable, "The database is damaged; it was left untouched.").
	WithHint("What can be read is still shown. Restore a backup; if the file was encrypted, check the key.")

func isCorrupt(err error) bool {
	var e *store.Error
	return errors.As(err, &e) && e.Code == store.Corrupt
}

// broken takes a damaged database out of service for everything but reading. A mark beside it keeps it so after a
// restart; the file itself is not touched again.
func (r *resident) broken(err error) {
	r.mark(err.Error(), "served for reading only; restore a backup")
	r.close()
	r.flying = 0
}

func (r *resident) mark(found, note string) {
	h := r.host
	h.opts.Log.Error("actor.damaged", "actor", r.name, "err", found, "note", note)
	h.metrics.damaged.Inc()
	if err := os.WriteFile(r.path()+markEnding, []byte(found+"\n"), 0o600); err != nil {
		h.opts.Log.Error("actor.damaged.unmarked", "actor", r.name, "err", err.Error())
	}
	r.damage = found
}

// shut begins the mark of a database that did not even open. A wrong key looks the same.
const shut = "does not open: "

// unopened names what is wrong with a database that does not open, and marks one that is damaged.
func (r *resident) unopened(err error) *errs.Error {
	switch {
	case !isCorrupt(err):
		r.host.opts.Log.Error("actor.open.failed", "actor", r.name, "err", err.Error())
		return openError(err)
	case r.damage == "":
		r.mark(shut+err.Error(), "cannot be read; restore a backup, or check the key")
	}
	return errDamaged
}

// readMark says what was found to be wrong with the file earlier; "" for nothing. A mark that says no more than that
// the file did not open goes when it opens again and is sound: then another key was at fault, or a sound copy was put
// in its place.
func (r *resident) readMark() string {
	b, err := os.ReadFile(r.path() + markEnding)
	if err != nil {
		return ""
	}
	found := cmp.Or(strings.TrimSpace(string(b)), "damaged")
	if !strings.HasPrefix(found, shut) || !r.sound() {
		return found
	}
	if err := os.Remove(r.path() + markEnding); err != nil {
		r.host.opts.Log.Error("actor.mark.stays", "actor", r.name, "err", err.Error())
		return found
	}
	r.host.opts.Log.Warn("actor.sound", "actor", r.name, "note", "it opens again and is sound: its mark was removed")
	return ""
}

// sound looks through the whole file without touching it.
func (r *resident) sound() bool {
	db, err := sqlite.OpenWith(r.path(), sqlite.Options{Key: r.host.opts.Key, Untouched: true})
	if err != nil {
		return false
	}
	return errors.Join(db.CheckAll(), db.Close()) == nil
}

// peekInstead answers an operator's question from what is committed, when the event itself could not be. Whatever
// else it was, the failure stands.
func (r *resident) peekInstead(it *item, failure *errs.Error) answer {
	if failure.Code != errs.Unavailable || r.host.killed.Load() {
		return answer{err: failure}
	}
	if r.damage != "" {
		failure = errDamaged // whoever met it first, the core or its host
	}
	if it.kind != actor.EventOperator {
		return answer{err: failure}
	}
	if r.open() == nil {
		if reply, ok := r.peek(it, failure.Message); ok {
			return answer{reply: reply}
		}
	}
	return r.blindStatus(it, failure)
}

// blindStatus answers for a workspace of which nothing can be read: an operator who asks for its status learns why.
func (r *resident) blindStatus(it *item, failure *errs.Error) answer {
	var in actor.Operator
	name, ok := strings.CutPrefix(r.name, workspacePrefix)
	if !ok || json.Unmarshal(it.data, &in) != nil || in.Op != actor.OpStatus {
		return answer{err: failure}
	}
	body, err := json.Marshal(map[string]any{"workspace": name, "now": r.host.now().UnixMilli(), "storage": failure.Message, "unreadable": true})
	if err != nil {
		return answer{err: failure}
	}
	return answer{reply: &actor.Reply{Status: 200, Body: body}}
}

// peek runs the event in a transaction that takes no writes.
func (r *resident) peek(it *item, why string) (*actor.Reply, bool) {
	h := r.host
	call, err := r.call(&item{kind: it.kind, id: it.id, data: it.data, peek: why}, 1, true)
	if err != nil {
		return nil, false
	}
	if err := r.db.BeginRead(); err != nil {
		return nil, false
	}
	out, rc, err := h.opts.Engine.Handle(h.ctx, r.db, call)
	if end := r.db.EndRead(); end != nil {
		r.abandon(end)
	}
	if err != nil || rc != 0 {
		return nil, false
	}
	var res actor.Result
	if err := json.Unmarshal(out, &res); err != nil {
		return nil, false
	}
	return res.Reply, res.Reply != nil
}
