package sim

import (
	"encoding/json"
	"fmt"
	"strings"

	"holdfast/actor/store"
)

// atRest is judged once no fault and no person is left: everything accepted is settled, and Discord shows it once.
func (w *world) atRest() {
	if w.people.spool > 0 {
		w.fail("invariant 8: %d events of the Gateway are never taken", w.people.spool)
	}
	for _, s := range w.spaces {
		s.checkQuiet()
		s.checkTurns()
		s.checkCalls()
		s.checkCards()
		s.coverStates()
	}
	w.checkAsked()
	w.checkSecrets()
}

// checkQuiet is invariant 8.
func (s *space) checkQuiet() {
	for what, sql := range map[string]string{
		"submissions": `SELECT group_concat(id || ' ' || state) FROM submission WHERE state IN ('queued','placed')`,
		"tasks":       `SELECT group_concat(id || ' ' || kind || ' ' || state) FROM task WHERE due IS NOT NULL`,
		"reviews":     `SELECT group_concat(id || ' ' || verdict) FROM review WHERE due IS NOT NULL`,
		"deliveries":  `SELECT group_concat(id || ' ' || kind || ' ' || state || ' ' || reason) FROM delivery WHERE due IS NOT NULL`,
	} {
		if open := s.one(sql); open != "" {
			s.world.fail("invariant 8: %s still has open %s: %s", s.name, what, open)
		}
	}
	for _, e := range s.runners[0].journal {
		s.world.fail("invariant 8: the runner of %s is never told that the result of task %d arrived", s.name, e.Task)
	}
}

// checkTurns is invariants 1 and 2 as people see them.
func (s *space) checkTurns() {
	for _, r := range s.query(`SELECT id, answer FROM turn ORDER BY id`) {
		s.checkTurn(r.Int(0), r.Str(1))
	}
}

func (s *space) checkTurn(turn int64, answer string) {
	w := s.world
	state := s.one(`SELECT min(state) || ' ' || min(reason) FROM submission WHERE turn = ?`, turn)
	w.covered("settled: " + state)
	line, _, _ := strings.Cut(answer, "\n")
	if s.life > 0 && !strings.HasPrefix(line, "ANSWER") {
		return // a restore may have taken it over from a message that it does not link to, and others say the same
	}
	shown, gone := 0, 0 // gone: removed after it was shown there
	for _, m := range w.discord.all {
		if m.space != s || m.author != appID || !strings.Contains(m.body.Content, line) || s.life == 0 && !s.isOf(m, turn) {
			continue
		}
		shown++
		if m.deleted || w.discord.threads[m.channel] == "deleted" {
			gone++
		}
	}
	last := s.last(turn)
	switch {
	case shown-gone > 1 && s.one(`SELECT 1 FROM delivery WHERE turn = ? AND kind = 'edit' AND reason = 'parked'`, turn) != "":
		w.covered("shown again: the edit had to be given up and may have been made") // rather twice than never
	case shown-gone > 1 && !s.unsure:
		w.fail("invariant 2: the answer of turn %d in %s is shown %d times", turn, s.name, shown)
	case shown > 0:
		w.covered("answered and shown")
		if shown > gone && s.life == 0 {
			s.checkWhole(turn, answer)
		}
	case strings.HasSuffix(state, " withdrawn"), strings.HasSuffix(state, " undeliverable"):
	case last.Str(1) == "confirmed":
		w.fail("invariant 1: turn %d in %s is %s and shown nowhere: %q; deliveries %s", turn, s.name, state, answer,
			s.one(`SELECT group_concat(id || ' ' || kind || ' ' || state || ' ' || coalesce(message, '-') || ' ' || reason) FROM delivery WHERE turn = ?`, turn))
	default:
		w.covered("not shown: " + last.Str(0) + " " + last.Str(1))
	}
}

// checkWhole: all of a long answer is shown, or people are told that a part is missing.
func (s *space) checkWhole(turn int64, answer string) {
	at := strings.LastIndex(answer, endMark)
	if at < 0 {
		return
	}
	for _, m := range s.world.discord.all {
		if m.space == s && strings.Contains(m.body.Content, answer[at:]) {
			s.world.covered("a long answer is shown whole")
			return
		}
	}
	if s.one(`SELECT 1 FROM delivery WHERE turn = ?1 AND (kind = 'note' OR kind = 'chunk' AND state = 'unknown') UNION SELECT 1 FROM turn WHERE id = ?1 AND remark LIKE '%a part of this%'`, turn) == "" {
		s.world.fail("invariant 1: the end of the answer of turn %d in %s is shown nowhere, and nobody is told; deliveries %s", turn, s.name,
			s.one(`SELECT group_concat(id || ' ' || kind || ' ' || state || ' ' || coalesce(message, '-') || ' ' || reason) FROM delivery WHERE turn = ?`, turn))
	}
	s.world.covered("a long answer is missed by name")
}

// isOf says whether a message is one of a turn's own.
func (s *space) isOf(m *message, turn int64) bool {
	return s.one(`SELECT 1 FROM delivery WHERE turn = ? AND message = ?`, turn, m.id) != ""
}

