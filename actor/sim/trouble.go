package sim

import (
	"fmt"

	"holdfast/actor"
	"holdfast/actor/store"
)

// plant makes this attempt's statements fail or trap.
func (s *space) plant() {
	w := s.world
	switch {
	case w.chance("sql-fails", 0.004):
		s.conn.failIn, s.conn.code = int(w.between("sql", 1, 40)), []store.Code{store.Full, store.IO}[w.pick("sql", 2)]
	case w.chance("core-traps", 0.004):
		s.conn.trapIn = int(w.between("sql", 1, 40))
	}
}

// peek asks to read while nothing can be written, as the host does for an operator (F19): it must not need to write.
func (s *space) peek(op string) {
	w := s.world
	if !s.up || !s.conn.full {
		return
	}
	w.serial++
	ev := s.event(fmt.Sprint(w.serial), actor.EventOperator, 1, actor.Operator{Op: op, Principal: actor.Principal{Name: "ops", Roles: []string{"read"}}}, 0)
	ev.Peek = "the disk is full"
	s.db.begin()
	out, rc, trapped := s.call(encode(ev))
	s.db.rollback()
	w.note("%s peek %s rc %d %s", s.name, op, rc, digest(out))
	if rc != 0 || trapped {
		w.fail("F19: %s cannot be read while the disk is full: %s", op, out)
	}
	w.covered("F19 read while the disk was full")
}

// poisonRow makes the core trap from now on whenever it acts on one of the open rows.
func (s *space) poisonRow() {
	rows := s.query(`SELECT 'delivery ' || id FROM delivery WHERE state = 'pending' UNION ALL
		SELECT 'task ' || id FROM task WHERE state IN ('ready','waiting') ORDER BY 1`)
	if len(rows) > 0 {
		row := rows[s.world.pick("poison", len(rows))].Str(0)
		s.conn.poison[row] = true
		s.world.note("%s poisoned %s", s.name, row)
	}
}

// poisonQueued makes the core trap from now on whenever it places one of the queued inputs: it is the end of another
// turn that would place it.
func (s *space) poisonQueued() {
	rows := s.query(`SELECT content FROM submission WHERE state = 'queued' ORDER BY id`)
	if len(rows) == 0 {
		return
	}
	word := rows[s.world.pick("poison-queued", len(rows))].Str(0)
	s.conn.words = append(s.conn.words, fmt.Sprintf("%q", word))
	s.world.note("%s poisoned %s", s.name, word)
	s.world.covered("F35 a queued input makes the core trap")
}
