package interactions

import (
	"maps"
	"os"
	"reflect"
	"strings"
	"testing"

	"holdfast/actor"
)

const (
	askBody      = "interactions/ask_guild.json"
	fileBody     = "interactions/ask_guild_attachment.json"
	completeBody = "interactions/resume_autocomplete.json"
	buttonBody   = "interactions/button_thread.json"
	modalBody    = "interactions/modal_submit_label.json"
	oldModalBody = "interactions/modal_submit_legacy.json"
	cardID       = ":" + testGuild + "/platform:1764470000.12"
)

func TestAsk(t *testing.T) {
	body := mutate(t, fileBody, "data.options", []any{
		map[string]any{"name": "prompt", "type": 3, "value": "Read this log"},
		map[string]any{"name": "model", "type": 3, "value": "cheap"},
		map[string]any{"name": "attachment", "type": 11, "value": "1300000000000000901"},
	})
	v := decide(t, signed(body), body)
	if v.Mode != ModeOne || len(v.Deliver) != 1 || v.DeadlineMS != 2000 || v.Reply != nil {
		t.Fatalf("verdict %+v", v)
	}
	in := as[actor.Interaction](t, v.Deliver[0].Data)
	wantPlace := actor.Place{Guild: testGuild, Channel: testChan, Category: "1300000000000000202"}
	want := actor.Interaction{
		Key: in.Key, Kind: "ask", Token: "aW50ZXJhY3Rpb246" + in.Key + ":FAKE0000tokenFAKE", Place: wantPlace,
		User:   actor.User{ID: "1300000000000000011", Name: "Sample User", Roles: []string{"1300000000000000400"}, Permissions: "311385246720"},
		Prompt: "Read this log", Model: "cheap", Attachments: in.Attachments,
	}
	if !reflect.DeepEqual(in, want) {
		t.Errorf("got  %+v\nwant %+v", in, want)
	}
	if len(in.Attachments) != 1 || in.Attachments[0].Name != "build.log" || in.Attachments[0].Size != 2048 || !strings.HasPrefix(in.Attachments[0].URL, "https://") {
		t.Errorf("attachments %+v", in.Attachments)
	}
	if d := v.Deliver[0]; d.Type != actor.EventInteraction || d.Resolve == nil || d.Resolve.Place != wantPlace || d.Resolve.ID != in.Key || d.Actor != "" {
		t.Errorf("delivery %+v", d)
	}
	if v.Withdraw != in.Key {
		t.Errorf("withdraws %q, want the key", v.Withdraw)
	}
	wantWhisper(t, v.Late, "try again")
	wantWhisper(t, v.Unbound, "bindings")
}

func TestAskInThread(t *testing.T) {
	body := mutate(t, askBody, "channel", map[string]any{"id": thread, "type": 11, "parent_id": testChan})
	body2 := strings.Replace(string(body), `"channel_id":"`+testChan, `"channel_id":"`+thread, 1)
	v := decide(t, signed([]byte(body2)), []byte(body2))
	r := v.Deliver[0].Resolve
	if r.ID != thread || r.Place.Parent != testChan || r.Place.Category != "" || !r.Place.Thread() {
		t.Errorf("resolves %+v, want the thread's own id and its parent", r)
	}
}

func TestResumeAndStop(t *testing.T) {
	resume := mutate(t, askBody, "data", map[string]any{"name": "resume", "type": 1,
		"options": []any{map[string]any{"name": "conversation", "type": 3, "value": "42"}}})
	v := decide(t, signed(resume), resume)
	if in := as[actor.Interaction](t, v.Deliver[0].Data); in.Kind != actor.KindResume || in.Conversation != "42" {
		t.Errorf("resume decoded as %+v", in)
	}
	if v.Withdraw != "" {
		t.Error("a resume that may have happened is not withdrawn")
	}
	stop := mutate(t, askBody, "data", map[string]any{"name": "stop", "type": 1})
	v = decide(t, signed(stop), stop)
	if in := as[actor.Interaction](t, v.Deliver[0].Data); in.Kind != actor.KindStop {
		t.Errorf("stop decoded as %+v", in)
	}
	wantWhisper(t, v.Late, "Not confirmed")
}

