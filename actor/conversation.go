package actor

import (
	"strings"

	"holdfast/actor/store"
)

// conversation is a transcript and the place where it is shown.
type conversation struct {
	ID      int64
	Title   string
	Creator string // user id
	Channel string // where it was begun, never a thread we opened for it
	Place   string // channel or thread that new messages go to; "" until its thread exists
	Head    int64  // entries after this one are the context
	Model   string // "" for the workspace's
}

const conversationColumns = `id, title, creator, channel, place, head, model`

func scanConversation(r store.Row) conversation {
	return conversation{ID: r.Int(0), Title: r.Str(1), Creator: r.Str(2), Channel: r.Str(3), Place: r.Str(4), Head: r.Int(5), Model: r.Str(6)}
}

func (w *work) conversation(id int64) (conversation, bool) {
	row, ok := w.tx.Row(`SELECT `+conversationColumns+` FROM conversation WHERE id = ?`, id)
	if !ok {
		return conversation{}, false
	}
	return scanConversation(row), true
}

// conversationAt is the conversation that a thread or channel shows.
func (w *work) conversationAt(place string) (conversation, bool) {
	row, ok := w.tx.Row(`SELECT `+conversationColumns+` FROM conversation
		WHERE id = (SELECT conversation FROM thread WHERE id = ? AND state <> 'deleted')`, place)
	if !ok {
		return conversation{}, false
	}
	return scanConversation(row), true
}

func (w *work) newConversation(title string, creator User, p Place) conversation {
	channel := p.Channel
	if p.Thread() {
		channel = p.Parent
	}
	row, _ := w.tx.Row(`INSERT INTO conversation(title, creator, channel, created_wall, active_wall)
		VALUES (?, ?, ?, ?, ?) RETURNING `+conversationColumns, title, creator.ID, channel, w.wall, w.wall)
	return scanConversation(row)
}

// attach shows a conversation in a thread, which from now on receives what it says.
func (w *work) attach(c *conversation, thread string) {
	w.tx.Exec(`INSERT INTO thread(id, conversation, state, attached) VALUES (?, ?, 'open', ?)
		ON CONFLICT(id) DO UPDATE SET conversation = excluded.conversation, state = 'open', attached = excluded.attached`,
		thread, c.ID, w.now)
}

// settlePlace says where a conversation's messages go, and wakes those that waited to know.
func (w *work) settlePlace(c *conversation, place string) {
	c.Place = place
	w.tx.Exec(`UPDATE conversation SET place = ? WHERE id = ?`, place, c.ID)
	w.tx.Exec(`UPDATE delivery SET due = ? WHERE due IS NOT NULL AND conversation = ? AND channel IS NULL AND state = 'pending'`, w.now, c.ID)
}

// threadGone moves a conversation out of a deleted thread into the channel it was begun in (F28).
func (w *work) threadGone(thread string) {
	row, ok := w.tx.Row(`UPDATE thread SET state = 'deleted' WHERE id = ? AND state <> 'deleted' RETURNING conversation`, thread)
	if !ok {
		return
	}
	c, ok := w.conversation(row.Int(0))
	if !ok || c.Place != thread {
		return
	}
	w.settlePlace(&c, c.Channel)
	w.event("thread.deleted", 0, thread, "")
	for _, row := range w.tx.Rows(`SELECT id, turn FROM task INDEXED BY task_due WHERE due IS NOT NULL AND conversation = ? AND kind = 'approval' ORDER BY id`, c.ID) {
		w.newDelivery(delivery{Kind: deliverCard, Op: opCreate, Conversation: c.ID, Turn: row.Int(1), Task: row.Int(0)}) // its card went with the thread
		w.touchCard(row.Int(1))
	}
}

// comeBack answers in the thread that a question was asked in. The conversation may have been left in its channel because
// the thread could not be opened, as far as was known: its outcome was lost, and it is there.
func (w *work) comeBack(c *conversation, asked string) {
	if c.Place != c.Channel || asked == c.Place {
		return
	}
	if shown, ok := w.conversationAt(asked); ok && shown.ID == c.ID {
		w.settlePlace(c, asked)
	}
}

// titleOf is the question's first words, as a thread's name: one line, at most 60 characters.
func titleOf(question string) string {
	title := strings.Join(strings.Fields(question), " ")
	if r := []rune(title); len(r) > 60 {
		cut := string(r[:60])
		if i := strings.LastIndexByte(cut, ' '); i > 20 {
			cut = cut[:i]
		}
		title = cut + "…"
	}
	if title == "" {
		return "conversation"
	}
	return title
}
