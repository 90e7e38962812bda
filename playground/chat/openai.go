package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"holdfast/actor/model"
)

// openaiRequest has every field of the official description's CreateChatCompletionRequest; those that change nothing
// here are taken as they are. Any other field is refused.
type openaiRequest struct {
	Model         string          `json:"model"`
	Messages      []openaiMessage `json:"messages"`
	Tools         []openaiTool    `json:"tools"`
	Stream        *bool           `json:"stream"`
	StreamOptions *struct {
		IncludeUsage       bool `json:"include_usage"`
		IncludeObfuscation bool `json:"include_obfuscation"`
	} `json:"stream_options"`
	MaxTokens           *int `json:"max_tokens"`
	MaxCompletionTokens *int `json:"max_completion_tokens"`

	Audio, Functions, Logprobs, Metadata, Modalities, Moderation, N, Prediction, Seed, Stop, Store, Temperature, Verbosity, User any

	FrequencyPenalty     any `json:"frequency_penalty"`
	FunctionCall         any `json:"function_call"`
	LogitBias            any `json:"logit_bias"`
	ParallelToolCalls    any `json:"parallel_tool_calls"`
	PresencePenalty      any `json:"presence_penalty"`
	PromptCacheKey       any `json:"prompt_cache_key"`
	PromptCacheOptions   any `json:"prompt_cache_options"`
	PromptCacheRetention any `json:"prompt_cache_retention"`
	ReasoningEffort      any `json:"reasoning_effort"`
	ResponseFormat       any `json:"response_format"`
	SafetyIdentifier     any `json:"safety_identifier"`
	ServiceTier          any `json:"service_tier"`
	ToolChoice           any `json:"tool_choice"`
	TopLogprobs          any `json:"top_logprobs"`
	TopP                 any `json:"top_p"`
	WebSearchOptions     any `json:"web_search_options"`
}

type openaiMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	Name       string          `json:"name"`
	Refusal    any             `json:"refusal"`
	Audio      any             `json:"audio"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []openaiCall    `json:"tool_calls"`
	Reasoning  string          `json:"reasoning_content"` // not OpenAI's: DeepSeek's and others'
}

type openaiCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type openaiTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
		Strict      *bool           `json:"strict"`
	} `json:"function"`
}

// ReadOpenAI reads a Chat Completions request. Its errors are ErrRequest.
func ReadOpenAI(body []byte) (Request, error) {
	var o openaiRequest
	if err := strict(body, &o); err != nil {
		return Request{}, err
	}
	q := Request{Request: model.Request{Model: o.Model}, Stream: o.Stream != nil && *o.Stream}
	q.Usage = o.StreamOptions != nil && o.StreamOptions.IncludeUsage
	switch {
	case o.Model == "":
		return q, refuse("you must provide a model parameter")
	case len(o.Messages) == 0:
		return q, refuse("messages must not be empty")
	case o.StreamOptions != nil && !q.Stream:
		return q, refuse("stream_options is only allowed when stream is enabled")
	case o.MaxTokens != nil && o.MaxCompletionTokens != nil:
		return q, refuse("max_tokens and max_completion_tokens at the same time are not supported")
	}
	for _, n := range []*int{o.MaxTokens, o.MaxCompletionTokens} {
		if n != nil {
			q.MaxOutput = *n
			if *n < 1 {
				return q, refuse("max_tokens must be at least 1")
			}
		}
	}
	for _, t := range o.Tools {
		if t.Type != "function" || !goodName(t.Function.Name) {
			return q, refuse("tool %q of type %q", t.Function.Name, t.Type)
		}
		q.Tools = append(q.Tools, model.Tool{Name: t.Function.Name, Description: t.Function.Description, Schema: t.Function.Parameters})
	}
	return q, openaiTranscript(&q, o.Messages)
}

// strict decodes JSON, refusing fields that are not known and anything behind the value.
func strict(body []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return refuse("%v", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return refuse("something follows the JSON body")
	}
	return nil
}

// openaiTranscript takes the messages over: each call is answered by a tool message before anything else follows.
func openaiTranscript(q *Request, messages []openaiMessage) error {
	open := map[string]bool{}
	for i, m := range messages {
		text, err := openaiText(m.Content)
		if err != nil {
			return refuse("messages[%d]: %v", i, err)
		}
		if m.Role != "tool" && len(open) > 0 {
			return refuse("messages[%d]: tool_calls must be followed by tool messages responding to each tool_call_id", i)
		}
		switch m.Role {
		case "system", "developer":
			q.System = strings.TrimPrefix(q.System+"\n\n"+text, "\n\n")
		case "user":
			q.Messages = append(q.Messages, model.Message{Role: model.User, Text: text})
		case "assistant":
			calls, err := openaiCalls(m.ToolCalls, open)
			if err != nil {
				return refuse("messages[%d]: %v", i, err)
			}
			if len(calls) == 0 && !hasContent(m.Content) {
				return refuse("messages[%d]: an assistant message needs content or tool_calls", i)
			}
			q.Messages = append(q.Messages, model.Message{Role: model.Assistant, Text: text, Calls: calls})
		case "tool":
			if !open[m.ToolCallID] {
				return refuse("messages[%d]: tool message does not answer a preceding tool call", i)
			}
			delete(open, m.ToolCallID)
			q.addResult(model.Result{CallID: m.ToolCallID, Text: text})
		default:
			return refuse("messages[%d]: role %q", i, m.Role)
		}
	}
	if len(open) > 0 {
		return refuse("the last tool_calls have no tool messages")
	}
	return nil
}

func (r *Request) addResult(res model.Result) {
	if n := len(r.Messages); n > 0 && r.Messages[n-1].Role == model.ToolRole {
		r.Messages[n-1].Results = append(r.Messages[n-1].Results, res)
		return
	}
	r.Messages = append(r.Messages, model.Message{Role: model.ToolRole, Results: []model.Result{res}})
}

func openaiCalls(calls []openaiCall, open map[string]bool) ([]model.Call, error) {
	var out []model.Call
	for _, c := range calls {
		switch {
		case c.ID == "" || len(c.ID) > 40 || open[c.ID]:
			return nil, refuse("tool call id %q", c.ID)
		case c.Type != "function" || !goodName(c.Function.Name):
			return nil, refuse("tool call %q of type %q", c.Function.Name, c.Type)
		case !json.Valid([]byte(c.Function.Arguments)):
			return nil, refuse("arguments of tool call %q are no JSON", c.ID)
		}
		open[c.ID] = true
		out = append(out, model.Call{ID: c.ID, Name: c.Function.Name, Args: json.RawMessage(c.Function.Arguments)})
	}
	return out, nil
}

func hasContent(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// openaiText is a content field's text: a string, null, or a list of text parts.
func openaiText(raw json.RawMessage) (string, error) {
	if !hasContent(raw) {
		return "", nil
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s, nil
	}
	var parts []struct{ Type, Text string }
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", refuse("content is neither a string nor a list of parts")
	}
	for _, p := range parts {
		if p.Type != "text" {
			return "", refuse("content part of type %q", p.Type)
		}
		s += p.Text
	}
	return s, nil
}

// goodName is the pattern of both providers for a tool's name.
func goodName(s string) bool {
	ok := s != "" && len(s) <= 64
	for _, c := range s {
		ok = ok && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-')
	}
	return ok
}

func openaiStream(s *stream, q Request, a Answer, u usage) {
	chunk := func(choices []any, more map[string]any) {
		c := map[string]any{"id": "chatcmpl-local", "object": "chat.completion.chunk", "created": 0, "model": q.Model, "choices": choices}
		for k, v := range more {
			c[k] = v
		}
		s.send("", c)
	}
	delta := func(d map[string]any, finish any) {
		chunk([]any{map[string]any{"index": 0, "delta": d, "finish_reason": finish, "logprobs": nil}}, nil)
	}
	delta(map[string]any{"role": "assistant", "content": ""}, nil)
	for _, p := range pieces(a.Text) {
		delta(map[string]any{"content": p}, nil)
		s.half()
	}
	for i, c := range a.Calls {
		delta(map[string]any{"tool_calls": []any{map[string]any{"index": i, "id": c.ID, "type": "function",
			"function": map[string]any{"name": c.Name, "arguments": ""}}}}, nil)
		for _, p := range pieces(rawArgs(c)) {
			delta(map[string]any{"tool_calls": []any{map[string]any{"index": i, "function": map[string]any{"arguments": p}}}}, nil)
			s.half()
		}
	}
	s.half()
	delta(map[string]any{}, finishReason(a))
	if q.Usage {
		chunk([]any{}, map[string]any{"usage": openaiUsage(u)})
	}
	s.send("", []byte("[DONE]"))
}

func finishReason(a Answer) string {
	if len(a.Calls) > 0 {
		return "tool_calls"
	}
	return "stop"
}

func openaiUsage(u usage) map[string]any {
	return map[string]any{"prompt_tokens": u.in, "completion_tokens": u.out, "total_tokens": u.in + u.out}
}

// writePlain answers a request that does not stream.
func writePlain(w http.ResponseWriter, format, name string, a Answer, u usage) {
	w.Header().Set("Content-Type", "application/json")
	if a.Cut {
		w.Write([]byte("{"))
		panic(http.ErrAbortHandler)
	}
	if format == model.Anthropic {
		w.Write(encode(anthropicMessageBody(name, a, u)))
		return
	}
	message := map[string]any{"role": "assistant", "content": a.Text, "refusal": nil}
	var calls []any
	for _, c := range a.Calls {
		calls = append(calls, map[string]any{"id": c.ID, "type": "function", "function": map[string]any{"name": c.Name, "arguments": rawArgs(c)}})
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	w.Write(encode(map[string]any{"id": "chatcmpl-local", "object": "chat.completion", "created": 0, "model": name,
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finishReason(a), "logprobs": nil}}, "usage": openaiUsage(u)}))
}
