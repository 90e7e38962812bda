package actor

import "fmt"

// deliveryFailed is Discord's no, for good. What then happens depends on what was not shown. A deleted thread is left for
// the conversation's channel; of one that is locked the channel is told (spec 6.3).
func (w *work) deliveryFailed(d delivery, why string) {
	w.closeDelivery(d.ID, "failed", why)
	w.event("delivery.failed", d.Turn, fmt.Sprint(d.ID), d.Kind)
	switch d.Kind {
	case deliverAnchor:
		w.anchorLost(d)
	case deliverThread:
		w.threadFailed(d)
	case deliverResume:
		w.resumeFailed(d)
	case deliverEdit:
		if d.Final && !d.Verifying { // what cannot be verified was shown
			w.sendFinalAnew(d, why)
		}
	case deliverFinal:
		if !w.sendElsewhere(d) {
			w.tellChannel(d, "has its answer")
		}
		w.wakeChunks(d.Turn)
	case deliverChunk:
		w.chunkLost(d)
	case deliverCard:
		w.cardLost(d)
	}
}

// sendElsewhere makes a message again where its conversation goes on by now, if that is another place.
func (w *work) sendElsewhere(d delivery) bool {
	if _, ok := w.conversation(d.Conversation); !ok || d.Op != opCreate || d.Channel == "" || w.placeFor(d) == d.Channel {
		return false
	}
	w.newDelivery(delivery{Kind: d.Kind, Op: opCreate, Conversation: d.Conversation, Turn: d.Turn, Part: d.Part, Final: d.Final})
	return true
}

// tellChannel says once, in the channel that a conversation was begun in, what of a job its thread does not take.
func (w *work) tellChannel(d delivery, what string) bool {
	c, ok := w.conversation(d.Conversation)
	if !ok || d.Channel == "" || c.Channel == d.Channel {
		return false
	}
	if _, told := w.tx.Row(`SELECT 1 FROM delivery WHERE turn = ? AND kind = 'note' LIMIT 1`, d.Turn); !told {
		w.newDelivery(delivery{Kind: deliverNote, Op: opCreate, Conversation: c.ID, Turn: d.Turn, Channel: c.Channel,
			Body: fmt.Sprintf("Job %s %s, but <#%s> is locked or closed to me. Unlock it, or use /resume with conversation %d.", jobName(d.Turn), what, d.Channel, c.ID)})
	}
	return true
}

// anchorLost ends a turn that cannot be seen to work. One that has ended meanwhile leaves an answer that is still owed.
func (w *work) anchorLost(d delivery) {
	if w.sendElsewhere(d) {
		return
	}
	t, live := w.turn(d.Turn)
	if live {
		w.endTurn(t, reasonUndeliverable, "")
		w.tellChannel(d, "was not begun")
		return
	}
	w.tellChannel(d, "has ended")
	w.wakeChunks(d.Turn)
}

// chunkLost says that an answer is not shown whole, where its reader sees it.
func (w *work) chunkLost(d delivery) {
	if !w.sendElsewhere(d) && !w.tellChannel(d, "has more to its answer") {
		w.addRemark(d.Turn, "a part of this could not be posted: `holdfast job` shows all of it")
		w.touchCard(d.Turn)
	}
	w.wakeChunks(d.Turn)
}

// cardLost says on the turn's anchor that an approval waits without its card.
func (w *work) cardLost(d delivery) {
	if _, again := w.tx.Row(`SELECT 1 FROM delivery WHERE turn = ? AND kind = 'card' AND task = ? AND id > ? LIMIT 1`, d.Turn, d.Task, d.ID); again {
		return // its thread is gone, and it is posted again elsewhere
	}
	w.addRemark(d.Turn, "an approval card could not be posted here: decide with the CLI")
	w.touchCard(d.Turn)
}

// endUnknown gives up on finding out. It is shown to operators and never sent again by itself.
func (w *work) endUnknown(d delivery, why string) {
	w.closeDelivery(d.ID, "unknown", why)
	w.event("delivery.unknown", d.Turn, fmt.Sprint(d.ID), "for good")
	switch d.Kind {
	case deliverAnchor:
		if t, live := w.turn(d.Turn); live {
			w.endTurn(t, reasonUndeliverable, "")
		}
	case deliverCard:
		w.cardLost(d)
	case deliverResume:
		w.resumeFailed(d)
	}
}
