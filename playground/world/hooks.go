package world

// byToken finds the interaction that a webhook token belongs to, if it may be used now.
func (w *World) byToken(application, token string) (*Interaction, error) {
	for _, i := range w.interactions {
		if i.Token != token || application != w.meta.Application {
			continue
		}
		switch {
		case i.State != Acked:
			return nil, ErrUnknownWebhook
		case w.now()-i.At > tokenLife.Milliseconds():
			return nil, ErrWebhookToken
		}
		return i, nil
	}
	return nil, ErrUnknownWebhook
}

// hooked finds a message that the token may touch: @original, or a follow-up by id.
func (w *World) hooked(application, token, message string) (*Message, error) {
	i, err := w.byToken(application, token)
	if err != nil {
		return nil, err
	}
	if message == "@original" {
		message = i.Original
	}
	m := w.messages[message]
	if m == nil || m.Interaction != i.ID && m.ID != i.Original {
		return nil, ErrUnknownMessage
	}
	return m, nil
}

// HookGet returns a message through an interaction's token.
func (w *World) HookGet(application, token, message string) (obj, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m, err := w.hooked(application, token, message)
	if err != nil {
		return nil, err
	}
	return w.messageJSON(m), nil
}

// HookEdit edits a message through an interaction's token. The first edit ends "thinking".
func (w *World) HookEdit(application, token, message string, d Draft) (obj, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m, err := w.hooked(application, token, message)
	if err != nil {
		return nil, err
	}
	if w.channels[m.Channel].Archived {
		return nil, ErrArchived
	}
	if err := w.edit(m, d, []string{"users"}); err != nil {
		return nil, err
	}
	return w.messageJSON(m), w.flush()
}

// HookDelete removes a message through an interaction's token.
func (w *World) HookDelete(application, token, message string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	m, err := w.hooked(application, token, message)
	if err != nil {
		return err
	}
	w.remove(m)
	return w.flush()
}

// FollowUp adds a message to an answered interaction. While the first answer is still "thinking", it fills that one
// in instead, which Discord calls deprecated and still does.
func (w *World) FollowUp(application, token string, d Draft) (obj, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i, err := w.byToken(application, token)
	if err != nil {
		return nil, err
	}
	if m := w.messages[i.Original]; m != nil && m.Flags&FlagLoading != 0 {
		if err := w.edit(m, d, []string{"users"}); err != nil {
			return nil, err
		}
		return w.messageJSON(m), w.flush()
	}
	c, err := w.writable(w.meta.Application, i.Channel)
	if err != nil {
		return nil, err
	}
	m := &Message{Author: w.meta.Application, Channel: c.ID, Type: MsgDefault, Interaction: i.ID}
	if d.Flags != nil && *d.Flags&FlagEphemeral != 0 {
		m.Flags, m.For = FlagEphemeral, i.User
	}
	if o := w.messages[i.Original]; o != nil {
		m.Type, m.Reference = MsgReply, &Reference{Message: o.ID, Channel: o.Channel}
	}
	if err := w.fill(m, d, []string{"users"}); err != nil {
		return nil, err
	}
	w.add(m, c)
	return w.messageJSON(m), w.flush()
}
