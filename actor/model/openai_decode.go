package model

import (
	"bytes"
	"encoding/json"
	"strings"
)

// openaiChunk is one chunk of the stream: https://platform.openai.com/docs/api-reference/chat-streaming
// A plain answer has the same fields with Message in place of Delta.
type openaiChunk struct {
	Choices []struct {
		Index        int         `json:"index"`
		Delta        openaiDelta `json:"delta"`
		Message      openaiDelta `json:"message"`
		FinishReason string      `json:"finish_reason"`
	} `json:"choices"`
	Usage *openaiUsage    `json:"usage"`
	Error json.RawMessage `json:"error"`
}

type openaiDelta struct {
	Content          json.RawMessage   `json:"content"` // a string, or a list of parts
	Refusal          string            `json:"refusal"`
	ReasoningContent string            `json:"reasoning_content"`
	Reasoning        json.RawMessage   `json:"reasoning"` // a string; other kinds are left alone
	ToolCalls        []openaiCallDelta `json:"tool_calls"`
}

type openaiCallDelta struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"` // a string; some servers send the object itself
	} `json:"function"`
}

type openaiUsage struct {
	Prompt     count `json:"prompt_tokens"`
	Completion count `json:"completion_tokens"`
	Details    *struct {
		Cached count `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CacheHit count `json:"prompt_cache_hit_tokens"` // DeepSeek
}

// Indexes of blocks that the provider does not number itself.
const (
	textIndex = -1
	lastCall  = -2 // the newest call: for servers that leave out the index
)

func (g *gathered) openaiEvent(data []byte) {
	if string(bytes.TrimSpace(data)) == "[DONE]" {
		g.Done = true
		return
	}
	if g.Done { // whatever comes behind the end is not the answer
		return
	}
	var c openaiChunk
	if err := json.Unmarshal(data, &c); err != nil {
		g.eachLine(data)
		return
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		g.Fault = streamFailure(data)
		return
	}
	g.openaiUsage(c.Usage)
	for _, ch := range c.Choices {
		if ch.Index != 0 { // we ask for one
			continue
		}
		g.openaiDelta(ch.Delta)
		if ch.FinishReason != "" {
			g.Stop = ch.FinishReason
		}
	}
}

// eachLine reads data whose lines are events of their own, as some servers send them.
func (g *gathered) eachLine(data []byte) {
	lines := bytes.Split(data, []byte("\n"))
	if len(lines) == 1 {
		g.garbled()
		return
	}
	for _, l := range lines {
		if g.Fault == nil && len(bytes.TrimSpace(l)) > 0 {
			g.openaiEvent(l)
		}
	}
}

func (g *gathered) openaiDelta(d openaiDelta) {
	g.Refusal = append(g.Refusal, d.Refusal...)
	g.think("reasoning_content", d.ReasoningContent)
	if d.ReasoningContent == "" {
		g.think("reasoning", jsonString(d.Reasoning))
	}
	if text := contentText(d.Content); text != "" {
		b := g.block(textIndex)
		if b == nil || len(g.Blocks) > 0 && g.Blocks[len(g.Blocks)-1].Kind != blockText {
			b = g.open(textIndex, block{Kind: blockText})
		}
		if b != nil {
			b.Text = append(b.Text, text...)
		}
	}
	for _, c := range d.ToolCalls {
		g.openaiCall(c)
	}
}

func (g *gathered) think(field, text string) {
	if text != "" {
		g.Field = field
		g.Thought = append(g.Thought, text...)
	}
}

// openaiCall takes a piece of a call. Pieces belong together by index; servers that leave the index out, or give
// every call the same, are told apart by their ids.
func (g *gathered) openaiCall(c openaiCallDelta) {
	index := lastCall
	if c.Index != nil && *c.Index >= 0 {
		index = *c.Index
	}
	b := g.block(index)
	if b == nil || c.ID != "" && b.ID != "" && b.ID != c.ID {
		b = g.open(index, block{Kind: blockCall})
		if b == nil {
			return
		}
		g.At[lastCall] = len(g.Blocks) - 1
	}
	if b.ID == "" {
		b.ID = c.ID
	}
	if b.Name == "" {
		b.Name = c.Function.Name
	}
	args := c.Function.Arguments
	if len(args) > 0 && args[0] == '"' {
		args = []byte(jsonString(args))
	} else if string(args) == "null" {
		args = nil
	}
	b.Text = append(b.Text, args...)
}

func (g *gathered) openaiUsage(u *openaiUsage) {
	if u == nil {
		return
	}
	g.Usage = Usage{Input: int64(u.Prompt), Output: int64(u.Completion), CacheRead: int64(u.CacheHit)}
	if u.Details != nil && u.Details.Cached > 0 {
		g.Usage.CacheRead = int64(u.Details.Cached)
	}
}

// openaiPlain reads an answer that was not streamed.
func (g *gathered) openaiPlain(body []byte) bool {
	var c openaiChunk
	if json.Unmarshal(body, &c) != nil || len(c.Choices) == 0 {
		return false
	}
	g.openaiUsage(c.Usage)
	for i := range c.Choices[0].Message.ToolCalls {
		c.Choices[0].Message.ToolCalls[i].Index = &i
	}
	g.openaiDelta(c.Choices[0].Message)
	g.Stop, g.Done = c.Choices[0].FinishReason, true
	return true
}

func (g *gathered) openaiOpaque() json.RawMessage {
	thought := strings.ToValidUTF8(string(g.Thought), "\ufffd")
	var o openaiOpaque
	switch {
	case thought == "":
		return nil
	case g.Field == "reasoning":
		o.Reasoning = thought
	default:
		o.ReasoningContent = thought
	}
	out, err := marshal(o)
	if err != nil {
		return nil
	}
	return out
}

// contentText is the text of a content field: a string, or the text parts of a list.
func contentText(raw json.RawMessage) string {
	if len(raw) == 0 || raw[0] != '[' {
		return jsonString(raw)
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return ""
	}
	var out strings.Builder
	for _, p := range parts {
		if p.Type == "text" {
			out.WriteString(p.Text)
		}
	}
	return out.String()
}

// jsonString is the string that raw encodes, "" when it is no string.
func jsonString(raw json.RawMessage) string {
	if len(raw) == 0 || raw[0] != '"' {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
