package sim

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"

	"holdfast/actor"
	"holdfast/actor/render"
)

// message is one that people see.
type message struct {
	id, channel string
	space       *space
	body        render.Message
	flags       int
	created     int64
	edits       int
}

// original is an interaction's own message.
type original struct {
	channel      string
	acknowledged bool // the front's answer came in time
	ephemeral    bool // and it was the front's own refusal
	at           int64
	message      *message
}

// discord keeps what people see, and fails as the real one does.
type discord struct {
	world     *world
	next      int64
	messages  map[string]*message
	originals map[string]*original
	nonces    map[string]string // nonce → message
	made      map[string]int    // nonce → messages ever created with it
	nonceLife int64             // ms; Discord says "a few minutes"
	threads   map[string]string // id → "open", "archived", "locked" or "deleted"
	limited   map[string]int64  // bucket → until
}

func newDiscord(w *world) *discord {
	return &discord{world: w, next: 1300000000000010000, messages: map[string]*message{}, originals: map[string]*original{},
		nonces: map[string]string{}, made: map[string]int{}, nonceLife: 61_000 + w.rng.Int64N(240_000), threads: map[string]string{}, limited: map[string]int64{}}
}

func (d *discord) id() string {
	d.next += 1 + d.world.rng.Int64N(5)
	return fmt.Sprint(d.next)
}

func fault(status, code int) (int, string) {
	return status, fmt.Sprintf(`{"code":%d,"message":"planted"}`, code)
}

// serve answers one REST request.
func (d *discord) serve(s *space, e actor.Effect) (int, string) {
	w := d.world
	parts := strings.Split(strings.TrimPrefix(strings.SplitN(e.Path, "?", 2)[0], "/"), "/")
	bucket := e.Method + strings.Join(parts[:2], "/")
	switch {
	case w.now < d.limited[bucket] && w.chance(0.9), w.chance(0.01):
		return d.limit(bucket)
	case w.chance(0.01):
		w.covered("discord: 5xx before")
		return 502, "<html>bad gateway</html>"
	}
	status, body := d.route(s, e, parts)
	w.note("discord %s %s → %d", e.Method, e.Path, status)
	if status < 300 && w.chance(0.01) {
		w.covered("discord: 5xx after storing")
		return 503, ""
	}
	w.covered(fmt.Sprintf("discord: %s %d", e.Method, status))
	return status, body
}

func (d *discord) limit(bucket string) (int, string) {
	w := d.world
	d.limited[bucket] = w.now + 1_000 + w.rng.Int64N(5_000)
	switch w.rng.IntN(3) {
	case 0:
		w.covered("discord: 429 as HTML")
		return 429, "<html>too many</html>"
	case 1:
		w.covered("discord: 429 without retry_after")
		return 429, `{"message":"You are being rate limited."}`
	}
	w.covered("discord: 429")
	return 429, `{"message":"You are being rate limited.","retry_after":2.5,"global":false}`
}

func (d *discord) route(s *space, e actor.Effect, parts []string) (int, string) {
	var m render.Message
	if len(e.Body) > 0 {
		if err := json.Unmarshal(e.Body, &m); err != nil {
			return fault(400, 50035)
		}
		if m.AllowedMentions.Parse == nil && len(parts) != 2 && parts[len(parts)-1] != "threads" {
			d.world.fail("a message without allowed_mentions: %s %s", e.Method, e.Path)
		}
	}
	switch {
	case parts[0] == "webhooks":
		return d.original(s, e, parts[2], m)
	case parts[len(parts)-1] == "threads":
		return d.thread(parts)
	case e.Method == "GET" && len(parts) == 4:
		if m := d.messages[parts[3]]; m != nil && d.threads[m.channel] != "deleted" {
			content, _ := json.Marshal(m.body.Content)
			return 200, fmt.Sprintf(`{"id":%q,"channel_id":%q,"content":%s}`, m.id, m.channel, content)
		}
		return fault(404, 10008)
	case e.Method == "PATCH" && len(parts) == 2:
		if d.threads[parts[1]] != "archived" {
			return fault(403, 50013)
		}
		d.threads[parts[1]] = "open"
		d.world.covered("discord: thread unarchived")
		return 200, fmt.Sprintf(`{"id":%q}`, parts[1])
	case e.Method == "GET":
		return 200, d.list(parts[1], e.Path)
	case e.Method == "POST":
		return d.create(s, parts[1], m)
	case e.Method == "PATCH" && len(parts) == 4:
		return d.edit(parts[3], m)
	}
	return fault(404, 0)
}

