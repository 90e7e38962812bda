package actor

import (
	"fmt"
)

// anchorConfirmed is the acknowledgement: the turn's message is there, so the turn may work (spec 6.1). An ephemeral
// one is the front's refusal: nothing was accepted, and its text is put back.
func (w *work) anchorConfirmed(d delivery, a discordAnswer) {
	t, live := w.turn(d.Turn)
	if d.Op == opOriginal && a.Flags&flagEphemeral != 0 {
		w.newDelivery(delivery{Kind: deliverRefusal, Op: opOriginal, Conversation: d.Conversation, Turn: d.Turn, Channel: d.Channel, Token: d.Token, Body: reasonText[reasonWithdrawn]})
		w.closeDelivery(d.ID, "failed", reasonWithdrawn)
		if live {
			w.withdrawPlaced(t, t.ID)
		}
		return
	}
	w.confirm(d, a.ID)
	edit := delivery{Kind: deliverEdit, Op: opEdit, Conversation: d.Conversation, Turn: d.Turn, Channel: d.Channel, Message: a.ID, Sent: d.Sent, Due: w.now + editPace,
		Uncertain: d.Uncertain, // a late PATCH @original may overtake the final edit too (F34)
		Verifying: d.Final}     // its answer is there: what follows only verifies it
	if !live {
		edit.Final, edit.Due = true, max(w.now, d.Sent+editPace) // it ended before it was confirmed: its answer is owed
	}
	if d.Final && d.Uncertain {
		edit.Due = w.now + verifyAfter // an earlier request, without the answer, may still be on its way
	}
	w.newDelivery(edit)
	w.openThread(d, a.ID)
	w.acknowledged(d.Turn)
}

// openThread asks for the thread under an /ask's answer, which holds what follows (spec 6.1).
func (w *work) openThread(d delivery, message string) {
	c, ok := w.conversation(d.Conversation)
	if !ok || c.Place != "" {
		return // asked in a thread, or the thread was made before its anchor
	}
	w.attach(&c, message) // a thread under a message has the message's id
	w.newDelivery(delivery{Kind: deliverThread, Op: opThread, Conversation: c.ID, Turn: d.Turn, Channel: d.Channel, Message: message, Body: c.Title})
}

// threadOpened is where the conversation's further messages go.
func (w *work) threadOpened(d delivery, thread string) {
	w.confirm(d, thread)
	if c, ok := w.conversation(d.Conversation); ok {
		w.attach(&c, thread)
		w.settlePlace(&c, thread)
	}
}

// threadFailed leaves the conversation in its channel: a missing permission, or too many threads (spec 6.3). The
// channel is not attached, or every later question there would continue this conversation.
func (w *work) threadFailed(d delivery) {
	if c, ok := w.conversation(d.Conversation); ok {
		w.settlePlace(&c, d.Channel)
	}
}

// originalRejected reads an error of PATCH @original. A 404 may be Discord not having seen our reply yet: for 15 s
// that is repeated, then, as with an expired token, a message by bot token becomes the anchor (F24).
func (w *work) originalRejected(d delivery, o Outcome, a discordAnswer) {
	early := w.now-d.First < originalPatience
	if o.Status == 404 && early && a.Code != codeTokenExpired {
		w.retryDelivery(d.ID, "pending", w.now+originalDelay*2, "Discord does not know it yet")
		return
	}
	w.event("original.lost", d.Turn, fmt.Sprint(d.ID), fmt.Sprintf("%d/%d", o.Status, a.Code))
	if d.Kind != deliverAnchor {
		w.closeDelivery(d.ID, "failed", "the interaction is gone")
		return
	}
	w.closeDelivery(d.ID, "failed", "the interaction is gone")
	w.newDelivery(delivery{Kind: deliverUnoriginal, Op: opDelete, Conversation: d.Conversation, Turn: d.Turn, Channel: d.Channel, Token: d.Token})
	if s, _ := w.tx.Row(`SELECT max(reason) FROM submission WHERE turn = ?`, d.Turn); s.Str(0) == reasonWithdrawn || s.Str(0) == reasonUndeliverable {
		return
	}
	w.addRemark(d.Turn, "Discord did not get my first answer")
	w.newDelivery(delivery{Kind: deliverAnchor, Op: opCreate, Conversation: d.Conversation, Turn: d.Turn, Channel: d.Channel})
}

// deleteRejected: gone is what was wanted; a 10015 for a minute means it never was.
func (w *work) deleteRejected(d delivery, o Outcome, a discordAnswer) {
	switch {
	case a.Code == codeUnknownMessage, a.Code == codeTokenExpired:
		w.confirm(d, "")
	case a.Code == codeUnknownWebhook && w.now-d.First >= nonceWindow:
		w.confirm(d, "")
	case w.now-d.First >= 15*60_000: // the token's own life
		w.confirm(d, "")
	default:
		w.retryDelivery(d.ID, "pending", w.now+w.backoff(int(d.Attempts)), fmt.Sprint(o.Status))
	}
}
