package actor

import (
	"fmt"
	"strconv"

	"holdfast/actor/store"
)

// Times of the due rows, in ms.
const (
	keepAwake  = 30_000 // the alarm is never further away while an effect is in flight (spec 3.1, rule 3)
	heldWait   = 2_000  // until what a host kept back is tried again: a deploy must not leave people waiting
	rearm      = 1_000  // a row that was acted on is closed or due at least this much later (rule 2)
	maxStarts  = 3      // claims of one task that end with their host (F17)
	maxPerWake = 64     // rows one event acts on; more wait for the wake that follows at once
)

// pump acts on every row that is due. The first attempt of an event may act on all of them; a later one, which
// follows a failure, on the earliest alone; the fourth parks that row untouched.
func (w *work) pump() {
	if one := w.reviewDue() && w.ev.Attempt > 1; one || w.inReview() {
		return
	}
	limit := maxPerWake
	if w.ev.Attempt == 1 {
		w.queueDue()
	} else {
		if w.ev.Type != EventWake {
			return // the alarm is at the due row: the wake that follows finds out which one fails
		}
		limit = 1
	}
	acted := 0
	for ; acted < limit; acted++ {
		kind, id := w.earliest()
		if kind == "" {
			break
		}
		w.act(kind, id)
	}
	if w.ev.Attempt > 1 && acted == 0 {
		w.queueDue()
	}
}

// earliest is the row that has been due for the longest time, "" when none is. Nearly always none is, which two looks
// into indexes tell.
func (w *work) earliest() (kind string, id int64) {
	row, _ := w.tx.Row(`SELECT (SELECT min(due) FROM task WHERE due IS NOT NULL), (SELECT min(due) FROM delivery WHERE due IS NOT NULL)`)
	task, delivery := !row.Null(0) && row.Int(0) <= w.now, !row.Null(1) && row.Int(1) <= w.now
	switch {
	case delivery && (!task || row.Int(1) <= row.Int(0)):
		row, _ = w.tx.Row(`SELECT id FROM delivery WHERE due = ? ORDER BY id LIMIT 1`, row.Int(1))
		return "d", row.Int(0)
	case task:
		row, _ = w.tx.Row(`SELECT id FROM task WHERE due = ? ORDER BY id LIMIT 1`, row.Int(0))
		return "t", row.Int(0)
	}
	return "", 0
}

func (w *work) act(kind string, id int64) {
	table := map[string]string{"t": "task", "d": "delivery"}[kind]
	switch {
	case w.ev.Attempt >= 4:
		w.park(table, id)
		return
	case kind == "t":
		w.taskDue(w.mustTask(id))
	default:
		w.deliveryDue(w.mustDelivery(id))
	}
	// Whatever the code above did, nothing stays due in the past.
	w.tx.Exec(`UPDATE `+table+` SET due = ? WHERE id = ? AND due <= ?`, w.now+rearm, id, w.now)
}

// park takes a row out of the way that made the core fail three times (F17, F35). Nothing of it is looked at but its
// columns; what waited for it goes on, or ends.
func (w *work) park(table string, id int64) {
	w.event("row.parked", 0, fmt.Sprintf("%s %d", table, id), "")
	if table == "delivery" {
		row, _ := w.tx.Row(`UPDATE delivery SET reason = 'parked' WHERE id = ? RETURNING `+deliveryColumns, id)
		w.deliveryFailed(scanDelivery(row), "parked")
		return
	}
	row, _ := w.tx.Row(`UPDATE task SET state = 'parked', due = NULL, ended_wall = ? WHERE id = ? RETURNING `+taskColumns, w.wall, id)
	t := scanTask(row)
	switch t.Kind {
	case kindTool:
		w.appendResult(t, "Given up: something failed here again and again.", true, true)
	case kindApproval:
		w.touchApprovalCard(t)
	}
	if turn, live := w.turn(t.Turn); live {
		w.endTurn(turn, reasonInternal, "")
	}
}

