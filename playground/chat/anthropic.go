package chat

import (
	"encoding/json"
	"strings"

	"holdfast/actor/model"
)

// anthropicRequest has the fields of the Messages API; those that change nothing here are taken as they are. Any
// other field is refused.
type anthropicRequest struct {
	Model     string             `json:"model"`
	MaxTokens int                `json:"max_tokens"`
	Messages  []anthropicMessage `json:"messages"`
	System    json.RawMessage    `json:"system"`
	Stream    bool               `json:"stream"`
	Tools     []struct {
		Type         string          `json:"type"`
		Name         string          `json:"name"`
		Description  string          `json:"description"`
		InputSchema  json.RawMessage `json:"input_schema"`
		CacheControl *cacheControl   `json:"cache_control"`
		Strict       *bool           `json:"strict"`
		Eager        *bool           `json:"eager_input_streaming"`
	} `json:"tools"`

	Metadata, Temperature, Thinking any

	ToolChoice        any `json:"tool_choice"`
	TopK              any `json:"top_k"`
	TopP              any `json:"top_p"`
	StopSequences     any `json:"stop_sequences"`
	ServiceTier       any `json:"service_tier"`
	ContextManagement any `json:"context_management"` // sent by the claude program
	OutputConfig      any `json:"output_config"`
}

type cacheControl struct {
	Type string `json:"type"`
	TTL  string `json:"ttl"`
}

type anthropicMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

type anthropicBlock struct {
	Type         string          `json:"type"`
	Text         string          `json:"text"`
	ID           string          `json:"id"`
	Name         string          `json:"name"`
	Input        json.RawMessage `json:"input"`
	ToolUseID    string          `json:"tool_use_id"`
	Content      json.RawMessage `json:"content"`
	IsError      bool            `json:"is_error"`
	Thinking     string          `json:"thinking"`
	Signature    string          `json:"signature"`
	Data         string          `json:"data"`
	CacheControl *cacheControl   `json:"cache_control"`
}

// ReadAnthropic reads a Messages request. Its errors are ErrRequest.
func ReadAnthropic(body []byte) (Request, error) {
	var o anthropicRequest
	if err := strict(body, &o); err != nil {
		return Request{}, err
	}
	q := Request{Request: model.Request{Model: o.Model, MaxOutput: o.MaxTokens}, Stream: o.Stream, Usage: true}
	switch {
	case o.Model == "":
		return q, refuse("model: field required")
	case o.MaxTokens < 1:
		return q, refuse("max_tokens: must be at least 1")
	case len(o.Messages) == 0:
		return q, refuse("messages: at least one message is required")
	case strings.Count(string(body), `"cache_control"`) > 4:
		return q, refuse("a maximum of 4 blocks with cache_control may be provided")
	}
	system, err := anthropicContent(o.System)
	if err != nil {
		return q, err
	}
	for _, b := range system {
		q.System = strings.TrimPrefix(q.System+"\n\n"+b.Text, "\n\n")
	}
	for _, t := range o.Tools {
		if !goodName(t.Name) || !strings.Contains(string(t.InputSchema), `"object"`) {
			return q, refuse("tools: %q needs a name and an input_schema of type object", t.Name)
		}
		q.Tools = append(q.Tools, model.Tool{Name: t.Name, Description: t.Description, Schema: t.InputSchema})
	}
	return q, anthropicTranscript(&q, o.Messages)
}

// anthropicContent is a content field's blocks: a string is one text block.
func anthropicContent(raw json.RawMessage) ([]anthropicBlock, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return []anthropicBlock{{Type: "text", Text: s}}, nil
	}
	var blocks []anthropicBlock
	if err := strict(raw, &blocks); err != nil {
		return nil, err
	}
	return blocks, nil
}

// anthropicTranscript takes the messages over: they alternate, begin with a user's, and every tool_use is answered
// at the beginning of the next message.
func anthropicTranscript(q *Request, messages []anthropicMessage) error {
	var open []string
	seen := map[string]bool{}
	for i, m := range messages {
		if want := []string{"user", "assistant"}[i%2]; m.Role != want {
			return refuse("messages.%d: role %q where %q is expected: roles must alternate", i, m.Role, want)
		}
		blocks, err := anthropicContent(m.Content)
		if err != nil {
			return refuse("messages.%d: %v", i, err)
		}
		if len(blocks) == 0 {
			return refuse("messages.%d: content must not be empty", i)
		}
		if m.Role == "assistant" {
			open, err = q.anthropicAssistant(blocks, seen)
		} else {
			err = q.anthropicUser(blocks, open, len(q.Tools) > 0)
			open = nil
		}
		if err != nil {
			return refuse("messages.%d: %v", i, err)
		}
	}
	if len(open) > 0 {
		return refuse("tool_use ids without tool_result: %v", open)
	}
	return nil
}

