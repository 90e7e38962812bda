package world

import (
	"encoding/json"
	"slices"
	"time"
)

const (
	// nonceWindow is how long an enforced nonce is remembered. Discord says "the past few minutes".
	nonceWindow = 3 * time.Minute
	// oldMessage and oldEdits: Discord limits edits of messages older than an hour, and does not say to how many.
	oldMessage = time.Hour
	oldEdits   = 5
)

var everybody = []string{"users", "roles", "everyone"}

// Post creates a message of a user or of the bot, and answers it as the API does. created is false when an
// enforced nonce named an earlier message.
func (w *World) Post(author, channel string, d Draft) (message obj, created bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, err := w.writable(author, channel)
	if err != nil {
		return nil, false, err
	}
	if d.Enforce && len(d.Nonce) > 0 {
		old := w.messages[w.nonces[author+" "+string(d.Nonce)]]
		if old != nil && w.now()-old.At < nonceWindow.Milliseconds() {
			return w.messageJSON(old), false, nil
		}
	}
	m := &Message{Author: author, Channel: c.ID, Type: MsgDefault}
	if !isNull(d.Nonce) {
		m.Nonce = d.Nonce
	}
	if err := w.reference(m, d.Reference); err != nil {
		return nil, false, err
	}
	if err := w.fill(m, d, everybody); err != nil {
		return nil, false, err
	}
	w.add(m, c)
	return w.messageJSON(m), true, w.flush()
}

// writable finds a channel that the author may post to; a post unarchives a thread.
func (w *World) writable(author, channel string) (*Channel, error) {
	c := w.channels[channel]
	switch {
	case c == nil:
		return nil, ErrUnknownChannel
	case c.Type == TypeCategory:
		return nil, ErrNonText
	case c.Locked && w.permissions(w.users[author])&permManageThreads == 0:
		return nil, ErrLocked
	}
	return c, nil
}

func (w *World) reference(m *Message, r *DraftReference) error {
	if r == nil {
		return nil
	}
	old := w.messages[r.Message]
	if old == nil || old.Channel != m.Channel {
		if r.Fail == nil || *r.Fail {
			return Invalid("message_reference", "MESSAGE_REFERENCE_UNKNOWN_MESSAGE", "Unknown message")
		}
		return nil
	}
	m.Type, m.Reference = MsgReply, &Reference{Message: old.ID, Channel: old.Channel}
	return nil
}

// add gives a new message its id and place, stores it and tells everybody.
func (w *World) add(m *Message, c *Channel) {
	if c.Archived {
		c.Archived, c.Touched = false, w.now()
		w.emit("THREAD_UPDATE", "", c, w.channelJSON(c))
	}
	if m.ID == "" {
		m.ID = w.mint()
	}
	m.At = w.now()
	if m.For == "" {
		if c.Thread() {
			m.Position = c.Sent
			c.Sent++
		}
		c.LastMsg = m.ID
		w.put(c)
	}
	w.put(m)
	if m.For == "" {
		w.change(Change{Type: "channel", Channel: c.ID, Data: w.channelJSON(c)}) // after the message: it counts them
	}
	w.show(m)
	if m.For == "" && m.Failure == "" {
		w.emit("MESSAGE_CREATE", m.ID, c, w.eventMessage(m))
	}
}

// show tells the page, in a thread that the message opened too.
func (w *World) show(m *Message) {
	w.change(Change{Type: "message", Channel: m.Channel, For: m.For, Data: w.viewMessage(m)})
	if m.Flags&FlagHasThread == 0 {
		return
	}
	for _, id := range w.lines[m.ID] {
		if starter := w.messages[id]; starter.Type == MsgThreadStarter {
			w.change(Change{Type: "message", Channel: m.ID, Data: w.viewMessage(starter)})
		}
	}
}

// find is a message of a channel that is not ephemeral.
func (w *World) find(channel, message string) (*Channel, *Message, error) {
	c := w.channels[channel]
	if c == nil {
		return nil, nil, ErrUnknownChannel
	}
	m := w.messages[message]
	if m == nil || m.Channel != channel || m.For != "" {
		return nil, nil, ErrUnknownMessage
	}
	return c, m, nil
}

