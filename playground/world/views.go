package world

import (
	"cmp"
	"slices"
)

// Names maps the names of people and of roles to their ids.
func (w *World) Names() (users, roles map[string]string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	users, roles = map[string]string{}, map[string]string{}
	for _, u := range w.users {
		if !u.Bot {
			users[u.Name] = u.ID
		}
	}
	for _, r := range w.roles {
		roles[r.Name] = r.ID
	}
	return users, roles
}

// Me is the bot's user object.
func (w *World) Me() obj { return w.UserJSON(w.Meta().Application) }

// UserJSON is a user object as the API shows it, or nil.
func (w *World) UserJSON(id string) obj {
	w.mu.Lock()
	defer w.mu.Unlock()
	if u := w.users[id]; u != nil {
		return w.userJSON(u)
	}
	return nil
}

// Guild is the guild object of the API.
func (w *World) Guild() obj {
	w.mu.Lock()
	defer w.mu.Unlock()
	o := obj{"id": w.meta.Guild, "name": w.meta.GuildName, "owner_id": w.meta.Owner, "features": []any{},
		"region": "deprecated", "afk_timeout": 300, "system_channel_flags": 0, "widget_enabled": false,
		"verification_level": 0, "default_message_notifications": 1, "mfa_level": 0, "explicit_content_filter": 0,
		"max_members": 500000, "max_stage_video_channel_users": 50, "max_video_channel_users": 25, "premium_tier": 0,
		"premium_subscription_count": 0, "preferred_locale": "en-US", "premium_progress_bar_enabled": false,
		"nsfw": false, "nsfw_level": 0, "emojis": []any{}, "stickers": []any{}}
	for _, k := range []string{"icon", "description", "home_header", "splash", "discovery_splash", "banner",
		"application_id", "afk_channel_id", "system_channel_id", "widget_channel_id", "max_presences",
		"vanity_url_code", "rules_channel_id", "safety_alerts_channel_id", "public_updates_channel_id", "incidents_data"} {
		o[k] = nil
	}
	roles := []obj{}
	for _, r := range w.sortedRoles() {
		roles = append(roles, w.roleJSON(r))
	}
	o["roles"] = roles
	return o
}

func (w *World) sortedRoles() []*Role {
	var out []*Role
	for _, r := range w.roles {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b *Role) int {
		return cmp.Or(cmp.Compare(b.Position, a.Position), byAge(a.ID, b.ID))
	})
	return out
}

// GuildChannels lists the channels, threads left out.
func (w *World) GuildChannels() []obj {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.channelList(func(c *Channel) bool { return !c.Thread() })
}

// Threads lists every thread, archived ones too.
func (w *World) Threads() []obj {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.channelList((*Channel).Thread)
}

func (w *World) channelList(match func(*Channel) bool) []obj {
	var list []*Channel
	for _, c := range w.channels {
		if match(c) {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b *Channel) int {
		return cmp.Or(cmp.Compare(a.Position, b.Position), byAge(a.ID, b.ID))
	})
	out := []obj{}
	for _, c := range list {
		out = append(out, w.channelJSON(c))
	}
	return out
}

// State is all that the page needs beside the messages.
func (w *World) State(user string) obj {
	channels, threads := w.GuildChannels(), w.Threads()
	w.mu.Lock()
	defer w.mu.Unlock()
	users, roles, commands := []obj{}, []obj{}, []obj{}
	for _, r := range w.sortedRoles() {
		roles = append(roles, obj{"id": r.ID, "name": r.Name, "color": r.Color})
	}
	for _, u := range w.users {
		users = append(users, obj{"id": u.ID, "username": u.Name, "label": u.Label, "bot": u.Bot, "color": u.Color,
			"note": u.Note, "roles": list(u.Roles)})
	}
	slices.SortFunc(users, func(a, b obj) int { return byAge(a["id"].(string), b["id"].(string)) })
	seen := map[string]bool{}
	for _, guild := range []string{w.meta.Guild, ""} {
		for _, c := range w.scope(guild) {
			if c.Type == 1 && !seen[c.Name] && (user == "" || w.mayUse(user, c)) {
				seen[c.Name] = true
				commands = append(commands, w.commandJSON(c))
			}
		}
	}
	return obj{"guild": obj{"id": w.meta.Guild, "name": w.meta.GuildName, "owner_id": w.meta.Owner},
		"application": obj{"id": w.meta.Application, "name": w.users[w.meta.Application].Label},
		"home":        w.meta.Home, "channels": channels, "threads": threads, "users": users, "roles": roles,
		"commands": commands, "now": w.now(), "backlog": len(w.events)}
}

// Find returns a message as the page shows it, if user may see it.
func (w *World) Find(user, message string) (obj, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.messages[message]
	if m == nil || m.For != "" && m.For != user {
		return nil, false
	}
	return w.viewMessage(m), true
}

// FailureOf returns the note that an interaction left for its user.
func (w *World) FailureOf(interaction string) (obj, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.messages {
		if m.Interaction == interaction && m.Failure != "" {
			return w.viewMessage(m), true
		}
	}
	return nil, false
}

// ChannelOf says where a message is.
func (w *World) ChannelOf(message string) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if m := w.messages[message]; m != nil {
		return m.Channel, nil
	}
	return "", ErrUnknownMessage
}
