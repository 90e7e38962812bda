package world

import (
	"encoding/json"
	"net/url"
	"strconv"
	"time"
)

type obj = map[string]any

// stamp writes a time as Discord does.
func stamp(ms int64) string {
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000000-07:00")
}

func bits(n uint64) string { return strconv.FormatUint(n, 10) }

func (w *World) userJSON(u *User) obj {
	o := obj{"id": u.ID, "username": u.Name, "global_name": nil, "avatar": nil, "discriminator": "0",
		"public_flags": 0, "flags": 0, "primary_guild": nil, "avatar_decoration_data": nil, "collectibles": nil}
	if u.Bot {
		o["bot"], o["discriminator"] = true, "0042"
	} else {
		o["global_name"] = u.Label
	}
	return o
}

// memberJSON is the partial member of a Gateway event; an interaction adds user and permissions.
func (w *World) memberJSON(u *User) obj {
	roles := u.Roles
	if roles == nil {
		roles = []string{}
	}
	return obj{"avatar": nil, "banner": nil, "communication_disabled_until": nil, "flags": 0,
		"joined_at": stamp(snowflakeTime(u.ID)), "nick": nil, "pending": false, "premium_since": nil,
		"roles": roles, "mute": false, "deaf": false}
}

// snowflakeTime is the unix ms in an id.
func snowflakeTime(id string) int64 {
	n, _ := strconv.ParseUint(id, 10, 64)
	return int64(n>>22) + epoch
}

// permissions are a user's in the guild. The local Discord has no channel overwrites.
func (w *World) permissions(u *User) uint64 {
	if u.ID == w.meta.Owner {
		return permAll
	}
	if u.Bot {
		return BotPermissions
	}
	p := w.roles[w.meta.Guild].Permissions
	for _, r := range u.Roles {
		if role := w.roles[r]; role != nil {
			p |= role.Permissions
		}
	}
	return p
}

// channelJSON is a channel or thread as the API shows it.
func (w *World) channelJSON(c *Channel) obj {
	o := obj{"id": c.ID, "type": c.Type, "flags": 0, "guild_id": w.meta.Guild, "name": c.Name,
		"parent_id": orNull(c.Parent), "last_message_id": orNull(c.LastMsg), "rate_limit_per_user": c.Slow,
		"last_pin_timestamp": nil}
	if !c.Thread() {
		o["position"], o["topic"], o["nsfw"], o["permission_overwrites"] = c.Position, orNull(c.Topic), false, []any{}
		if c.Type == TypeCategory {
			for _, k := range []string{"topic", "last_message_id", "last_pin_timestamp", "rate_limit_per_user"} {
				delete(o, k)
			}
		}
		return o
	}
	o["owner_id"], o["message_count"], o["member_count"], o["total_message_sent"] = c.Owner, w.count(c.ID), 2, c.Sent
	o["thread_metadata"] = obj{"archived": c.Archived, "locked": c.Locked, "auto_archive_duration": c.AutoHide,
		"archive_timestamp": stamp(c.Touched), "create_timestamp": stamp(c.Created)}
	return o
}

