package sim

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"holdfast/actor"
)

// people are the users, the operator, and the relay that carries what they write.
type people struct {
	world *world
	asked map[string]*asked // by key
	keys  []string
	spool int // events that the relay still has to hand over
}

// asked is one input, and what its author was told.
type asked struct {
	space     *space
	text      string // unlike any other
	at        int64
	event     *actor.GatewayEvent // of a message
	accepted  bool
	withdrawn bool // told that nothing was accepted, and the actor knows
}

// deed is one thing that somebody does, with randomness of its own.
type deed struct {
	*rand.Rand
	n    int
	name string
}

// schedule is everything that people do in the faulty time.
func (p *people) schedule() {
	w := p.world
	rare := func(class string, of int) int { return max(0, 1-w.pick(class, of)) }
	p.deeds("asks", 4+w.pick("asks", 8), w.day*3/4, p.asks)
	p.deeds("asks-what-crashes", rare("asks-what-crashes", 12), w.day, p.asks)
	p.deeds("asks-poison", rare("asks-poison", 12), w.day, p.asks)
	p.deeds("writes", 4+w.pick("writes", 6), w.day, p.writes)
	p.deeds("writes-poison", rare("writes-poison", 12), w.day, p.writes)
	p.deeds("presses", 8, w.day, p.presses)
	p.deeds("stops", 2, w.day, p.stops)
	p.deeds("resumes", 2, w.day, p.resumes)
	p.deeds("completes", 1, w.day, p.completes)
	p.deeds("administers", 2, w.day, p.administers)
	p.deeds("operates", 3, w.day, p.operates)
	p.deeds("deletes-answer", rare("deletes-answer", 3), w.day, p.deletesAnswer)
}

func (p *people) deeds(class string, n int, latest int64, f func(*deed)) {
	w := p.world
	for i := range n {
		d := Decision{class, i + 1}
		w.after(w.between(class, 0, latest), func() {
			if w.calm || w.opts.only != nil && !w.opts.only[d] {
				return
			}
			w.fired = append(w.fired, d)
			w.covered("deed: " + class)
			f(&deed{Rand: w.dice(d.String()).Rand, n: i + 1, name: class})
		})
	}
}

// who acts: mostly the admin, sometimes a member, rarely somebody whom the workspace does not admit.
func (d *deed) who() actor.User {
	switch n := d.IntN(10); {
	case n < 7:
		return actor.User{ID: maya, Name: "maya"}
	case n < 9:
		return actor.User{ID: sam, Name: "sam"}
	}
	return actor.User{ID: kim, Name: "kim"}
}

func (d *deed) space(w *world) *space { return w.spaces[d.IntN(len(w.spaces))] }

// place is the workspace's channel, or one of its threads.
func (d *deed) place(s *space) actor.Place {
	places := []actor.Place{{Guild: guild, Channel: s.channel}}
	for _, id := range s.world.discord.order {
		if s.world.discord.threads[id] == "open" && len(s.query(`SELECT 1 FROM thread WHERE id = ?`, id)) > 0 {
			places = append(places, s.thread(id))
		}
	}
	return places[d.IntN(len(places))]
}

func (s *space) thread(id string) actor.Place {
	return actor.Place{Guild: guild, Channel: id, Type: 11, Parent: s.channel}
}

// text is unlike any other input's, and names what the input provokes.
func (d *deed) text() string {
	word := map[string]string{"asks": "Q", "asks-what-crashes": crashWord, "asks-poison": poisonWord, "writes": "M", "writes-poison": poisonWord + "-M"}
	return fmt.Sprintf("%s%d.", word[d.name], d.n)
}

// input remembers what somebody says.
func (p *people) input(s *space, key, text string) *asked {
	a := &asked{space: s, text: text, at: p.world.now}
	p.asked[key] = a
	p.keys = append(p.keys, key)
	return a
}

func (p *people) asks(d *deed) {
	s := d.space(p.world)
	p.interact(d, s, actor.Interaction{Kind: actor.KindAsk, User: d.who(), Place: d.place(s), Prompt: d.text()})
}

// writes posts a message; the relay forwards it, again and again until it was taken.
func (p *people) writes(d *deed) {
	w, s := p.world, d.space(p.world)
	place, who := d.place(s), d.who()
	m := w.discord.add(&message{channel: place.Channel, author: who.ID, space: s})
	id := m.id
	g := actor.GatewayEvent{ID: id, Type: "MESSAGE_CREATE", Source: "live", Place: place, Message: id, Author: who, Content: d.text()}
	if !place.Thread() || d.IntN(3) == 0 {
		g.Mentions, g.Content = []string{appID}, "<@"+appID+"> "+g.Content
	}
	p.input(s, id, d.text()).event = &g
	p.relay(s, g)
	switch d.IntN(8) {
	case 0:
		edit := g
		edit.ID, edit.Type, edit.Content = "u:"+id, "MESSAGE_UPDATE", g.Content+" edited"
		w.after(w.latency(), func() { p.relay(s, edit) })
	case 1:
		gone := g
		m.deleted = true
		gone.ID, gone.Type = "x:"+id, "MESSAGE_DELETE"
		w.after(w.latency(), func() { p.relay(s, gone) })
	case 2:
		again := g
		again.Source = "backfill"
		w.after(d.Int64N(5*60_000), func() { p.relay(s, again) })
	}
}

// relay stands in for the Gateway's relay: at least once, sometimes twice.
func (p *people) relay(s *space, g actor.GatewayEvent) {
	w := p.world
	if w.chance("relayed-twice", 0.1) {
		p.spool++
		w.after(w.latency(), func() { p.forward(s, g, 0) })
	}
	p.spool++
	p.forward(s, g, 0)
}

