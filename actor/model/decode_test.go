package model

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// events makes a stream of server-sent events.
func events(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		b.WriteString("data: " + d + "\n\n")
	}
	return b.String()
}

const (
	aStart = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"usage":{"input_tokens":10,"cache_read_input_tokens":100,"cache_creation_input_tokens":5,"output_tokens":1}}}`
	aStop  = `{"type":"message_stop"}`
	oDone  = `[DONE]`
)

func aEnd(reason string) string {
	return `{"type":"message_delta","delta":{"stop_reason":"` + reason + `","stop_sequence":null},"usage":{"output_tokens":20}}`
}

func aText(index, text string) string {
	return events(`{"type":"content_block_start","index":`+index+`,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":`+index+`,"delta":{"type":"text_delta","text":"`+text+`"}}`,
		`{"type":"content_block_stop","index":`+index+`}`)
}

func aTool(index, id, name string, parts ...string) string {
	out := events(`{"type":"content_block_start","index":` + index + `,"content_block":{"type":"tool_use","id":"` + id + `","name":"` + name + `","input":{}}}`)
	for _, p := range parts {
		quoted, _ := json.Marshal(p)
		out += events(`{"type":"content_block_delta","index":` + index + `,"delta":{"type":"input_json_delta","partial_json":` + string(quoted) + `}}`)
	}
	return out + events(`{"type":"content_block_stop","index":`+index+`}`)
}

func oDelta(delta string) string {
	return events(`{"id":"x","object":"chat.completion.chunk","choices":[{"index":0,"delta":` + delta + `,"finish_reason":null}]}`)
}

func oEnd(reason string) string {
	return events(`{"choices":[{"index":0,"delta":{},"finish_reason":"`+reason+`"}]}`,
		`{"choices":[],"usage":{"prompt_tokens":115,"completion_tokens":20,"total_tokens":135,"prompt_tokens_details":{"cached_tokens":100}}}`, oDone)
}

