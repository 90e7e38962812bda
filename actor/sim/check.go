package sim

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"holdfast/actor"
	"holdfast/actor/frame"
	"holdfast/actor/policy"
	"holdfast/actor/store"
)

// book is what a workspace's checks remember from one commit to the next.
type book struct {
	now     int64 // the actor's clock
	offset  int64 // between it and the host's
	entry   int64 // newest entry
	results map[int64]int
	settled map[int64]bool
	decided map[int64]bool
	bills   map[string]bill // of the model calls, when there is a budget
}

func newBook() book {
	return book{results: map[int64]int{}, settled: map[int64]bool{}, decided: map[int64]bool{}, bills: map[string]bill{}}
}

func (s *space) query(sql string, args ...any) []store.Row {
	rows, err := s.db.Do(sql, args)
	if err != nil {
		panic(err)
	}
	return rows
}

// one is the first value of a query as text, "" when there is none.
func (s *space) one(sql string, args ...any) string {
	rows := s.query(sql, args...)
	if len(rows) == 0 || rows[0].Null(0) {
		return ""
	}
	return fmt.Sprint(rows[0][0])
}

// ledger is what each commit is checked by, in one statement over indexes.
const ledger = `SELECT
	min(coalesce((SELECT min(due) FROM task WHERE due IS NOT NULL), 9e15), coalesce((SELECT min(due) FROM delivery WHERE due IS NOT NULL), 9e15)),
	(SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'now_max'),
	coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'offset'), 0),
	coalesce((SELECT max(id) FROM entry), 0),
	coalesce((SELECT value FROM meta WHERE key = 'review'), 'over') <> 'over',
	(SELECT id FROM turn t WHERE t.ended_wall IS NULL AND NOT EXISTS (SELECT 1 FROM task k WHERE k.turn = t.id AND k.due IS NOT NULL) LIMIT 1)`

const never = int64(9e15)

// check holds after every commit.
func (s *space) check(kind string, data any, res *actor.Result, attempt int) {
	w, b := s.world, &s.book
	row := s.query(ledger)[0]
	due, now, offset, entry := number(row[0]), row.Int(1), row.Int(2), row.Int(3)
	if now <= b.now {
		w.fail("invariant 4: the actor's clock went from %d to %d", b.now, now)
	}
	b.now, b.offset = now, offset
	if !row.Null(5) {
		w.fail("invariant 4: turn %d runs and nothing of it is due", row.Int(5))
	}
	if row.Int(4) == 0 { // under review nothing runs, and only its own questions are due
		s.checkAlarm(res, due, now, offset, attempt)
	}
	if entry < b.entry {
		w.fail("invariant 5: the newest entry was %d, now it is %d", b.entry, entry)
	}
	if entry > b.entry {
		s.checkEntries(entry)
	}
	s.checkBills(data, res)
	for _, t := range res.Trace {
		switch t.Name {
		case actor.PointDecision:
			s.checkDecision(t.Ref, kind, data)
		case "owner.changed":
			s.checkOwner()
		case "turn.ended", actor.PointAdmit, "submission.settled", "submission.withdrawn":
			s.checkSubmissions()
		}
	}
}

func number(v any) int64 {
	if f, ok := v.(float64); ok {
		return int64(f)
	}
	n, _ := v.(int64)
	return n
}

// checkAlarm is invariant 4. A first attempt leaves nothing due in the past; while an effect is in flight the alarm
// is at most half a minute away.
func (s *space) checkAlarm(res *actor.Result, due, now, offset int64, attempt int) {
	w := s.world
	switch {
	case due == never:
		return
	case res.Alarm == nil:
		w.fail("invariant 4: something is due at %d and there is no alarm", due)
	case *res.Alarm > max(due, now)-offset:
		w.fail("invariant 4: the alarm is %d ms later than what is due", *res.Alarm-max(due, now)+offset)
	case attempt == 1 && due <= now:
		w.fail("invariant 4: an event leaves something due %d ms in the past", now-due)
	}
	for _, e := range res.Effects {
		if e.Type == actor.EffectHTTP && *res.Alarm > now-offset+30_000 {
			w.fail("invariant 4: %s is in flight and the alarm is %d ms away", e.ID, *res.Alarm-now+offset)
		}
	}
}

