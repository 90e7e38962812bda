package playground

import (
	"bytes"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strings"
	"testing"
	"time"
)

func (r *rig) original(token, method, body string) (int, obj) {
	r.Helper()
	return r.api(method, "/webhooks/"+r.info.Application+"/"+token+"/messages/@original", body)
}

func TestDeferredCommand(t *testing.T) {
	r := newRig(t, "")
	r.register()
	var seen obj
	early := make(chan int, 1)
	r.edge.set(func(w http.ResponseWriter, i obj) {
		seen = i
		status, _ := r.original(i["token"].(string), "PATCH", `{"content":"too early"}`)
		early <- status
		reply(obj{"type": 5})(w, i)
	})
	out := r.ask("sam", "why does it fail?")
	if status := <-early; status != 404 {
		t.Errorf("@original before the answer: %d, want 404", status)
	}
	has(t, out, "state", "acked")
	has(t, out, "message.flags", 128)
	has(t, out, "message.interaction.name", "ask")
	has(t, seen, "data.name", "ask")
	has(t, seen, "data.options", []obj{{"name": "prompt", "type": 3, "value": "why does it fail?"}})
	has(t, seen, "member.user.username", "sam")
	has(t, seen, "member.roles", []string{r.info.Roles["Members"]})
	has(t, seen, "channel.type", 0)
	has(t, seen, "authorizing_integration_owners", obj{"0": r.info.Guild})
	has(t, seen, "context", 0)

	token := r.tokenOf(out["interaction"].(string))
	status, m := r.original(token, "PATCH", `{"content":"working","components":[{"type":1,"components":[{"type":2,"style":4,"label":"Stop","custom_id":"s:1"}]}]}`)
	if status != 200 {
		t.Fatal(status, m)
	}
	has(t, m, "flags", 0)
	has(t, m, "edited_timestamp", nil)
	has(t, m, "id", out["message"].(obj)["id"])
	r.clock.Advance(16 * time.Minute)
	if status, body := r.original(token, "PATCH", `{"content":"late"}`); status != 401 || body["code"] != 50027.0 {
		t.Errorf("after 15 minutes: %d %v", status, body)
	}
	if status, _ := r.api("PATCH", "/channels/"+r.info.Channel+"/messages/"+m["id"].(string), `{"content":"by the bot"}`); status != 200 {
		t.Errorf("the bot cannot edit its own answer: %d", status)
	}
}

// TestPayloadHasTheShapeOfDiscord compares the keys, at every level, with a payload in Discord's shape.
func TestPayloadHasTheShapeOfDiscord(t *testing.T) {
	r := newRig(t, "")
	r.register()
	var seen obj
	r.edge.set(func(w http.ResponseWriter, i obj) { seen = i; reply(obj{"type": 5})(w, i) })
	r.ask("sam", "x")
	sameKeys(t, "ask", fixture(t, "ask_guild.json"), seen)

	_, m := r.api("POST", "/channels/"+r.info.Channel+"/messages", `{"content":"Allow?","components":[{"type":1,"components":[{"type":2,"style":3,"label":"Allow","custom_id":"a:1"},{"type":2,"style":4,"label":"Deny","custom_id":"d:1"}]}]}`)
	r.edge.set(func(w http.ResponseWriter, i obj) { seen = i; reply(obj{"type": 6})(w, i) })
	r.do("POST", "/users/maya/components", obj{"message": m["id"], "custom_id": "a:1"})
	want := fixture(t, "button_thread.json")
	want["channel"] = fixture(t, "ask_guild.json")["channel"] // it was pressed in a channel here
	delete(want["message"].(obj), "position")
	sameKeys(t, "button", want, seen)
}

func sameKeys(t *testing.T, at string, want, got any) {
	t.Helper()
	switch w := want.(type) {
	case obj:
		g, ok := got.(obj)
		if !ok {
			t.Errorf("%s: not an object", at)
			return
		}
		for k := range w {
			if _, ok := g[k]; !ok {
				t.Errorf("%s.%s is missing", at, k)
				continue
			}
			sameKeys(t, at+"."+k, w[k], g[k])
		}
		for k := range g {
			if _, ok := w[k]; !ok {
				t.Errorf("%s.%s is not in Discord's payload", at, k)
			}
		}
	case []any:
		if g, ok := got.([]any); ok && len(w) > 0 && len(g) > 0 {
			sameKeys(t, at+"[0]", w[0], g[0])
		}
	}
}

