package sim

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"holdfast/actor"
)

// person picks who acts: mostly the admin, sometimes a member, rarely somebody whom the workspace does not admit.
func (w *world) person() actor.User {
	switch n := w.rng.IntN(10); {
	case n < 7:
		return actor.User{ID: maya, Name: "maya"}
	case n < 9:
		return actor.User{ID: sam, Name: "sam"}
	}
	return actor.User{ID: kim, Name: "kim"}
}

// people schedules everything that people do in the faulty time.
func (w *world) people() {
	for range 4 + w.rng.IntN(8) {
		w.after(w.rng.Int64N(faultyFor*3/4), w.somebodyAsks)
	}
	for range 4 + w.rng.IntN(6) {
		w.after(w.rng.Int64N(faultyFor), w.somebodyWrites)
	}
	for range 30 {
		w.after(w.rng.Int64N(faultyFor), w.somebodyPresses)
	}
	for range 2 {
		w.after(w.rng.Int64N(faultyFor), w.somebodyStops)
		w.after(w.rng.Int64N(faultyFor), w.somebodyResumes)
	}
}

// weather schedules what goes wrong by itself.
func (w *world) weather() {
	for range 4 {
		w.after(w.rng.Int64N(faultyFor), func() {
			if s := w.space(); w.chance(0.5) && s.up {
				s.down("out of the blue")
			}
		})
		w.after(w.rng.Int64N(faultyFor), func() {
			if s := w.space(); w.chance(0.5) {
				s.runner.die()
			}
		})
		w.after(w.rng.Int64N(faultyFor), func() {
			if s := w.space(); w.chance(0.5) {
				s.runner.closed(s.runner.socket)
			}
		})
	}
	w.after(w.rng.Int64N(faultyFor), w.clockJumps)
	w.after(w.rng.Int64N(faultyFor), w.threadChanges)
}

// clockJumps turns the host's clock forward or back.
func (w *world) clockJumps() {
	if w.chance(0.5) {
		w.skew += w.rng.Int64N(240_000) - 120_000
		w.covered("the clock jumps")
		w.note("skew %d", w.skew)
	}
}

// threadChanges deletes, archives or locks a thread.
func (w *world) threadChanges() {
	threads := w.discord.openThreads()
	if len(threads) == 0 || !w.chance(0.5) {
		return
	}
	id := threads[w.rng.IntN(len(threads))]
	state := []string{"deleted", "archived", "locked"}[w.rng.IntN(3)]
	w.discord.threads[id] = state
	w.covered("F28 thread " + state)
	for _, s := range w.spaces {
		g := actor.GatewayEvent{ID: fmt.Sprint("t:", id), Type: "THREAD_UPDATE", Place: s.thread(id), Archived: state == "archived", Locked: state == "locked"}
		if state == "deleted" {
			g.Type = "THREAD_DELETE"
		}
		w.relay(s, g)
	}
}

func (d *discord) openThreads() []string {
	var ids []string
	for id, state := range d.threads {
		if state == "open" {
			ids = append(ids, id)
		}
	}
	sort.Strings(ids)
	return ids
}

func (w *world) space() *space { return w.spaces[w.rng.IntN(len(w.spaces))] }

func (s *space) thread(id string) actor.Place {
	return actor.Place{Guild: guild, Channel: id, Type: 11, Parent: s.channel}
}

// places are the channel and the threads of a workspace.
func (s *space) places() []actor.Place {
	places := []actor.Place{{Guild: guild, Channel: s.channel}}
	for _, id := range s.world.discord.openThreads() {
		if s.one(`SELECT count(*) FROM thread WHERE id = ?`, id) == "1" {
			places = append(places, s.thread(id))
		}
	}
	return places
}

func (s *space) place() actor.Place {
	places := s.places()
	return places[s.world.rng.IntN(len(places))]
}

// interact is Discord's POST to the front, which answers by itself when the actor takes too long: the person is told
// that nothing was accepted, and the key is withdrawn (F32).
func (w *world) interact(s *space, in actor.Interaction) (reply string, accepted bool) {
	w.serial++
	in.Key = fmt.Sprint("15000000000000", 100000+w.serial)
	in.Token = "token-" + in.Key
	o := &original{channel: in.Place.Channel, at: w.now}
	w.discord.originals[in.Token] = o
	if !s.up {
		w.covered("interaction while down")
		return "", false
	}
	if w.chance(0.03) { // the actor stalls past the deadline
		w.covered("F32 the front answers alone")
		o.acknowledged, o.ephemeral = true, in.Kind == actor.KindAsk
		gen, late := s.gen, w.rng.IntN(2) == 0
		w.after(2_500, func() {
			if !s.up || s.gen != gen {
				return
			}
			if late { // the event itself got in just before its deadline
				s.handle(actor.EventInteraction, in, 0)
			}
			if in.Kind == actor.KindAsk && !w.chance(0.3) {
				s.handle(actor.EventWithdraw, actor.Withdraw{Key: in.Key}, 0)
			}
		})
		return "", false
	}
	res, ok := s.handle(actor.EventInteraction, in, w.now+w.skew+2_000)
	if !ok || res.Reply == nil {
		return "", false
	}
	reply = string(res.Reply.Body)
	if w.chance(0.02) { // Discord did not get it: the token is void
		w.covered("F24 reply lost")
		return reply, false
	}
	o.acknowledged = true
	return reply, true
}

