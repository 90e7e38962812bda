package sim

import (
	"strings"

	"holdfast/actor"
)

// interact is Discord's POST to the front, which answers by itself when the actor takes too long: the person is told
// that nothing was accepted, and the key is withdrawn (F32).
func (p *people) interact(d *deed, s *space, in actor.Interaction) (reply string) {
	w := p.world
	in.Key = w.discord.id()
	in.Token = "token-" + in.Key
	o := &original{interaction: in.Key, channel: in.Place.Channel, at: w.now}
	w.discord.originals[in.Token] = o
	var said *asked
	if in.Kind == actor.KindResume {
		s.resumed = w.now
	}
	if in.Kind == actor.KindAsk {
		said = p.input(s, in.Key, in.Prompt)
	}
	if !s.up {
		w.covered("interaction while down")
		return ""
	}
	if w.chance("front-answers-alone", 0.03) {
		o.acknowledged, o.ephemeral = true, in.Kind == actor.KindAsk
		gen, deadline := s.gen, w.now+w.skew+2_000
		w.after(2_500, func() {
			if s.up && s.gen == gen {
				p.tooLate(d, s, in, said, deadline)
			}
		})
		return ""
	}
	res, ok := s.handle(actor.EventInteraction, in, w.now+w.skew+2_000)
	if !ok || res.Reply == nil {
		return ""
	}
	reply = string(res.Reply.Body)
	if w.chance("reply-lost", 0.02) { // Discord did not get it: the token is void
		w.covered("F32 Discord did not get the first answer")
		return reply
	}
	o.acknowledged = true
	if said != nil {
		said.accepted = strings.Contains(reply, `"type":5`) || strings.Contains(reply, "Added to") || strings.Contains(reply, "Queued as")
	}
	w.note("%s %.60s", d.name, reply)
	return reply
}

// tooLate is what the actor gets of an interaction that its front has answered: the event just before its deadline,
// after it, after its withdrawal, or never; and mostly the withdrawal.
func (p *people) tooLate(d *deed, s *space, in actor.Interaction, said *asked, deadline int64) {
	w := p.world
	order := d.IntN(4)
	event := func(deadline int64) {
		if _, ok := s.handle(actor.EventInteraction, in, deadline); ok {
			w.covered("F32 admitted, and answered by the front alone")
		}
	}
	switch order {
	case 0:
		event(0)
	case 1:
		event(deadline)
	}
	if said != nil && s.up && !w.chance("withdrawal-lost", 0.3) {
		if _, ok := s.handle(actor.EventWithdraw, actor.Withdraw{Key: in.Key}, 0); ok {
			said.withdrawn = true
			w.covered("F32 withdrawn")
		}
	}
	if order == 2 && s.up {
		event(0)
	}
}