func TestUsageAndWorkspace(t *testing.T) {
	budget := []any{map[string]any{"name": "budget", "type": 1, "options": []any{
		map[string]any{"name": "scope", "type": 3, "value": "user"}, map[string]any{"name": "dollars", "type": 3, "value": "5"}}}}
	for name, tt := range map[string]struct {
		data map[string]any
		want actor.Interaction
	}{
		"usage":            {map[string]any{"name": "usage", "type": 1}, actor.Interaction{Kind: actor.KindUsage}},
		"workspace show":   {map[string]any{"name": "workspace", "type": 1, "options": []any{map[string]any{"name": "show", "type": 1}}}, actor.Interaction{Kind: actor.KindWorkspace, Sub: "show"}},
		"workspace budget": {map[string]any{"name": "workspace", "type": 1, "options": budget}, actor.Interaction{Kind: actor.KindWorkspace, Sub: "budget", Options: map[string]string{"scope": "user", "dollars": "5"}}},
	} {
		body := mutate(t, askBody, "data", tt.data)
		v := decide(t, signed(body), body)
		if len(v.Deliver) != 1 {
			t.Fatalf("%s: verdict %+v", name, v)
		}
		if in := as[actor.Interaction](t, v.Deliver[0].Data); in.Kind != tt.want.Kind || in.Sub != tt.want.Sub || !maps.Equal(in.Options, tt.want.Options) {
			t.Errorf("%s is decoded as %+v", name, in)
		}
		wantWhisper(t, v.Late, "Not confirmed")
	}
	for name, options := range map[string]any{
		"none":     []any{},
		"two":      append(budget[:1:1], budget[0]),
		"a number": []any{map[string]any{"name": "budget", "type": 1, "options": []any{map[string]any{"name": "tokens", "type": 4, "value": 5}}}},
	} {
		body := mutate(t, askBody, "data", map[string]any{"name": "workspace", "type": 1, "options": options})
		if v := decide(t, signed(body), body); v.Reply == nil || v.Reply.Status != 400 {
			t.Errorf("%s: verdict %+v, want 400", name, v)
		}
	}
}

func TestAutocomplete(t *testing.T) {
	body := fixture(t, completeBody)
	v := decide(t, signed(body), body)
	if in := as[actor.Interaction](t, v.Deliver[0].Data); in.Kind != actor.KindComplete || in.Query != "fix" {
		t.Errorf("decoded as %+v", in)
	}
	for name, r := range map[string]*actor.Reply{"late": v.Late, "unbound": v.Unbound} {
		if string(r.Body) != `{"type":8,"data":{"choices":[]}}` {
			t.Errorf("%s: %s, want no choices", name, r.Body)
		}
	}
	other := mutate(t, completeBody, "data.name", "ask")
	if v := decide(t, signed(other), other); v.Reply == nil || as[shown](t, v.Reply.Body).Type != callbackChoices {
		t.Errorf("autocomplete of another command: %+v", v)
	}
}

func TestPress(t *testing.T) {
	body := mutate(t, buttonBody, "data.custom_id", "a"+cardID)
	v := decide(t, signed(body), body)
	d := v.Deliver[0]
	if d.Actor != "workspace:"+testGuild+"/platform" || d.Resolve != nil {
		t.Errorf("delivered to %+v", d)
	}
	in := as[actor.Interaction](t, d.Data)
	if in.Kind != actor.KindPress || in.Verb != "a" || in.Target != "1764470000.12" || in.Message != "1300000000000001007" {
		t.Errorf("decoded as %+v", in)
	}
	if v.Withdraw != "" {
		t.Error("a decision that may be committed is not withdrawn")
	}
	wantWhisper(t, v.Late, "look at the card")
}

func TestDenyWithReason(t *testing.T) {
	press := mutate(t, buttonBody, "data.custom_id", "w"+cardID)
	v := decide(t, signed(press), press)
	wantStatus(t, v.Reply, 200)
	m := as[shown](t, v.Reply.Body)
	if m.Type != callbackModal || m.Data.CustomID != "w"+cardID || len(v.Deliver) != 0 {
		t.Fatalf("answered %s", v.Reply.Body)
	}
	if len(m.Data.Title) > 45 || !strings.Contains(string(m.Data.Components), `"custom_id":"reason"`) {
		t.Errorf("modal %s", v.Reply.Body)
	}
	text := map[string]any{"type": 4, "custom_id": "reason", "value": "Not on a Friday."}
	for path, component := range map[string]any{
		modalBody:    map[string]any{"type": 18, "component": text},
		oldModalBody: map[string]any{"type": 1, "components": []any{text}},
	} {
		body := mutate(t, path, "data", map[string]any{"custom_id": m.Data.CustomID, "components": []any{component}})
		v := decide(t, signed(body), body)
		if len(v.Deliver) != 1 {
			t.Fatalf("%s: %+v", path, v)
		}
		in := as[actor.Interaction](t, v.Deliver[0].Data)
		if in.Kind != actor.KindReason || in.Reason != "Not on a Friday." || in.Target != "1764470000.12" || in.Verb != "w" {
			t.Errorf("%s decoded as %+v", path, in)
		}
	}
}

