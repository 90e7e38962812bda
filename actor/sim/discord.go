package sim

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"holdfast/actor"
	"holdfast/actor/render"
)

// message is the bot's or a person's. One that was deleted stays here and is seen by nobody.
type message struct {
	id, channel string
	author      string
	space       *space
	delivery    string // the effect that made it, "" for an interaction's own
	interaction string // that it answers
	body        render.Message
	flags       int
	created     int64
	edits       int
	deleted     bool
}

// original is an interaction's own message.
type original struct {
	interaction  string
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
	all       []*message // in the order of their ids
	originals map[string]*original
	nonces    map[string]string // nonce → message
	meant     map[string]string // nonce → the delivery that used it first
	nonceLife int64             // ms; Discord says "a few minutes"
	threads   map[string]string // id → "open", "archived", "locked" or "deleted"
	order     []string          // of the threads
	limited   map[string]int64  // bucket → until
	outage    string            // what every request is answered with, "" for none
	hidden    bool              // listings show nothing: the permission to read the history is missing
}

func newDiscord(w *world) *discord {
	return &discord{world: w, messages: map[string]*message{}, originals: map[string]*original{},
		nonces: map[string]string{}, meant: map[string]string{}, nonceLife: w.between("setup", 61_000, 300_000),
		threads: map[string]string{}, limited: map[string]int64{}}
}

func (d *discord) heal() { d.outage, d.hidden = "", false }

// discordEpoch is 2015-01-01 in unix ms; a snowflake's upper 42 bits count from it.
const discordEpoch = 1420070400000

func (d *discord) id() string {
	d.next = max(d.next, (d.world.now-discordEpoch)<<22) + d.world.between("snowflake", 1, 6)
	return fmt.Sprint(d.next)
}

func (d *discord) fault(status, code int) (int, string) {
	d.world.covered(fmt.Sprintf("discord: code %d", code))
	return status, fmt.Sprintf(`{"code":%d,"message":"planted"}`, code)
}

// serve answers one REST request; status 0 means that it hangs until the host gives up.
func (d *discord) serve(s *space, e actor.Effect) (int, string) {
	w := d.world
	parts := strings.Split(strings.TrimPrefix(strings.SplitN(e.Path, "?", 2)[0], "/"), "/")
	bucket := e.Method + strings.Join(parts[:2], "/")
	switch {
	case d.outage != "":
		return d.out()
	case w.now < d.limited[bucket] && w.chance("limited-still", 0.9), w.chance("rate-limit", 0.01):
		return d.limit(bucket)
	case strings.Contains(e.Path, "&after=") && w.chance("listing-limited", 0.1):
		return d.limit(bucket)
	case w.chance("discord-5xx", 0.01):
		return 502, "<html>bad gateway</html>"
	}
	status, body := d.route(s, e, parts)
	w.note("discord %s %s → %d", e.Method, e.Path, status)
	if status < 300 && w.chance("discord-5xx-after", 0.01) {
		return 503, ""
	}
	w.covered(fmt.Sprintf("discord: %s %d", e.Method, status))
	return status, body
}

// outages are what a long trouble looks like.
var outages = []string{"503", "hangs", "401", "403", "429 as HTML"}

func (d *discord) out() (int, string) {
	d.world.covered("discord outage: " + d.outage)
	switch d.outage {
	case "503":
		return 503, "<html>unavailable</html>"
	case "401":
		return 401, `{"message":"401: Unauthorized","code":0}`
	case "403":
		return d.fault(403, 50013)
	case "429 as HTML":
		return 429, "<html>banned</html>"
	}
	return 0, ""
}

func (d *discord) limit(bucket string) (int, string) {
	w := d.world
	d.limited[bucket] = w.now + w.between("rate-limit", 1_000, 6_000)
	body := []string{"<html>too many</html>", `{"message":"You are being rate limited."}`,
		`{"message":"You are being rate limited.","retry_after":2.5,"global":false}`}[w.pick("rate-limit", 3)]
	w.covered("discord: 429 " + map[bool]string{true: "as HTML", false: body[min(len(body), 43):]}[body[0] == '<'])
	return 429, body
}