// Edit changes a message of the author's own.
func (w *World) Edit(author, channel, message string, d Draft) (obj, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, m, err := w.find(channel, message)
	switch {
	case err != nil:
		return nil, err
	case m.Author != author:
		return nil, ErrForeignMessage
	case m.Type == MsgThreadStarter || m.Type == MsgThreadCreated:
		return nil, ErrSystemMessage
	case c.Archived:
		return nil, ErrArchived
	}
	if err := w.edit(m, d, everybody); err != nil {
		return nil, err
	}
	return w.messageJSON(m), w.flush()
}

// edit changes m on trial: a refused draft leaves it as it was.
func (w *World) edit(m *Message, d Draft, parse []string) error {
	next := *m
	if err := next.late(w.now()); err != nil {
		return err
	}
	loading := m.Flags&FlagLoading != 0
	next.Flags &^= FlagLoading
	if err := w.fill(&next, d, parse); err != nil {
		return err
	}
	if !loading { // filling in a "thinking" message is not shown as an edit
		next.Edited = w.now()
	}
	*m = next
	w.put(m)
	w.show(m)
	if m.For == "" {
		w.emit("MESSAGE_UPDATE", "", w.channels[m.Channel], w.eventMessage(m))
	}
	return nil
}

// late counts edits of an old message.
func (m *Message) late(now int64) error {
	hour := oldMessage.Milliseconds()
	if now-m.At < hour {
		return nil
	}
	kept := slices.DeleteFunc(slices.Clone(m.LateEdits), func(t int64) bool { return now-t > hour })
	if len(kept) >= oldEdits {
		return ErrOldEdits
	}
	m.LateEdits = append(kept, now)
	return nil
}

// Delete removes a message. Others' messages need MANAGE_MESSAGES.
func (w *World) Delete(user, channel, message string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, m, err := w.find(channel, message)
	if err != nil {
		return err
	}
	if m.Author != user && w.permissions(w.users[user])&permManageMessages == 0 {
		return ErrPermissions
	}
	w.remove(m)
	return w.flush()
}

// Dismiss hides an ephemeral message from the only user who saw it.
func (w *World) Dismiss(user, message string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.messages[message]
	if m == nil || m.For != user {
		return ErrUnknownMessage
	}
	w.remove(m)
	return w.flush()
}

func (w *World) remove(m *Message) {
	delete(w.messages, m.ID)
	w.lines[m.Channel] = slices.DeleteFunc(w.lines[m.Channel], func(id string) bool { return id == m.ID })
	w.drop("message/" + m.ID)
	w.change(Change{Type: "message_delete", Channel: m.Channel, For: m.For, Data: obj{"id": m.ID}})
	if c := w.channels[m.Channel]; c != nil && m.For == "" && m.Failure == "" {
		w.emit("MESSAGE_DELETE", "", c, obj{"id": m.ID, "channel_id": m.Channel, "guild_id": w.meta.Guild})
	}
}

// Message returns one message as the API shows it.
func (w *World) Message(channel, message string) (obj, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, m, err := w.find(channel, message)
	if err != nil {
		return nil, err
	}
	return w.messageJSON(m), nil
}

// Typing shows that somebody types; it lasts ten seconds and is not kept.
func (w *World) Typing(user, channel string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.channels[channel] == nil {
		return ErrUnknownChannel
	}
	w.change(Change{Type: "typing", Channel: channel, Data: obj{"user": user}})
	return w.flush()
}

// note adds the grey line that only one user sees, saying that an application did not answer.
func (w *World) note(i *Interaction, text string) {
	if c := w.channels[i.Channel]; c != nil {
		w.add(&Message{Author: w.meta.Application, Channel: c.ID, Type: MsgCommand, Flags: FlagEphemeral,
			For: i.User, Failure: text, Interaction: i.ID}, c)
	}
}

// decode is json.Unmarshal for what the API's description has already accepted.
func decode(raw json.RawMessage, v any) error {
	if isNull(raw) {
		return nil
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return Invalid("_", "MODEL_TYPE_CONVERT", err.Error())
	}
	return nil
}