func (d *discord) original(s *space, e actor.Effect, token string, body render.Message) (int, string) {
	o := d.originals[token]
	switch {
	case o == nil, !o.acknowledged, d.world.chance(0.03):
		return fault(404, 10015)
	case d.world.now-o.at > 15*60_000:
		return fault(401, 50027)
	case e.Method == "DELETE":
		if o.message != nil {
			delete(d.messages, o.message.id)
			o.message = nil
		}
		return 204, ""
	case o.message == nil:
		o.message = &message{id: d.id(), channel: o.channel, space: s, created: d.world.now}
		if o.ephemeral {
			o.message.flags = 64
		}
		d.messages[o.message.id] = o.message
	}
	o.message.body = body
	o.message.edits++
	return 200, show(o.message)
}

func (d *discord) thread(parts []string) (int, string) {
	id := d.id()
	if len(parts) == 5 {
		id = parts[3]
		if d.messages[id] == nil && !strings.HasPrefix(id, "14") { // people's messages begin with 14
			return fault(404, 10008)
		}
	}
	switch {
	case d.threads[id] != "":
		return fault(400, 160004)
	case d.world.chance(0.02):
		d.world.covered("discord: no thread allowed")
		return fault(403, 50013)
	}
	d.threads[id] = "open"
	return 201, fmt.Sprintf(`{"id":%q,"type":11}`, id)
}

func (d *discord) create(s *space, channel string, body render.Message) (int, string) {
	switch d.threads[channel] {
	case "deleted":
		return fault(404, 10003)
	case "locked":
		return fault(403, 160005)
	case "archived":
		d.threads[channel] = "open"
	}
	if known := d.messages[d.nonces[body.Nonce]]; known != nil && d.world.now-known.created < d.nonceLife {
		return 200, show(known)
	}
	m := &message{id: d.id(), channel: channel, space: s, body: body, created: d.world.now}
	d.messages[m.id] = m
	d.nonces[body.Nonce] = m.id
	d.made[body.Nonce]++
	if d.made[body.Nonce] > 1 {
		d.world.fail("invariant 2: a delivery made a second message in %s: %.80q", channel, body.Content)
	}
	return 200, show(m)
}

func (d *discord) edit(id string, body render.Message) (int, string) {
	m := d.messages[id]
	switch {
	case m == nil:
		return fault(404, 10008)
	case d.threads[m.channel] == "deleted":
		return fault(404, 10003)
	case d.threads[m.channel] == "archived":
		return fault(400, 50083)
	case d.threads[m.channel] == "locked":
		return fault(403, 160005)
	case d.world.now-m.created > 3_600_000 && d.world.chance(0.5):
		return fault(400, 30046)
	}
	m.body = body
	m.edits++
	return 200, show(m)
}

func show(m *message) string {
	return fmt.Sprintf(`{"id":%q,"channel_id":%q,"flags":%d,"author":{"id":%q}}`, m.id, m.channel, m.flags, appID)
}

// list is a page of a channel after an id, the newest first.
func (d *discord) list(channel, path string) string {
	after := path[strings.LastIndex(path, "after=")+len("after="):]
	var items []string
	for _, m := range d.in(channel) {
		if len(m.id) > len(after) || len(m.id) == len(after) && m.id > after {
			components, _ := json.Marshal(m.body.Components)
			content, _ := json.Marshal(m.body.Content)
			items = append(items, fmt.Sprintf(`{"id":%q,"content":%s,"author":{"id":%q},"components":%s}`, m.id, content, appID, components))
		}
	}
	if len(items) > 100 {
		items = items[:100]
	}
	slices.Reverse(items)
	return "[" + strings.Join(items, ",") + "]"
}

func (d *discord) in(channel string) []*message {
	var found []*message
	for _, m := range d.messages {
		if m.channel == channel {
			found = append(found, m)
		}
	}
	sort.Slice(found, func(i, j int) bool { return found[i].id < found[j].id })
	return found
}

// everything is all messages, by id.
func (d *discord) everything() []*message {
	all := make([]*message, 0, len(d.messages))
	for _, m := range d.messages {
		all = append(all, m)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].id < all[j].id })
	return all
}
