package model

import (
	"encoding/json"
	"strings"
)

// The request of OpenAI's Chat Completions API: https://platform.openai.com/docs/api-reference/chat/create
type openaiRequest struct {
	Model         string          `json:"model"`
	Messages      []openaiMessage `json:"messages"`
	Tools         []openaiTool    `json:"tools,omitempty"`
	Stream        bool            `json:"stream"`
	StreamOptions openaiOptions   `json:"stream_options"`
	MaxTokens     int             `json:"max_tokens,omitempty"`
	MaxCompletion int             `json:"max_completion_tokens,omitempty"`
}

type openaiOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type openaiMessage struct {
	Role       string       `json:"role"`
	Content    *string      `json:"content"`
	ToolCalls  []openaiCall `json:"tool_calls,omitempty"`
	ToolCallID string       `json:"tool_call_id,omitempty"`
	// Thoughts of models that demand them back beside their calls (DeepSeek, Kimi); the name is the provider's.
	ReasoningContent string `json:"reasoning_content,omitempty"`
	Reasoning        string `json:"reasoning,omitempty"`
}

type openaiCall struct {
	ID       string         `json:"id"`
	Type     string         `json:"type"`
	Function openaiFunction `json:"function"`
}

type openaiFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type openaiTool struct {
	Type     string        `json:"type"`
	Function openaiOffered `json:"function"`
}

type openaiOffered struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

// openaiOpaque is Message.Opaque of a Chat Completions answer with reasoning beside it.
type openaiOpaque struct {
	ReasoningContent string `json:"reasoning_content,omitempty"`
	Reasoning        string `json:"reasoning,omitempty"`
}

func openaiBody(r Request, turns []turn) openaiRequest {
	q := openaiRequest{Model: r.Model, Stream: true, StreamOptions: openaiOptions{IncludeUsage: true}}
	if wantsCompletionTokens(r.Model) {
		q.MaxCompletion = maxOutput(r)
	} else {
		q.MaxTokens = maxOutput(r)
	}
	for _, t := range r.Tools {
		q.Tools = append(q.Tools, openaiTool{Type: "function", Function: openaiOffered{Name: t.Name, Description: t.Description, Parameters: t.Schema}})
	}
	if !blank(r.System) {
		q.Messages = append(q.Messages, openaiMessage{Role: "system", Content: &r.System})
	}
	question := 0 // the last turn of a person: reasoning before it is not sent again
	for i, t := range turns {
		if t.role == User {
			question = i
		}
	}
	for i, t := range turns {
		q.add(t, i > question)
	}
	return q
}

func (q *openaiRequest) add(t turn, recent bool) {
	switch t.role {
	case Assistant:
		q.Messages = append(q.Messages, openaiAssistant(t, recent))
	case ToolRole:
		for _, res := range t.results {
			text := errorText(res)
			q.Messages = append(q.Messages, openaiMessage{Role: "tool", ToolCallID: res.CallID, Content: &text})
		}
	default:
		for _, text := range t.texts {
			q.Messages = append(q.Messages, openaiMessage{Role: User, Content: &text})
		}
	}
}

func openaiAssistant(t turn, recent bool) openaiMessage {
	m := openaiMessage{Role: Assistant}
	if len(t.texts) > 0 {
		text := strings.Join(t.texts, "\n\n")
		m.Content = &text
	}
	for _, c := range t.calls {
		m.ToolCalls = append(m.ToolCalls, openaiCall{ID: c.ID, Type: "function", Function: openaiFunction{Name: c.Name, Arguments: string(c.Args)}})
	}
	var o openaiOpaque
	if recent && len(t.calls) > 0 && json.Unmarshal(t.opaque, &o) == nil {
		m.ReasoningContent, m.Reasoning = o.ReasoningContent, o.Reasoning
	}
	return m
}

// errorText marks an error in the text, for this format has no field for it.
func errorText(r Result) string {
	if r.Error && !(len(r.Text) >= 5 && strings.EqualFold(r.Text[:5], "error")) {
		return "Error: " + r.Text
	}
	return r.Text
}

// wantsCompletionTokens says whether a model is one of OpenAI's own, which refuse max_tokens once they reason.
// Other servers of this format know max_tokens, some of them nothing else.
func wantsCompletionTokens(model string) bool {
	name := model[strings.LastIndexByte(model, '/')+1:]
	if strings.HasPrefix(name, "gpt-oss") { // open weights: served by others
		return false
	}
	for _, p := range []string{"gpt-", "chatgpt-", "o1", "o3", "o4", "codex-"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}