func (r *Request) anthropicAssistant(blocks []anthropicBlock, seen map[string]bool) (open []string, err error) {
	m := model.Message{Role: model.Assistant}
	for _, b := range blocks {
		switch b.Type {
		case "text":
			if strings.TrimSpace(b.Text) == "" {
				return nil, refuse("text content blocks must contain non-whitespace text")
			}
			m.Text = strings.TrimPrefix(m.Text+"\n\n"+b.Text, "\n\n")
		case "tool_use":
			if b.ID == "" || seen[b.ID] || strings.Trim(b.ID, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
				return nil, refuse("tool_use ids must be unique and match ^[a-zA-Z0-9_-]+$: %q", b.ID)
			}
			if len(b.Input) == 0 || b.Input[0] != '{' || !goodName(b.Name) {
				return nil, refuse("tool_use %q needs a name and an input object", b.ID)
			}
			seen[b.ID] = true
			open = append(open, b.ID)
			m.Calls = append(m.Calls, model.Call{ID: b.ID, Name: b.Name, Args: b.Input})
		case "thinking":
			if b.Signature == "" {
				return nil, refuse("a thinking block without its signature")
			}
		case "redacted_thinking":
		default:
			return nil, refuse("content block of type %q", b.Type)
		}
	}
	r.Messages = append(r.Messages, m)
	return open, nil
}

func (r *Request) anthropicUser(blocks []anthropicBlock, open []string, tools bool) error {
	left := map[string]bool{}
	for _, id := range open {
		left[id] = true
	}
	for i, b := range blocks {
		switch b.Type {
		case "tool_result":
			if !left[b.ToolUseID] {
				return refuse("unexpected tool_use_id %q in a tool_result", b.ToolUseID)
			}
			if i > 0 && blocks[i-1].Type != "tool_result" {
				return refuse("tool_result blocks must come first")
			}
			delete(left, b.ToolUseID)
			content, err := anthropicContent(b.Content)
			if err != nil {
				return err
			}
			res := model.Result{CallID: b.ToolUseID, Error: b.IsError}
			for _, c := range content {
				res.Text += c.Text
			}
			r.addResult(res)
		case "text":
			if strings.TrimSpace(b.Text) == "" {
				return refuse("text content blocks must contain non-whitespace text")
			}
			r.Messages = append(r.Messages, model.Message{Role: model.User, Text: b.Text})
		default:
			return refuse("content block of type %q", b.Type)
		}
	}
	if len(left) > 0 {
		return refuse("tool_use ids were found without tool_result blocks immediately after")
	}
	if len(open) > 0 && !tools {
		return refuse("requests which include tool_use blocks must define tools")
	}
	return nil
}

func anthropicStream(s *stream, name string, a Answer, u usage) {
	send := func(event map[string]any) { s.send(event["type"].(string), event) }
	start := anthropicMessageBody(name, Answer{}, usage{in: u.in, out: 1})
	start["content"], start["stop_reason"] = []any{}, nil
	send(map[string]any{"type": "message_start", "message": start})
	send(map[string]any{"type": "ping"})
	index := 0
	block := func(begin map[string]any, deltas []map[string]any) {
		send(map[string]any{"type": "content_block_start", "index": index, "content_block": begin})
		for _, d := range deltas {
			send(map[string]any{"type": "content_block_delta", "index": index, "delta": d})
			s.half()
		}
		send(map[string]any{"type": "content_block_stop", "index": index})
		index++
	}
	if a.Text != "" {
		var deltas []map[string]any
		for _, p := range pieces(a.Text) {
			deltas = append(deltas, map[string]any{"type": "text_delta", "text": p})
		}
		block(map[string]any{"type": "text", "text": ""}, deltas)
	}
	for _, c := range a.Calls {
		var deltas []map[string]any
		for _, p := range pieces(rawArgs(c)) {
			deltas = append(deltas, map[string]any{"type": "input_json_delta", "partial_json": p})
		}
		block(map[string]any{"type": "tool_use", "id": c.ID, "name": c.Name, "input": map[string]any{}}, deltas)
	}
	s.half()
	send(map[string]any{"type": "message_delta", "delta": map[string]any{"stop_reason": stopReason(a), "stop_sequence": nil}, "usage": map[string]any{"output_tokens": u.out}})
	send(map[string]any{"type": "message_stop"})
}

func stopReason(a Answer) string {
	if len(a.Calls) > 0 {
		return "tool_use"
	}
	return "end_turn"
}

// anthropicMessageBody is a whole answer. Broken arguments cannot be said in it; they become a string.
func anthropicMessageBody(name string, a Answer, u usage) map[string]any {
	content := []any{}
	if a.Text != "" {
		content = append(content, map[string]any{"type": "text", "text": a.Text})
	}
	for _, c := range a.Calls {
		var input any = json.RawMessage(rawArgs(c))
		if c.Broken != "" {
			input = c.Broken
		}
		content = append(content, map[string]any{"type": "tool_use", "id": c.ID, "name": c.Name, "input": input})
	}
	return map[string]any{"id": "msg_local", "type": "message", "role": "assistant", "model": name, "content": content,
		"stop_reason": stopReason(a), "stop_sequence": nil, "usage": map[string]any{"input_tokens": u.in, "output_tokens": u.out}}
}