func (w *world) somebodyAsks() {
	s := w.space()
	reply, ok := w.interact(s, actor.Interaction{Kind: actor.KindAsk, User: w.person(), Place: s.place(), Prompt: fmt.Sprintf("question %d", w.serial)})
	w.covered("ask")
	w.note("ask %v %.40s", ok, reply)
}

// somebodyWrites posts a message; the relay forwards it, again and again until it was taken.
func (w *world) somebodyWrites() {
	s := w.space()
	w.serial++
	id := fmt.Sprint("14000000000000", 100000+w.serial)
	place := s.place()
	g := actor.GatewayEvent{ID: id, Type: "MESSAGE_CREATE", Source: "live", Place: place, Message: id, Author: w.person(), Content: fmt.Sprintf("message %d", w.serial)}
	if !place.Thread() || w.rng.IntN(3) == 0 {
		g.Mentions, g.Content = []string{appID}, "<@"+appID+"> "+g.Content
	}
	w.covered("message")
	w.relay(s, g)
	switch w.rng.IntN(8) {
	case 0:
		edit := g
		edit.ID, edit.Type, edit.Content = "u:"+id, "MESSAGE_UPDATE", g.Content+" edited"
		w.after(w.latency(), func() { w.relay(s, edit) })
	case 1:
		gone := g
		gone.ID, gone.Type = "x:"+id, "MESSAGE_DELETE"
		w.after(w.latency(), func() { w.relay(s, gone) })
	}
}

// relay stands in for the Gateway's relay: at least once, sometimes twice.
func (w *world) relay(s *space, g actor.GatewayEvent) {
	if w.chance(0.1) {
		w.covered("F02 event delivered twice")
		w.after(w.latency(), func() { w.forward(s, g) })
	}
	w.forward(s, g)
}

func (w *world) forward(s *space, g actor.GatewayEvent) {
	res, ok := s.handle(actor.EventGateway, g, 0)
	if !ok || w.chance(0.02) { // no answer, or it was lost: tried again
		w.covered("F01 event tried again")
		w.after(2_000, func() { w.forward(s, g) })
		return
	}
	var result actor.GatewayResult
	if err := json.Unmarshal(res.Reply.Body, &result); err != nil || result.ID != g.ID {
		w.fail("a gateway event is answered with %s", res.Reply.Body)
	}
	w.covered("gateway: " + result.Status)
}

// somebodyPresses presses a button that Discord shows, also twice and long after.
func (w *world) somebodyPresses() {
	var cards []*message
	for _, m := range w.discord.everything() {
		if len(m.body.Components) > 0 && len(m.body.Components[0].Components) >= 2 {
			cards = append(cards, m)
		}
	}
	if len(cards) == 0 {
		return
	}
	m := cards[w.rng.IntN(len(cards))]
	for range 1 + w.rng.IntN(2) {
		buttons := m.body.Components[0].Components
		button := buttons[w.rng.IntN(min(2, len(buttons)))]
		verb, rest, _ := strings.Cut(button.CustomID, ":")
		target := rest[strings.LastIndex(rest, ":")+1:]
		place := actor.Place{Guild: guild, Channel: m.channel}
		reply, _ := w.interact(m.space, actor.Interaction{Kind: actor.KindPress, User: w.person(), Place: place, Verb: verb, Target: target})
		w.covered("press " + verb)
		w.note("press %s %.60s", verb, reply)
	}
}

func (w *world) somebodyStops() {
	s := w.space()
	w.interact(s, actor.Interaction{Kind: actor.KindStop, User: w.person(), Place: s.place()})
	w.covered("stop")
}

func (w *world) somebodyResumes() {
	s := w.space()
	w.interact(s, actor.Interaction{Kind: actor.KindResume, User: w.person(), Place: s.place(), Conversation: fmt.Sprint(1 + w.rng.IntN(3))})
	w.covered("resume")
}
