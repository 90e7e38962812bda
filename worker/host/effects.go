package host

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"time"
	"unicode/utf8"

	"holdfast/actor"
	"holdfast/actor/errs"
)

// launch performs effects, side by side, after the commit that asked for them. Those with an outcome are counted as
// flying until that outcome is handled.
func (r *resident) launch(effects []actor.Effect) {
	for _, e := range effects {
		r.host.metrics.effects.WithLabelValues(e.Type).Inc()
		switch e.Type {
		case actor.EffectRunnerSend, actor.EffectRunnerClose:
			r.send(e)
		case actor.EffectHTTP, actor.EffectActor:
			r.fly(e)
		default:
			r.host.opts.Log.Error("effect.unknown", "actor", r.name, "type", e.Type)
		}
	}
}

// fly performs an effect in a goroutine of its own and posts its outcome.
func (r *resident) fly(e actor.Effect) {
	h := r.host
	f := &flight{host: h, name: r.name, owner: r.owner, effect: e, ctx: r.flight}
	h.acquire(r.name)
	r.flying++
	h.wg.Go(func() {
		defer h.release(r)
		if e.Type == actor.EffectActor {
			f.message()
		} else {
			f.request()
		}
	})
}

// flight is an effect that is being performed.
type flight struct {
	host   *Host
	name   string // of the actor that wants it
	owner  string
	effect actor.Effect
	ctx    context.Context
}

// land posts the outcome behind the parts of a long body. Nothing is posted once the host is dead: the next owner's
// start event stands in for it.
func (f *flight) land(out actor.Outcome, body []byte) {
	f.host.point("after", "effect", f.effect.Point)
	if f.ctx.Err() != nil {
		return
	}
	out.ID, out.Epoch = f.effect.ID, f.effect.Epoch
	if len(body) > actor.MaxInlineBody {
		for seq, rest := 0, body; len(rest) > 0; seq++ {
			n := min(len(rest), actor.MaxInlineBody)
			part := actor.OutcomePart{ID: out.ID, Epoch: out.Epoch, Seq: seq, BodyB64: base64.StdEncoding.EncodeToString(rest[:n])}
			f.post(actor.EventEffectPart, part, true)
			rest = rest[n:]
			out.Parts++
		}
	} else if utf8.Valid(body) && quoted(body) <= maxQuoted {
		out.Body = string(body)
	} else {
		out.BodyB64 = base64.StdEncoding.EncodeToString(body)
	}
	f.post(actor.EventEffect, out, true)
}

// maxQuoted is the longest body, in bytes of its JSON string, that leaves room for the rest of an event.
const maxQuoted = actor.MaxEvent - 128<<10

// quoted is the length of a body as encoding/json writes it, or a little more.
func quoted(body []byte) int {
	n := len(body)
	for _, c := range body {
		if c < 0x20 || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' || c == 0x7f || c == 0xe2 {
			n += 5
		}
	}
	return n
}

func (f *flight) post(kind string, data any, wait bool) {
	b, err := json.Marshal(data)
	if err != nil {
		f.host.opts.Log.Error("effect.outcome.failed", "actor", f.name, "effect", f.effect.ID, "err", err.Error())
		return
	}
	if !wait {
		_ = f.host.post(f.name, &item{kind: kind, data: b}, false) // a full mailbox drops it
		return
	}
	f.deliver(kind, b)
}

// deliver brings an outcome, or a part of one, to the actor until it is committed: while the disk is full, again and
// again. It ends with the instance that asked for the effect, whose successor knows the effect for an orphan.
func (f *flight) deliver(kind string, data []byte) {
	for delay := time.Second; ; delay = min(2*delay, 30*time.Second) {
		it := &item{kind: kind, data: data}
		if kind == actor.EventEffect {
			it.landing = f.owner
		}
		a := f.host.ask(f.ctx, f.name, it, true)
		if !comesAgain(a) || f.ctx.Err() != nil {
			return
		}
		f.host.opts.Log.Warn("effect.outcome.retry", "actor", f.name, "effect", f.effect.ID, "err", a.err.Message)
		if f.host.isDraining() || !f.sleep(delay) {
			return
		}
	}
}

// comesAgain says that an outcome was not committed for a reason that passes. A refusal of the core does not.
func comesAgain(a answer) bool { return a.err != nil && a.err.Code == errs.Unavailable }

// message performs an actor effect: it is delivered until the other actor has committed it.
func (f *flight) message() {
	h, e := f.host, f.effect
	h.point("before", "effect", e.Point)
	// The epoch is not part of the id: a new owner that sends the same row again means the same message.
	data, err := json.Marshal(actor.ActorMessage{ID: f.name + "#" + e.ID, From: f.name, Data: e.Data})
	if err != nil || !actorName.MatchString(e.Actor) {
		f.land(actor.Outcome{Kind: actor.OutcomeRefused, Detail: "no such actor, or data that is no JSON"}, nil)
		return
	}
	for delay := time.Second; f.ctx.Err() == nil; delay = min(2*delay, 30*time.Second) {
		if !f.mayTell() {
			return
		}
		a := h.ask(f.ctx, e.Actor, &item{kind: actor.EventActor, data: data}, false)
		h.messages.Release(1)
		if a.err == nil {
			f.land(actor.Outcome{Kind: actor.OutcomeResponse, Status: 200}, nil)
			return
		}
		h.opts.Log.Warn("effect.actor.retry", "actor", f.name, "to", e.Actor, "code", string(a.err.Code))
		if h.isDraining() || !f.sleep(delay) {
			return
		}
	}
}

// mayTell waits while a backup is made, and says whether the message may then go. Of a host that stops it does not wait for
// the end of one: the next owner sends the message again.
func (f *flight) mayTell() bool {
	h := f.host
	if h.messages.TryAcquire(1) {
		return true
	}
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	defer context.AfterFunc(h.accepting, cancel)()
	return h.messages.Acquire(ctx, 1) == nil
}

// sleep waits, by the host's clock, and says whether the flight goes on.
func (f *flight) sleep(d time.Duration) bool {
	passed := make(chan struct{})
	timer := f.host.opts.Clock.AfterFunc(d, func() { close(passed) })
	defer timer.Stop()
	select {
	case <-passed:
		return true
	case <-f.ctx.Done():
		return false
	}
}

func (h *Host) isDraining() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.draining
}
