// Package sdktest holds Anthropic requests and answers against the official Go library. It is a module of its own so
// that the product does not depend on that library.
package sdktest

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"

	"holdfast/actor/model"
)

const schema = `{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`

func call(id, args string) model.Call {
	return model.Call{ID: id, Name: "read", Args: json.RawMessage(args)}
}

func requests() map[string]model.Request {
	tool := model.Tool{Name: "read", Description: "Reads a file", Schema: json.RawMessage(schema)}
	user := model.Message{Role: model.User, Text: "what is in a and b?"}
	round := model.Message{Role: model.Assistant, Text: "Let me look.", Calls: []model.Call{call("c1", `{"path":"a"}`), call("c2", `{"path":"b"}`)}}
	results := model.Message{Role: model.ToolRole, Results: []model.Result{{CallID: "c1", Text: "A"}, {CallID: "c2", Text: "denied", Error: true}}}
	thinking := round
	thinking.Opaque = json.RawMessage(`{"anthropic":[{"raw":{"type":"thinking","thinking":"hm","signature":"S"}},{"raw":{"type":"redacted_thinking","data":"D"}},{"text":"Let me look."},{"call":0},{"call":1}]}`)
	return map[string]model.Request{
		"question":      {Model: "m", Messages: []model.Message{user}},
		"with tools":    {Model: "m", System: "Be short.", MaxOutput: 100, Tools: []model.Tool{tool}, Messages: []model.Message{user}},
		"round":         {Model: "m", System: "Be short.", Tools: []model.Tool{tool}, Messages: []model.Message{user, round, results, {Role: model.User, Text: "hurry"}}},
		"thinking":      {Model: "m", Tools: []model.Tool{tool}, Messages: []model.Message{user, thinking, results}},
		"without tools": {Model: "m", Messages: []model.Message{user, round, results}},
		"repaired":      {Model: "m", Tools: []model.Tool{tool}, Messages: []model.Message{round, user, {Role: model.Assistant, Calls: []model.Call{{ID: "c1", Name: "x y", Broken: "{"}}}}},
	}
}

// Every field of our requests is one that the library knows, where it knows it, with the value it has there: what it
// decodes and encodes again is what we sent. "stream" is set by its method.
func TestRequestsAreTheLibrarys(t *testing.T) {
	for name, r := range requests() {
		t.Run(name, func(t *testing.T) {
			w, err := model.Encode(model.Anthropic, r)
			if err != nil {
				t.Fatal(err)
			}
			var p anthropic.MessageNewParams
			if err := json.Unmarshal(w.Body, &p); err != nil {
				t.Fatal(err)
			}
			again, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			ours, theirs := object(t, w.Body), object(t, again)
			if ours["stream"] != true {
				t.Error("the request does not stream")
			}
			delete(ours, "stream")
			plainResults(theirs)
			if !reflect.DeepEqual(ours, theirs) {
				t.Errorf("ours   %s\ntheirs %s", w.Body, again)
			}
		})
	}
}

// The comparison must be able to fail: the library drops what it does not know.
func TestTheLibraryDropsWhatItDoesNotKnow(t *testing.T) {
	body := `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":"x","cach_control":{"type":"ephemeral"}}]}]}`
	var p anthropic.MessageNewParams
	if err := json.Unmarshal([]byte(body), &p); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(again), "cach_control") {
		t.Error("an unknown field survived")
	}
}

func object(t *testing.T, raw []byte) map[string]any {
	t.Helper()
	var o map[string]any
	if err := json.Unmarshal(raw, &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// plainResults writes the content of tool results as a string, the short form of the same thing that we send.
func plainResults(body map[string]any) {
	for _, m := range body["messages"].([]any) {
		for _, b := range m.(map[string]any)["content"].([]any) {
			b := b.(map[string]any)
			if list, ok := b["content"].([]any); ok && b["type"] == "tool_result" && len(list) == 1 {
				b["content"] = list[0].(map[string]any)["text"]
			}
		}
	}
}

const stream = `event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"cache_read_input_tokens":100,"cache_creation_input_tokens":5,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"a < b"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"SIG"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: ping
data: {"type":"ping"}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Let me "}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"look. ü\n"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_1","name":"read","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"path\":"}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"\"a\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":42}}

event: message_stop
data: {"type":"message_stop"}

`

// The library's own accumulation of a stream and our decoding of it say the same.
func TestAnswersAreTheLibrarys(t *testing.T) {
	theirs := accumulate(t, stream)
	ours, f := model.Decode(model.Anthropic, 200, nil, []byte(stream))
	if f != nil {
		t.Fatal(f)
	}
	var text string
	var calls []model.Call
	for _, b := range theirs.Content {
		switch b := b.AsAny().(type) {
		case anthropic.TextBlock:
			text += b.Text
		case anthropic.ToolUseBlock:
			calls = append(calls, model.Call{ID: b.ID, Name: b.Name, Args: json.RawMessage(b.Input)})
		}
	}
	u := theirs.Usage
	want := model.Answer{Text: text, Calls: calls, Stop: string(theirs.StopReason), Opaque: ours.Opaque, Usage: model.Usage{
		Input: u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens, Output: u.OutputTokens,
		CacheRead: u.CacheReadInputTokens, CacheWrite: u.CacheCreationInputTokens}}
	if !reflect.DeepEqual(ours, want) {
		t.Errorf("ours %+v\nwant %+v", ours, want)
	}
	var o struct {
		Blocks []struct{ Raw json.RawMessage } `json:"anthropic"`
	}
	if err := json.Unmarshal(ours.Opaque, &o); err != nil || len(o.Blocks) == 0 {
		t.Fatalf("opaque %s: %v", ours.Opaque, err)
	}
	thought := theirs.Content[0].AsThinking()
	if got := object(t, o.Blocks[0].Raw); got["thinking"] != thought.Thinking || got["signature"] != thought.Signature {
		t.Errorf("thinking %s, want %q, %q", o.Blocks[0].Raw, thought.Thinking, thought.Signature)
	}
}

func accumulate(t *testing.T, body string) anthropic.Message {
	t.Helper()
	s := ssestream.NewStream[anthropic.MessageStreamEventUnion](ssestream.NewDecoder(response(body)), nil)
	var m anthropic.Message
	for s.Next() {
		if err := m.Accumulate(s.Current()); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return m
}