// parkOutcome gives up the delivery, or the question about an input under review, whose outcome makes the core fail each
// time; it would be asked for again and again. A model call is given up by its starts.
func (w *work) parkOutcome(o Outcome) {
	kind, id := effectRow(o.ID)
	if _, ok := w.tx.Row(`SELECT 1 FROM delivery WHERE id = ? AND state = 'sending' AND epoch = ?`, id, o.Epoch); ok && kind == "d" {
		w.park("delivery", id)
	}
	if kind == "r" {
		for _, item := range w.askedItems(id, o.Epoch) {
			w.conclude(item.ID, verdictUnclear, "")
		}
	}
}

func (w *work) taskDue(t task) {
	switch t.Kind {
	case kindGeneration:
		w.generationDue(t)
	case kindTool:
		w.toolDue(t)
	case kindApproval:
		w.approvalDue(t)
	}
}

// alarm is when the host must wake the actor, by the host's clock.
func (w *work) alarm(kind string) *int64 {
	if kind != "workspace" {
		return nil
	}
	row, _ := w.tx.Row(`SELECT min(due), max(running) FROM (
		SELECT due, kind = 'generation' AND state = 'running' AS running FROM task WHERE due IS NOT NULL
		UNION ALL SELECT due, state = 'sending' FROM delivery WHERE due IS NOT NULL)`)
	at := row.Int(0)
	switch {
	case w.meta["queue"] != "":
		at = w.now
	case row.Null(0):
		return nil
	}
	if mutant("the alarm is late") {
		at += 60_000
	}
	if row.Int(1) != 0 && !mutant("not kept awake") {
		at = min(at, w.now+keepAwake)
	}
	at = max(at, w.now) - parseInt(w.meta["offset"])
	return &at
}

// takeOver begins a new owner: what the old one had in flight on its host is orphaned (spec 3.2).
func (w *work) takeOver() {
	old := w.meta["owner"]
	w.setMeta("owner", w.ev.Owner)
	if old == "" {
		w.event("workspace.created", 0, "", "")
		return
	}
	w.tx.Exec(`UPDATE turn SET restarts = restarts + 1 WHERE ended_wall IS NULL AND (
		id IN (SELECT turn FROM task WHERE due IS NOT NULL AND state = 'running')
		OR id IN (SELECT turn FROM delivery WHERE due IS NOT NULL AND state = 'sending' AND turn IS NOT NULL))`)
	for _, row := range w.tx.Rows(`SELECT `+taskColumns+` FROM task INDEXED BY task_due WHERE due IS NOT NULL AND kind = 'generation' AND state = 'running' AND owner <> ? ORDER BY id`, w.ev.Owner) {
		if !mutant("an orphan is not taken back") {
			w.orphanGeneration(scanTask(row))
		}
	}
	if !mutant("a booking is forgotten") {
		w.settleLost(`1`) // calls whose turn was stopped, too: nobody will tell any more
	}
	w.tx.Exec(`UPDATE delivery SET state = 'unknown', uncertain = max(uncertain, 1), due = ?, owner = '' WHERE due IS NOT NULL AND state = 'sending' AND owner <> ?`, w.now, w.ev.Owner)
	if mutant("a restart forgets what is unknown") {
		w.tx.Exec(`UPDATE delivery SET state = 'pending', uncertain = 0, first = NULL WHERE state = 'unknown'`)
	}
	w.tx.Exec(`DELETE FROM part`) // of answers that will never be complete
	w.event("owner.changed", 0, "", "")
}

// rowID is the id in a text that somebody typed; 0 when no row can have it.
func rowID(s string) int64 {
	id := parseInt(s)
	if id < 0 || id > store.MaxInt {
		return 0
	}
	return id
}

func parseInt(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64) // absent or damaged is 0, the safe beginning
	return n
}
