package model

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzDecode: whatever a provider sends, the answer or the failure keeps its promises, and reading in parts changes
// nothing.
func FuzzDecode(f *testing.F) {
	seeds := []string{
		"", "{}", "[]", "\ufeff{}", "data: [DONE]\n\n", "data: null\n\n", `{"error":null}`, `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}`,
		events(aStart) + aText("0", "Hi") + aTool("1", "t", "bash", `{"a":1}`) + events(aEnd("tool_use"), aStop),
		events(aStart, `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"t"}}`, `{"type":"content_block_delta","index":0,"delta":{"signature":"s"}}`, aEnd("end_turn"), aStop),
		oDelta(`{"content":"H","reasoning":"r"}`) + oDelta(`{"tool_calls":[{"index":0,"id":"t","function":{"name":"b","arguments":"{\"a\":1}"}}]}`) + oEnd("tool_calls"),
		events(`{"error":{"message":"x","code":429}}`), strings.Repeat(oDelta(`{"content":"a\n"}`), 3),
		events(aStart) + aText("0", "a") + strings.Repeat(events(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"b"}}`), 3), events(`{"type":"error","error":{"type":"overloaded_error"}}`),
	}
	for _, s := range seeds {
		f.Add(200, []byte(s), uint8(3))
		f.Add(429, []byte(s), uint8(1))
	}
	f.Fuzz(func(t *testing.T, status int, body []byte, size uint8) {
		for _, format := range []string{Anthropic, OpenAI} {
			same(t, format, body)
			a, fail := Decode(format, status, map[string]string{"retry-after": string(body)}, body)
			checkPromises(t, a, fail)
			d := NewDecoder(format)
			for rest := body; len(rest) > 0; {
				n := min(int(size)+1, len(rest))
				d.Write(rest[:n])
				rest = rest[n:]
			}
			b, again := d.Finish(status, map[string]string{"retry-after": string(body)})
			if !reflect.DeepEqual(a, b) || !reflect.DeepEqual(fail, again) {
				t.Fatalf("%s: in parts of %d: %+v %v, at once: %+v %v", format, size, b, again, a, fail)
			}
			if fail == nil {
				sendBack(t, format, a)
			}
		}
	})
}

func checkPromises(t *testing.T, a Answer, f *Failure) {
	t.Helper()
	if f != nil {
		if f.Kind == "" || f.Message == "" || f.RetryAfter < 0 || !utf8.ValidString(f.Message) || !reflect.DeepEqual(a, Answer{}) {
			t.Fatalf("failure %+v with %+v", f, a)
		}
		return
	}
	ids := map[string]bool{}
	for _, c := range a.Calls {
		if c.ID == "" || ids[c.ID] || (c.Broken == "") != isObject(c.Args) || !utf8.ValidString(c.Broken+c.Name) {
			t.Fatalf("call %+v", c)
		}
		ids[c.ID] = true
	}
	if a.Stop == "" || len(a.Calls) > MaxCalls || a.Opaque != nil && !json.Valid(a.Opaque) || !utf8.ValidString(a.Text) {
		t.Fatalf("answer %+v", a)
	}
	if u := a.Usage; u.Input < 0 || u.Output < 0 || u.CacheRead < 0 || u.CacheWrite < 0 {
		t.Fatalf("usage %+v", u)
	}
}

// sendBack puts the answer into the next request.
func sendBack(t *testing.T, format string, a Answer) {
	t.Helper()
	r := Request{Model: "m", Messages: []Message{{Role: User, Text: "q"}, {Role: Assistant, Text: a.Text, Calls: a.Calls, Opaque: a.Opaque}, {Role: User, Text: "q"}}}
	body := encode(t, format, r)
	if format == Anthropic {
		checkAlternation(t, body)
	}
}
