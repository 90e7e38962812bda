package interactions

import (
	"holdfast/actor"
	"holdfast/actor/errs"
)

// MaxEvents is how many Gateway events one request may carry (spec 9.5).
const MaxEvents = 100

// gatewayTypes are the events that an actor wants to know of.
var gatewayTypes = map[string]bool{
	"MESSAGE_CREATE": true, "MESSAGE_UPDATE": true, "MESSAGE_DELETE": true,
	"THREAD_CREATE": true, "THREAD_UPDATE": true, "THREAD_DELETE": true,
}

// gateway answers POST /v1/gateway/events: one delivery per event, in order. An event that is malformed, or that no
// actor wants, is answered here: it must never hold up the ones behind it.
func gateway(r Request, body []byte) (Verdict, error) {
	switch {
	case r.Caller == nil:
		return unknownCaller(), nil
	case r.Caller.Kind != "relay":
		return forbidden("This path is for the relay."), nil
	case r.Method != "POST":
		return wrongMethod("POST"), nil
	}
	doc, bad := parse(body)
	if bad != nil {
		return malformed(bad), nil
	}
	list := doc.field("events")
	if !list.present() {
		list.fail("a list")
	}
	events := list.list(MaxEvents)
	if doc.doc.err != nil {
		return malformed(doc.doc.err), nil
	}
	v := Verdict{Mode: ModeGateway, Deliver: make([]Delivery, len(events))}
	for i, e := range events {
		d, err := gatewayDelivery(r.Config, e)
		if err != nil {
			return Verdict{}, err
		}
		v.Deliver[i] = d
	}
	return v, nil
}

func gatewayDelivery(config actor.Config, v value) (Delivery, error) {
	v.doc = &document{} // what is wrong with this event is no fault of the others
	e := actor.GatewayEvent{ID: v.field("id").text(100), Type: v.field("type").text(100), Source: v.field("source").optText(20)}
	data := v.field("data")
	if v.doc.err != nil {
		return settled(e.ID, actor.StatusRejected, v.doc.err.Message), nil
	}
	if !gatewayTypes[e.Type] {
		return settled(e.ID, actor.StatusIgnored, "no use for "+e.Type), nil
	}
	e.Place = gatewayPlace(e.Type, v, data)
	switch {
	case v.doc.err == nil && e.Place.Guild == "":
		return settled(e.ID, actor.StatusIgnored, "direct messages are not bound"), nil
	case v.doc.err == nil && !allowed(config, e.Place.Guild):
		return settled(e.ID, actor.StatusIgnored, "the guild is not allowed"), nil
	}
	fill(&e, data)
	if v.doc.err != nil {
		return settled(e.ID, actor.StatusRejected, v.doc.err.Message), nil
	}
	id := e.Message
	if e.Place.Thread() || id == "" {
		id = e.Place.Channel
	}
	b, err := actor.Encode(e)
	return Delivery{ID: e.ID, Resolve: &actor.ResolveArgs{Place: e.Place, ID: id}, Type: actor.EventGateway, Data: b}, err
}

// settled is an event's result without an actor.
func settled(id, status, reason string) Delivery {
	return Delivery{ID: id, Type: actor.EventGateway, Answer: jsonReply(200, actor.GatewayResult{ID: id, Status: status, Reason: reason})}
}

// gatewayPlace is where an event happened: what the relay added, and in its absence what the event itself says.
func gatewayPlace(kind string, v, data value) actor.Place {
	p := actor.Place{Guild: v.field("guild_id").optID()}
	if p.Guild == "" {
		p.Guild = data.field("guild_id").optID()
	}
	if p.Guild == "" {
		return p
	}
	about := data.field("channel_id")
	if kind[0] == 'T' { // a thread's event is about the thread itself
		about = data.field("id")
	}
	p.Channel = about.id()
	c := v.field("channel")
	if c.present() {
		if id := c.field("id"); id.id() != p.Channel {
			id.fail("the channel that the event is about")
		}
	} else if kind[0] == 'T' {
		c = data
	}
	if t := c.field("type"); t.present() {
		p.Type = int(t.integer(99))
	}
	p.Category = c.field("category_id").optID()
	switch parent := c.field("parent_id").optID(); {
	case p.Thread():
		p.Parent = parent
	case p.Category == "":
		p.Category = parent
	}
	return p
}

// fill decodes what the event says.
func fill(e *actor.GatewayEvent, data value) {
	if e.Type[0] == 'T' {
		meta := data.field("thread_metadata")
		e.Archived, e.Locked = meta.field("archived").flag(), meta.field("locked").flag()
		return
	}
	e.Message = data.field("id").id()
	if e.Type == "MESSAGE_DELETE" {
		return
	}
	if e.Type == "MESSAGE_CREATE" && e.ID != e.Message {
		data.field("id").fail("the event's own id")
	}
	fillMessage(e, data)
}

func fillMessage(e *actor.GatewayEvent, data value) {
	author := data.field("author")
	if author.present() || e.Type == "MESSAGE_CREATE" {
		e.Author = user(author)
	}
	e.Author.Roles = data.field("member").field("roles").ids()
	e.Bot = author.field("bot").flag() || data.field("webhook_id").present() || data.field("application_id").present()
	if t := data.field("type"); t.present() {
		e.MessageType = int(t.integer(1000))
	}
	e.Content = data.field("content").optText(4000)
	e.Everyone = data.field("mention_everyone").flag()
	for _, m := range data.field("mentions").list(maxList) {
		e.Mentions = append(e.Mentions, m.field("id").id())
	}
	e.MentionRole = data.field("mention_roles").ids()
	for _, a := range data.field("attachments").list(maxList) {
		e.Attachments = append(e.Attachments, attachment(a))
	}
}

func unknownCaller() Verdict {
	return refuse(401, errs.New(errs.Unauthorized, "There is no valid key in this request.").
		WithHint("`holdfast token` prints one."))
}

func forbidden(format string, args ...any) Verdict {
	return refuse(403, errs.New(errs.Unauthorized, format, args...))
}