// What is understood but not served gets one sentence that only its author sees.
func TestWhispers(t *testing.T) {
	cases := []struct {
		name string
		body []byte
		say  string
	}{
		{"direct message", fixture(t, "interactions/ask_dm.json"), sayPrivate},
		{"private channel", mutate(t, askBody, "context", 2), sayPrivate},
		{"own installation", mutate(t, askBody, "authorizing_integration_owners", map[string]any{"1": "1300000000000000011"}), sayPrivate},
		{"another installation", mutate(t, askBody, "authorizing_integration_owners", map[string]any{"0": "1300000000000000101"}), sayPrivate},
		{"unknown command", fixture(t, "malformed/unknown_command.json"), sayUnknown},
		{"a user command", mutate(t, askBody, "data.type", 2), sayUnknown},
		{"nested command", fixture(t, "interactions/subcommand_nested.json"), sayUnknown},
		{"old button", fixture(t, buttonBody), sayComponent},
		{"select", fixture(t, "interactions/select_thread.json"), sayComponent},
		{"select with our id", mutate(t, "interactions/select_thread.json", "data.custom_id", "a"+cardID), sayComponent},
		{"modal of another", fixture(t, modalBody), sayComponent},
		{"modal of an approval", mutate(t, modalBody, "data.custom_id", "a"+cardID), sayComponent},
		{"button of another server", mutate(t, buttonBody, "data.custom_id", "a:1300000000000000101/platform:1.2"), sayForeign},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			v := decide(t, signed(c.body), c.body)
			wantWhisper(t, v.Reply, c.say)
			if len(v.Deliver) != 0 {
				t.Errorf("delivered %+v as well", v.Deliver)
			}
		})
	}
}

func TestGuildNotAllowed(t *testing.T) {
	for path, kind := range map[string]int{askBody: callbackMessage, completeBody: callbackChoices} {
		body := fixture(t, path)
		r := signed(body)
		r.Config.AllowedGuilds = nil
		v := decide(t, r, body)
		if v.Reply == nil || as[shown](t, v.Reply.Body).Type != kind {
			t.Errorf("%s: %+v, want callback %d", path, v, kind)
		}
	}
}

// What a person typed is never a 400: Discord would show that person "The application did not respond".
func TestWhatPeopleTypeIsAnswered(t *testing.T) {
	type option = map[string]any
	command := func(name string, options ...any) []byte {
		return mutate(t, askBody, "data", option{"id": "1", "type": 1, "name": name, "options": options})
	}
	sub := func(options ...any) option { return option{"name": "budget", "type": 1, "options": options} }
	long := func(n int) string { return strings.Repeat("é", n) }
	reason := mutate(t, modalBody, "data", option{"custom_id": "w" + cardID, "components": []any{
		option{"type": 18, "component": option{"type": 4, "custom_id": "reason", "value": long(501)}}}})
	for name, c := range map[string]struct {
		body []byte
		say  string
	}{
		"blank prompt":      {command("ask", option{"name": "prompt", "type": 3, "value": " \n"}), "nothing in the prompt"},
		"no-break spaces":   {command("ask", option{"name": "prompt", "type": 3, "value": "\u00a0\u2003"}), "nothing in the prompt"},
		"no prompt":         {command("ask"), "nothing in the prompt"},
		"prompt too long":   {command("ask", option{"name": "prompt", "value": long(6001)}), "`prompt` takes at most 6000 characters"},
		"model too long":    {command("ask", option{"name": "prompt", "value": "x"}, option{"name": "model", "value": long(101)}), "`model` takes at most 100"},
		"conversation":      {command("resume", option{"name": "conversation", "value": long(101)}), "`conversation` takes at most 100"},
		"option of another": {command("workspace", sub(option{"name": "tokens", "value": long(101)})), "`tokens` takes at most 100"},
		"reason":            {reason, "`reason` takes at most 500"},
	} {
		t.Run(name, func(t *testing.T) {
			v := decide(t, signed(c.body), c.body)
			if v.Reply == nil || v.Reply.Status != 200 || len(v.Deliver) != 0 {
				t.Fatalf("verdict %+v, want a whisper", v)
			}
			if s := as[shown](t, v.Reply.Body); s.Type != callbackMessage || s.Data.Flags != flagEphemeral || !strings.Contains(s.Data.Content, c.say) {
				t.Errorf("shown %+v, want %q", s, c.say)
			}
		})
	}
	long6k := mutate(t, completeBody, "data.options", []any{option{"name": "conversation", "type": 3, "value": long(6001), "focused": true}})
	if v := decide(t, signed(long6k), long6k); v.Reply == nil || as[shown](t, v.Reply.Body).Type != callbackChoices {
		t.Errorf("a long query: %+v, want no choices", v)
	}
}