func TestDecodeAnswers(t *testing.T) {
	aUsage := Usage{Input: 115, Output: 20, CacheRead: 100, CacheWrite: 5}
	oUsage := Usage{Input: 115, Output: 20, CacheRead: 100}
	cases := []struct {
		name, format, body string
		want               Answer
	}{
		{"text", Anthropic, "event: message_start\n" + events(aStart, `{"type":"ping"}`) + aText("0", "Hi") + events(aEnd("end_turn"), aStop),
			Answer{Text: "Hi", Usage: aUsage, Stop: "end_turn"}},
		{"text", OpenAI, oDelta(`{"role":"assistant","content":""}`) + oDelta(`{"content":"H"}`) + ": comment\n\n" + oDelta(`{"content":"i"}`) + oEnd("stop"),
			Answer{Text: "Hi", Usage: oUsage, Stop: "stop"}},
		{"two calls", Anthropic, events(aStart) + aText("0", "Look") + aTool("1", "t1", "read", `{"pa`, `th":"a"}`) + aTool("2", "t2", "ls") + events(aEnd("tool_use"), aStop),
			Answer{Text: "Look", Calls: []Call{call("t1", "read", `{"path":"a"}`), call("t2", "ls", `{}`)}, Usage: aUsage, Stop: "tool_use"}},
		{"two calls, interleaved", OpenAI, oDelta(`{"tool_calls":[{"index":0,"id":"t1","type":"function","function":{"name":"read","arguments":""}},{"index":1,"id":"t2","function":{"name":"ls","arguments":""}}]}`) +
			oDelta(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\""}}]}`) + oDelta(`{"tool_calls":[{"index":1,"function":{"arguments":"{}"}},{"index":0,"function":{"arguments":":\"a\"}"}}]}`) + oEnd("tool_calls"),
			Answer{Calls: []Call{call("t1", "read", `{"path":"a"}`), call("t2", "ls", `{}`)}, Usage: oUsage, Stop: "tool_calls"}},
		{"calls without index", OpenAI, oDelta(`{"tool_calls":[{"id":"t1","function":{"name":"a","arguments":"{}"}}]}`) + oDelta(`{"tool_calls":[{"id":"t2","function":{"name":"b","arguments":"{\"x\""}}]}`) + oDelta(`{"tool_calls":[{"function":{"arguments":":1}"}}]}`) + oEnd("tool_calls"),
			Answer{Calls: []Call{call("t1", "a", `{}`), call("t2", "b", `{"x":1}`)}, Usage: oUsage, Stop: "tool_calls"}},
		{"all calls at index 0", OpenAI, oDelta(`{"tool_calls":[{"index":0,"id":"t1","function":{"name":"a","arguments":"{}"}},{"index":0,"id":"t2","function":{"name":"b","arguments":"{}"}}]}`) + oEnd("tool_calls"),
			Answer{Calls: []Call{call("t1", "a", `{}`), call("t2", "b", `{}`)}, Usage: oUsage, Stop: "tool_calls"}},
		{"calls without ids", OpenAI, oDelta(`{"tool_calls":[{"index":0,"function":{"name":"a","arguments":{"x":1}}},{"index":1,"function":{"name":"b","arguments":null}}]}`) + oEnd("stop"),
			Answer{Calls: []Call{call("call_1", "a", `{"x":1}`), call("call_2", "b", `{}`)}, Usage: oUsage, Stop: "stop"}},
		{"one id twice", Anthropic, events(aStart) + aTool("0", "t", "a", `{}`) + aTool("1", "t", "b", `{}`) + events(aEnd("tool_use"), aStop),
			Answer{Calls: []Call{call("t", "a", `{}`), call("call_2", "b", `{}`)}, Usage: aUsage, Stop: "tool_use"}},
		{"reasoning_content", OpenAI, oDelta(`{"reasoning_content":"let "}`) + oDelta(`{"reasoning_content":"me","content":null}`) + oDelta(`{"content":"42"}`) + oEnd("stop"),
			Answer{Text: "42", Usage: oUsage, Stop: "stop", Opaque: json.RawMessage(`{"reasoning_content":"let me"}`)}},
		{"think section", OpenAI, oDelta(`{"content":"<think>hm</think>\n\n42"}`) + oEnd("stop"), Answer{Text: "42", Usage: oUsage, Stop: "stop"}},
		{"content parts", OpenAI, oDelta(`{"content":[{"type":"thinking","thinking":[]},{"type":"text","text":"42"}]}`) + oEnd("stop"), Answer{Text: "42", Usage: oUsage, Stop: "stop"}},
		{"a strange usage", OpenAI, oDelta(`{"content":"x"}`) + events(`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":"many","completion_tokens":-4}}`, oDone),
			Answer{Text: "x", Stop: "stop"}},
		{"unknown events", Anthropic, events(aStart, `{"type":"news","delta":[1]}`, `{"type":"content_block_start","index":7,"content_block":{"type":"text","text":"a"}}`) + events(aEnd("end_turn"), aStop),
			Answer{Text: "a", Usage: aUsage, Stop: "end_turn"}},
		{"cut at the limit", Anthropic, events(aStart) + aText("0", "half a sen") + events(aEnd("max_tokens"), aStop), Answer{Text: "half a sen", Usage: aUsage, Stop: "max_tokens"}},
		{"plain", Anthropic, `{"type":"message","content":[{"type":"text","text":"Hi"},{"type":"tool_use","id":"t","name":"a","input":{"x":1}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2}}`,
			Answer{Text: "Hi", Calls: []Call{call("t", "a", `{"x":1}`)}, Usage: Usage{Input: 1, Output: 2}, Stop: "tool_use"}},
		{"plain", OpenAI, "\r\n" + `{"choices":[{"index":0,"message":{"role":"assistant","content":"Hi","tool_calls":[{"id":"t","function":{"name":"a","arguments":"{\"x\": 1}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`,
			Answer{Text: "Hi", Calls: []Call{call("t", "a", `{"x":1}`)}, Usage: Usage{Input: 1, Output: 2}, Stop: "tool_calls"}},
		{"events without empty lines", OpenAI, strings.ReplaceAll(oDelta(`{"content":"Hi"}`)+oEnd("stop"), "\n\n", "\n"), Answer{Text: "Hi", Usage: oUsage, Stop: "stop"}},
		{"no end of the last line", OpenAI, strings.TrimRight(oDelta(`{"content":"Hi"}`)+oEnd("stop"), "\n"), Answer{Text: "Hi", Usage: oUsage, Stop: "stop"}},
	}
	for _, c := range cases {
		t.Run(c.format+" "+c.name, func(t *testing.T) {
			for ending, body := range map[string]string{"LF": c.body, "CRLF": strings.ReplaceAll(c.body, "\n", "\r\n"), "CR": strings.ReplaceAll(c.body, "\n", "\r"), "BOM": "\ufeff" + c.body} {
				got, f := Decode(c.format, 200, nil, []byte(body))
				if f != nil {
					t.Fatalf("%s: %v", ending, f)
				}
				if !reflect.DeepEqual(got, c.want) {
					t.Errorf("%s:\n got %+v\nwant %+v", ending, got, c.want)
				}
			}
		})
	}
}

