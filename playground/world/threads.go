package world

import (
	"fmt"
	"slices"
	"strings"
)

// ThreadDraft is the body that opens a thread.
type ThreadDraft struct {
	Name     string `json:"name"`
	AutoHide int    `json:"auto_archive_duration"` // minutes; 0: a day
	Type     *int   `json:"type"`
	Slow     int    `json:"rate_limit_per_user"`
}

// OpenThread opens a thread from a message, whose id becomes the thread's, or without one.
func (w *World) OpenThread(user, channel, message string, d ThreadDraft) (obj, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	parent := w.channels[channel]
	if parent == nil {
		return nil, ErrUnknownChannel
	}
	if parent.Type != TypeText {
		return nil, ErrChannelType
	}
	t := &Channel{Type: TypePublic, Name: d.Name, Parent: channel, Owner: user, AutoHide: d.AutoHide, Slow: d.Slow,
		Created: w.now(), Touched: w.now()}
	if t.AutoHide == 0 {
		t.AutoHide = 1440
	}
	if message == "" {
		t.ID = w.mint()
		if t.Type = TypePrivate; d.Type != nil { // Discord's default is a private thread
			t.Type = *d.Type
		}
		return w.open(t, nil)
	}
	_, m, err := w.find(channel, message)
	if err != nil {
		return nil, err
	}
	if m.Flags&FlagHasThread != 0 {
		return nil, ErrThreadExists
	}
	t.ID = m.ID
	return w.open(t, m)
}

// open stores the thread and writes what Discord writes: the mark on its message and its starter, or the line in
// its channel.
func (w *World) open(t *Channel, m *Message) (obj, error) {
	w.put(t)
	created := w.channelJSON(t)
	created["newly_created"] = true
	w.emit("THREAD_CREATE", "", t, created)
	w.change(Change{Type: "channel", Channel: t.ID, Data: w.channelJSON(t)})
	if m == nil {
		if t.Type == TypePublic {
			w.add(&Message{Author: t.Owner, Channel: t.Parent, Type: MsgThreadCreated, Content: t.Name,
				Reference: &Reference{Channel: t.ID}}, w.channels[t.Parent])
		}
		return w.channelJSON(t), w.flush()
	}
	m.Flags |= FlagHasThread
	w.put(m)
	w.show(m)
	w.emit("MESSAGE_UPDATE", "", w.channels[t.Parent], w.eventMessage(m))
	w.add(&Message{Author: m.Author, Channel: t.ID, Type: MsgThreadStarter,
		Reference: &Reference{Message: m.ID, Channel: t.Parent}}, t)
	return w.channelJSON(t), w.flush()
}

// ChannelDraft is the body that changes a channel or thread.
type ChannelDraft struct {
	Name     *string `json:"name"`
	Topic    *string `json:"topic"`
	Archived *bool   `json:"archived"`
	Locked   *bool   `json:"locked"`
	AutoHide *int    `json:"auto_archive_duration"`
	Slow     *int    `json:"rate_limit_per_user"`
}

// Change changes a channel or thread. A locked thread, and the lock itself, need MANAGE_THREADS.
func (w *World) Change(user, channel string, d ChannelDraft) (obj, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.channels[channel]
	if c == nil {
		return nil, ErrUnknownChannel
	}
	if err := w.mayChange(user, c, d); err != nil {
		return nil, err
	}
	set(&c.Name, d.Name)
	set(&c.Topic, d.Topic)
	set(&c.Locked, d.Locked)
	set(&c.AutoHide, d.AutoHide)
	set(&c.Slow, d.Slow)
	if d.Archived != nil && *d.Archived != c.Archived {
		c.Archived, c.Touched = *d.Archived, w.now()
	}
	w.put(c)
	w.change(Change{Type: "channel", Channel: c.ID, Data: w.channelJSON(c)})
	kind := "CHANNEL_UPDATE"
	if c.Thread() {
		kind = "THREAD_UPDATE"
	}
	w.emit(kind, "", c, w.channelJSON(c))
	return w.channelJSON(c), w.flush()
}

func (w *World) mayChange(user string, c *Channel, d ChannelDraft) error {
	p := w.permissions(w.users[user])
	switch {
	case !c.Thread():
		if p&permManageGuild == 0 {
			return ErrPermissions
		}
	case p&permManageThreads != 0:
	case c.Locked, d.Locked != nil:
		return ErrPermissions
	case c.Owner != user && (d.Name != nil || d.AutoHide != nil || d.Slow != nil):
		return ErrPermissions
	}
	if c.Archived && (d.Archived == nil || *d.Archived) {
		return ErrArchived
	}
	return nil
}