// checkEntries looks at the new ones: what a person says never comes between a call and its result, and a call has
// one result.
func (s *space) checkEntries(newest int64) {
	w, b := s.world, &s.book
	rows := s.query(`SELECT id, kind, turn, task FROM entry WHERE id > ? ORDER BY id`, b.entry)
	if int64(len(rows)) != newest-b.entry {
		w.fail("invariant 5: entries between %d and %d are missing", b.entry, newest)
	}
	b.entry = newest
	for _, r := range rows {
		switch kind := r.Str(1); kind {
		case "user":
			if open := s.one(`SELECT id FROM task WHERE turn = ? AND kind = 'tool' AND due IS NOT NULL`, r.Int(2)); open != "" {
				w.fail("invariant 5: entry %d of a person is placed while the call %s is open", r.Int(0), open)
			}
		case "tool_result", "interrupted":
			if b.results[r.Int(3)]++; b.results[r.Int(3)] > 1 {
				w.fail("invariant 5: the call %d has two results", r.Int(3))
			}
		}
	}
}

// checkDecision is invariant 3's other half: a decision is made once; an approval is somebody's who may give it, and
// before it expires; an expiry is not before that.
func (s *space) checkDecision(ref, kind string, data any) {
	w, b := s.world, &s.book
	id, _ := strconv.ParseInt(ref, 10, 64)
	if b.decided[id] {
		w.fail("invariant 3: the approval %d is decided twice", id)
	}
	b.decided[id] = true
	var state struct {
		Outcome string `json:"outcome"`
		By      string `json:"by"`
		Expires int64  `json:"expires"`
	}
	_ = json.Unmarshal([]byte(s.one(`SELECT checkpoint FROM task WHERE id = ?`, id)), &state)
	s.coverDecision(state.Outcome, b.now-state.Expires)
	in, pressed := data.(actor.Interaction)
	switch {
	case state.Outcome == "expired" && b.now < state.Expires:
		w.fail("invariant 3: the approval %d expires %d ms early", id, state.Expires-b.now)
	case state.Outcome != "approved" && state.Outcome != "denied":
	case b.now >= state.Expires:
		w.fail("invariant 3: the approval %d is %s %d ms after its expiry", id, state.Outcome, b.now-state.Expires)
	case kind == actor.EventOperator && state.By == "operator:ops":
	case !pressed || in.User.ID != maya || state.By != maya:
		w.fail("invariant 3: the approval %d is %s by %q in a %s, who may not", id, state.Outcome, state.By, kind)
	case state.Outcome == "approved" && in.Verb != "a":
		w.fail("invariant 3: the button %s approves", in.Verb)
	}
}

// checkOwner: a new owner leaves nothing in flight that its predecessor held.
func (s *space) checkOwner() {
	if left := s.one(`SELECT 'task ' || id FROM task WHERE kind = 'generation' AND state = 'running' AND owner <> ?1
		UNION ALL SELECT 'delivery ' || id FROM delivery WHERE state = 'sending' AND owner <> ?1
		UNION ALL SELECT 'the booking of task ' || u.task FROM usage u JOIN task t ON t.id = u.task WHERE u.state = 'reserved' AND t.state <> 'running'`, s.owner); left != "" {
		s.world.fail("invariant 5: %s is still claimed by an owner that is gone", left)
	}
}

// checkSubmissions is invariant 1 as the rows have it, and the limits of a workspace.
func (s *space) checkSubmissions() {
	w, b := s.world, &s.book
	settled := 0
	for _, r := range s.query(`SELECT id, state IN ('done','unanswered'), settled_wall IS NOT NULL FROM submission`) {
		if r.Int(1) != r.Int(2) {
			w.fail("invariant 1: submission %d is settled and has no time, or the other way round", r.Int(0))
		}
		if r.Int(1) != 0 {
			b.settled[r.Int(0)] = true
			settled++
		}
	}
	if settled != len(b.settled) {
		w.fail("invariant 1: a settled submission became unsettled")
	}
	running, most := 0, int64(0)
	for _, r := range s.query(`SELECT count(*) FROM turn WHERE ended_wall IS NULL GROUP BY requester`) {
		running += int(r.Int(0))
		most = max(most, r.Int(0))
	}
	if running > 4 || most > 2 {
		w.fail("limits: %d turns run, %d of one person", running, most)
	}
}

// checkRequest is about a request as it leaves: nothing works in silence, and no task kills its host a fourth time.
func (s *space) checkRequest(e actor.Effect) {
	if e.Point != actor.PointModel {
		return
	}
	row := s.query(`SELECT k.starts, t.acknowledged FROM task k JOIN turn t ON t.id = k.turn WHERE k.id = ?`, e.ID[1:])[0]
	if row.Int(0) > 3 {
		s.world.fail("invariant 8: task %s is claimed %d times without an outcome", e.ID, row.Int(0))
	}
	if row.Int(1) == 0 {
		s.world.fail("invariant 1: the model is asked before the turn's anchor is there")
	}
}

