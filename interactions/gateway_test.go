package interactions

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"holdfast/actor"
)

// event wraps a Gateway dispatch of the fixtures as the relay would.
func event(t *testing.T, name string) map[string]any {
	t.Helper()
	p := as[struct {
		S int
		T string
		D map[string]any
	}](t, fixture(t, "gateway/"+name))
	e := map[string]any{"seq": p.S, "type": p.T, "source": "live", "data": p.D, "id": "s:" + p.T}
	if p.T == "MESSAGE_CREATE" {
		e["id"] = p.D["id"]
	}
	channel, _ := p.D["channel_id"].(string)
	if strings.HasPrefix(p.T, "THREAD_") {
		channel, _ = p.D["id"].(string)
	}
	switch channel {
	case thread:
		e["channel"] = map[string]any{"id": thread, "type": 11, "parent_id": testChan, "category_id": "1300000000000000202"}
	case testChan:
		e["channel"] = map[string]any{"id": testChan, "type": 0, "parent_id": "1300000000000000202", "category_id": ""}
	}
	if g, ok := p.D["guild_id"]; ok {
		e["guild_id"] = g
	}
	return e
}

func batch(t *testing.T, events ...any) []byte {
	t.Helper()
	b, err := json.Marshal(map[string]any{"shard": 0, "session": "s", "connection": "c", "epoch": 1, "events": append([]any{}, events...), "closed_gaps": []any{}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// one decides a batch of one event.
func one(t *testing.T, e any) Delivery {
	t.Helper()
	v := decide(t, relayed(), batch(t, e))
	if v.Mode != ModeGateway || len(v.Deliver) != 1 || v.Reply != nil {
		t.Fatalf("verdict %+v", v)
	}
	return v.Deliver[0]
}

func wantResult(t *testing.T, d Delivery, id, status, reason string) {
	t.Helper()
	if d.Answer == nil || d.Answer.Status != 200 || d.Actor != "" || d.Resolve != nil {
		t.Fatalf("delivery %+v, want a fixed answer", d)
	}
	got := as[actor.GatewayResult](t, d.Answer.Body)
	if got.ID != id || d.ID != id || got.Status != status || !strings.Contains(got.Reason, reason) {
		t.Errorf("result %+v, want %s %s %s", got, id, status, reason)
	}
}

func TestGatewayMessages(t *testing.T) {
	everyone := event(t, "message_create_mention.json")
	everyone["data"].(map[string]any)["mention_everyone"] = true
	cases := map[string]struct {
		e    map[string]any
		want func(actor.GatewayEvent) bool
	}{
		"in a thread": {event(t, "message_create_thread.json"), func(e actor.GatewayEvent) bool {
			return e.Content == "please also run the tests" && !e.Bot && e.Author.Name == "Sample User" &&
				e.Author.Roles[0] == "1300000000000000400" && e.Place.Parent == testChan && e.Place.Category == "1300000000000000202"
		}},
		"mention": {event(t, "message_create_mention.json"), func(e actor.GatewayEvent) bool {
			return len(e.Mentions) == 1 && e.Mentions[0] == testApp && e.Place.Type == 0 && e.Place.Category == "1300000000000000202" && e.Place.Parent == ""
		}},
		"a bot":     {event(t, "message_create_bot.json"), func(e actor.GatewayEvent) bool { return e.Bot }},
		"ourselves": {event(t, "message_create_self.json"), func(e actor.GatewayEvent) bool { return e.Bot }},
		"a webhook": {event(t, "message_create_webhook.json"), func(e actor.GatewayEvent) bool { return e.Bot }},
		"everyone":  {everyone, func(e actor.GatewayEvent) bool { return e.Everyone }},
		"reply":     {event(t, "message_create_reply.json"), func(e actor.GatewayEvent) bool { return e.MessageType == 19 && !e.Bot }},
		"starter":   {event(t, "message_create_thread_starter_type21.json"), func(e actor.GatewayEvent) bool { return e.MessageType == 21 }},
		"file":      {event(t, "message_create_attachments.json"), func(e actor.GatewayEvent) bool { return e.Attachments[0].Name == "trace.txt" && e.Content == "" }},
		"edit": {event(t, "message_update.json"), func(e actor.GatewayEvent) bool {
			return e.Type == "MESSAGE_UPDATE" && e.Content != "" && e.Message != e.ID
		}},
		"deletion":    {event(t, "message_delete.json"), func(e actor.GatewayEvent) bool { return e.Message == "1300000000000000997" && !e.Bot }},
		"archived":    {event(t, "thread_update_archived.json"), func(e actor.GatewayEvent) bool { return e.Archived && !e.Locked && e.Place.Channel == thread }},
		"locked":      {event(t, "thread_update_locked.json"), func(e actor.GatewayEvent) bool { return e.Locked }},
		"thread gone": {event(t, "thread_delete.json"), func(e actor.GatewayEvent) bool { return e.Place.Channel == thread && e.Place.Parent == testChan }},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d := one(t, c.e)
			if d.Answer != nil || d.Resolve == nil || d.Type != actor.EventGateway {
				t.Fatalf("delivery %+v", d)
			}
			e := as[actor.GatewayEvent](t, d.Data)
			if !c.want(e) || e.Source != "live" || e.ID != c.e["id"] || d.ID != e.ID {
				t.Errorf("decoded as %+v", e)
			}
			id := e.Message
			if e.Place.Thread() {
				id = thread
			}
			if d.Resolve.ID != id || d.Resolve.Place != e.Place {
				t.Errorf("resolves %+v, want by %s", d.Resolve, id)
			}
		})
	}
}

// A thread's own event says where it is, also when the relay added nothing.
func TestGatewayThreadWithoutChannel(t *testing.T) {
	e := event(t, "thread_update_archived.json")
	delete(e, "channel")
	if p := as[actor.GatewayEvent](t, one(t, e).Data).Place; p.Channel != thread || p.Type != 11 || p.Parent != testChan {
		t.Errorf("place %+v", p)
	}
}

func TestGatewayIgnored(t *testing.T) {
	typing := event(t, "typing_start.json")
	dm := event(t, "message_create_dm.json")
	emptyGuild := event(t, "message_create_dm.json")
	emptyGuild["guild_id"] = ""
	foreign := event(t, "message_create_thread.json")
	foreign["guild_id"] = "1300000000000000101"
	wantResult(t, one(t, typing), "s:TYPING_START", "ignored", "TYPING_START")
	wantResult(t, one(t, event(t, "unknown_event.json")), "s:SOMETHING_NEW_2027", "ignored", "")
	wantResult(t, one(t, dm), dm["id"].(string), "ignored", "direct messages are not bound")
	wantResult(t, one(t, emptyGuild), dm["id"].(string), "ignored", "direct messages are not bound")
	wantResult(t, one(t, foreign), foreign["id"].(string), "ignored", "not allowed")
}

func TestGatewayRejected(t *testing.T) {
	change := func(f func(e, data map[string]any)) map[string]any {
		e := event(t, "message_create_thread.json")
		f(e, e["data"].(map[string]any))
		return e
	}
	for name, e := range map[string]map[string]any{
		"no author":         change(func(_, d map[string]any) { delete(d, "author") }),
		"author no object":  change(func(_, d map[string]any) { d["author"] = 3 }),
		"another id":        change(func(e, _ map[string]any) { e["id"] = "1300000000000000001" }),
		"another channel":   change(func(e, _ map[string]any) { e["channel"].(map[string]any)["id"] = testChan }),
		"no channel":        change(func(_, d map[string]any) { delete(d, "channel_id") }),
		"content no text":   change(func(_, d map[string]any) { d["content"] = []any{} }),
		"content too long":  change(func(_, d map[string]any) { d["content"] = strings.Repeat("x", 4001) }),
		"null data":         change(func(e, _ map[string]any) { e["data"] = nil; delete(e, "channel") }),
		"data is a list":    change(func(e, _ map[string]any) { e["data"] = []any{} }),
		"guild no id":       change(func(e, _ map[string]any) { e["guild_id"] = "x" }),
		"mentions a string": change(func(_, d map[string]any) { d["mentions"] = "all" }),
	} {
		t.Run(name, func(t *testing.T) { wantResult(t, one(t, e), e["id"].(string), "rejected", "expected") })
	}
	wantResult(t, one(t, 7), "", "rejected", "expected")
	wantResult(t, one(t, map[string]any{"type": "MESSAGE_CREATE"}), "", "rejected", "id")
}

// One bad event takes nothing from its neighbours, and the order stays.
func TestGatewayOrder(t *testing.T) {
	good := event(t, "message_create_thread.json")
	body := batch(t, event(t, "typing_start.json"), good, 5, event(t, "message_create_mention.json"))
	v := decide(t, relayed(), body)
	if len(v.Deliver) != 4 {
		t.Fatalf("%d deliveries", len(v.Deliver))
	}
	for i, answered := range []bool{true, false, true, false} {
		if (v.Deliver[i].Answer != nil) != answered {
			t.Errorf("delivery %d: %+v", i, v.Deliver[i])
		}
	}
}

func TestGatewayRequest(t *testing.T) {
	operator := &Caller{Kind: "operator", Subject: "ops", Roles: []string{RoleAdmin}}
	many := make([]any, MaxEvents+1)
	cases := map[string]struct {
		change func(*Request)
		body   []byte
		status int
	}{
		"no key":         {func(r *Request) { r.Caller = nil }, batch(t), 401},
		"operator":       {func(r *Request) { r.Caller = operator }, batch(t), 403},
		"GET":            {func(r *Request) { r.Method = "GET" }, batch(t), 405},
		"not JSON":       {func(*Request) {}, []byte("{"), 400},
		"no events":      {func(*Request) {}, []byte("{}"), 400},
		"events no list": {func(*Request) {}, []byte(`{"events":{}}`), 400},
		"too many":       {func(*Request) {}, batch(t, many...), 400},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := relayed()
			c.change(&r)
			wantStatus(t, decide(t, r, c.body).Reply, c.status)
		})
	}
	if v := decide(t, relayed(), batch(t)); v.Reply != nil || v.Mode != ModeGateway || len(v.Deliver) != 0 {
		t.Errorf("an empty batch: %+v", v)
	}
}

// Whatever the Gateway dispatches gets a result or a delivery under its own id.
func TestGatewayFixtures(t *testing.T) {
	entries, err := os.ReadDir("testdata/gateway")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range entries {
		if op := as[struct{ Op int }](t, fixture(t, "gateway/"+file.Name())).Op; op != 0 {
			continue
		}
		e := event(t, file.Name())
		d := one(t, e)
		if d.ID != e["id"] || (d.Answer == nil) == (d.Resolve == nil) {
			t.Errorf("%s: %+v", file.Name(), d)
		}
		if d.Answer != nil && as[actor.GatewayResult](t, d.Answer.Body).Status == actor.StatusRejected {
			t.Errorf("%s rejected: %s", file.Name(), d.Answer.Body)
		}
	}
}
