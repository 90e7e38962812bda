package model

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"holdfast/actor/errs"
)

const readSchema = `{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`

func readTool() Tool {
	return Tool{Name: "read", Description: "Reads a file <text>", Schema: json.RawMessage(readSchema)}
}

func call(id, name, args string) Call { return Call{ID: id, Name: name, Args: json.RawMessage(args)} }

// conversation is a whole turn with two calls in one round and a message that joined it.
func conversation() Request {
	return Request{
		Model: "m-1", System: "Be short.", MaxOutput: 1000, Tools: []Tool{readTool()},
		Messages: []Message{
			{Role: User, Text: "what is in a and b?"},
			{Role: Assistant, Text: "Let me look. ", Calls: []Call{call("c1", "read", `{"path":"a"}`), call("c2", "read", `{"path":"b"}`)}},
			{Role: ToolRole, Results: []Result{{CallID: "c1", Text: "1 & 2"}, {CallID: "c2", Text: "denied", Error: true}}},
			{Role: User, Text: "and hurry"},
		},
	}
}

func encode(t *testing.T, format string, r Request) string {
	t.Helper()
	w, err := Encode(format, r)
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(w.Body) {
		t.Fatalf("not JSON: %s", w.Body)
	}
	return string(w.Body)
}

func TestEncodeWhole(t *testing.T) {
	want := map[string]string{
		Anthropic: `{"model":"m-1","max_tokens":1000,"stream":true,
			"system":[{"type":"text","text":"Be short.","cache_control":{"type":"ephemeral"}}],
			"tools":[{"name":"read","description":"Reads a file <text>","input_schema":` + readSchema + `}],
			"messages":[
			{"role":"user","content":[{"type":"text","text":"what is in a and b?","cache_control":{"type":"ephemeral"}}]},
			{"role":"assistant","content":[{"type":"text","text":"Let me look."},
				{"type":"tool_use","id":"c1","name":"read","input":{"path":"a"}},
				{"type":"tool_use","id":"c2","name":"read","input":{"path":"b"}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"1 & 2"},
				{"type":"tool_result","tool_use_id":"c2","content":"denied","is_error":true},
				{"type":"text","text":"and hurry","cache_control":{"type":"ephemeral"}}]}]}`,
		OpenAI: `{"model":"m-1","messages":[
			{"role":"system","content":"Be short."},
			{"role":"user","content":"what is in a and b?"},
			{"role":"assistant","content":"Let me look.","tool_calls":[
				{"id":"c1","type":"function","function":{"name":"read","arguments":"{\"path\":\"a\"}"}},
				{"id":"c2","type":"function","function":{"name":"read","arguments":"{\"path\":\"b\"}"}}]},
			{"role":"tool","content":"1 & 2","tool_call_id":"c1"},
			{"role":"tool","content":"Error: denied","tool_call_id":"c2"},
			{"role":"user","content":"and hurry"}],
			"tools":[{"type":"function","function":{"name":"read","description":"Reads a file <text>","parameters":` + readSchema + `}}],
			"stream":true,"stream_options":{"include_usage":true},"max_tokens":1000}`,
	}
	for format, text := range want {
		var b bytes.Buffer
		if err := json.Compact(&b, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got := encode(t, format, conversation()); got != b.String() {
			t.Errorf("%s:\n got %s\nwant %s", format, got, b.String())
		}
	}
}

func TestEncodePathsAndHeaders(t *testing.T) {
	for format, path := range map[string]string{Anthropic: "/v1/messages", OpenAI: "/chat/completions"} {
		w, err := Encode(format, conversation())
		if err != nil {
			t.Fatal(err)
		}
		if w.Path != path {
			t.Errorf("%s: path %s", format, w.Path)
		}
		if got := w.Headers["anthropic-version"]; (got == "2023-06-01") != (format == Anthropic) {
			t.Errorf("%s: anthropic-version %q", format, got)
		}
	}
}

func TestEncodeRepairsTranscripts(t *testing.T) {
	user := Message{Role: User, Text: "q"}
	cases := []struct {
		name      string
		messages  []Message
		anthropic string // must be part of the body
		openai    string
	}{
		{"a call without a result", []Message{user, {Role: Assistant, Calls: []Call{call("c", "read", `{}`)}}, user},
			`{"type":"tool_result","tool_use_id":"c","content":"Error: no result`, `{"role":"tool","content":"Error: no result`},
		{"results out of order", []Message{user, {Role: Assistant, Calls: []Call{call("a", "r", `{}`), call("b", "r", `{}`)}},
			{Role: ToolRole, Results: []Result{{CallID: "b", Text: "B"}, {CallID: "a", Text: "A"}}}},
			`"tool_use_id":"a","content":"A"},{"type":"tool_result","tool_use_id":"b"`, `"content":"A","tool_call_id":"a"},{"role":"tool","content":"B"`},
		{"a result without its call", []Message{user, {Role: ToolRole, Results: []Result{{CallID: "x", Text: "late"}}}},
			`Result of an earlier tool call:\nlate`, `Result of an earlier tool call:\nlate`},
		{"an assistant first", []Message{{Role: Assistant, Text: "hello"}, user},
			`"text":"(The conversation before`, `{"role":"user","content":"(The conversation before`},
		{"broken arguments", []Message{user, {Role: Assistant, Calls: []Call{{ID: "c", Name: "read", Broken: `{"pa`}}}, {Role: ToolRole, Results: []Result{{CallID: "c", Text: "bad"}}}},
			`"name":"read","input":{}}`, `"name":"read","arguments":"{}"}`},
		{"an id used twice", []Message{user, {Role: Assistant, Calls: []Call{call("c", "r", `{}`)}}, {Role: ToolRole, Results: []Result{{CallID: "c", Text: "1"}}},
			{Role: Assistant, Calls: []Call{call("c", "r", `{}`)}}, {Role: ToolRole, Results: []Result{{CallID: "c", Text: "2"}}}},
			`"tool_use_id":"call_2","content":"2"`, `"content":"2","tool_call_id":"call_2"`},
		{"an id and a name that cannot be sent", []Message{user, {Role: Assistant, Calls: []Call{call("ü 1", "my tool", `{}`)}}, {Role: ToolRole, Results: []Result{{CallID: "ü 1", Text: "1"}}}},
			`"id":"call_1","name":"my_tool"`, `"id":"call_1","type":"function","function":{"name":"my_tool"`},
		{"a result without text", []Message{user, {Role: Assistant, Calls: []Call{call("c", "r", `{}`)}}, {Role: ToolRole, Results: []Result{{CallID: "c"}}}},
			`"content":"(no output)"`, `"content":"(no output)"`},
		{"two answers in a row", []Message{user, {Role: Assistant, Text: "a"}, {Role: Assistant, Text: "b"}, user},
			`[{"type":"text","text":"a"},{"type":"text","text":"b"}]`, `{"role":"assistant","content":"a\n\nb"}`},
		{"an empty answer", []Message{user, {Role: Assistant, Text: " \n"}, {Role: User, Text: "again"}},
			`[{"type":"text","text":"q"},{"type":"text","text":"again"`, `{"role":"user","content":"q"},{"role":"user","content":"again"}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := Request{Model: "m", Messages: c.messages}
			if got := encode(t, Anthropic, r); !strings.Contains(got, c.anthropic) {
				t.Errorf("anthropic: %s\nlacks %s", got, c.anthropic)
			}
			if got := encode(t, OpenAI, r); !strings.Contains(got, c.openai) {
				t.Errorf("openai: %s\nlacks %s", got, c.openai)
			}
		})
	}
}

func TestEncodeRefuses(t *testing.T) {
	bad := map[string]Request{
		"no model":            {Messages: []Message{{Role: User, Text: "x"}}},
		"no messages":         {Model: "m"},
		"blank":               {Model: "m", Messages: []Message{{Role: User, Text: " "}}},
		"ends with an answer": {Model: "m", Messages: []Message{{Role: User, Text: "x"}, {Role: Assistant, Text: "y"}}},
		"schema":              {Model: "m", Messages: []Message{{Role: User, Text: "x"}}, Tools: []Tool{{Name: "t", Schema: json.RawMessage(`[]`)}}},
	}
	for name, r := range bad {
		for _, format := range []string{Anthropic, OpenAI} {
			if _, err := Encode(format, r); errs.CodeOf(err) != errs.Invalid {
				t.Errorf("%s, %s: %v", name, format, err)
			}
		}
	}
	if _, err := Encode("gopher", conversation()); errs.CodeOf(err) != errs.Invalid {
		t.Errorf("unknown format: %v", err)
	}
}

func TestEncodeKeepsThePrefix(t *testing.T) {
	long := conversation()
	long.Messages = append(long.Messages,
		Message{Role: Assistant, Calls: []Call{call("c1", "read", `{"path":"c"}`)}}, // an id that was used before
		Message{Role: ToolRole, Results: []Result{{CallID: "c1", Text: "x"}}},
		Message{Role: Assistant, Text: "Done."}, Message{Role: User, Text: "thanks"})
	for _, format := range []string{Anthropic, OpenAI} {
		whole := messagesOf(t, format, long)
		for n := range long.Messages {
			short := long
			short.Messages = long.Messages[:n+1]
			if r := long.Messages[n].Role; r == Assistant || n+1 < len(long.Messages) && long.Messages[n+1].Role == ToolRole {
				continue
			}
			part := messagesOf(t, format, short)
			if !strings.HasPrefix(whole, strings.TrimRight(part, "]}")) {
				t.Errorf("%s, %d messages: %s\nis no prefix of %s", format, n+1, part, whole)
			}
		}
	}
}

// messagesOf is the encoded transcript without cache marks, which may move.
func messagesOf(t *testing.T, format string, r Request) string {
	t.Helper()
	var body struct{ Messages json.RawMessage }
	if err := json.Unmarshal([]byte(encode(t, format, r)), &body); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(body.Messages), `,"cache_control":{"type":"ephemeral"}`, "")
}

func TestEncodeAnthropicCacheMarks(t *testing.T) {
	r := conversation()
	if n := strings.Count(encode(t, Anthropic, r), "cache_control"); n != 3 {
		t.Errorf("%d marks, want 3: system, the last two user messages", n)
	}
	r.System = ""
	if got := encode(t, Anthropic, r); !strings.Contains(got, readSchema+`,"cache_control"`) {
		t.Errorf("no mark on the last tool: %s", got)
	}
}

func TestEncodeAnthropicWithoutTools(t *testing.T) {
	r := conversation()
	r.Tools = nil
	got := encode(t, Anthropic, r)
	if !strings.Contains(got, `"tool_choice":{"type":"none"}`) || strings.Count(got, `"input_schema"`) != 1 {
		t.Errorf("a transcript with calls needs its tools named: %s", got)
	}
}

func TestEncodeMaxTokensByModel(t *testing.T) {
	cases := map[string]string{
		"gpt-5": "max_completion_tokens", "openai/gpt-4o": "max_completion_tokens", "o3-mini": "max_completion_tokens",
		"gpt-oss:20b": "max_tokens", "deepseek-chat": "max_tokens", "qwen3:8b": "max_tokens", "llama-3": "max_tokens",
	}
	for name, field := range cases {
		r := conversation()
		r.Model = name
		if got := encode(t, OpenAI, r); !strings.Contains(got, `"`+field+`":1000`) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestEncodeReasoningComesBack(t *testing.T) {
	r := conversation()
	r.Messages = r.Messages[:3]
	r.Messages[1].Opaque = json.RawMessage(`{"reasoning_content":"hm"}`)
	if got := encode(t, OpenAI, r); !strings.Contains(got, `"reasoning_content":"hm"`) {
		t.Errorf("reasoning lost: %s", got)
	}
	r.Messages = append(r.Messages, Message{Role: User, Text: "next"})
	if got := encode(t, OpenAI, r); strings.Contains(got, "hm") {
		t.Errorf("reasoning of an earlier question sent again: %s", got)
	}
}

func TestEstimateTokens(t *testing.T) {
	if n := EstimateTokens(Request{}); n < 1 || n > 20 {
		t.Errorf("empty request: %d", n)
	}
	base := EstimateTokens(conversation())
	text := strings.Repeat("The quick brown fox. ", 100) // 2,100 bytes, about 500 tokens
	r := conversation()
	r.Messages[0].Text += text
	if grown := EstimateTokens(r) - base; grown < 500 || grown > 800 {
		t.Errorf("2,100 bytes of English: %d tokens", grown)
	}
	r = conversation()
	r.Messages[2].Results[0].Text += strings.Repeat("日", 100)
	if grown := EstimateTokens(r) - base; grown < 100 {
		t.Errorf("100 CJK characters: %d tokens", grown)
	}
}

// randomRequest is a request with every fault that a transcript may have.
func randomRequest(rng *rand.Rand) Request {
	pick := func(s ...string) string { return s[rng.IntN(len(s))] }
	r := Request{Model: pick("m", "gpt-5"), System: pick("", "sys", "s\u2028<&>"), MaxOutput: rng.IntN(3) * 100}
	for range rng.IntN(3) {
		r.Tools = append(r.Tools, Tool{Name: pick("read", "bash"), Description: pick("", "d"), Schema: json.RawMessage(readSchema)})
	}
	for range rng.IntN(10) {
		m := Message{Role: pick(User, Assistant, ToolRole), Text: pick("", " ", "text", "\xff\x00", "!tool x {}")}
		for range rng.IntN(3) {
			c := call(pick("a", "b", "", "ü", strings.Repeat("z", 50)), pick("read", "", "söm tool"), pick(`{}`, `{"a": [1,"<"]}`, ``, `[`, `"x"`))
			c.Broken = pick("", "", "{")
			m.Calls = append(m.Calls, c)
			m.Results = append(m.Results, Result{CallID: pick("a", "b", "", "ü", "nobody"), Text: pick("", "ok", "error x"), Error: rng.IntN(2) == 0})
		}
		if rng.IntN(3) == 0 {
			m.Opaque = json.RawMessage(pick(`{"anthropic":[{"raw":{"type":"thinking","thinking":"t","signature":"s"}},{"call":0},{"text":"x"}]}`, `{"reasoning_content":"r"}`, `nonsense`))
		}
		r.Messages = append(r.Messages, m)
	}
	r.Messages = append(r.Messages, Message{Role: User, Text: "question"})
	return r
}

func TestEncodeIsDeterministicAndAlternates(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 2000 {
		r := randomRequest(rng)
		for _, format := range []string{Anthropic, OpenAI} {
			a, b := encode(t, format, r), encode(t, format, r)
			if a != b {
				t.Fatalf("%s, request %d: two encodings differ", format, i)
			}
		}
		checkAlternation(t, encode(t, Anthropic, r))
	}
}

// checkAlternation holds an Anthropic body against the API's rules for messages.
func checkAlternation(t *testing.T, body string) {
	t.Helper()
	var q struct {
		Messages []struct {
			Role    string
			Content []struct {
				Type, Text, ID, Name string
				ToolUseID            string `json:"tool_use_id"`
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &q); err != nil {
		t.Fatal(err)
	}
	var open []string
	seen := map[string]bool{}
	for i, m := range q.Messages {
		if want := []string{User, Assistant}[i%2]; m.Role != want || len(m.Content) == 0 {
			t.Fatalf("message %d has role %s and %d blocks: %s", i, m.Role, len(m.Content), body)
		}
		var calls []string
		for j, b := range m.Content {
			switch b.Type {
			case "text":
				if blank(b.Text) {
					t.Fatalf("blank text: %s", body)
				}
			case "tool_use":
				if seen[b.ID] || b.Name == "" {
					t.Fatalf("id %q twice or no name: %s", b.ID, body)
				}
				seen[b.ID] = true
				calls = append(calls, b.ID)
			case "tool_result":
				if j >= len(open) || open[j] != b.ToolUseID {
					t.Fatalf("result %d of message %d answers %q, open %v: %s", j, i, b.ToolUseID, open, body)
				}
			}
		}
		results := 0
		for _, b := range m.Content {
			if b.Type == "tool_result" {
				results++
			}
		}
		if results != len(open) {
			t.Fatalf("message %d answers %d of %v: %s", i, results, open, body)
		}
		open = calls
	}
}