func (p *people) forward(s *space, g actor.GatewayEvent, try int) {
	w := p.world
	res, ok := s.handle(actor.EventGateway, g, 0)
	if !ok || w.chance("relay-hears-nothing", 0.02) { // no answer, or it was lost: tried again
		w.after(2_000<<min(try, 5), func() { p.forward(s, g, try+1) })
		return
	}
	p.spool--
	var result actor.GatewayResult
	if err := json.Unmarshal(res.Reply.Body, &result); err != nil || result.ID != g.ID {
		w.fail("a gateway event is answered with %s", res.Reply.Body)
	}
	w.covered("gateway: " + result.Status)
	switch result.Status {
	case actor.StatusDuplicate:
		w.covered("F02 the same message again: " + g.Source)
	case actor.StatusRejected:
		w.covered("F35 an event that makes the core trap each time is rejected")
	case actor.StatusCommitted:
		if g.Type == "MESSAGE_CREATE" && result.Reason != "kept for review" {
			p.asked[g.Message].accepted = true
		}
	}
}

// presses a button that Discord shows, mostly of an approval that waits.
func (p *people) presses(d *deed) {
	var waiting, others []*message
	for _, m := range p.world.discord.all {
		switch {
		case m.deleted || len(m.body.Components) == 0:
		case len(m.body.Components[0].Components) > 1 && !m.body.Components[0].Components[0].Disabled:
			waiting = append(waiting, m)
		default:
			others = append(others, m)
		}
	}
	from := waiting
	if len(waiting) == 0 || d.IntN(5) == 0 {
		from = others
	}
	if len(from) > 0 {
		p.press(d, from[d.IntN(len(from))])
	}
}

// press may also press twice at once, two buttons, and those of a card that another incarnation has posted.
func (p *people) press(d *deed, m *message) {
	var buttons []string
	for _, c := range m.body.Components[0].Components {
		buttons = append(buttons, c.CustomID)
	}
	buttons = append(buttons, buttons[0]) // approve twice as often
	button := buttons[d.IntN(len(buttons))]
	for range 1 + d.IntN(2) {
		verb, rest, _ := strings.Cut(button, ":")
		target := rest[strings.LastIndex(rest, ":")+1:]
		if d.IntN(20) == 0 {
			target = "1" + target
			p.world.covered("F36 a card of another incarnation is pressed")
		}
		in := actor.Interaction{Kind: actor.KindPress, User: d.who(), Place: actor.Place{Guild: guild, Channel: m.channel}, Verb: verb, Target: target}
		if verb == "w" {
			in.Kind, in.Reason = actor.KindReason, "not today"
		}
		reply := p.interact(d, m.space, in)
		if strings.Contains(reply, "Already decided") || strings.Contains(reply, "Too late") {
			p.world.covered("F15 the loser of two decisions is told")
		}
		if d.IntN(3) == 0 {
			button = buttons[d.IntN(len(buttons))]
		}
	}
}

// sees a new card: often somebody decides about it within a minute.
func (p *people) sees(m *message) {
	w := p.world
	if m.space == nil || len(m.body.Components) == 0 || len(m.body.Components[0].Components) < 2 {
		return
	}
	s := w.dice("answers-card")
	s.n++
	n := Decision{"answers-card", s.n}
	w.after(1_000+w.dice(n.String()).Int64N(60_000), func() {
		if w.calm || w.opts.only != nil && !w.opts.only[n] || w.dice(n.String()).IntN(2) == 0 {
			return
		}
		w.fired = append(w.fired, n)
		p.press(&deed{Rand: w.dice(n.String()).Rand, n: n.N, name: n.Class}, m)
	})
}

func (p *people) stops(d *deed) {
	s := d.space(p.world)
	p.interact(d, s, actor.Interaction{Kind: actor.KindStop, User: d.who(), Place: d.place(s)})
}

func (p *people) resumes(d *deed) {
	s := d.space(p.world)
	p.interact(d, s, actor.Interaction{Kind: actor.KindResume, User: d.who(), Place: d.place(s), Conversation: fmt.Sprint(1 + d.IntN(3))})
}

func (p *people) completes(d *deed) {
	s := d.space(p.world)
	p.interact(d, s, actor.Interaction{Kind: actor.KindComplete, User: d.who(), Place: d.place(s), Query: "Q"})
}

// operates is the operator, who reads, decides, and makes the policy stricter or usual again.
func (p *people) operates(d *deed) {
	s := d.space(p.world)
	op := []string{actor.OpStatus, actor.OpJobs, actor.OpJob, actor.OpEvents, actor.OpRecords, actor.OpStop, actor.OpApprove, actor.OpDeny, actor.OpConfig}[d.IntN(9)]
	p.world.covered("operator: " + op)
	if op == actor.OpConfig {
		s.configure(actor.Settings{Policy: json.RawMessage([]string{usualPolicy, strictPolicy}[d.IntN(2)])})
		return
	}
	args := json.RawMessage(`{}`)
	if open := s.one(`SELECT max(id) FROM submission WHERE state = 'placed'`); open != "" && op != actor.OpEvents {
		args = fmt.Appendf(nil, `{"id":%q}`, open)
	}
	s.handle(actor.EventOperator, actor.Operator{Op: op, Principal: actor.Principal{Name: "ops", Roles: []string{"read", "approve"}}, Args: args}, 0)
}

// deletesAnswer is a moderator who removes one of the bot's messages (10008).
func (p *people) deletesAnswer(d *deed) {
	all := p.world.discord.all
	if len(all) == 0 {
		return
	}
	if m := all[d.IntN(len(all))]; m.author == appID {
		m.deleted = true
	}
}
