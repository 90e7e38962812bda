package sim

import (
	"encoding/json"
	"fmt"
	"strings"

	"holdfast/actor"
	"holdfast/actor/store"
)

// backup is a workspace's database as it was.
type backup struct {
	at     int64
	tables []table
	task   int64 // the newest
	entry  int64 // the newest
}

type table struct {
	name string
	rows []store.Row
}

func (s *space) backUp() *backup {
	b := &backup{at: s.world.now}
	for _, r := range s.query(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid`) {
		b.tables = append(b.tables, table{r.Str(0), s.query(`SELECT * FROM ` + r.Str(0))})
	}
	b.task, b.entry = parse(s.one(`SELECT max(id) FROM task`)), parse(s.one(`SELECT max(id) FROM entry`))
	return b
}

func parse(text string) int64 {
	var n int64
	_, _ = fmt.Sscan(text, &n) // nothing is 0
	return n
}

// restore brings the backup back, as an operator does whose disk is lost: Discord, the runner and the relay have gone
// on since (F36).
func (s *space) restore(b *backup) {
	w := s.world
	w.covered("F36 restored from a backup")
	s.down("a restore", w.between("restore", 1_000, 60_000))
	joined := s.one(`SELECT 1 FROM entry WHERE kind = 'user' AND id > ? AND json_extract(body, '$.submission') <> turn`, b.entry) != ""
	workspaces.giveBack(s.db)
	s.db = workspaces.take()
	s.conn.db, s.conn.poison = s.db, map[string]bool{}
	for _, t := range b.tables {
		for _, row := range t.rows {
			marks := strings.TrimSuffix(strings.Repeat("?,", len(row)), ",")
			s.query(`INSERT OR REPLACE INTO `+t.name+` VALUES (`+marks+`)`, row...)
		}
	}
	incarnation := max((w.now+w.skew)/1000, parse(s.one(`SELECT value FROM meta WHERE key = 'incarnation'`))+1)
	for key, value := range map[string]string{"incarnation": fmt.Sprint(incarnation), "review": actor.ReviewRestored} {
		s.query(`INSERT OR REPLACE INTO meta(key, value) VALUES (?, ?)`, key, value)
	}
	s.life++
	owed := s.one(`SELECT 1 FROM delivery WHERE due IS NOT NULL AND final = 1`) != ""
	s.unsure = s.unsure || joined || owed || s.resumed >= b.at
	s.told = map[int64]bool{}
	for task := range s.starts {
		if task > b.task || s.one(`SELECT safe FROM task WHERE id = ?`, task) == "1" {
			delete(s.starts, task) // the number of another call now, or one that may run again
		}
	}
	s.reopenBook()
	w.people.remember(s, b)
	w.after(w.between("restore", 120_000, 600_000), s.review)
}

// reopenBook makes the checks know what the database holds.
func (s *space) reopenBook() {
	s.book = newBook()
	s.book.now, s.book.offset = parse(s.one(`SELECT value FROM meta WHERE key = 'now_max'`)), parse(s.one(`SELECT value FROM meta WHERE key = 'offset'`))
	s.book.entry = parse(s.one(`SELECT max(id) FROM entry`))
	s.reopenBills()
	for _, r := range s.query(`SELECT task FROM entry WHERE kind IN ('tool_result','interrupted')`) {
		s.book.results[r.Int(0)]++
	}
	for _, r := range s.query(`SELECT id FROM submission WHERE state IN ('done','unanswered')`) {
		s.book.settled[r.Int(0)] = true
	}
	for _, r := range s.query(`SELECT id FROM task WHERE kind = 'approval' AND due IS NULL`) {
		s.book.decided[r.Int(0)] = true
	}
}

// review is the operator's: what Discord could not decide is decided, then the workspace is released.
func (s *space) review() {
	w := s.world
	if s.one(`SELECT 1 FROM meta WHERE key = 'review' AND value IN ('restored', 'on', 'releasing')`) == "" {
		return // never restored, or released
	}
	ops := actor.Principal{Name: "ops", Roles: []string{"read", "approve"}}
	decide := func(id, decision string) {
		args, _ := json.Marshal(map[string]string{"id": id, "decision": decision})
		s.handle(actor.EventOperator, actor.Operator{Op: actor.OpReview, Principal: ops, Args: args}, 0)
	}
	if res, ok := s.handle(actor.EventOperator, actor.Operator{Op: actor.OpReview, Principal: ops, Args: json.RawMessage(`{}`)}, 0); ok {
		var r actor.Review
		_ = json.Unmarshal(res.Reply.Body, &r)
		for _, item := range r.Items {
			w.covered("review: " + item.Verdict)
			switch item.Verdict {
			case "unclear":
				decide(item.ID, "stop")
			case "begun":
				decide(item.ID, "continue")
			}
		}
		decide("", "continue")
	}
	w.after(60_000, s.review)
}

// remember is what people and the relay still have after a restore: messages come again, interactions do not.
func (p *people) remember(s *space, b *backup) {
	w := p.world
	for _, key := range p.keys {
		a := p.asked[key]
		if a.space != s {
			continue
		}
		state := s.one(`SELECT state || ' ' || reason FROM submission WHERE key = ?`, key)
		a.accepted = a.accepted && state != ""
		a.withdrawn = a.withdrawn && state == "unanswered withdrawn"
		if a.event != nil && a.at >= b.at && w.discord.shown(key) != nil {
			again := *a.event
			again.Source = "backfill"
			w.after(w.between("restore", 1_000, 300_000), func() { p.relay(s, again) })
		}
	}
}
