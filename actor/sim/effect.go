package sim

import (
	"encoding/base64"
	"fmt"
	"strings"

	"holdfast/actor"
)

// crashWord in a question makes the host die each time it performs a model call for it (F17).
const crashWord = "CRASH"

// latest is how much later than it was sent a request may still be applied, in ms, beside the latency of its way.
const latest = 25_000

// launch performs an effect. The process may die before it, and after it with its outcome unknown.
func (s *space) launch(e actor.Effect) {
	w := s.world
	w.covered("effect: " + strings.TrimSpace(e.Type+" "+e.Point))
	if strings.Contains(string(e.Body)+string(e.Message), "token-") {
		w.fail("invariant 7: an interaction's token leaves in a body: %s %s", e.Method, e.Path)
	}
	if w.chance(killBeforeEffect, 0.004) {
		s.down("before an effect", s.outage())
		return
	}
	gen := s.gen
	switch e.Type {
	case actor.EffectRunnerSend:
		s.checkFrame(e.Message)
		for _, r := range s.runners {
			r.receive(e.Socket, e.Message)
		}
	case actor.EffectRunnerClose:
		w.after(10, func() { // behind the frames that were sent before
			for _, r := range s.runners {
				r.closed(e.Socket)
			}
		})
	case actor.EffectHTTP:
		s.checkRequest(e)
		e.Lane = fmt.Sprintf("%s~%d/%s", s.name, s.life, e.ID) // what it is in Discord, whenever it arrives
		if e.Point == actor.PointModel && strings.Contains(string(e.Body), crashWord) {
			w.covered("F17 a task crashes its host")
			s.down("a task that crashes its host", 500)
			return
		}
		w.after(w.latency(), func() { s.arrive(e, gen) })
	case actor.EffectActor:
		s.tell(e, gen)
	default:
		w.fail("an effect of unknown type %q", e.Type)
	}
	if s.gen == gen && w.chance(killAfterEffect, 0.004) {
		s.down("after an effect", s.outage())
	}
}

// arrive is the request at its target, the response on its way back, and the host's own time-out.
func (s *space) arrive(e actor.Effect, gen int) {
	w := s.world
	o := actor.Outcome{ID: e.ID, Epoch: e.Epoch, Kind: actor.OutcomeResponse, Headers: map[string]string{}}
	back := w.latency()
	switch {
	case w.chance("unsent", 0.01):
		o.Kind = actor.OutcomeUnsent
	case w.chance("held", 0.005):
		o.Kind = actor.OutcomeHeld
	case w.chance("late-request", 0.01): // it timed out here, and is applied there later: it may overtake what follows (F34)
		o.Kind, back = actor.OutcomeTimeout, e.TimeoutMS
		w.after(latest-w.between("late-request", 0, latest/2), func() { s.lateRequest(e) })
	default:
		o.Status, o.Body = s.target(e)
		if w.chance("answer-lost", 0.02) {
			o = actor.Outcome{ID: e.ID, Epoch: e.Epoch, Kind: actor.OutcomeNetwork}
		}
	}
	if o.Kind == actor.OutcomeResponse && o.Status == 0 {
		o.Kind, back = actor.OutcomeTimeout, e.TimeoutMS
	}
	if w.chance("late-outcome", 0.003) { // the host stalls past the claim's lease
		back += e.TimeoutMS + 90_000
	}
	if model := strings.HasPrefix(e.Target, "model:"); model && w.chance("slow-model", 0.05) {
		back += w.between("slow-model", 20_000, 200_000)
		s.progress(e, gen, back)
	}
	w.after(back, func() { s.outcome(o, gen) })
}

func (s *space) target(e actor.Effect) (status int, body string) {
	if strings.HasPrefix(e.Target, "model:") {
		return s.world.model.serve(s, string(e.Body))
	}
	return s.world.discord.serve(s, e)
}

func (s *space) lateRequest(e actor.Effect) {
	if strings.HasPrefix(e.Target, "model:") {
		return // nobody reads the answer
	}
	before := s.world.discord.edits(e)
	status, _ := s.target(e)
	if before > 0 && status == 200 {
		s.world.covered("F34 a request is applied late")
	}
}

// progress tells the actor, every five seconds, that a long answer is coming.
func (s *space) progress(e actor.Effect, gen int, until int64) {
	for at := int64(5_000); at < until; at += 20_000 {
		s.world.after(at, func() {
			if s.up && s.gen == gen {
				s.handle(actor.EventProgress, actor.Progress{ID: e.ID, Epoch: e.Epoch, Bytes: at}, 0)
			}
		})
	}
}

// outcome feeds an outcome back, a long one in parts; one that finds the process gone, or the disk full, is lost.
func (s *space) outcome(o actor.Outcome, gen int) {
	w := s.world
	if !s.up || s.gen != gen {
		return
	}
	if o.ID[0] == 't' && len(o.Body) > 10 && w.chance("parts", 0.1) {
		cut := int(w.between("parts", 1, int64(len(o.Body))))
		part := actor.OutcomePart{ID: o.ID, Epoch: o.Epoch, BodyB64: base64.StdEncoding.EncodeToString([]byte(o.Body[:cut]))}
		if _, ok := s.handle(actor.EventEffectPart, part, 0); !s.up || s.gen != gen {
			return
		} else if ok {
			w.covered("an answer in parts")
		}
		o.Body, o.Parts = o.Body[cut:], 1
	}
	ok := s.fenced(s.staleOutcome(o), fmt.Sprintf("an outcome of %s under epoch %d", o.ID, o.Epoch), func() bool {
		_, ok := s.handle(actor.EventEffect, o, 0)
		return ok
	})
	if ok && w.chance("duplicate-outcome", 0.02) {
		w.after(w.between("duplicate-outcome", 1, 5_000), func() { s.outcome(o, gen) })
	}
}
