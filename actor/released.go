package actor

import (
	"encoding/json"
	"fmt"

	"holdfast/actor/errs"
)

// letGo in an item's owner says that nobody is asked about it any more: it waits to be admitted, or for its turn to go
// on. It is due like any row, so that a wake finds the one on which the core fails each time, and gives it up (F35).
const letGo = "release"

// release ends the review. It takes a decision about everything that Discord could not decide. Its first attempt lets
// everything go at once; a later one, which follows a failure, leaves that to the wakes. Until then the review is on.
func (w *work) release(who Principal) error {
	switch {
	case w.meta["review"] == reviewReleasing:
		return nil // it goes on by itself
	case !w.inReview():
		return errs.New(errs.Conflict, "This workspace is not in review.")
	}
	row, _ := w.tx.Row(`SELECT count(*) FROM review WHERE verdict IN ('unknown','begun','unclear')`)
	if n := row.Int(0); n > 0 {
		return errs.New(errs.Conflict, "%d inputs need a decision each first.", n).WithHint("List them with: holdfast review; decide with: holdfast review ID --continue or --stop")
	}
	w.audit("operator:"+who.Name, "review.released", w.name, "")
	w.setMeta("review", reviewReleasing)
	// A turn whose first question was withdrawn has no item yet.
	w.tx.Exec(`INSERT INTO review(key, submission, verdict, due, created_wall) SELECT key, id, 'unknown', ?, ? FROM submission
		WHERE id IN (SELECT id FROM turn WHERE ended_wall IS NULL) ON CONFLICT DO NOTHING`, w.now, w.wall)
	w.tx.Exec(`UPDATE review SET verdict = 'unknown', owner = ?, due = ? WHERE verdict IN ('absent','continued')
		OR submission IN (SELECT id FROM turn WHERE ended_wall IS NULL)`, letGo, w.now)
	if w.ev.Attempt == 1 {
		w.reviewDue()
	} else {
		w.endRelease() // there may be nothing to let go, and then no wake would come
	}
	return nil
}

// endRelease ends the review once everything went, also what came meanwhile.
func (w *work) endRelease() {
	if _, left := w.tx.Row(`SELECT 1 FROM review WHERE owner = ? LIMIT 1`, letGo); left {
		return
	}
	if w.tx.Changed(`UPDATE review SET verdict = 'unknown', owner = ?, due = ? WHERE verdict = 'absent' RETURNING id`, letGo, w.now) {
		return
	}
	w.setMeta("review", reviewOver)
	w.event("workspace.released", 0, "", "")
	w.startQueued()
}

// goOn lets one input go: its turn, or what came after the backup, by the same rules as any.
func (w *work) goOn(item reviewItem) {
	w.conclude(item.ID, verdictContinued, item.Found)
	if item.Submission == 0 {
		w.admitReviewed(item)
		return
	}
	if t, live := w.turn(item.Submission); live {
		w.resumeRestored(t, item.Found)
	}
}

// admitLater lets an input go after the release; a later attempt leaves that to a wake.
func (w *work) admitLater(item reviewItem) {
	if w.ev.Attempt == 1 {
		w.goOn(item)
		return
	}
	w.tx.Exec(`UPDATE review SET verdict = 'unknown', owner = ?, due = ? WHERE id = ?`, letGo, w.now, item.ID)
}

// admitReviewed admits a message that came after the backup, by the same rules as any.
func (w *work) admitReviewed(item reviewItem) {
	var g GatewayEvent
	if json.Unmarshal([]byte(item.Event), &g) != nil {
		return // written by encode
	}
	w.reviewed = g.Message
	if status, reason := w.messageCreated(g); status != StatusCommitted {
		w.event("review.not_admitted", 0, fmt.Sprint(item.ID), reason)
	}
}

// parkItem gives up an input that made the core fail three times. The operator decides about one that Discord was to be
// asked about. One that was let go ends as unanswered, and is looked at no further.
func (w *work) parkItem(item reviewItem) {
	if item.Owner != letGo {
		w.conclude(item.ID, verdictUnclear, "")
		return
	}
	w.event("review.parked", 0, fmt.Sprint(item.ID), "")
	w.conclude(item.ID, verdictStopped, item.Found)
	if item.Submission == 0 {
		w.rejectKept(item.ID)
		return
	}
	if t, live := w.turn(item.Submission); live {
		w.showParked(t, item.Found)
		w.endTurn(t, reasonInternal, "")
	}
}

// showParked takes over the message that the look-up found, so that it can say how the turn ended.
func (w *work) showParked(t turn, found string) {
	if found == "" {
		return
	}
	row, ok := w.tx.Row(`UPDATE delivery SET state = 'confirmed', message = ?, due = NULL, owner = '', token = ''
		WHERE turn = ? AND kind = 'anchor' AND due IS NOT NULL AND channel IS NOT NULL RETURNING channel`, found, t.ID)
	if ok {
		w.newDelivery(delivery{Kind: deliverEdit, Op: opEdit, Conversation: t.Conversation, Turn: t.ID, Channel: row.Str(0), Message: found})
	}
}

// rejectKept makes a kept message known as unanswered, and says so where it was written. SQLite reads it, not the core.
func (w *work) rejectKept(item int64) {
	row, ok := w.tx.Row(`INSERT INTO submission(key, source, author, author_name, content, attachments, channel, state, reason, created_wall, settled_wall)
		SELECT key, 'message', coalesce(event ->> '$.author.id', ''), coalesce(event ->> '$.author.name', ''), '', '[]', coalesce(event ->> '$.place.channel', ''),
		'unanswered', ?, created_wall, ? FROM review WHERE id = ? ON CONFLICT DO NOTHING RETURNING id, channel`, reasonInternal, w.wall, item)
	if !ok {
		return
	}
	w.event("submission.settled", row.Int(0), jobName(row.Int(0)), reasonInternal)
	w.newDelivery(delivery{Kind: deliverNote, Op: opCreate, Channel: row.Str(1), Body: reasonText[reasonInternal]})
}
