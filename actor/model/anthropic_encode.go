package model

import "encoding/json"

// The request of Anthropic's Messages API: https://docs.anthropic.com/en/api/messages
type anthropicRequest struct {
	Model      string             `json:"model"`
	MaxTokens  int                `json:"max_tokens"`
	Stream     bool               `json:"stream"`
	System     []anthropicBlock   `json:"system,omitempty"`
	Tools      []anthropicTool    `json:"tools,omitempty"`
	ToolChoice *anthropicChoice   `json:"tool_choice,omitempty"`
	Messages   []anthropicMessage `json:"messages"`
}

type anthropicMessage struct {
	Role    string           `json:"role"`
	Content []anthropicBlock `json:"content"`
}

// anthropicBlock is a content block; raw, when set, is sent instead of the fields.
type anthropicBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   string          `json:"content,omitempty"`
	IsError   bool            `json:"is_error,omitempty"`
	Cache     *anthropicCache `json:"cache_control,omitempty"`
	raw       json.RawMessage
}

// MarshalJSON sends a provider's own block as it came.
func (b anthropicBlock) MarshalJSON() ([]byte, error) {
	if b.raw != nil {
		return b.raw, nil
	}
	type plain anthropicBlock
	return marshal(plain(b))
}

type anthropicTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
	Cache       *anthropicCache `json:"cache_control,omitempty"`
}

type anthropicChoice struct {
	Type string `json:"type"`
}

type anthropicCache struct {
	Type string `json:"type"`
}

var ephemeral = &anthropicCache{Type: "ephemeral"}

func anthropicBody(r Request, turns []turn) anthropicRequest {
	q := anthropicRequest{Model: r.Model, MaxTokens: maxOutput(r), Stream: true}
	for _, t := range r.Tools {
		q.Tools = append(q.Tools, anthropicTool{Name: t.Name, Description: t.Description, InputSchema: t.Schema})
	}
	if len(q.Tools) == 0 {
		q.Tools, q.ToolChoice = calledTools(turns)
	}
	if !blank(r.System) {
		q.System = []anthropicBlock{{Type: "text", Text: r.System, Cache: ephemeral}}
	} else if n := len(q.Tools); n > 0 {
		q.Tools[n-1].Cache = ephemeral
	}
	for _, t := range turns {
		q.add(t)
	}
	markPrefix(q.Messages)
	return q
}

// add appends a turn. Results and the texts behind them share one user message, results first, as the API demands.
func (q *anthropicRequest) add(t turn) {
	role := t.role
	if role == ToolRole {
		role = User
	}
	if n := len(q.Messages); n == 0 || q.Messages[n-1].Role != role {
		q.Messages = append(q.Messages, anthropicMessage{Role: role})
	}
	m := &q.Messages[len(q.Messages)-1]
	if t.role == Assistant {
		m.Content = append(m.Content, assistantBlocks(t)...)
		return
	}
	for _, res := range t.results {
		m.Content = append(m.Content, anthropicBlock{Type: "tool_result", ToolUseID: res.CallID, Content: res.Text, IsError: res.Error})
	}
	for _, text := range t.texts {
		m.Content = append(m.Content, anthropicBlock{Type: "text", Text: text})
	}
}

// markPrefix asks for the transcript to be cached up to its end, and up to the user's message before, where the
// last request's cache ended: the API looks back only 20 blocks. Of the four marks allowed one is on the system prompt.
func markPrefix(messages []anthropicMessage) {
	marks := 0
	for i := len(messages) - 1; i >= 0 && marks < 2; i-- {
		if m := messages[i]; m.Role == User {
			m.Content[len(m.Content)-1].Cache = ephemeral
			marks++
		}
	}
}

// calledTools names the tools that the transcript calls, for a request that offers none: the API refuses tool blocks
// without tools. The choice keeps the model from calling them.
func calledTools(turns []turn) ([]anthropicTool, *anthropicChoice) {
	var tools []anthropicTool
	seen := map[string]bool{}
	for _, t := range turns {
		for _, c := range t.calls {
			if !seen[c.Name] {
				seen[c.Name] = true
				tools = append(tools, anthropicTool{Name: c.Name, Description: "Not available now.", InputSchema: json.RawMessage(`{"type":"object"}`)})
			}
		}
	}
	if tools == nil {
		return nil, nil
	}
	return tools, &anthropicChoice{Type: "none"}
}

// anthropicOpaque is Message.Opaque of an Anthropic answer that had blocks of the provider's own, in their order.
type anthropicOpaque struct {
	Blocks []opaqueBlock `json:"anthropic"`
}

// opaqueBlock is one block of the answer: the provider's own as it came, a text, or a place in Message.Calls.
type opaqueBlock struct {
	Raw  json.RawMessage `json:"raw,omitempty"`
	Text string          `json:"text,omitempty"`
	Call *int            `json:"call,omitempty"`
}

// assistantBlocks are an assistant's blocks in the order in which the provider sent them, when that is known and
// still names every call; otherwise its own blocks, the text and the calls.
func assistantBlocks(t turn) []anthropicBlock {
	var o anthropicOpaque
	if json.Unmarshal(t.opaque, &o) != nil {
		o.Blocks = nil
	}
	if blocks, ok := inOrder(o.Blocks, t.calls); ok {
		return blocks
	}
	var blocks []anthropicBlock
	for _, b := range o.Blocks {
		if isObject(b.Raw) {
			blocks = append(blocks, anthropicBlock{raw: b.Raw})
		}
	}
	for _, text := range t.texts {
		blocks = append(blocks, anthropicBlock{Type: "text", Text: text})
	}
	for _, c := range t.calls {
		blocks = append(blocks, toolUse(c))
	}
	return blocks
}

func inOrder(opaque []opaqueBlock, calls []Call) ([]anthropicBlock, bool) {
	var blocks []anthropicBlock
	next := 0
	for _, b := range opaque {
		switch {
		case isObject(b.Raw):
			blocks = append(blocks, anthropicBlock{raw: b.Raw})
		case b.Call != nil:
			if *b.Call != next || next >= len(calls) {
				return nil, false
			}
			blocks = append(blocks, toolUse(calls[next]))
			next++
		case !blank(b.Text):
			blocks = append(blocks, anthropicBlock{Type: "text", Text: b.Text})
		}
	}
	return blocks, len(blocks) > 0 && next == len(calls)
}

func toolUse(c Call) anthropicBlock {
	return anthropicBlock{Type: "tool_use", ID: c.ID, Name: c.Name, Input: c.Args}
}
