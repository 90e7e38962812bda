package sim

import (
	"encoding/json"
	"fmt"
	"strings"

	"holdfast/actor/frame"
	"holdfast/actor/policy"
)

func (s *space) one(sql string, args ...any) string {
	rows, err := s.db.Do(sql, args)
	s.must(err)
	if len(rows) == 0 || rows[0].Null(0) {
		return ""
	}
	return fmt.Sprint(rows[0][0])
}

// check holds after every commit: due times and the alarm are invariant 4's, the rest is said where it stands.
func (s *space) check() {
	w := s.world
	if n := s.one(`SELECT count(*) FROM entry`); parse(n) < s.entries {
		w.fail("invariant 5: %d entries were there, now %s", s.entries, n)
	} else {
		s.entries = parse(n)
	}
	if bad := s.one(`SELECT id FROM submission WHERE (state IN ('done','unanswered')) <> (settled_wall IS NOT NULL)`); bad != "" {
		w.fail("invariant 1: submission %s is settled and has no time, or the other way round", bad)
	}
	if bad := s.one(`SELECT t.id FROM turn t WHERE t.ended_wall IS NULL AND NOT EXISTS (SELECT 1 FROM task k WHERE k.turn = t.id AND k.due IS NOT NULL)`); bad != "" {
		w.fail("invariant 4: turn %s runs and nothing of it is due", bad)
	}
	rows, err := s.db.Do(`SELECT id, state FROM submission WHERE state IN ('done','unanswered') ORDER BY id`, nil)
	s.must(err)
	for _, r := range rows {
		s.settled[fmt.Sprint(r[0])] = true
	}
	if n := s.one(`SELECT count(*) FROM submission WHERE state IN ('done','unanswered')`); parse(n) != int64(len(s.settled)) {
		w.fail("invariant 1: a settled submission became unsettled")
	}
}

func parse(s string) int64 {
	var n int64
	fmt.Sscan(s, &n)
	return n
}

// checkStart is invariant 3: an unsafe call starts once; none starts without an allow or a person's approval, given
// in time, of exactly these arguments.
func (s *space) checkStart(f frame.Frame, nth int) {
	w := s.world
	w.covered("tool starts: " + f.Tool)
	if f.Tool != "read" && nth > 1 {
		w.fail("invariant 3: task %d (%s, not safe) started %d times", f.Task, f.Tool, nth)
	}
	if nth > 3 {
		w.fail("invariant 3: task %d started %d times", f.Task, nth)
	}
	p, err := policy.Parse([]byte(askRule))
	s.must(err)
	switch d := p.Judge(policy.Call{Tool: f.Tool, Args: f.Args}); d.Verdict {
	case policy.Deny:
		w.fail("invariant 3: task %d starts although policy denies it", f.Task)
	case policy.Ask:
		given := s.one(`SELECT 1 FROM task WHERE kind = 'approval' AND parent = ? AND args_hash = ? AND state = 'done'
			AND json_extract(checkpoint, '$.outcome') = 'approved' AND json_extract(checkpoint, '$.hash') = ?
			AND json_extract(checkpoint, '$.at') < json_extract(checkpoint, '$.expires_wall') + 240000`, f.Task, f.ArgsHash, f.ArgsHash)
		if given == "" {
			w.fail("invariant 3: task %d starts without an approval", f.Task)
		}
		w.covered("an approved tool starts")
	}
}

// records is everything that a stale write must not change.
func (s *space) records() string {
	var b strings.Builder
	for _, sql := range []string{
		`SELECT id, state, epoch, owner FROM task ORDER BY id`, `SELECT id, state, epoch, message FROM delivery ORDER BY id`,
		`SELECT id, state, reason FROM submission ORDER BY id`, `SELECT count(*) FROM entry`,
	} {
		rows, err := s.db.Do(sql, nil)
		s.must(err)
		fmt.Fprintln(&b, rows)
	}
	return b.String()
}

// atRest is judged once no fault and no person is left: everything accepted is settled, and Discord shows it once.
func (w *world) atRest() {
	for _, s := range w.spaces {
		if open := s.one(`SELECT group_concat(id || ' ' || state) FROM submission WHERE state IN ('queued','placed')`); open != "" {
			w.fail("invariant 8: %s still has open submissions: %s; tasks %s; deliveries %s", s.name, open,
				s.one(`SELECT group_concat(id || ' ' || kind || ' ' || state) FROM task WHERE due IS NOT NULL`),
				s.one(`SELECT group_concat(id || ' ' || kind || ' ' || state) FROM delivery WHERE due IS NOT NULL`))
		}
		if open := s.one(`SELECT group_concat(id || ' ' || kind || ' ' || state || ' ' || reason) FROM delivery WHERE due IS NOT NULL`); open != "" {
			w.fail("invariant 8: %s still has deliveries to make: %s", s.name, open)
		}
		s.checkShown()
	}
	w.noSecrets()
}