func TestDecodeBrokenCalls(t *testing.T) {
	cases := []struct{ name, stop, args string }{
		{"half", "tool_use", `{"command":"rm -rf /tm`},
		{"half at the limit", "max_tokens", `{"command":"rm`},
		{"nothing at the limit", "max_tokens", ``},
		{"a list", "tool_use", `["rm"]`},
		{"a string", "tool_use", `"rm"`},
		{"two objects", "tool_use", `{}{}`},
		{"a name twice", "tool_use", `{"command":"ls","command":"rm"}`},
		{"a name twice by case", "tool_use", `{"command":"ls","Command":"rm"}`},
		{"a name twice by Unicode case", "tool_use", "{\"tasks\":1,\"ta\u017fks\":2}"},
		{"a name twice, deep", "tool_use", `{"a":[{"b":{"c":1,"c":2}}]}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			quoted, _ := json.Marshal(c.args)
			bodies := map[string]string{
				Anthropic: events(aStart) + aTool("0", "t", "bash", c.args) + events(aEnd(c.stop), aStop),
				OpenAI:    oDelta(`{"tool_calls":[{"index":0,"id":"t","function":{"name":"bash","arguments":`+string(quoted)+`}}]}`) + oEnd(strings.NewReplacer("max_tokens", "length", "tool_use", "tool_calls").Replace(c.stop)),
			}
			for format, body := range bodies {
				a, f := Decode(format, 200, nil, []byte(body))
				if f != nil {
					t.Fatal(f)
				}
				if len(a.Calls) != 1 || a.Calls[0].Broken == "" || a.Calls[0].Args != nil {
					t.Errorf("%s: %+v", format, a.Calls)
				}
			}
		})
	}
	for _, good := range []string{`{"a":{"x":1},"b":{"x":1}}`, `{"a":[{"x":1},{"x":1}],"x":[[],{}]}`, `{"a":{"K":1,"k":2}}`, ` { } `} {
		if _, broken := arguments([]byte(good)); broken != "" {
			t.Errorf("%s is called broken", good)
		}
	}
}

func TestDecodeThinkingComesBackUnchanged(t *testing.T) {
	body := events(aStart,
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"a < b & "}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"c"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"SIG=="}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"ENC"}}`) +
		aText("2", "Look") + aTool("3", "t1", "read", `{"path":"a"}`) +
		events(`{"type":"content_block_start","index":4,"content_block":{"type":"thinking","thinking":"more","signature":"S2"}}`) +
		aTool("5", "t2", "read", `{"path":"b"}`) + events(aEnd("tool_use"), aStop)
	a, f := Decode(Anthropic, 200, nil, []byte(body))
	if f != nil {
		t.Fatal(f)
	}
	ask := func(m Message) string {
		return encode(t, Anthropic, Request{Model: "m", Messages: []Message{{Role: User, Text: "q"}, m,
			{Role: ToolRole, Results: []Result{{CallID: "t1", Text: "A"}, {CallID: "t2", Text: "B"}}}}})
	}
	got := ask(Message{Role: Assistant, Text: a.Text, Calls: a.Calls, Opaque: a.Opaque})
	want := `{"role":"assistant","content":[{"signature":"SIG==","thinking":"a < b & c","type":"thinking"},{"type":"redacted_thinking","data":"ENC"},` +
		`{"type":"text","text":"Look"},{"type":"tool_use","id":"t1","name":"read","input":{"path":"a"}},` +
		`{"type":"thinking","thinking":"more","signature":"S2"},{"type":"tool_use","id":"t2","name":"read","input":{"path":"b"}}]}`
	if !strings.Contains(got, want) {
		t.Errorf(" got %s\nwant %s", got, want)
	}
	// One call less than the blocks name: the order is no longer known, everything is still there.
	got = ask(Message{Role: Assistant, Text: a.Text, Calls: a.Calls[:1], Opaque: a.Opaque})
	if strings.Count(got, `"type":"thinking"`) != 2 || strings.Count(got, `"tool_use"`) != 1 || !strings.Contains(got, `"text":"Look"`) {
		t.Errorf("fallback: %s", got)
	}
	if strings.Contains(encode(t, OpenAI, Request{Model: "m", Messages: []Message{{Role: User, Text: "q"}, {Role: Assistant, Text: "x", Opaque: a.Opaque}, {Role: User, Text: "q"}}}), "SIG") {
		t.Error("another format's blocks were sent")
	}
}

// A stream that was cut anywhere is never a result: only the whole one is.
func TestDecodeCutStreams(t *testing.T) {
	whole := map[string]string{
		Anthropic: events(aStart) + aText("0", "Hi") + aTool("1", "t", "bash", `{"command":"ls"}`) + events(aEnd("tool_use"), aStop),
		OpenAI:    oDelta(`{"content":"Hi"}`) + oDelta(`{"tool_calls":[{"index":0,"id":"t","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}}]}`) + oEnd("tool_calls"),
	}
	for format, body := range whole {
		if _, f := Decode(format, 200, nil, []byte(body)); f != nil {
			t.Fatal(f)
		}
		end := len(strings.TrimRight(body, "\n"))
		for n := range end {
			a, f := Decode(format, 200, nil, []byte(body[:n]))
			if f == nil || f.Kind != FailRetry || f.Message == "" {
				t.Fatalf("%s cut at %d of %d: %+v, %v", format, n, end, a, f)
			}
		}
	}
}

// An answer read in parts, with the state stored between them, is the answer read at once.
func TestDecoderInParts(t *testing.T) {
	bodies := map[string]string{
		Anthropic: events(aStart, `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"ü"}}`) + aText("1", "Hï") + aTool("2", "t", "bash", `{"comm`, `and":"ls"}`) + events(aEnd("tool_use"), aStop),
		OpenAI:    oDelta(`{"reasoning":"ü"}`) + oDelta(`{"content":"Hï"}`) + oDelta(`{"tool_calls":[{"index":0,"id":"t","function":{"name":"bash","arguments":"{}"}}]}`) + oEnd("tool_calls"),
	}
	for format, body := range bodies {
		body = strings.ReplaceAll(body, "\n", "\r\n")
		want, f := Decode(format, 200, nil, []byte(body))
		if f != nil {
			t.Fatal(f)
		}
		for _, size := range []int{1, 7, 100, len(body)} {
			if got := inParts(t, format, body, size); !reflect.DeepEqual(got, want) {
				t.Errorf("%s in parts of %d:\n got %+v\nwant %+v", format, size, got, want)
			}
		}
	}
}

func inParts(t *testing.T, format, body string, size int) Answer {
	t.Helper()
	d := NewDecoder(format)
	for len(body) > 0 {
		n := min(size, len(body))
		d.Write([]byte(body[:n]))
		body = body[n:]
		stored, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		d = &Decoder{}
		if err := json.Unmarshal(stored, d); err != nil {
			t.Fatal(err)
		}
	}
	a, f := d.Finish(200, nil)
	if f != nil {
		t.Fatal(f)
	}
	return a
}
