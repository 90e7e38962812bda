package playground

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/clock"
)

func fixture(t *testing.T, name string) obj {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var o obj
	if err := json.Unmarshal(raw, &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// next is the next event that the edge took, of one of the types.
func (r *rig) next(kind string) obj {
	r.Helper()
	deadline := time.After(10 * time.Second)
	for {
		select {
		case e := <-r.edge.events:
			if e["type"] == kind {
				return e
			}
		case <-deadline:
			r.Fatalf("no %s came", kind)
		}
	}
}

func TestEventsReachTheEdge(t *testing.T) {
	r := newRig(t, "")
	said := r.do("POST", "/users/sam/messages", obj{"channel": r.info.Channel, "content": "<@" + r.info.Application + "> run the tests"})
	e := r.next("MESSAGE_CREATE")
	has(t, e, "id", said["id"])
	has(t, e, "source", "live")
	has(t, e, "guild_id", r.info.Guild)
	has(t, e, "channel", obj{"id": r.info.Channel, "type": 0, "parent_id": nil, "category_id": "1300000000000000202"})
	has(t, e, "data.author.username", "sam")
	want := fixture(t, "message_create_mention.json")["d"]
	sameKeys(t, "MESSAGE_CREATE", withoutNonce(want), e["data"])

	r.do("PATCH", "/users/sam/messages/"+said["id"].(string), obj{"content": "never mind"})
	has(t, r.next("MESSAGE_UPDATE"), "data.content", "never mind")

	own := r.post("our own")
	e = r.next("MESSAGE_CREATE")
	has(t, e, "data.author.bot", true)
	r.api("POST", "/channels/"+r.info.Channel+"/messages/"+own+"/threads", `{"name":"t"}`)
	has(t, r.next("THREAD_CREATE"), "data.newly_created", true)
	has(t, r.next("MESSAGE_CREATE"), "data.type", 21)
	r.do("POST", "/users/kim/messages", obj{"channel": own, "content": "in the thread"})
	e = r.next("MESSAGE_CREATE")
	has(t, e, "channel", obj{"id": own, "type": 11, "parent_id": r.info.Channel, "category_id": "1300000000000000202"})
	sameKeys(t, "in a thread", withoutNonce(fixture(t, "message_create_thread.json")["d"]), e["data"])

	r.do("PATCH", "/users/maya/threads/"+own, obj{"archived": true})
	e = r.next("THREAD_UPDATE")
	has(t, e, "data.thread_metadata.archived", true)
	sameKeys(t, "THREAD_UPDATE", fixture(t, "thread_update_archived.json")["d"], e["data"])
	r.do("DELETE", "/users/maya/threads/"+own, nil)
	sameKeys(t, "THREAD_DELETE", fixture(t, "thread_delete.json")["d"], r.next("THREAD_DELETE")["data"])
	r.do("DELETE", "/users/sam/messages/"+said["id"].(string), nil)
	sameKeys(t, "MESSAGE_DELETE", fixture(t, "message_delete.json")["d"], r.next("MESSAGE_DELETE")["data"])
}

func withoutNonce(v any) any {
	o := v.(obj)
	delete(o, "nonce")
	return o
}

func TestRetriedInOrder(t *testing.T) {
	r := newRig(t, "")
	var mu sync.Mutex
	refused := map[string]int{}
	r.edge.mu.Lock()
	r.edge.verdict = func(id string) string {
		mu.Lock()
		defer mu.Unlock()
		if refused[id]++; refused[id] < 3 {
			return "retry"
		}
		return "committed"
	}
	r.edge.mu.Unlock()
	var want []any
	for _, text := range []string{"one", "two", "three"} {
		want = append(want, r.do("POST", "/users/sam/messages", obj{"channel": r.info.Channel, "content": text})["id"])
	}
	for i, id := range want {
		if e := r.next("MESSAGE_CREATE"); e["id"] != id {
			t.Fatalf("event %d is %v, want %v", i, e["id"], id)
		}
	}
}

func TestDroppedAndDoubledEvents(t *testing.T) {
	r := newRig(t, "")
	say := func(text string) {
		r.do("POST", "/users/sam/messages", obj{"channel": r.info.Channel, "content": text})
	}
	r.do("POST", "/faults", obj{"kind": "drop_event"})
	say("lost")
	r.do("POST", "/faults", obj{"kind": "duplicate_event"})
	say("twice")
	for range 2 {
		has(t, r.next("MESSAGE_CREATE"), "data.content", "twice")
	}
	say("once")
	has(t, r.next("MESSAGE_CREATE"), "data.content", "once")
}

// TestKilledAndOpenedAgain abandons a server without closing it, as a kill does, and opens the folder anew.
func TestKilledAndOpenedAgain(t *testing.T) {
	dir := t.TempDir()
	first := newRig(t, dir)
	first.register()
	first.s.SetEdge(Edge{InteractionsURL: first.edge.server.URL + "/interactions"}) // events stay in the spool
	out := first.ask("sam", "remember me")
	anchor := out["message"].(obj)["id"].(string)
	token := first.tokenOf(out["interaction"].(string))
	first.api("POST", "/channels/"+first.info.Channel+"/messages", `{"content":"kept","nonce":"n","enforce_nonce":true}`)
	said := first.do("POST", "/users/kim/messages", obj{"channel": first.info.Channel, "content": "kept too", "files": []obj{{"name": "a.txt", "data": []byte("abc")}}})
	first.do("POST", "/clock", obj{"advance": "5m"})
	before := string(mustJSON(first.do("GET", "/channels/"+first.info.Channel, nil)["messages"]))

	torn, err := os.OpenFile(filepath.Join(dir, "discord.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = torn.WriteString(`[{"k":"message/1","v":{"id`)
	_ = torn.Close()

	second := newRig(t, dir)
	if a, b := first.info, second.info; a.Token != b.Token || a.PublicKey != b.PublicKey || a.ControlToken != b.ControlToken {
		t.Error("secrets changed")
	}
	has(t, second.next("MESSAGE_CREATE"), "id", anchor) // the spool was kept, in order
	has(t, second.next("MESSAGE_CREATE"), "data.content", "kept")
	has(t, second.next("MESSAGE_CREATE"), "id", said["id"])
	after := mustJSON(second.do("GET", "/channels/"+second.info.Channel, nil)["messages"])
	if sameBut(before, first.http.URL) != sameBut(string(after), second.http.URL) {
		t.Errorf("messages changed:\n%s\n%s", before, after)
	}
	if status, m := second.original(token, "PATCH", `{"content":"done"}`); status != 200 || m["id"] != anchor {
		t.Errorf("the interaction's token is lost: %d %v", status, m)
	}
	if d := second.clock.Now().Sub(new(clock.Shifted).Now()); d < 4*time.Minute {
		t.Errorf("time ran back: the clock is %v ahead", d)
	}
	if _, m := second.api("POST", "/channels/"+second.info.Channel+"/messages", `{"content":"new"}`); m["id"].(string) <= said["id"].(string) {
		t.Error("ids ran back")
	}
	if n := len(second.do("GET", "/state?user=sam", nil)["commands"].([]any)); n != 2 {
		t.Errorf("%d commands for sam, want 2", n)
	}
}

func sameBut(s, base string) string { return strings.ReplaceAll(s, base, "") }
