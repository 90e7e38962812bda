package actor

import (
	"holdfast/actor/store"
)

// Settlement reasons (spec 3.3).
const (
	reasonAborted       = "aborted"
	reasonUndeliverable = "undeliverable"
	reasonProvider      = "provider"
	reasonRefused       = "refused"
	reasonBudget        = "budget"
	reasonLimit         = "limit"
	reasonNoRunner      = "no_runner"
	reasonInternal      = "internal"
	reasonWithdrawn     = "withdrawn"
)

// reasonText is what a person reads instead of an answer.
var reasonText = map[string]string{
	reasonAborted:       "Stopped. What was done so far stays as it is.",
	reasonUndeliverable: "Discord did not let me answer here.",
	reasonProvider:      "The model provider could not answer.",
	reasonRefused:       "The model refused to answer this.",
	reasonBudget:        "Stopped before a model call that the budget has no room for. What was done so far stays as it is.",
	reasonLimit:         "This turn reached its limit before it was done.",
	reasonNoRunner:      "No runner is connected, so nothing could be done in the project. Start one and ask again.",
	reasonInternal:      "Something failed here again and again; the operator can see what. Nothing was lost: ask again, or have the job retried.",
	reasonWithdrawn:     "This was not accepted in time. Please ask again.",
}

// maxRounds is how many model calls one turn may make (spec 5.1).
const maxRounds = 50

// turn is one question's way to its answer: a run of model calls and tools under one anchor message. Its id is that
// of the submission which began it.
type turn struct {
	ID, Conversation int64
	Requester        string
	Acknowledged     bool // Discord has confirmed the anchor: work may begin
	Rounds, Restarts int64
	Tokens, Micros   int64
	Notice           string
	Answer           string
	Started, Ended   int64
}

const turnColumns = `id, conversation, requester, acknowledged, rounds, restarts, tokens, micros, notice, answer, started_wall, ended_wall`

func scanTurn(r store.Row) turn {
	return turn{ID: r.Int(0), Conversation: r.Int(1), Requester: r.Str(2), Acknowledged: r.Int(3) != 0, Rounds: r.Int(4), Restarts: r.Int(5),
		Tokens: r.Int(6), Micros: r.Int(7), Notice: r.Str(8), Answer: r.Str(9), Started: r.Int(10), Ended: r.Int(11)}
}

// turn gives a turn, and whether it still runs.
func (w *work) turn(id int64) (turn, bool) {
	row, ok := w.tx.Row(`SELECT `+turnColumns+` FROM turn WHERE id = ?`, id)
	if !ok {
		return turn{}, false
	}
	t := scanTurn(row)
	return t, t.Ended == 0
}

// liveTurn is the running turn of a conversation, 0 when it is idle.
func (w *work) liveTurn(conversation int64) int64 {
	row, ok := w.tx.Row(`SELECT id FROM turn WHERE conversation = ? AND ended_wall IS NULL`, conversation)
	if !ok {
		return 0
	}
	return row.Int(0)
}

// beginTurn places what is queued, asks for an anchor and for a first generation, which waits until Discord has
// confirmed the anchor: nothing ever works in silence (spec 3.3).
func (w *work) beginTurn(c conversation, s submission, token string) {
	w.tx.Exec(`INSERT INTO turn(id, conversation, requester, started_wall) VALUES (?, ?, ?, ?)`, s.ID, c.ID, s.Author, w.wall)
	w.place(c, s.ID)
	w.comeBack(&c, s.Channel)
	anchor := delivery{Kind: deliverAnchor, Op: opCreate, Conversation: c.ID, Turn: s.ID}
	if token != "" {
		anchor.Op, anchor.Token, anchor.Channel, anchor.Due = opOriginal, token, s.Channel, w.now+originalDelay
	}
	w.newDelivery(anchor)
	w.newGeneration(c.ID, s.ID, map[bool]string{false: stateWaiting, true: stateReady}[mutant("works in silence")])
}

// acknowledged lets the turn's work begin.
func (w *work) acknowledged(id int64) {
	if !w.tx.Changed(`UPDATE turn SET acknowledged = 1 WHERE id = ? AND acknowledged = 0 AND ended_wall IS NULL RETURNING id`, id) {
		return
	}
	w.point(PointAck, jobName(id))
	w.event("turn.acknowledged", id, jobName(id), "")
	w.tx.Exec(`UPDATE task SET state = 'ready', due = ? WHERE turn = ? AND kind = 'generation' AND state = 'waiting'`, w.now, id)
}