func (d *discord) route(s *space, e actor.Effect, parts []string) (int, string) {
	var m render.Message
	if len(e.Body) > 0 {
		if err := json.Unmarshal(e.Body, &m); err != nil {
			return d.fault(400, 50035)
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
		if m := d.shown(parts[3]); m != nil && d.threads[m.channel] != "deleted" {
			return 200, show(m)
		}
		return d.fault(404, 10008)
	case e.Method == "PATCH" && len(parts) == 2:
		if d.threads[parts[1]] != "archived" {
			return d.fault(403, 50013)
		}
		d.threads[parts[1]] = "open"
		return 200, fmt.Sprintf(`{"id":%q}`, parts[1])
	case e.Method == "GET":
		if state := d.threads[parts[1]]; state == "deleted" || state == "" && parts[1] != s.channel {
			return d.fault(404, 10003)
		}
		if e.ID[0] != 'r' && (d.hidden || d.world.chance("listing-empty", 0.2)) { // a review takes an empty listing for an answer
			d.world.covered("discord: a listing shows nothing")
			return 200, "[]"
		}
		return 200, d.list(parts[1], e.Path)
	case e.Method == "POST":
		return d.create(s, e.Lane, parts[1], m)
	case e.Method == "PATCH" && len(parts) == 4:
		return d.edit(parts[3], m)
	}
	return d.fault(404, 0)
}

// shown is a message that is still there.
func (d *discord) shown(id string) *message {
	if m := d.messages[id]; m != nil && !m.deleted {
		return m
	}
	return nil
}

func (d *discord) original(s *space, e actor.Effect, token string, body render.Message) (int, string) {
	o := d.originals[token]
	switch {
	case o == nil, !o.acknowledged, d.world.chance("original-404", 0.03):
		return d.fault(404, 10015)
	case d.world.now-o.at > 15*60_000:
		return d.fault(401, 50027)
	case e.Method == "DELETE":
		if o.message != nil {
			o.message.deleted, o.message = true, nil
		}
		return 204, ""
	case o.message == nil:
		o.message = d.add(&message{channel: o.channel, author: appID, space: s, interaction: o.interaction})
		if o.ephemeral {
			o.message.flags = 64
		}
	case o.message.deleted:
		return d.fault(404, 10008)
	}
	o.message.body = body
	o.message.edits++
	return 200, show(o.message)
}

func (d *discord) add(m *message) *message {
	m.id, m.created = d.id(), d.world.now
	d.messages[m.id] = m
	d.all = append(d.all, m)
	return m
}

func (d *discord) thread(parts []string) (int, string) {
	id := d.id()
	if len(parts) == 5 {
		id = parts[3]
		if d.shown(id) == nil {
			return d.fault(404, 10008)
		}
	}
	switch {
	case d.threads[id] != "":
		return d.fault(400, 160004)
	case d.world.chance("no-thread", 0.02):
		return d.fault(403, 50013)
	}
	d.threads[id] = "open"
	d.order = append(d.order, id)
	return 201, fmt.Sprintf(`{"id":%q,"type":11}`, id)
}

// create makes a message, unless its nonce says that it is there already.
func (d *discord) create(s *space, delivery, channel string, body render.Message) (int, string) {
	switch d.threads[channel] {
	case "deleted":
		return d.fault(404, 10003)
	case "locked":
		return d.fault(403, 160005)
	case "archived":
		d.threads[channel] = "open"
	}
	if body.Nonce != "" && body.EnforceNonce {
		if other := d.meant[body.Nonce]; other != "" && other != delivery {
			d.world.fail("invariant 2: %s and %s have the same nonce", other, delivery)
		}
		d.meant[body.Nonce] = delivery
		if known := d.messages[d.nonces[body.Nonce]]; known != nil && d.world.now-known.created < d.nonceLife {
			return 200, show(known)
		}
	}
	for _, m := range d.all {
		if m.delivery == delivery && !m.deleted && !s.sameNote(channel, body) {
			d.world.fail("invariant 2: delivery %s makes a second message in %s: %.80q", delivery, channel, body.Content)
		}
	}
	m := d.add(&message{channel: channel, author: appID, space: s, body: body, delivery: delivery})
	d.nonces[body.Nonce] = m.id
	d.world.people.sees(m)
	return 200, show(m)
}

// sameNote says whether a note is one of several with the same words, of which one that was not sent yet may have been taken
// for another: in the end there are as many as there should be.
func (s *space) sameNote(channel string, body render.Message) bool {
	if len(body.Components) > 0 {
		return false
	}
	said := 0
	for _, m := range s.world.discord.all {
		if m.channel == channel && m.body.Content == body.Content && !m.deleted {
			said++
		}
	}
	return s.one(`SELECT count(*) > ? FROM delivery WHERE kind = 'note' AND channel = ? AND body = ?`, said, channel, body.Content) == "1"
}

func (d *discord) edit(id string, body render.Message) (int, string) {
	m := d.shown(id)
	switch {
	case m == nil:
		return d.fault(404, 10008)
	case d.threads[m.channel] == "deleted":
		return d.fault(404, 10003)
	case d.threads[m.channel] == "archived":
		return d.fault(400, 50083)
	case d.threads[m.channel] == "locked":
		return d.fault(403, 160005)
	case d.world.now-m.created > 3_600_000 && d.world.chance("too-old", 0.5):
		return d.fault(400, 30046)
	}
	m.body = body
	m.edits++
	return 200, show(m)
}

// edits is how often the message that a request edits has been edited so far.
func (d *discord) edits(e actor.Effect) int {
	id := e.Path[strings.LastIndexByte(e.Path, '/')+1:]
	if m := d.messages[id]; m != nil && e.Method == "PATCH" {
		return m.edits
	}
	return 0
}

func show(m *message) string {
	components, _ := json.Marshal(m.body.Components)
	content, _ := json.Marshal(m.body.Content)
	metadata := ""
	if m.interaction != "" {
		metadata = fmt.Sprintf(`,"interaction_metadata":{"id":%q}`, m.interaction)
	}
	return fmt.Sprintf(`{"id":%q,"channel_id":%q,"flags":%d,"content":%s,"author":{"id":%q},"components":%s%s}`, m.id, m.channel, m.flags, content, m.author, components, metadata)
}

// list is a page of a channel after an id, the newest first.
func (d *discord) list(channel, path string) string {
	after := path[strings.LastIndex(path, "after=")+len("after="):]
	var items []string
	if d.threads[channel] != "" && channel > after { // what the thread was opened under shows in it
		items = append(items, fmt.Sprintf(`{"id":%q,"content":"","author":{"id":"0"},"components":[]}`, channel))
	}
	for _, m := range d.all {
		if m.channel == channel && !m.deleted && (len(m.id) > len(after) || len(m.id) == len(after) && m.id > after) {
			items = append(items, show(m))
		}
	}
	if len(items) > 100 {
		items = items[:100]
	}
	slices.Reverse(items)
	return "[" + strings.Join(items, ",") + "]"
}
