package model

import (
	"encoding/json"
	"strings"
)

// anthropicEvent is the union of the stream's events: https://docs.anthropic.com/en/api/messages-streaming
type anthropicEvent struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		Usage anthropicUsage `json:"usage"`
	} `json:"message"`
	ContentBlock json.RawMessage `json:"content_block"`
	Delta        struct {
		Type        string `json:"type"`
		Text        string `json:"text"`
		PartialJSON string `json:"partial_json"`
		Thinking    string `json:"thinking"`
		Signature   string `json:"signature"`
		StopReason  string `json:"stop_reason"`
	} `json:"delta"`
	Usage anthropicUsage  `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// anthropicUsage counts are there or not; a later event's replace those before, for they are cumulative.
type anthropicUsage struct {
	Input      *count `json:"input_tokens"`
	Output     *count `json:"output_tokens"`
	CacheRead  *count `json:"cache_read_input_tokens"`
	CacheWrite *count `json:"cache_creation_input_tokens"`
}

// anthropicBlockStart is how a content block begins; in a plain answer it is the whole block.
type anthropicBlockStart struct {
	Type  string          `json:"type"`
	Text  string          `json:"text"`
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

func (g *gathered) anthropicEvent(data []byte) {
	var e anthropicEvent
	if err := json.Unmarshal(data, &e); err != nil {
		if known := eventType(data); known == "" || isKnown(known) {
			g.garbled()
		}
		return
	}
	switch e.Type {
	case "message_start":
		g.anthropicUsage(e.Message.Usage)
	case "content_block_start":
		g.anthropicStart(e.Index, e.ContentBlock)
	case "content_block_delta":
		g.anthropicDelta(e)
	case "message_delta":
		if e.Delta.StopReason != "" {
			g.Stop = e.Delta.StopReason
		}
		g.anthropicUsage(e.Usage)
	case "message_stop":
		g.Done = true
	case "error":
		g.Fault = streamFailure(data)
	case "":
		if len(e.Error) > 0 {
			g.Fault = streamFailure(data)
		}
	}
}

// eventType is the type of an event whose other fields are not what we expect; "" when it is no JSON object.
func eventType(data []byte) string {
	var t struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(data, &t) != nil {
		return ""
	}
	return t.Type
}

func isKnown(event string) bool {
	switch event {
	case "message_start", "content_block_start", "content_block_delta", "message_delta", "message_stop", "error":
		return true
	}
	return false
}

func (g *gathered) anthropicStart(index int, raw json.RawMessage) {
	var s anthropicBlockStart
	if json.Unmarshal(raw, &s) != nil {
		g.garbled()
		return
	}
	switch s.Type {
	case "text":
		g.open(index, block{Kind: blockText, Text: []byte(s.Text)})
	case "tool_use":
		b := block{Kind: blockCall, ID: s.ID, Name: s.Name}
		if input := strings.TrimSpace(string(s.Input)); input != "{}" && input != "null" {
			b.Raw = s.Input
		}
		g.open(index, b)
	default:
		g.open(index, block{Kind: blockRaw, Raw: raw})
	}
}

func (g *gathered) anthropicDelta(e anthropicEvent) {
	b := g.block(e.Index)
	if b == nil {
		g.garbled()
		return
	}
	switch b.Kind {
	case blockText:
		b.Text = append(b.Text, e.Delta.Text...)
	case blockCall:
		b.Text = append(b.Text, e.Delta.PartialJSON...)
	default:
		b.Text = append(b.Text, e.Delta.Thinking...)
		b.Sig = append(b.Sig, e.Delta.Signature...)
	}
}

func (g *gathered) anthropicUsage(u anthropicUsage) {
	set := func(to *int64, from *count) {
		if from != nil {
			*to = int64(*from)
		}
	}
	uncached := g.Usage.Input - g.Usage.CacheRead - g.Usage.CacheWrite
	set(&uncached, u.Input)
	set(&g.Usage.CacheRead, u.CacheRead)
	set(&g.Usage.CacheWrite, u.CacheWrite)
	set(&g.Usage.Output, u.Output)
	g.Usage.Input = uncached + g.Usage.CacheRead + g.Usage.CacheWrite
}

// anthropicPlain reads an answer that was not streamed.
func (g *gathered) anthropicPlain(body []byte) bool {
	var m struct {
		Type    string            `json:"type"`
		Content []json.RawMessage `json:"content"`
		Stop    string            `json:"stop_reason"`
		Usage   anthropicUsage    `json:"usage"`
	}
	if json.Unmarshal(body, &m) != nil || m.Type != "message" {
		return false
	}
	for i, raw := range m.Content {
		g.anthropicStart(i, raw)
	}
	g.anthropicUsage(m.Usage)
	g.Stop, g.Done = m.Stop, true
	return true
}

// opaque is what must come back to the provider unchanged, nil when there is nothing of that kind.
func (g *gathered) opaque(format string) json.RawMessage {
	if format == OpenAI {
		return g.openaiOpaque()
	}
	var o anthropicOpaque
	own, calls := false, 0
	for _, b := range g.Blocks {
		switch b.Kind {
		case blockText:
			if !blank(string(b.Text)) {
				o.Blocks = append(o.Blocks, opaqueBlock{Text: string(b.Text)})
			}
		case blockCall:
			at := calls
			o.Blocks = append(o.Blocks, opaqueBlock{Call: &at})
			calls++
		default:
			own = true
			o.Blocks = append(o.Blocks, opaqueBlock{Raw: rawBlock(b)})
		}
	}
	if !own {
		return nil
	}
	out, err := marshal(o)
	if err != nil {
		return nil
	}
	return out
}

// rawBlock is a block of the provider's own with what its deltas added.
func rawBlock(b block) json.RawMessage {
	if len(b.Text) == 0 && len(b.Sig) == 0 {
		return b.Raw
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(b.Raw, &fields) != nil || fields == nil {
		return b.Raw
	}
	grow := func(name string, more []byte) {
		var have string
		json.Unmarshal(fields[name], &have)
		if len(more) > 0 {
			fields[name], _ = marshal(have + string(more)) // a string always encodes
		}
	}
	grow("thinking", b.Text)
	grow("signature", b.Sig)
	out, err := marshal(fields) // a map's keys come out sorted
	if err != nil {
		return b.Raw
	}
	return out
}
