package openapi

import (
	"encoding/json"
	"net/url"
	"os"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func spec(t testing.TB) *Spec {
	t.Helper()
	s, err := Discord()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRequest(t *testing.T) {
	const messages = "/channels/1/messages"
	tests := []struct {
		name, method, path, query, body string
		want                            string // part of the only violation, "" for none
	}{
		{"plain message", "POST", messages, "", `{"content":"hi","allowed_mentions":{"parse":[]}}`, ""},
		{"misspelt field", "POST", messages, "", `{"content":"hi","allowed_mention":{"parse":[]}}`, "body/allowed_mention: unknown field"},
		{"misspelt field inside", "POST", messages, "", `{"content":"hi","allowed_mentions":{"pars":[]}}`, "pars: unknown field"},
		{"misspelt field of a button", "POST", messages, "", `{"components":[{"type":1,"components":[{"type":2,"style":1,"label":"a","custom_id":"x","colour":3}]}]}`, "colour: unknown field"},
		{"a select's field on a button", "POST", messages, "", `{"components":[{"type":1,"components":[{"type":2,"style":1,"label":"a","custom_id":"x","max_values":3}]}]}`, "max_values: unknown field"},
		{"2000 characters", "POST", messages, "", `{"content":"` + strings.Repeat("é", 2000) + `"}`, ""},
		{"2001 characters", "POST", messages, "", `{"content":"` + strings.Repeat("é", 2001) + `"}`, "maxLength"},
		{"wrong type", "POST", messages, "", `{"content":5}`, "want null or string"},
		{"nonce of 64 bits", "POST", messages, "", `{"content":"x","nonce":9223372036854775807}`, ""},
		{"nonce too long", "POST", messages, "", `{"content":"x","nonce":"` + strings.Repeat("a", 26) + `"}`, ""}, // several reasons, see below
		{"no body", "POST", messages, "", ``, "body: required"},
		{"limit", "GET", messages, "limit=100", ``, ""},
		{"limit too high", "GET", messages, "limit=101", ``, "beyond its maximum"},
		{"unknown parameter", "GET", messages, "limt=1", ``, "query/limt: unknown parameter"},
		{"anchor that is no id", "GET", messages, "before=abc", ``, "not a snowflake"},
		{"permissions as a string", "PUT", "/applications/1/commands", "", `[{"name":"a","description":"b","default_member_permissions":"32"}]`, ""},
		{"fields of a command", "PUT", "/applications/1/commands", "", `[{"name":"a","descripton":"b"}]`, "descripton: unknown field"},
		{"original", "PATCH", "/webhooks/1/token/messages/@original", "", `{"content":"x"}`, ""},
		{"callback 5", "POST", "/interactions/1/token/callback", "", `{"type":5,"data":{"flags":64}}`, ""},
		{"callback 8", "POST", "/interactions/1/token/callback", "", `{"type":8,"data":{"choices":[{"name":"a","value":"b"}]}}`, ""},
		{"callback 9 with a misspelt title", "POST", "/interactions/1/token/callback", "",
			`{"type":9,"data":{"custom_id":"a","title":"t","titel":"t","components":[{"type":18,"label":"l","component":{"type":4,"custom_id":"c","style":1}}]}}`, "titel: unknown field"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			op, ok := spec(t).Find(tt.method, tt.path)
			if !ok {
				t.Fatalf("no operation %s %s", tt.method, tt.path)
			}
			q, _ := url.ParseQuery(tt.query)
			list := op.Request(q, []byte(tt.body))
			got := Texts(list)
			for _, v := range list {
				if v.Ignored != strings.Contains(v.Text, "unknown") {
					t.Errorf("%q: ignored %v", v.Text, v.Ignored)
				}
				if strings.Contains(tt.name, "2001") && (v.Longest != 2000 || len(v.Field) != 1 || v.Field[0] != "content") {
					t.Errorf("%+v", v)
				}
			}
			if tt.name == "nonce too long" {
				if len(got) == 0 {
					t.Fatal("accepted")
				}
				return
			}
			if tt.want == "" && len(got) != 0 || tt.want != "" && (len(got) != 1 || !strings.Contains(got[0], tt.want)) {
				t.Fatalf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// What Discord ignores is taken out at any depth, and nothing else; numbers stay as they were written.
func TestKnown(t *testing.T) {
	const body = `{"nonce":9223372036854775807,"tts2":1,"components":[{"type":1,"x":{},"components":[{"type":2,"style":1,"label":"<a>","custom_id":"x","colour":3}]}],"content":5}`
	const want = `{"components":[{"components":[{"custom_id":"x","label":"<a>","style":1,"type":2}],"type":1}],"content":5,"nonce":9223372036854775807}`
	op, _ := spec(t).Find("POST", "/channels/1/messages")
	found := op.Request(nil, []byte(body))
	got, err := Known([]byte(body), found)
	var a, b any
	if err != nil || json.Unmarshal(got, &a) != nil || json.Unmarshal([]byte(want), &b) != nil || !reflect.DeepEqual(a, b) || !strings.Contains(string(got), "9223372036854775807") {
		t.Errorf("got %s %v, want %s", got, err, want)
	}
	if got, err := Known([]byte(want), op.Request(nil, []byte(want))); err != nil || string(got) != want {
		t.Errorf("a body without such fields was changed: %s %v", got, err)
	}
}

func TestFindPrefersLiterals(t *testing.T) {
	for path, want := range map[string]string{
		"/users/@me":                       "/users/@me",
		"/users/5":                         "/users/{user_id}",
		"/webhooks/1/t/messages/@original": "/webhooks/{webhook_id}/{webhook_token}/messages/@original",
		"/webhooks/1/t/messages/7":         "/webhooks/{webhook_id}/{webhook_token}/messages/{message_id}",
	} {
		op, ok := spec(t).Find("GET", path)
		if !ok || op.Path != want {
			t.Errorf("%s: found %v, want %s", path, op, want)
		}
	}
	if _, ok := spec(t).Find("GET", "/channels//messages"); ok {
		t.Error("an empty id was accepted")
	}
}

func TestResponse(t *testing.T) {
	op, _ := spec(t).Find("GET", "/channels/1/messages/2")
	for body, ok := range map[string]bool{
		`{"message":"Unknown Message","code":10008}`:       true,
		`{"message":"Unknown Message","code":"10008"}`:     false,
		`{"message":"Unknown Message","code":1,"extra":2}`: false,
		``: false,
	} {
		if got := op.Response(404, []byte(body)); (len(got) == 0) != ok {
			t.Errorf("%s: %q", body, got)
		}
	}
	const nested = `{"message":"Invalid Form Body","code":50035,"errors":{"content":{"_errors":[{"code":"BASE_TYPE_MAX_LENGTH","message":"long"}]}}}`
	if got := op.Response(400, []byte(nested)); len(got) != 0 {
		t.Error(got)
	}
	del, _ := spec(t).Find("DELETE", "/channels/1/messages/2")
	if got := del.Response(204, nil); len(got) != 0 {
		t.Error(got)
	}
	if got := del.Response(204, []byte(`{}`)); len(got) == 0 {
		t.Error("a 204 with a body was accepted")
	}
}

// FuzzRequest: no body crashes the checker, and a field that Discord does not know is never overlooked.
func FuzzRequest(f *testing.F) {
	f.Add(`{"content":"x"}`, "zzz")
	f.Add(`[1,{"a":null}]`, "a")
	f.Add(`{"components":[{"type":1,"components":[]}]}`, "é")
	f.Fuzz(func(t *testing.T, body, field string) {
		op, _ := spec(t).Find("POST", "/channels/1/messages")
		op.Request(nil, []byte(body))
		known, _ := lookup(spec(t).doc, "components", "schemas", "MessageCreateRequest", "properties", field).(obj)
		extra, err := json.Marshal(obj{"content": "x", field: "y"})
		if err != nil || known != nil || !utf8.ValidString(field) {
			return
		}
		found := op.Request(nil, extra)
		if len(found) != 1 || !found[0].Ignored {
			t.Errorf("%s: %+v", extra, found)
		}
		if rest, err := Known(extra, found); err != nil || string(rest) != `{"content":"x"}` {
			t.Errorf("%s without %q: %s %v", extra, field, rest, err)
		}
	})
}

func BenchmarkRequest(b *testing.B) {
	op, _ := spec(b).Find("POST", "/channels/1/messages")
	body := []byte(`{"content":"hi","embeds":[{"title":"t","fields":[{"name":"a","value":"b"}]}],"components":[{"type":1,"components":[{"type":2,"style":1,"label":"a","custom_id":"x"}]}],"allowed_mentions":{"parse":[]}}`)
	for b.Loop() {
		if v := op.Request(nil, body); len(v) != 0 {
			b.Fatal(v)
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		if _, err := load(); err != nil {
			b.Fatal(err)
		}
	}
}

func TestLicenceIsBeside(t *testing.T) {
	text, err := os.ReadFile("LICENSE")
	if err != nil || !strings.Contains(string(text), "MIT") && !strings.Contains(string(text), "Permission is hereby granted") {
		t.Fatal("the description's licence is missing", err)
	}
}