func TestEphemeralIsForOneUser(t *testing.T) {
	r := newRig(t, "")
	r.register()
	r.edge.set(reply(obj{"type": 4, "data": obj{"content": "only Sam", "flags": 64}}))
	out := r.ask("sam", "x")
	has(t, out, "message.ephemeral_to", r.info.Users["sam"])
	see := func(user string) int {
		return len(r.do("GET", "/channels/"+r.info.Channel+"?user="+user, nil)["messages"].([]any))
	}
	if see("sam") != 1 || see("maya") != 0 {
		t.Errorf("sam sees %d, maya %d", see("sam"), see("maya"))
	}
	if n := len(r.list("/channels/" + r.info.Channel + "/messages")); n != 0 {
		t.Errorf("the API lists %d ephemeral messages", n)
	}
	id := out["message"].(obj)["id"].(string)
	if status, _ := r.api("PATCH", "/channels/"+r.info.Channel+"/messages/"+id, `{"content":"x"}`); status != 404 {
		t.Errorf("the bot edited an ephemeral message by channel: %d", status)
	}
	if status, _ := r.try("DELETE", "/users/maya/messages/"+id, nil); status == 200 {
		t.Error("maya dismissed what only sam sees")
	}
	r.do("DELETE", "/users/sam/messages/"+id, nil)
	if see("sam") != 0 {
		t.Error("a dismissed message is still there")
	}
}

func TestNoAnswerInThreeSeconds(t *testing.T) {
	r := newRig(t, "")
	r.register()
	release := make(chan struct{})
	defer close(release)
	got := make(chan string, 1)
	r.edge.set(func(w http.ResponseWriter, i obj) { got <- i["token"].(string); <-release })
	done := make(chan obj)
	go func() { done <- r.ask("sam", "x") }()
	token := <-got
	r.clock.Advance(3*time.Second + time.Millisecond)
	out := <-done
	has(t, out, "state", "failed")
	has(t, out, "error", "The application did not respond")
	has(t, out, "message.failure", "The application did not respond")
	if status, body := r.original(token, "PATCH", `{"content":"x"}`); status != 404 || body["code"] != 10015.0 {
		t.Errorf("the token of a failed interaction: %d %v", status, body)
	}
	if n := len(r.list("/channels/" + r.info.Channel + "/messages")); n != 0 {
		t.Errorf("the note of a failure is a message: %d", n)
	}
}

func TestBadAnswersFail(t *testing.T) {
	r := newRig(t, "")
	r.register()
	for name, answer := range map[string]func(http.ResponseWriter, obj){
		"500":              func(w http.ResponseWriter, _ obj) { w.WriteHeader(500) },
		"no JSON":          func(w http.ResponseWriter, _ obj) { _, _ = w.Write([]byte("ok")) },
		"misspelt field":   reply(obj{"type": 4, "data": obj{"contnt": "x"}}),
		"update a command": reply(obj{"type": 7, "data": obj{"content": "x"}}),
		"choices":          reply(obj{"type": 8, "data": obj{"choices": []obj{}}}),
		"empty message":    reply(obj{"type": 4, "data": obj{"content": ""}}),
		"redirect":         func(w http.ResponseWriter, _ obj) { w.Header().Set("Location", "/v1"); w.WriteHeader(302) },
	} {
		r.edge.set(answer)
		if out := r.ask("sam", "x"); out["state"] != "failed" || out["why"] == "" {
			t.Errorf("%s: %v", name, out)
		}
	}
}