// Everything that is wrong and stays wrong is 400 with an error body.
func TestMalformed(t *testing.T) {
	bodies := map[string][]byte{
		"token with a path":        mutate(t, askBody, "token", "a/../../x"),
		"token of dots":            mutate(t, askBody, "token", ".."),
		"leading zero":             mutate(t, askBody, "id", "01"),
		"21 digits":                mutate(t, askBody, "id", strings.Repeat("1", 21)),
		"channel mismatch":         mutate(t, askBody, "channel.id", "1300000000000000299"),
		"role no snowflake":        mutate(t, askBody, "member.roles", []any{"admin"}),
		"permissions no number":    mutate(t, askBody, "member.permissions", "all"),
		"no data":                  mutate(t, askBody, "data", nil),
		"data is a list":           mutate(t, askBody, "data", []any{}),
		"prompt beyond Discord's":  mutate(t, askBody, "data.options", []any{map[string]any{"name": "prompt", "value": strings.Repeat("é", 10_001)}}),
		"attachment not resolved":  mutate(t, askBody, "data.options", []any{map[string]any{"name": "prompt", "value": "x"}, map[string]any{"name": "attachment", "value": "1"}}),
		"modal without its reason": mutate(t, modalBody, "data.custom_id", "w"+cardID),
		"custom_id too long":       mutate(t, buttonBody, "data.custom_id", strings.Repeat("a", 101)),
		"type is text":             mutate(t, askBody, "type", "2"),
		"type is a fraction":       mutate(t, askBody, "type", 2.5),
		"nested too deep":          []byte(strings.Repeat("[", 100) + strings.Repeat("]", 100)),
		"too many values":          []byte("[" + strings.Repeat("1,", maxValues) + "1]"),
		"null":                     []byte("null"),
		"trailing data":            []byte(`{"type":1}{}`),
	}
	entries, err := os.ReadDir("testdata/malformed")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		switch e.Name() {
		case "unknown_command.json", "lone_surrogate.txt": // understood: TestWhispers, TestLoneSurrogate
		default:
			bodies[e.Name()] = fixture(t, "malformed/"+e.Name())
		}
	}
	for name, body := range bodies {
		t.Run(name, func(t *testing.T) {
			v := decide(t, signed(body), body)
			wantStatus(t, v.Reply, 400)
			if len(v.Deliver) != 0 {
				t.Errorf("delivered %+v as well", v.Deliver)
			}
		})
	}
}

func TestLoneSurrogate(t *testing.T) {
	body := fixture(t, "malformed/lone_surrogate.txt")
	v := decide(t, signed(body), body)
	if in := as[actor.Interaction](t, v.Deliver[0].Data); in.Prompt != "\ufffd tail" {
		t.Errorf("prompt %q, want the surrogate replaced", in.Prompt)
	}
}

// Names count as they are written: a second key in another case is another key, not a second meaning.
func TestKeysAreExact(t *testing.T) {
	body := []byte(strings.Replace(string(fixture(t, askBody)), `"type": 2`, `"TYPE": 1, "type": 2`, 1))
	if v := decide(t, signed(body), body); len(v.Deliver) != 1 {
		t.Errorf("verdict %+v, want the command delivered", v)
	}
}

// Every fixture gets an answer or a delivery, never a failure.
func TestInteractionFixtures(t *testing.T) {
	entries, err := os.ReadDir("testdata/interactions")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		body := fixture(t, "interactions/"+e.Name())
		v := decide(t, signed(body), body)
		if (v.Reply == nil) == (len(v.Deliver) == 0) || v.Reply != nil && v.Reply.Status != 200 {
			t.Errorf("%s: verdict %+v", e.Name(), v)
		}
	}
}

func TestInteractionMethod(t *testing.T) {
	r := signed(nil)
	r.Method = "GET"
	v := decide(t, r, nil)
	wantStatus(t, v.Reply, 405)
	if v.Reply.Headers["Allow"] != "POST" {
		t.Errorf("headers %v", v.Reply.Headers)
	}
}
