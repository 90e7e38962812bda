package host

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"holdfast/actor"
	"holdfast/actor/errs"
	"holdfast/interactions"
)

var errUnbound = errs.New(errs.NotFound, "No workspace is bound here.").WithHint("An admin binds one with PUT …/config.")

// deliver brings a verdict's events to their actors, one after another, and gives the answer.
func (h *Host) deliver(ctx context.Context, v *interactions.Verdict) *actor.Reply {
	if v.Mode == interactions.ModeGateway {
		return h.batch(ctx, v)
	}
	d := &delivery{host: h, verdict: v}
	if v.DeadlineMS > 0 {
		limit := time.Duration(v.DeadlineMS) * time.Millisecond
		d.deadline = h.now().Add(limit).UnixMilli()
		timed, cancel := context.WithCancel(ctx)
		defer cancel()
		timer := h.opts.Clock.AfterFunc(limit, cancel)
		defer timer.Stop()
		ctx = timed
	}
	return d.one(ctx)
}

// delivery is a verdict of mode "one" on its way.
type delivery struct {
	host     *Host
	verdict  *interactions.Verdict
	deadline int64
}

// one answers with the last answer that is not quiet, or with the first that is no success.
func (d *delivery) one(ctx context.Context) *actor.Reply {
	last := failed(500, errCrashed)
	for _, ev := range d.verdict.Deliver {
		reply, to, failure := d.host.send(ctx, ev, d.deadline, d.verdict.Withdraw != "")
		if failure != nil {
			return d.instead(ctx, to, failure)
		}
		if reply.Status < 200 || reply.Status > 299 {
			return reply
		}
		if !ev.Quiet {
			last = reply
		}
	}
	return last
}

// instead answers for an actor that did not: with what the verdict says for that case, after taking back what the
// actor may still do.
func (d *delivery) instead(ctx context.Context, to string, failure *errs.Error) *actor.Reply {
	v := d.verdict
	switch {
	case failure == errUnbound && v.Unbound != nil:
		return v.Unbound
	case failure == errDamaged && v.Damaged != nil:
		return v.Damaged // nothing was committed and nothing will be: there is nothing to take back
	case v.Late == nil || failure.Code.Status() < 500:
		return failed(failure.Code.Status(), failure)
	}
	if v.Withdraw != "" && to != "" {
		d.host.withdraw(to, v.Withdraw)
	}
	return v.Late
}

// withdrawals is how often a withdrawal is tried, a second apart.
const withdrawals = 10

// withdraw tells an actor that nothing may come of a key. The mailbox keeps it behind the event that it is about.
func (h *Host) withdraw(to, key string) {
	data, err := json.Marshal(actor.Withdraw{Key: key})
	if err != nil {
		return
	}
	f := &flight{host: h, name: to, ctx: h.ctx}
	h.background(func() {
		for range withdrawals {
			if a := h.ask(h.ctx, to, &item{kind: actor.EventWithdraw, data: data}, true); a.err == nil || !f.sleep(time.Second) {
				return
			}
		}
		h.opts.Log.Error("front.withdraw.failed", "actor", to, "key", key)
	})
}

// background runs f in a goroutine that Close waits for, unless the host has ended.
func (h *Host) background(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ended {
		h.wg.Go(f)
	}
}

// send delivers one event and waits for its reply. failure says that it was not committed, errUnbound that it is for
// nobody; to is the actor it went to, "" when it went nowhere. begins says that the event asks for work, which the
// alarm index is told while the core still looks at it.
func (h *Host) send(ctx context.Context, ev interactions.Delivery, deadline int64, begins bool) (reply *actor.Reply, to string, failure *errs.Error) {
	if ev.Answer != nil {
		return ev.Answer, "", nil
	}
	for again := false; ; again = true {
		if to, failure = h.recipient(ctx, ev, again); failure != nil {
			return nil, "", failure
		}
		if begins {
			h.index.Expect(to)
		}
		a := h.ask(ctx, to, &item{kind: ev.Type, data: ev.Data, deadline: deadline}, false)
		moved := ev.Resolve != nil && !again && isMoved(a)
		switch {
		case moved:
			continue
		case a.err != nil:
			return nil, to, a.err
		case a.reply == nil:
			return &actor.Reply{Status: 204}, to, nil
		}
		return a.reply, to, nil
	}
}

// isMoved says that a workspace knows it is the wrong one: its binding went elsewhere (spec 2.3).
func isMoved(a answer) bool {
	if a.err != nil {
		return a.err.Code == codeMoved
	}
	return a.reply != nil && a.reply.Status == 409 && bytes.Contains(a.reply.Body, []byte(`"`+codeMoved+`"`))
}

const codeMoved = "moved"

// batch answers for each event what became of it. Whatever went wrong with one, the relay sends it again; so that an
// actor gets its events in order, the later ones of the same actor are then not delivered either.
func (h *Host) batch(ctx context.Context, v *interactions.Verdict) *actor.Reply {
	results := make([]json.RawMessage, 0, len(v.Deliver))
	stuck := map[string]bool{}
	for _, ev := range v.Deliver {
		results = append(results, h.gateway(ctx, ev, stuck))
	}
	body, err := json.Marshal(struct {
		Results []json.RawMessage `json:"results"`
		Gaps    []struct{}        `json:"gaps"`
	}{results, []struct{}{}})
	if err != nil {
		h.opts.Log.Error("front.batch.failed", "err", err.Error())
		return failed(500, errCrashed)
	}
	return &actor.Reply{Status: 200, Body: body}
}

func (h *Host) gateway(ctx context.Context, ev interactions.Delivery, stuck map[string]bool) json.RawMessage {
	retry := result(ev.ID, actor.StatusRetry, "")
	to, failure := "", (*errs.Error)(nil)
	if ev.Answer == nil {
		if to, failure = h.recipient(ctx, ev, false); failure == errUnbound {
			return result(ev.ID, actor.StatusIgnored, "unbound")
		}
		if failure != nil || stuck[to] {
			return retry
		}
	}
	reply, _, failure := h.send(ctx, ev, 0, false)
	if failure != nil || reply.Status < 200 || reply.Status > 299 || len(reply.Body) == 0 {
		stuck[to] = true
		return retry
	}
	return reply.Body
}

func result(id, status, reason string) json.RawMessage {
	b, _ := json.Marshal(actor.GatewayResult{ID: id, Status: status, Reason: reason}) // three strings
	return b
}