// checkShown is invariants 1 and 2 as people see them.
func (s *space) checkShown() {
	w := s.world
	rows, err := s.db.Do(`SELECT id, answer, conversation FROM turn ORDER BY id`, nil)
	s.must(err)
	for _, r := range rows {
		id, answer := fmt.Sprint(r[0]), r.Str(1)
		state := s.one(`SELECT min(state) || ' ' || min(reason) FROM submission WHERE turn = ?`, r[0])
		unknown := s.one(`SELECT count(*) FROM delivery WHERE turn = ? AND state IN ('unknown','failed') AND kind IN ('anchor','final','edit')`, r[0])
		shown, gone := 0, 0 // gone: in a thread that was deleted after it was shown there
		for _, m := range w.discord.everything() {
			if m.space == s && strings.Contains(m.body.Content, strings.SplitN(answer, "\n", 2)[0]) && s.isOf(m, r.Int(0)) {
				shown++
				if w.discord.threads[m.channel] == "deleted" {
					gone++
				}
			}
		}
		switch {
		case shown-gone > 1:
			w.fail("invariant 2: the answer of turn %s in %s is shown %d times", id, s.name, shown)
		case shown == 0 && strings.HasPrefix(state, "done") && unknown == "0":
			w.fail("invariant 1: turn %s in %s is %s and shown nowhere: %q; deliveries %s", id, s.name, state, answer,
				s.one(`SELECT group_concat(id || ' ' || kind || ' ' || state || ' ' || coalesce(message, '-')) FROM delivery WHERE turn = ?`, r[0]))
		case shown == 1:
			w.covered("answered and shown")
		}
		w.covered("settled: " + state)
	}
}

// isOf says whether a message is one of a turn's own.
func (s *space) isOf(m *message, turn int64) bool {
	return s.one(`SELECT count(*) FROM delivery WHERE turn = ? AND message = ?`, turn, m.id) != "0"
}

// noSecrets is invariant 7: an interaction's token is nowhere once it was used, and in no text at any time.
func (w *world) noSecrets() {
	for _, m := range w.discord.everything() {
		if raw, _ := json.Marshal(m.body); strings.Contains(string(raw), "token-") {
			w.fail("invariant 7: a token is shown in a message")
		}
	}
	for _, s := range w.spaces {
		for _, sql := range []string{`SELECT count(*) FROM entry WHERE body LIKE '%token-%'`, `SELECT count(*) FROM event WHERE name || ref || detail LIKE '%token-%'`,
			`SELECT count(*) FROM audit WHERE action || ref || detail LIKE '%token-%'`, `SELECT count(*) FROM delivery WHERE token <> '' AND due IS NULL`} {
			if n := s.one(sql); n != "0" {
				w.fail("invariant 7: %s finds %s", sql, n)
			}
		}
	}
}

// coverKill says what a kill interrupted, in the failure matrix's names.
func (s *space) coverKill() {
	for row, sql := range map[string]string{
		"F03 killed with an anchor to send":         `SELECT 1 FROM delivery WHERE kind = 'anchor' AND state = 'pending'`,
		"F04 killed with an anchor in flight":       `SELECT 1 FROM delivery WHERE kind = 'anchor' AND state = 'sending'`,
		"F05 killed during a model call":            `SELECT 1 FROM task WHERE kind = 'generation' AND state = 'running'`,
		"F06 killed with a tool to start":           `SELECT 1 FROM task WHERE kind = 'tool' AND state IN ('ready','running') AND coalesce(json_extract(checkpoint, '$.started'), 0) = 0`,
		"F08 killed with a tool running":            `SELECT 1 FROM task WHERE kind = 'tool' AND state = 'running' AND json_extract(checkpoint, '$.started')`,
		"F10 killed after a result":                 `SELECT 1 FROM task g JOIN task t ON t.turn = g.turn AND t.kind = 'tool' AND t.state = 'done' WHERE g.kind = 'generation' AND g.state = 'ready'`,
		"F11 killed with a final edit to make":      `SELECT 1 FROM delivery WHERE kind = 'edit' AND final = 1 AND due IS NOT NULL`,
		"F12 killed while an approval is pending":   `SELECT 1 FROM task WHERE kind = 'approval' AND state = 'waiting'`,
		"F13 killed between approval and start":     `SELECT 1 FROM task WHERE kind = 'tool' AND state = 'ready' AND approved <> ''`,
		"F16 killed with something due in the past": `SELECT 1 FROM task WHERE due IS NOT NULL AND due <= (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'now_max')`,
	} {
		if s.one(sql+` LIMIT 1`) == "1" {
			s.world.covered(row)
		}
	}
}

func (s *space) coverResult(f frame.Frame) {
	if s.one(`SELECT count(*) FROM task WHERE id = ? AND state <> 'running'`, f.Task) == "1" {
		s.world.covered("F09 a result comes again, or late")
	}
}
