package actor

import (
	"fmt"
	"strings"

	"holdfast/actor/render"
	"holdfast/actor/store"
)

// resume attaches an existing conversation to the thread it is asked in, or opens one for it under the reply. The
// transcript does not depend on where it was shown before (spec 1.2).
func (w *work) resume(in Interaction) error {
	if !w.may(in.User, canAsk) {
		w.ephemeral("You are not a member of this workspace. An admin can add you.")
		return nil
	}
	c, ok := w.conversation(rowID(strings.TrimSpace(in.Conversation)))
	if !ok || !w.mayResume(c, in) {
		w.ephemeral("No conversation %q can be resumed here. Pick one from the list.", oneLine(in.Conversation, 60))
		return nil
	}
	if w.liveTurn(c.ID) != 0 {
		w.ephemeral("A turn is running in conversation %d. Stop it first, or wait.", c.ID)
		return nil
	}
	if other, shown := w.conversationAt(in.Place.Channel); shown && in.Place.Thread() && w.liveTurn(other.ID) != 0 {
		w.ephemeral("A turn is running in this thread. Stop it first, or wait.")
		return nil
	}
	if _, opening := w.tx.Row(`SELECT 1 FROM delivery WHERE conversation = ? AND kind IN ('resume','thread') AND due IS NOT NULL LIMIT 1`, c.ID); opening {
		w.ephemeral("A thread is being opened for conversation %d already.", c.ID)
		return nil
	}
	if !in.Place.Thread() && w.openThreadOf(c) {
		w.ephemeral("Conversation %d is in <#%s>: go on there. Use /resume in another thread to move it.", c.ID, c.Place)
		return nil
	}
	note := fmt.Sprintf("Conversation %d continues here: %s", c.ID, render.Literal(c.Title, 100))
	if in.Place.Thread() {
		w.attach(&c, in.Place.Channel)
		w.settlePlace(&c, in.Place.Channel)
		w.callback(callbackMessage, render.Note(note))
	} else {
		w.tx.Exec(`UPDATE conversation SET place = NULL WHERE id = ?`, c.ID)
		w.newDelivery(delivery{Kind: deliverResume, Op: opCreate, Conversation: c.ID, Channel: in.Place.Channel, Body: note})
		w.ephemeral("Opening a thread for conversation %d.", c.ID)
	}
	w.event("conversation.resumed", 0, fmt.Sprint(c.ID), "")
	return nil
}

// openThreadOf says whether a conversation has a thread that people can go on in.
func (w *work) openThreadOf(c conversation) bool {
	_, ok := w.tx.Row(`SELECT 1 FROM thread WHERE id = ? AND conversation = ? AND state IN ('open','archived')`, c.Place, c.ID)
	return ok && c.Place != c.Channel
}

// mayResume admits conversations begun in this channel or its threads, and the caller's own.
func (w *work) mayResume(c conversation, in Interaction) bool {
	return c.Creator == in.User.ID || c.Channel == in.Place.Channel || c.Channel == in.Place.Parent
}

// resumeNoted opens the thread under the note that /resume posted in a channel.
func (w *work) resumeNoted(d delivery, message string) {
	w.confirm(d, message)
	if c, ok := w.conversation(d.Conversation); ok {
		w.attach(&c, message)
		w.newDelivery(delivery{Kind: deliverThread, Op: opThread, Conversation: c.ID, Channel: d.Channel, Message: message, Body: c.Title})
	}
}

// resumeFailed leaves a conversation in the channel that its note could not be posted in: whoever asks there starts anew,
// and what was queued is not held up.
func (w *work) resumeFailed(d delivery) {
	if c, ok := w.conversation(d.Conversation); ok && c.Place == "" {
		w.settlePlace(&c, c.Channel)
	}
}

type choice struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// complete lists what /resume offers: by title and id, the most recent first.
func (w *work) complete(in Interaction) error {
	channel := in.Place.Channel
	if in.Place.Thread() {
		channel = in.Place.Parent
	}
	choices := []choice{}
	if w.may(in.User, canAsk) {
		for _, row := range w.resumable(channel, in.User.ID, in.Query) {
			choices = append(choices, choice{Name: oneLine(fmt.Sprintf("%d · %s", row.Int(0), row.Str(1)), maxChoiceName), Value: fmt.Sprint(row.Int(0))})
		}
	}
	w.callback(callbackChoices, map[string]any{"choices": choices})
	return nil
}

func (w *work) resumable(channel, user, query string) []store.Row {
	return w.tx.Rows(`SELECT id, title FROM conversation WHERE (channel = ?1 OR creator = ?2)
		AND (?3 = '' OR instr(lower(title), lower(?3)) > 0 OR CAST(id AS TEXT) = ?3)
		ORDER BY active_wall DESC, id DESC LIMIT ?4`, channel, user, strings.TrimSpace(query), maxChoices)
}
