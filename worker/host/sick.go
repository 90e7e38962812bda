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
	h := r.host
	h.opts.Log.Error("actor.damaged", "actor", r.name, "err", err.Error(), "note", "served for reading only; restore a backup")
	h.metrics.damaged.Inc()
	if err := os.WriteFile(r.path()+markEnding, []byte(err.Error()+"\n"), 0o600); err != nil {
		h.opts.Log.Error("actor.damaged.unmarked", "actor", r.name, "err", err.Error())
	}
	r.close()
	r.flying = 0
	r.damage = err.Error()
}

// readMark says what was found to be wrong with a file earlier.
func readMark(path string) string {
	b, err := os.ReadFile(path + markEnding)
	if err != nil {
		return ""
	}
	return cmp.Or(strings.TrimSpace(string(b)), "damaged")
}

// peekInstead answers an operator's question from what is committed, when the event itself could not be. Whatever
// else it was, the failure stands.
func (r *resident) peekInstead(it *item, failure *errs.Error) answer {
	if it.kind != actor.EventOperator || failure.Code != errs.Unavailable || r.host.killed.Load() || r.open() != nil {
		return answer{err: failure}
	}
	reply, ok := r.peek(it, failure.Message)
	if !ok {
		return answer{err: failure}
	}
	return answer{reply: reply}
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