func set[T any](to *T, v *T) {
	if v != nil {
		*to = *v
	}
}

// DeleteChannel removes a thread, or a channel with its threads, and every message in it.
func (w *World) DeleteChannel(user, channel string) (obj, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.channels[channel]
	if c == nil {
		return nil, ErrUnknownChannel
	}
	if w.permissions(w.users[user])&permManageThreads == 0 {
		return nil, ErrPermissions
	}
	shown := w.channelJSON(c)
	for _, t := range w.threads(func(t *Channel) bool { return t.Parent == c.ID }) {
		w.removeChannel(t)
	}
	w.removeChannel(c)
	return shown, w.flush()
}

func (w *World) removeChannel(c *Channel) {
	if c.Thread() {
		w.emit("THREAD_DELETE", "", c, obj{"id": c.ID, "guild_id": w.meta.Guild, "parent_id": c.Parent, "type": c.Type})
	} else {
		w.emit("CHANNEL_DELETE", "", c, w.channelJSON(c))
	}
	for _, id := range w.lines[c.ID] { // Discord sends no MESSAGE_DELETE for these
		delete(w.messages, id)
		w.drop("message/" + id)
	}
	delete(w.lines, c.ID)
	delete(w.channels, c.ID)
	w.drop("channel/" + c.ID)
	w.change(Change{Type: "channel_delete", Channel: c.ID})
	if m := w.messages[c.ID]; m != nil && c.Thread() {
		w.show(m) // the mark HAS_THREAD stays, the thread object goes
	}
}

// threads returns those that match, newest first.
func (w *World) threads(match func(*Channel) bool) []*Channel {
	var out []*Channel
	for _, c := range w.channels {
		if c.Thread() && match(c) {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b *Channel) int { return byAge(b.ID, a.ID) })
	return out
}

// Channel returns a channel as the API shows it.
func (w *World) Channel(id string) (obj, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.channels[id]
	if c == nil {
		return nil, ErrUnknownChannel
	}
	return w.channelJSON(c), nil
}

// Active lists the guild's threads that are not archived.
func (w *World) Active() obj {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.threadList(w.threads(func(t *Channel) bool { return !t.Archived }), false)
}

// Archive lists a channel's archived threads of one type, the last archived first. before is an RFC 3339 time or "".
func (w *World) Archive(channel string, kind int, before int64, limit int) (obj, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.channels[channel] == nil {
		return nil, ErrUnknownChannel
	}
	list := w.threads(func(t *Channel) bool {
		return t.Archived && t.Parent == channel && t.Type == kind && (before == 0 || t.Touched < before)
	})
	slices.SortStableFunc(list, func(a, b *Channel) int { return int(b.Touched - a.Touched) })
	if limit == 0 {
		limit = 50
	}
	more := len(list) > limit
	return w.threadList(list[:min(limit, len(list))], more), nil
}

func (w *World) threadList(list []*Channel, more bool) obj {
	threads, members := []obj{}, []obj{}
	for _, t := range list {
		threads = append(threads, w.channelJSON(t))
		members = append(members, obj{"id": t.ID, "user_id": w.meta.Application, "join_timestamp": stamp(t.Created), "flags": 0})
	}
	return obj{"threads": threads, "members": members, "has_more": more}
}

// ArchiveIdle archives the threads whose time without a message is over, as Discord does now and then.
func (w *World) ArchiveIdle() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, t := range w.threads(func(t *Channel) bool { return !t.Archived }) {
		last := t.Touched
		if t.LastMsg != "" {
			last = max(last, snowflakeTime(t.LastMsg))
		}
		if w.now()-last >= int64(t.AutoHide)*60_000 {
			t.Archived, t.Touched = true, w.now()
			w.put(t)
			w.change(Change{Type: "channel", Channel: t.ID, Data: w.channelJSON(t)})
			w.emit("THREAD_UPDATE", "", t, w.channelJSON(t))
		}
	}
	return w.flush()
}

// User finds a user by name or id.
func (w *World) User(handle string) (User, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, u := range w.users {
		if u.ID == handle || strings.EqualFold(u.Name, handle) {
			return *u, nil
		}
	}
	return User{}, fmt.Errorf("no user %q: %w", handle, ErrUnknownUser)
}
