package sim

import (
	"encoding/json"
	"fmt"

	"holdfast/actor"
	"holdfast/actor/store"
)

// application is the actor that all workspaces share; it has no troubles of its own here.
type application struct {
	world   *world
	db      *database
	started bool
}

// tell carries a message to another actor, again and again until it was committed; its outcome goes to the sender.
func (s *space) tell(e actor.Effect, gen int) {
	w := s.world
	m := actor.ActorMessage{ID: e.ID, From: "workspace:" + guild + "/" + s.name, Data: e.Data}
	if e.Actor != "application" {
		w.fail("a message to %q", e.Actor)
	}
	w.after(w.latency(), func() {
		w.app.event(m)
		if w.chance("message-twice", 0.1) {
			w.app.event(m)
		}
		if s.up && s.gen == gen {
			s.handle(actor.EventEffect, actor.Outcome{ID: e.ID, Epoch: e.Epoch, Kind: actor.OutcomeResponse, Status: 200}, 0)
		}
	})
}

// event is one message to the application; what it answers is delivered until its workspace has committed it.
func (a *application) event(m actor.ActorMessage) {
	if !a.started {
		a.started = true
		a.db = applications.take()
		a.handle(actor.EventStart, nil)
	}
	for _, e := range a.handle(actor.EventActor, m).Effects {
		for _, s := range a.world.spaces {
			if e.Actor == "workspace:"+guild+"/"+s.name {
				a.answer(s, actor.ActorMessage{ID: e.ID, From: "application", Data: e.Data}, 0)
			}
		}
	}
}

func (a *application) answer(s *space, m actor.ActorMessage, try int) {
	w := a.world
	w.after(w.latency(), func() {
		if _, ok := s.handle(actor.EventActor, m, 0); !ok && try < 20 {
			w.after(1_000<<min(try, 5), func() { a.answer(s, m, try+1) })
		}
	})
}

func (a *application) handle(kind string, data any) *actor.Result {
	w := a.world
	body, _ := json.Marshal(data)
	w.serial++
	raw, _ := json.Marshal(actor.Event{V: 1, ID: fmt.Sprint(w.serial), Type: kind, Attempt: 1, Now: w.now + w.skew, Owner: "application-1",
		Config: actor.ConfigRef{Version: 1, Hash: "h", Full: &config}, Actor: "application", Data: body})
	a.db.begin()
	out, rc := actor.Handle(a.db, raw)
	a.db.commit()
	var res actor.Result
	if err := json.Unmarshal(out, &res); rc != 0 || err != nil {
		w.fail("the application refuses %s: %s", kind, out)
	}
	w.note("application %s %s", kind, digest(out))
	return &res
}

// The databases of both kinds of actors, kept between runs.
var (
	workspaces   = newPool(store.Workspace)
	applications = newPool(store.Application)
)