// last is the delivery that had to show how a turn ended.
func (s *space) last(turn int64) store.Row {
	rows := s.query(`SELECT kind, state FROM delivery WHERE turn = ? AND kind IN ('anchor','edit','final') ORDER BY id DESC LIMIT 1`, turn)
	if len(rows) == 0 {
		return store.Row{"", ""}
	}
	return rows[0]
}

// checkCalls: each call that ended has one result in the transcript, and what a runner told is never thrown away.
func (s *space) checkCalls() {
	for _, r := range s.query(`SELECT id, state, coalesce(json_extract(checkpoint, '$.status'), '') FROM task WHERE kind = 'tool' AND state <> 'cancelled' ORDER BY id`) {
		if s.book.results[r.Int(0)] != 1 {
			s.world.fail("invariant 5: the call %d of %s is %s and has %d results", r.Int(0), s.name, r.Str(1), s.book.results[r.Int(0)])
		}
		if s.told[r.Int(0)] && r.Str(1) == "interrupted" && r.Str(2) == "" {
			s.world.fail("invariant 5: the result of task %d in %s was sent, and is lost", r.Int(0), s.name)
		}
	}
}

// checkCards: an approval that is decided shows no button that could be pressed. The card of a turn that was answered before
// a restore stays as it is: what was decided about it since the backup is not known, and its buttons are void.
func (s *space) checkCards() {
	d := s.world.discord
	for _, r := range s.query(`SELECT c.task, c.message, coalesce(e.state, ''), coalesce(e.reason, ''),
		EXISTS (SELECT 1 FROM review JOIN submission ON submission.id = review.submission WHERE submission.turn = c.turn AND verdict = 'answered')
		FROM delivery c
		LEFT JOIN delivery e ON e.task = c.task AND e.kind = 'card_edit' WHERE c.kind = 'card' AND c.state = 'confirmed' ORDER BY c.id`) {
		m := d.shown(r.Str(1))
		if m == nil || d.threads[m.channel] == "deleted" || len(m.body.Components) == 0 || m.body.Components[0].Components[0].Disabled {
			continue
		}
		if r.Str(2) != "failed" && r.Int(4) == 0 {
			s.world.fail("invariant 1: the card of approval %d in %s is decided and still asks; its edit is %s", r.Int(0), s.name, r.Str(2))
		}
		s.world.covered("a card could not be edited: " + r.Str(3))
	}
}

// checkAsked is what people were told: an accepted input is settled, one that was declined came to nothing, and
// nothing was taken twice.
func (w *world) checkAsked() {
	for _, key := range w.people.keys {
		a := w.people.asked[key]
		row := a.space.one(`SELECT state || ' ' || reason FROM submission WHERE key = ?`, key)
		switch {
		case a.accepted && row == "":
			w.fail("invariant 1: %s was accepted in %s and is not there", a.text, a.space.name)
		case a.withdrawn && row != "unanswered withdrawn":
			w.fail("invariant 1: %s was declined in %s and is %s", a.text, a.space.name, row)
		}
	}
	for _, key := range w.people.keys {
		w.checkAnsweredOnce(key, w.people.asked[key])
	}
	for _, s := range w.spaces {
		if twice := s.one(`SELECT content FROM submission WHERE content <> '' GROUP BY content HAVING count(*) > 1`); twice != "" {
			w.fail("invariant 1: %s is taken twice in %s", twice, s.name)
		}
	}
}

// checkAnsweredOnce: nothing that was asked is answered by two messages, also not across a restore.
func (w *world) checkAnsweredOnce(key string, a *asked) {
	var found []string
	for _, m := range w.discord.all {
		if m.author == appID && !m.deleted && w.discord.threads[m.channel] != "deleted" && strings.Contains(m.body.Content, " to "+a.text) {
			found = append(found, m.id)
		}
	}
	givenUp := a.space.one(`SELECT 1 FROM delivery d JOIN submission s ON s.turn = d.turn WHERE s.key = ? AND d.kind = 'edit' AND d.reason = 'parked'`, key) != ""
	if len(found) > 1 && !a.space.unsure && !givenUp {
		w.fail("invariant 2: %s in %s is answered by the messages %s", a.text, a.space.name, strings.Join(found, ", "))
	}
}

// checkSecrets is invariant 7: an interaction's token is nowhere once it was used, and in no text at any time.
func (w *world) checkSecrets() {
	for _, m := range w.discord.all {
		if raw, _ := json.Marshal(m.body); strings.Contains(string(raw), "token-") {
			w.fail("invariant 7: a token is shown in a message")
		}
	}
	for _, s := range w.spaces {
		for _, sql := range []string{`SELECT count(*) FROM entry WHERE body LIKE '%token-%'`, `SELECT count(*) FROM event WHERE name || ref || detail LIKE '%token-%'`,
			`SELECT count(*) FROM audit WHERE action || ref || detail LIKE '%token-%'`, `SELECT count(*) FROM delivery WHERE token <> '' AND due IS NULL`} {
			if n := s.one(sql); n != "0" {
				w.fail("invariant 7: %s", fmt.Sprint(sql, " finds ", n))
			}
		}
	}
}