func TestButtons(t *testing.T) {
	r := newRig(t, "")
	_, card := r.api("POST", "/channels/"+r.info.Channel+"/messages", `{"content":"Run?","components":[{"type":1,"components":[
		{"type":2,"style":3,"label":"Approve","custom_id":"a:1"},{"type":2,"style":4,"label":"Why","custom_id":"w:1"},
		{"type":2,"style":2,"label":"Off","custom_id":"off","disabled":true}]}]}`)
	press := func(user, id string) obj {
		return r.do("POST", "/users/"+user+"/components", obj{"message": card["id"], "custom_id": id})
	}
	r.edge.set(reply(obj{"type": 7, "data": obj{"content": "Approved", "components": []obj{}}}))
	out := press("maya", "a:1")
	has(t, out, "answer", 7)
	has(t, out, "message.content", "Approved")
	has(t, out, "message.components", []obj{})
	if status, _ := r.try("POST", "/users/maya/components", obj{"message": card["id"], "custom_id": "a:1"}); status != 400 {
		t.Error("a component that is gone was pressed")
	}
	r.api("PATCH", "/channels/"+r.info.Channel+"/messages/"+card["id"].(string), `{"components":[{"type":1,"components":[{"type":2,"style":4,"label":"Why","custom_id":"w:1"},{"type":2,"style":2,"label":"Off","custom_id":"off","disabled":true}]}]}`)
	if status, _ := r.try("POST", "/users/maya/components", obj{"message": card["id"], "custom_id": "off"}); status != 400 {
		t.Error("a disabled button was pressed")
	}
	r.edge.set(reply(obj{"type": 4, "data": obj{"content": "not you", "flags": 64}}))
	out = press("kim", "w:1")
	has(t, out, "message.ephemeral_to", r.info.Users["kim"])
	has(t, out, "message.message_reference.message_id", card["id"])

	// 6 acknowledges, and @original is then the message of the button
	r.edge.set(reply(obj{"type": 6}))
	out = press("maya", "w:1")
	has(t, out, "message.id", card["id"])
	status, m := r.original(r.tokenOf(out["interaction"].(string)), "PATCH", `{"content":"edited through the press"}`)
	if status != 200 || m["id"] != card["id"] {
		t.Errorf("@original of a press: %d %v", status, m)
	}
}

func TestModal(t *testing.T) {
	r := newRig(t, "")
	_, card := r.api("POST", "/channels/"+r.info.Channel+"/messages", `{"content":"Run?","components":[{"type":1,"components":[{"type":2,"style":4,"label":"Why","custom_id":"w:1"}]}]}`)
	forms := map[string]any{
		"label":  []obj{{"type": 18, "label": "Reason", "component": obj{"type": 4, "custom_id": "reason", "style": 2, "required": true}}},
		"legacy": []obj{{"type": 1, "components": []obj{{"type": 4, "custom_id": "reason", "style": 2, "label": "Reason"}}}},
	}
	for name, parts := range forms {
		t.Run(name, func(t *testing.T) {
			r.edge.set(reply(obj{"type": 9, "data": obj{"custom_id": "form:1", "title": "Why?", "components": parts}}))
			out := r.do("POST", "/users/maya/components", obj{"message": card["id"], "custom_id": "w:1"})
			has(t, out, "modal.title", "Why?")
			var seen obj
			r.edge.set(func(w http.ResponseWriter, i obj) {
				seen = i
				reply(obj{"type": 7, "data": obj{"content": "Denied"}})(w, i)
			})
			form := obj{"interaction": out["interaction"], "values": obj{"reason": "too risky"}}
			if status, _ := r.try("POST", "/users/kim/modals", form); status != 404 {
				t.Errorf("kim submitted maya's form: %d", status)
			}
			if status, _ := r.try("POST", "/users/maya/modals", obj{"interaction": out["interaction"], "values": obj{}}); status != 400 {
				t.Errorf("a required field was left empty: %d", status)
			}
			done := r.do("POST", "/users/maya/modals", form)
			has(t, done, "message.content", "Denied")
			has(t, seen, "type", 5)
			has(t, seen, "message.id", card["id"])
			file := map[string]string{"label": "modal_submit_label.json", "legacy": "modal_submit_legacy.json"}[name]
			sameKeys(t, "data", fixture(t, file)["data"], seen["data"])
		})
	}
}

func TestAutocomplete(t *testing.T) {
	r := newRig(t, "")
	r.register()
	var seen obj
	r.edge.set(func(w http.ResponseWriter, i obj) {
		seen = i
		reply(obj{"type": 8, "data": obj{"choices": []obj{{"name": "42 · fix the build", "value": "42"}}}})(w, i)
	})
	out := r.do("POST", "/users/sam/autocomplete", obj{"channel": r.info.Channel, "name": "resume", "focused": "conversation", "options": obj{"conversation": "fix"}})
	has(t, out, "choices", []obj{{"name": "42 · fix the build", "value": "42"}})
	has(t, seen, "type", 4)
	sameKeys(t, "autocomplete", fixture(t, "resume_autocomplete.json"), seen)
	r.do("POST", "/users/sam/autocomplete", obj{"channel": r.info.Channel, "name": "resume", "focused": "conversation"})
	has(t, seen, "data.options", []obj{{"name": "conversation", "type": 3, "value": "", "focused": true}})
}

