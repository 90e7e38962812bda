package actor

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"holdfast/actor/render"
)

type fakeMessage struct {
	id, channel string
	body        render.Message
	edits       int
	flags       int
}

// fakeDiscord keeps messages, @originals and threads, and can be told to fail.
type fakeDiscord struct {
	next      int64
	messages  map[string]*fakeMessage
	originals map[string]*fakeMessage
	nonces    map[string]string
	threads   map[string]bool
	fail      func(e Effect) (status int, body string, ok bool)
	log       []string
}

func newFakeDiscord() *fakeDiscord {
	return &fakeDiscord{next: 1300000000000009000, messages: map[string]*fakeMessage{}, originals: map[string]*fakeMessage{},
		nonces: map[string]string{}, threads: map[string]bool{}, fail: func(Effect) (int, string, bool) { return 0, "", false }}
}

func (d *fakeDiscord) serve(w *world, e Effect) (int, string) {
	d.log = append(d.log, e.Method+" "+e.Path)
	if status, body, ok := d.fail(e); ok {
		return status, body
	}
	var m render.Message
	if len(e.Body) > 0 {
		if err := json.Unmarshal(e.Body, &m); err != nil {
			return 400, `{"code":50035,"message":"bad"}`
		}
	}
	parts := strings.Split(strings.TrimPrefix(e.Path, "/"), "/")
	switch {
	case parts[0] == "webhooks":
		return d.original(e, parts[2], m)
	case strings.HasSuffix(e.Path, "/threads"):
		return d.thread(parts)
	case e.Method == "GET" && len(parts) == 4:
		m := d.messages[parts[3]]
		body, _ := json.Marshal(map[string]string{"id": m.id, "channel_id": m.channel, "content": m.body.Content})
		return 200, string(body)
	case e.Method == "GET":
		return 200, d.list(parts[1], e.Path[strings.LastIndexByte(e.Path, '=')+1:])
	case e.Method == "POST":
		return d.create(parts[1], m)
	case e.Method == "PATCH":
		return d.edit(parts[3], m)
	}
	return 404, `{"code":0,"message":"no such route"}`
}

func (d *fakeDiscord) id() string { d.next++; return fmt.Sprint(d.next) }

func (d *fakeDiscord) show(m *fakeMessage) string {
	return fmt.Sprintf(`{"id":%q,"channel_id":%q,"flags":%d,"author":{"id":%q}}`, m.id, m.channel, m.flags, appID)
}

func (d *fakeDiscord) original(e Effect, token string, body render.Message) (int, string) {
	m := d.originals[token]
	switch {
	case m == nil:
		return 404, `{"code":10015,"message":"Unknown Webhook"}`
	case e.Method == "DELETE":
		delete(d.messages, m.id)
		delete(d.originals, token)
		return 204, ""
	case m.id == "":
		m.id = d.id()
		d.messages[m.id] = m
	}
	m.body = body
	m.edits++
	return 200, d.show(m)
}

func (d *fakeDiscord) thread(parts []string) (int, string) {
	id := d.id()
	if len(parts) == 5 {
		id = parts[3]
	}
	if d.threads[id] {
		return 400, `{"code":160004,"message":"A thread has already been created for this message"}`
	}
	d.threads[id] = true
	return 201, fmt.Sprintf(`{"id":%q,"type":11}`, id)
}

func (d *fakeDiscord) create(channel string, body render.Message) (int, string) {
	if known, ok := d.nonces[body.Nonce]; ok {
		return 200, d.show(d.messages[known])
	}
	m := &fakeMessage{id: d.id(), channel: channel, body: body}
	d.messages[m.id] = m
	d.nonces[body.Nonce] = m.id
	return 200, d.show(m)
}

func (d *fakeDiscord) edit(id string, body render.Message) (int, string) {
	m := d.messages[id]
	if m == nil {
		return 404, `{"code":10008,"message":"Unknown Message"}`
	}
	m.body = body
	m.edits++
	return 200, d.show(m)
}

func (d *fakeDiscord) in(channel string) []*fakeMessage {
	var found []*fakeMessage
	for _, m := range d.messages {
		if m.channel == channel {
			found = append(found, m)
		}
	}
	sort.Slice(found, func(i, j int) bool { return found[i].id < found[j].id })
	return found
}

func (d *fakeDiscord) list(channel, after string) string {
	var items []string
	for _, m := range d.in(channel) {
		if len(m.id) == len(after) && m.id <= after {
			continue
		}
		components, _ := json.Marshal(m.body.Components)
		items = append(items, fmt.Sprintf(`{"id":%q,"content":%q,"author":{"id":%q},"components":%s}`, m.id, m.body.Content, appID, components))
	}
	return "[" + strings.Join(items, ",") + "]"
}

// all is every text that Discord shows anywhere.
func (d *fakeDiscord) all() string {
	raw := ""
	for _, m := range d.messages {
		b, _ := json.Marshal(m.body)
		raw += string(b)
	}
	return raw
}

// serveAnyway lets Discord act on a request that fail is about to answer otherwise.
func (w *world) serveAnyway(e Effect) {
	fail := w.discord.fail
	w.discord.fail = func(Effect) (int, string, bool) { return 0, "", false }
	w.discord.serve(w, e)
	w.discord.fail = fail
}