// checkFrame: an attempt is sent once, under an epoch that no other had, not even before a restore.
func (s *space) checkFrame(message []byte) {
	var f frame.Frame
	if err := json.Unmarshal(message, &f); err != nil || f.Type != frame.TypeTask {
		return
	}
	key := fmt.Sprintf("task %d under epoch %d", f.Task, f.Epoch)
	if s.sent[key]++; s.sent[key] > 1 {
		s.world.fail("invariant 5: %s is sent again", key)
	}
}

// checkStart is invariant 3: an unsafe call starts once, a safe one three times; none starts without an allow or a
// person's approval of exactly these arguments.
func (s *space) checkStart(f frame.Frame) {
	w := s.world
	s.starts[f.Task]++
	w.covered("tool starts: " + f.Tool)
	if n := s.starts[f.Task]; n > 3 || n > 1 && f.Tool != "read" {
		w.fail("invariant 3: task %d (%s) started %d times", f.Task, f.Tool, n)
	}
	switch d := usual.Judge(policy.Call{Tool: f.Tool, Args: f.Args}); d.Verdict {
	case policy.Deny:
		w.fail("invariant 3: task %d starts although policy denies it", f.Task)
	case policy.Ask:
		given := s.one(`SELECT 1 FROM task WHERE kind = 'approval' AND parent = ? AND args_hash = ? AND state = 'done'
			AND json_extract(checkpoint, '$.outcome') = 'approved' AND json_extract(checkpoint, '$.hash') = ?`, f.Task, f.ArgsHash, f.ArgsHash)
		if given == "" {
			w.fail("invariant 3: task %d starts without an approval", f.Task)
		}
		w.covered("an approved tool starts")
	}
}

var usual = func() *policy.Policy {
	p, err := policy.Parse([]byte(usualPolicy))
	if err != nil {
		panic(err)
	}
	return p
}()

// fenced runs an event; when it is of an attempt that has lost its claim, it must change nothing (invariant 5).
func (s *space) fenced(stale bool, what string, event func() bool) bool {
	w := s.world
	if !stale || !s.up || s.somethingDue() {
		return event()
	}
	before := s.records()
	w.muted = true
	ok := event()
	w.muted = false
	if ok && s.up {
		w.covered("F05 a stale write changes nothing")
		for i, after := range s.records() {
			if after != before[i] {
				w.fail("invariant 5: %s, which has lost its claim, changed\n%s\n%s", what, before[i], after)
			}
		}
	}
	return ok
}

// clock is the actor's time at its next event.
func (s *space) clock() int64 {
	return max(s.world.now+s.world.skew+s.book.offset, s.book.now+1)
}

func (s *space) somethingDue() bool {
	return s.one(`SELECT EXISTS (SELECT 1 FROM task WHERE due <= ?1) OR EXISTS (SELECT 1 FROM delivery WHERE due <= ?1)`, s.clock()) == "1"
}

// records is everything that a stale write must not change.
func (s *space) records() []string {
	var all []string
	for _, sql := range []string{
		`SELECT id, state, epoch, owner, lease_expires, due FROM task ORDER BY id`, `SELECT id, state, epoch, message, due FROM delivery ORDER BY id`,
		`SELECT id, state, reason FROM submission ORDER BY id`,
	} {
		all = append(all, fmt.Sprint(s.query(sql)))
	}
	return all
}

// staleOutcome says whether an outcome's attempt has lost its claim.
func (s *space) staleOutcome(o actor.Outcome) bool {
	switch o.ID[0] {
	case 'r':
		return false // of a review's question, whose claims are its own
	case 'd':
		return s.one(`SELECT 1 FROM delivery WHERE id = ? AND state = 'sending' AND owner = ? AND epoch = ?`, o.ID[1:], s.owner, o.Epoch) == ""
	}
	return s.one(`SELECT 1 FROM task WHERE id = ? AND state = 'running' AND owner = ? AND epoch = ? AND lease_expires > ?`, o.ID[1:], s.owner, o.Epoch, s.clock()) == ""
}

// staleFrame says the same of what a runner sends. A result counts also when its lease is over, until a hello decides.
func (s *space) staleFrame(r *runner, f frame.Frame) bool {
	if !slices.Contains([]string{frame.TypeStarted, frame.TypeRenew, frame.TypeProgress, frame.TypeResult}, f.Type) {
		return false
	}
	now := s.clock()
	if f.Type == frame.TypeResult {
		now = 0
	}
	return s.one(`SELECT 1 FROM task WHERE id = ? AND state = 'running' AND owner = ? AND epoch = ? AND lease_expires > ?`, f.Task, "journal-"+r.name, f.Epoch, now) == ""
}