// endTurn settles a turn and its submissions, and asks for the one final edit, in one commit: a visible answer
// implies a settled submission, a settled submission implies an edit that will be made (spec 3.3). An empty reason
// means that it was answered. Then the next queued question begins.
func (w *work) endTurn(t turn, reason, answer string) {
	state := "done"
	if reason != "" {
		state = "unanswered"
		answer = joinParagraphs(reasonText[reason], answer)
	}
	if !w.tx.Changed(`UPDATE turn SET ended_wall = ?, answer = ? WHERE id = ? AND ended_wall IS NULL RETURNING id`, w.wall, answer, t.ID) {
		return
	}
	t.Ended, t.Answer = w.wall, answer
	w.tx.Exec(`UPDATE submission SET state = ?, reason = ?, settled_wall = ? WHERE turn = ? AND state = 'placed'`, state, reason, w.wall, t.ID)
	w.cancelTasks(t.ID)
	if reason != "" && reason != reasonWithdrawn {
		w.append(t.Conversation, t.ID, 0, entrySystem, systemEntry{Text: "This turn ended without an answer: " + reasonText[reason] + " Do not go on with it unless you are asked to."})
	}
	w.point(PointAnswer, jobName(t.ID))
	w.event("turn.ended", t.ID, jobName(t.ID), reason)
	if !mutant("settled without its edit") {
		w.deliverAnswer(t, reason)
	}
	if !mutant("what is queued never starts") {
		w.startQueued()
	}
}

func joinParagraphs(a, b string) string {
	if b == "" {
		return a
	}
	return a + "\n\n" + b
}

// startQueued begins a turn for each idle conversation that has something queued, oldest first, while there is room.
func (w *work) startQueued() {
	switch {
	case w.inReview():
		return
	case w.ev.Attempt > 1: // something failed, perhaps on one of them: the wakes find out, whatever this event is about
		w.setMeta("queue", "due")
		return
	}
	for _, s := range w.startable() {
		w.startOne(s)
	}
}

// startable are the first queued questions of the idle conversations.
func (w *work) startable() []submission {
	return sortedByID(w.tx.Rows(`SELECT ` + submissionColumns + ` FROM submission WHERE state = 'queued'
		AND conversation NOT IN (SELECT conversation FROM turn WHERE ended_wall IS NULL)
		AND id IN (SELECT min(id) FROM submission WHERE state = 'queued' GROUP BY conversation) ORDER BY id LIMIT 200`)) // most may have to wait for a limit of their author's
}

func (w *work) startOne(s submission) bool {
	c, ok := w.conversation(s.Conversation)
	if !ok || !w.roomFor(s.Author) {
		return false
	}
	w.beginTurn(c, s, "")
	return true
}

// queueDue starts what a later attempt of an event left to the wakes. A later attempt of a wake starts the first question
// alone; the fourth gives that one up, with a name, so that it holds up nobody (F35).
func (w *work) queueDue() {
	if w.meta["queue"] == "" {
		return
	}
	if w.ev.Attempt == 1 {
		w.setMeta("queue", "")
		w.startQueued()
		return
	}
	for _, s := range w.startable() {
		if w.ev.Attempt >= 4 && w.roomFor(s.Author) {
			w.settleQueued(s, reasonInternal)
			w.newDelivery(delivery{Kind: deliverNote, Op: opCreate, Conversation: s.Conversation, Body: reasonText[reasonInternal]})
			return
		}
		if w.startOne(s) {
			return
		}
	}
	w.setMeta("queue", "")
}

// cancelTasks ends what the turn still had open; a runner is told to stop.
func (w *work) cancelTasks(turn int64) {
	for _, row := range w.tx.Rows(`SELECT `+taskColumns+` FROM task WHERE turn = ? AND due IS NOT NULL ORDER BY id`, turn) {
		t := scanTask(row)
		w.tx.Exec(`UPDATE task SET state = 'cancelled', due = NULL, ended_wall = ? WHERE id = ?`, w.wall, t.ID)
		switch {
		case t.Kind == kindTool && t.State == stateRunning:
			w.cancelOnRunner(t)
		case t.Kind == kindApproval:
			w.touchApprovalCard(t)
		}
	}
}