// count is a thread's number of messages, its starter left out.
func (w *World) count(thread string) int {
	n := 0
	for _, id := range w.lines[thread] {
		if m := w.messages[id]; m.For == "" && m.Type != MsgThreadStarter {
			n++
		}
	}
	return n
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// messageJSON is a message as the API shows it.
func (w *World) messageJSON(m *Message) obj {
	o := w.basicJSON(m)
	if m.Type == MsgReply || m.Type == MsgThreadStarter {
		o["referenced_message"] = nil
		if r := w.messages[m.Reference.Message]; r != nil {
			o["referenced_message"] = w.basicJSON(r)
		}
	}
	if t := w.channels[m.ID]; t != nil && m.Flags&FlagHasThread != 0 {
		o["thread"] = w.channelJSON(t)
	}
	return o
}

func (w *World) basicJSON(m *Message) obj {
	o := obj{"id": m.ID, "channel_id": m.Channel, "type": m.Type, "author": w.userJSON(w.users[m.Author]),
		"content": m.Content, "timestamp": stamp(m.At), "edited_timestamp": nil, "tts": false,
		"mention_everyone": m.Everyone, "mentions": w.mentionsJSON(m, false), "mention_roles": list(m.Roles),
		"attachments": w.attachmentsJSON(m), "embeds": list(m.Embeds), "components": list(m.Components),
		"pinned": false, "flags": m.Flags}
	if m.Edited != 0 {
		o["edited_timestamp"] = stamp(m.Edited)
	}
	if len(m.Nonce) > 0 {
		o["nonce"] = m.Nonce
	}
	if c := w.channels[m.Channel]; c != nil && c.Thread() {
		o["position"] = m.Position
	}
	if w.users[m.Author].Bot {
		o["application_id"] = w.meta.Application
	}
	if m.Reference != nil {
		ref := obj{"type": 0, "channel_id": m.Reference.Channel, "guild_id": w.meta.Guild}
		if m.Reference.Message != "" {
			ref["message_id"] = m.Reference.Message
		}
		o["message_reference"] = ref
	}
	if i := w.interactions[m.Interaction]; i != nil {
		o["interaction_metadata"] = w.interactionMeta(i)
		o["webhook_id"] = w.meta.Application
		if i.Type == Command {
			o["interaction"] = obj{"id": i.ID, "type": i.Type, "name": i.Name, "user": w.userJSON(w.users[i.User])}
		}
	}
	return o
}

func (w *World) interactionMeta(i *Interaction) obj {
	o := obj{"id": i.ID, "type": i.Type, "user": w.userJSON(w.users[i.User]),
		"authorizing_integration_owners": obj{"0": w.meta.Guild}}
	if i.Type == Component {
		o["interacted_message_id"] = i.Message
	}
	if i.Type == ModalSubmit {
		if t := w.interactions[i.Trigger]; t != nil {
			o["triggering_interaction_metadata"] = w.interactionMeta(t)
		}
	}
	return o
}

func (w *World) mentionsJSON(m *Message, members bool) []obj {
	out := []obj{}
	for _, id := range m.Users {
		u := w.users[id]
		if u == nil {
			continue
		}
		o := w.userJSON(u)
		if members {
			o["member"] = w.memberJSON(u)
		}
		out = append(out, o)
	}
	return out
}

func (w *World) attachmentsJSON(m *Message) []obj {
	out := []obj{}
	for _, a := range m.Attachments {
		out = append(out, w.attachmentJSON(m.Channel, a))
	}
	return out
}

func (w *World) attachmentJSON(channel string, a Attachment) obj {
	link := w.opt.Base() + "/attachments/" + channel + "/" + a.ID + "/" + url.PathEscape(a.Name)
	o := obj{"id": a.ID, "filename": a.Name, "size": a.Size, "url": link, "proxy_url": link, "content_type": a.Type}
	if a.Description != "" {
		o["description"] = a.Description
	}
	if a.Ephemeral {
		o["ephemeral"] = true
	}
	return o
}

// list is s, never null.
func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// eventMessage is a message as MESSAGE_CREATE and MESSAGE_UPDATE carry it.
func (w *World) eventMessage(m *Message) obj {
	o := w.messageJSON(m)
	o["guild_id"], o["channel_type"] = w.meta.Guild, w.channels[m.Channel].Type
	o["mentions"] = w.mentionsJSON(m, true)
	if o["webhook_id"] == nil {
		o["member"] = w.memberJSON(w.users[m.Author])
	}
	return o
}

// place is what the relay adds to an event.
func (w *World) place(c *Channel) json.RawMessage {
	o := obj{"id": c.ID, "type": c.Type, "parent_id": orNull(c.Parent), "category_id": nil}
	if !c.Thread() {
		o["parent_id"], o["category_id"] = nil, orNull(c.Parent)
	} else if p := w.channels[c.Parent]; p != nil {
		o["category_id"] = orNull(p.Parent)
	}
	raw, _ := json.Marshal(o) // strings and numbers
	return raw
}

// ViewMessage is a message for the page and the control API: what Discord shows, and what only the client knows.
func (w *World) viewMessage(m *Message) obj {
	o := w.messageJSON(m)
	if m.For != "" {
		o["ephemeral_to"] = m.For
	}
	if m.Failure != "" {
		o["failure"] = m.Failure
	}
	if i := w.interactions[m.Interaction]; i != nil && i.State == Acked && m.Flags&FlagLoading != 0 {
		o["token_expires"] = i.At + tokenLife.Milliseconds()
	}
	return o
}
