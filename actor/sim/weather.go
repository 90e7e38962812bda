package sim

import (
	"fmt"

	"holdfast/actor"
)

// weather schedules what goes wrong by itself, apart from any single event.
func (w *world) weather() {
	w.happens("kill", 4, 0.5, func(s *space) { s.down("out of the blue", s.outage()) })
	w.happens("deploy", 1, 0.4, func(s *space) {
		w.covered("F29 a deploy resets the object")
		s.down("a deploy", 0)
	})
	w.happens("eviction", 2, 0.4, func(s *space) {
		if s.one(`SELECT 1 FROM task WHERE kind = 'generation' AND state = 'running'`) != "" {
			w.covered("F31 evicted during a long effect")
		}
		s.down("an eviction", w.between("eviction", 1, 30_000))
	})
	w.happens("kill-loop", 1, 0.08, func(s *space) { s.killLoop(20) })
	w.happens("runner-dies", 4, 0.5, func(s *space) {
		back := w.between("runner-back", 500, 5_000)
		if w.pick("runner-back", 6) == 0 {
			back = 15 * 60_000
		}
		s.runners[0].die(back)
	})
	w.happens("runner-pauses", 2, 0.4, func(s *space) { s.runners[0].pause(w.between("pause", 5_000, 300_000)) })
	w.happens("runner-cut", 4, 0.5, func(s *space) { s.runners[0].closed(s.runners[0].socket) })
	w.happens("rival-comes", 1, 0.3, (*space).rival)
	w.happens("disk-full", 1, 0.25, (*space).fillDisk)
	w.happens("clock-jumps", 1, 0.5, func(*space) { w.skew += w.between("clock", -120_000, 120_000) })
	w.happens("thread-changes", 1, 0.6, func(*space) { w.threadChanges() })
	w.happens("discord-outage", 1, 0.25, func(*space) { w.outage() })
	w.happens("backup", 3, 0.2, func(s *space) { s.backup = s.backUp() })
	w.happens("restore", 1, 0.5, func(s *space) {
		if s.backup != nil {
			s.restore(s.backup)
		}
	})
	w.happens("history-hidden", 1, 0.3, func(*space) {
		w.discord.hidden = true
		w.after(w.between("hidden", 60_000, 900_000), func() { w.discord.hidden = false })
	})
}

// happens plans n faults of a class, each with probability p, for a workspace that is up then.
func (w *world) happens(class string, n int, p float64, f func(*space)) {
	for range n {
		w.after(w.between(class, 0, w.day), func() {
			if s := w.spaces[w.pick(class, len(w.spaces))]; w.chance(class, p) && s.up {
				w.note("%s %s", s.name, class)
				f(s)
			}
		})
	}
}

// killLoop kills the host again and again, whenever it is up.
func (s *space) killLoop(n int) {
	if n == 0 || s.world.calm {
		return
	}
	if s.up {
		s.world.covered("F30 killed in a loop")
		s.down("a loop", s.world.between("kill-loop", 10, 300))
	}
	s.world.after(s.world.between("kill-loop", 300, 3_000), func() { s.killLoop(n - 1) })
}

// rival is a second runner for the workspace: it asks for it for some minutes.
func (s *space) rival() {
	r := s.runners[1]
	if !r.away {
		return
	}
	r.launch()
	life := r.life
	s.world.after(s.world.between("rival", 60_000, 900_000), func() {
		if r.life == life {
			r.leave()
		}
	})
}

// fillDisk makes each write fail for a while. Reading goes on.
func (s *space) fillDisk() {
	w := s.world
	s.conn.full = true
	before, length := s.conn.refuse, w.between("disk-full", 5_000, 90_000)
	w.after(length/2, func() {
		s.peek([]string{actor.OpStatus, actor.OpJobs, actor.OpRecords, actor.OpEvents}[w.pick("disk-full", 4)])
	})
	w.after(length, func() {
		s.conn.full = false
		w.note("%s has room again", s.name)
		if s.conn.refuse > before {
			w.covered("F19 writes failed, for want of room")
		}
	})
}

// threadChanges deletes, archives or locks a thread.
func (w *world) threadChanges() {
	var open []string
	for _, id := range w.discord.order {
		if w.discord.threads[id] == "open" {
			open = append(open, id)
		}
	}
	if len(open) == 0 {
		return
	}
	id := open[w.pick("thread", len(open))]
	state := []string{"deleted", "archived", "locked"}[w.pick("thread", 3)]
	w.discord.threads[id] = state
	w.covered("F28 thread " + state)
	for _, s := range w.spaces {
		g := actor.GatewayEvent{ID: fmt.Sprint("t:", id), Type: "THREAD_UPDATE", Place: s.thread(id), Archived: state == "archived", Locked: state == "locked"}
		if state == "deleted" {
			g.Type = "THREAD_DELETE"
		}
		w.people.relay(s, g)
	}
}

// outage makes Discord answer everything the same wrong way, mostly for minutes, sometimes for hours.
func (w *world) outage() {
	kind := outages[w.pick("outage-kind", len(outages))]
	length := w.between("outage-kind", 30_000, 600_000)
	if w.day == longDay && w.pick("outage-kind", 2) == 0 {
		length = w.between("outage-kind", 3_600_000, 3*3_600_000)
	}
	w.discord.outage = kind
	w.covered(fmt.Sprintf("F25 Discord is out: %s", kind))
	if length > 3_600_000 {
		w.covered("F25 Discord is out for hours")
	}
	w.after(length, func() { w.discord.outage = "" })
}