func TestCommandPickerRules(t *testing.T) {
	r := newRig(t, "")
	r.register()
	var seen obj
	r.edge.set(func(w http.ResponseWriter, i obj) { seen = i; reply(obj{"type": 5})(w, i) })
	for name, body := range map[string]obj{
		"required option missing": {"channel": r.info.Channel, "name": "ask"},
		"unknown option":          {"channel": r.info.Channel, "name": "ask", "options": obj{"prompt": "x", "colour": "red"}},
		"wrong type":              {"channel": r.info.Channel, "name": "ask", "options": obj{"prompt": 5}},
		"no subcommand":           {"channel": r.info.Channel, "name": "workspace"},
	} {
		if status, _ := r.try("POST", "/users/maya/commands", body); status != 400 {
			t.Errorf("%s: %d", name, status)
		}
	}
	bind := obj{"channel": r.info.Channel, "name": "workspace bind", "options": obj{"name": "platform"}}
	if status, _ := r.try("POST", "/users/sam/commands", bind); status != 404 {
		t.Errorf("sam used a command of managers: %d", status)
	}
	r.do("POST", "/users/maya/commands", bind)
	has(t, seen, "data.options", []obj{{"name": "bind", "type": 1, "options": []obj{{"name": "name", "type": 3, "value": "platform"}}}})
	file := obj{"name": "log.txt", "type": "text/plain", "data": []byte("hello")}
	r.do("POST", "/users/sam/commands", obj{"channel": r.info.Channel, "name": "ask", "options": obj{"prompt": "x", "attachment": file}})
	for _, a := range seen["data"].(obj)["resolved"].(obj)["attachments"].(obj) {
		res, err := http.Get(a.(obj)["url"].(string))
		if err != nil || res.StatusCode != 200 || res.Header.Get("Content-Type") != "application/octet-stream" {
			t.Errorf("attachment: %v %v", res, err)
		}
	}
}

func TestCallbackEndpoint(t *testing.T) {
	r := newRig(t, "")
	r.register()
	answered := make(chan struct{})
	r.edge.set(func(w http.ResponseWriter, i obj) {
		defer close(answered)
		path := "/interactions/" + i["id"].(string) + "/" + i["token"].(string) + "/callback"
		if status, body := r.api("POST", path+"?with_response=true", `{"type":4,"data":{"content":"by callback"}}`); status != 200 || body["resource"] == nil {
			t.Errorf("callback: %d %v", status, body)
		}
		if status, body := r.api("POST", path, `{"type":4,"data":{"content":"again"}}`); status != 400 || body["code"] != 40060.0 {
			t.Errorf("second callback: %d %v", status, body)
		}
		w.WriteHeader(http.StatusAccepted)
	})
	out := r.ask("sam", "x") // returns with the first callback
	<-answered
	has(t, out, "message.content", "by callback")
	token := r.tokenOf(out["interaction"].(string))
	status, m := r.api("POST", "/webhooks/"+r.info.Application+"/"+token, `{"content":"follow-up"}`)
	if status != 200 || m["content"] != "follow-up" {
		t.Errorf("follow-up: %d %v", status, m)
	}
	if status, _ := r.original(token, "DELETE", ""); status != 204 {
		t.Errorf("delete @original: %d", status)
	}
	if status, body := r.original(token, "GET", ""); status != 404 || body["code"] != 10008.0 {
		t.Errorf("deleted @original: %d %v", status, body)
	}
}

func TestUploadedFile(t *testing.T) {
	r := newRig(t, "")
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	head := textproto.MIMEHeader{"Content-Disposition": {`form-data; name="files[0]"; filename="answer.txt"`}, "Content-Type": {"text/plain"}}
	_ = form.WriteField("payload_json", `{"content":"see the file","attachments":[{"id":"0","description":"all of it"}]}`)
	part, _ := form.CreatePart(head)
	_, _ = part.Write([]byte("a long answer"))
	_ = form.Close()
	req, _ := http.NewRequest("POST", r.info.API+"/channels/"+r.info.Channel+"/messages", &body)
	req.Header.Set("Content-Type", form.FormDataContentType())
	req.Header.Set("Authorization", "Bot "+r.info.Token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var m obj
	if err := json.NewDecoder(res.Body).Decode(&m); err != nil || res.StatusCode != 200 {
		t.Fatal(res.StatusCode, m, err)
	}
	files := m["attachments"].([]any)
	has(t, files[0].(obj), "size", 13)
	if u := files[0].(obj)["url"].(string); !strings.HasPrefix(u, r.http.URL+"/attachments/") {
		t.Errorf("url %s", u)
	}
}
