package actor

import (
	"strings"
)

// settleAnswered takes over what Discord shows, and shows nothing itself.
func (w *work) settleAnswered(item reviewItem, m shownMessage) {
	w.conclude(item.ID, verdictAnswered, m.ID)
	if item.Submission == 0 {
		w.adoptAnswered(item, m)
		return
	}
	row, _ := w.tx.Row(`SELECT coalesce(turn, 0) FROM submission WHERE id = ?`, item.Submission)
	t, live := w.turn(row.Int(0))
	if !live {
		w.tx.Exec(`UPDATE submission SET state = 'done', settled_wall = ? WHERE id = ? AND state = 'queued'`, w.wall, item.Submission)
		return
	}
	w.tx.Exec(`UPDATE turn SET ended_wall = ?, answer = ? WHERE id = ?`, w.wall, shownText(m), t.ID)
	w.tx.Exec(`UPDATE task SET state = 'cancelled', due = NULL, ended_wall = ? WHERE turn = ? AND due IS NOT NULL`, w.wall, t.ID)
	w.tx.Exec(`UPDATE delivery SET state = 'confirmed', reason = 'answered before the restore', due = NULL, owner = '', token = '' WHERE turn = ? AND due IS NOT NULL`, t.ID)
	w.append(t.Conversation, t.ID, 0, entryAssistant, assistantEntry{Text: shownText(m)})
	w.tx.Exec(`UPDATE review SET verdict = 'answered', found = ?, due = NULL, owner = '' WHERE verdict IN ('unknown','absent','begun','unclear')
		AND submission IN (SELECT id FROM submission WHERE turn = ? AND state = 'placed')`, m.ID, t.ID)
	w.tx.Exec(`UPDATE submission SET state = 'done', settled_wall = ? WHERE turn = ? AND state = 'placed'`, w.wall, t.ID)
	if c, ok := w.conversation(t.Conversation); ok && c.Place == "" {
		w.attach(&c, m.ID) // the thread under an answer has its id; what was said there meanwhile belongs to it
		w.settlePlace(&c, m.ID)
	}
}

// adoptAnswered keeps a question and an answer that the backup knows nothing of in the transcript, so that the
// conversation can go on where people read it.
func (w *work) adoptAnswered(item reviewItem, m shownMessage) {
	g := decode[GatewayEvent](item.Event)
	place := w.reviewPlace(item)
	c, known := w.conversationAt(place)
	if !known {
		c = w.newConversation(titleOf(mention.ReplaceAllString(g.Content, "")), g.Author, g.Place)
		w.attach(&c, place)
		w.settlePlace(&c, place)
	}
	id := w.tombstone(item, c.ID, "done", "")
	if id == 0 || w.liveTurn(c.ID) != 0 { // between the steps of a turn it would read as if it were asked now
		return
	}
	w.append(c.ID, 0, 0, entryUser, userEntry{Submission: id, Author: g.Author.ID, Name: g.Author.Name, Text: strings.TrimSpace(mention.ReplaceAllString(g.Content, ""))})
	w.append(c.ID, 0, 0, entryAssistant, assistantEntry{Text: shownText(m)})
}

// shownText is an answer without the small print under it.
func shownText(m shownMessage) string { return withoutSmallPrint(m.Content) }

func withoutSmallPrint(content string) string {
	text, _, _ := strings.Cut(content, "\n-# ")
	return text
}

// settleItem ends an input without an answer.
func (w *work) settleItem(item reviewItem, verdict, reason string) {
	w.conclude(item.ID, verdict, item.Found)
	if item.Submission == 0 {
		w.tombstone(item, 0, "unanswered", reason)
		return
	}
	row, _ := w.tx.Row(`SELECT `+submissionColumns+` FROM submission WHERE id = ?`, item.Submission)
	s := scanSubmission(row)
	t, live := w.turn(s.Turn)
	if !live {
		w.settleQueued(s, reason)
		return
	}
	w.adoptAnchor(t, item.Found)
	w.tx.Exec(`UPDATE review SET verdict = ?, due = NULL, owner = '' WHERE verdict IN ('unknown','absent','begun','unclear')
		AND submission IN (SELECT id FROM submission WHERE turn = ?)`, verdict, t.ID)
	w.endTurn(t, reason, "")
}

// tombstone makes a message known that is not to be admitted, and gives it its number; 0 when it is known already.
func (w *work) tombstone(item reviewItem, conversation int64, state, reason string) int64 {
	g := decode[GatewayEvent](item.Event)
	row, ok := w.tx.Row(`INSERT INTO submission(conversation, key, source, author, author_name, content, attachments, channel, state, reason, created_wall, settled_wall)
		VALUES (?, ?, 'message', ?, ?, '', '[]', ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING id`,
		orNull(conversation), item.Key, g.Author.ID, g.Author.Name, g.Place.Channel, state, reason, w.wall, w.wall)
	if !ok {
		return 0
	}
	return row.Int(0)
}

// adoptAnchor makes the message that the look-up found a turn's anchor, where the backup does not know it.
func (w *work) adoptAnchor(t turn, found string) {
	anchor, ok := w.deliveryOf(t.ID, deliverAnchor)
	if !ok || anchor.Due == 0 {
		return
	}
	if found == "" { // the interaction's token is long void
		w.tx.Exec(`UPDATE delivery SET op = 'create', token = '', state = 'pending', first = NULL, lookup = '', attempts = 0, uncertain = 0, due = ? WHERE id = ?`, w.now, anchor.ID)
		return
	}
	w.anchorConfirmed(anchor, discordAnswer{ID: found, ChannelID: anchor.Channel})
}

// resumeRestored lets a turn go on that was open in the backup. Of its calls only those that may run twice run; the
// others may have run since, and the model is told so.
func (w *work) resumeRestored(t turn, found string) {
	w.adoptAnchor(t, found)
	open := w.openTools(t.ID)
	for _, call := range open {
		w.voidApproval(call)
		if call.Safe {
			w.tx.Exec(`UPDATE task SET state = 'ready', due = ?, owner = '' WHERE id = ?`, w.now, call.ID)
			continue
		}
		w.tx.Exec(`UPDATE task SET state = 'interrupted', due = NULL, ended_wall = ? WHERE id = ?`, w.wall, call.ID)
		w.appendResult(call, "Interrupted: this workspace was restored from a backup, and the call may have run since that was made. It was not run again. Look before you repeat it.", true, true)
	}
	if len(open) > 0 {
		w.roundGoesOn(t.ID)
	}
	w.touchCard(t.ID)
}

// voidApproval ends the question whether a call may run: its card belongs to the time before the restore.
func (w *work) voidApproval(call task) {
	for _, row := range w.tx.Rows(`UPDATE task SET state = 'cancelled', due = NULL, ended_wall = ? WHERE parent = ? AND kind = 'approval' AND due IS NOT NULL RETURNING `+taskColumns, w.wall, call.ID) {
		w.touchApprovalCard(scanTask(row))
	}
}
