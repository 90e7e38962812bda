package model

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Limits of an answer; beyond them it is FailInvalid. They only keep a hostile provider from flooding the workspace.
const (
	MaxCalls  = 64       // tool calls in one answer
	maxBlocks = 4096     // content blocks in one answer
	maxHead   = 16 << 10 // bytes of the answer's beginning that are kept to explain a failure
)

// Decode reads a provider's whole answer: a stream of server-sent events, a plain JSON answer, or an error body.
// Header names count in any case. Exactly one of Answer and Failure says something: a stream that ends without its
// terminal event is FailRetry, whatever it held. It never panics.
func Decode(format string, status int, headers map[string]string, body []byte) (Answer, *Failure) {
	d := NewDecoder(format)
	d.Write(body)
	return d.Finish(status, headers)
}

// Decoder reads an answer in parts of any size, cut anywhere. Between two parts it can be stored as JSON, which is
// about as long as the answer's text, not as its stream.
type Decoder struct {
	s    decoderState
	last *pattern // not stored: it only saves work
	full bool     // every event is decoded in full; a test compares
}

// decoderState is everything a Decoder knows; exported fields for JSON only.
type decoderState struct {
	Format string   `json:"format"`
	Head   []byte   `json:"head,omitempty"`
	Plain  bool     `json:"plain,omitempty"` // no event stream: Body holds all of it
	Body   []byte   `json:"body,omitempty"`
	Lines  sse      `json:"sse"`
	Got    gathered `json:"got"`
}

// NewDecoder begins an answer of a format.
func NewDecoder(format string) *Decoder {
	return &Decoder{s: decoderState{Format: format}}
}

// MarshalJSON stores the state between two parts.
func (d *Decoder) MarshalJSON() ([]byte, error) { return json.Marshal(d.s) }

// UnmarshalJSON takes up a stored state.
func (d *Decoder) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &d.s) }

// Write takes the next part. It never fails; what is wrong with the answer is said by Finish.
func (d *Decoder) Write(part []byte) (int, error) {
	s := &d.s
	fresh := len(skipBlank(s.Head)) == 0
	if room := maxHead - len(s.Head); room > 0 {
		s.Head = append(s.Head, part[:min(room, len(part))]...)
	}
	if fresh {
		first := skipBlank(s.Head)
		s.Plain = len(first) > 0 && (first[0] == '{' || first[0] == '[' || first[0] == '<')
	}
	if s.Plain {
		s.Body = append(s.Body, part...)
		return len(part), nil
	}
	s.Lines.write(part, d.event)
	return len(part), nil
}

// skipBlank is b without white space and bytes of a byte order mark before it.
func skipBlank(b []byte) []byte {
	for len(b) > 0 && strings.IndexByte(" \t\r\n\xef\xbb\xbf", b[0]) >= 0 {
		b = b[1:]
	}
	return b
}

// event takes the data of one server-sent event.
func (d *Decoder) event(data []byte) {
	s := &d.s
	if s.Got.Fault != nil || len(bytes.TrimSpace(data)) == 0 {
		return
	}
	if d.last.take(&s.Got, data) {
		return
	}
	before := s.Got.mark()
	if s.Format == Anthropic {
		s.Got.anthropicEvent(data)
	} else {
		s.Got.openaiEvent(data)
	}
	if !d.full {
		d.last = learn(s.Format, &s.Got, before, data)
	}
}

// Finish ends the answer. Status is the HTTP status, 0 when there was none.
func (d *Decoder) Finish(status int, headers map[string]string) (Answer, *Failure) {
	s := &d.s
	if s.Format != Anthropic && s.Format != OpenAI {
		return Answer{}, &Failure{Kind: FailInvalid, Message: "The model is configured with an unknown format."}
	}
	if status < 200 || status > 299 {
		return Answer{}, httpFailure(status, headers, skipBlank(s.Head))
	}
	if s.Plain {
		s.Got.plain(s.Format, skipBlank(s.Body))
	} else {
		s.Lines.end(d.event)
	}
	if f := s.Got.Fault; f != nil {
		f.Usage = s.Got.Usage
		return Answer{}, f
	}
	a, f := s.Got.answer(s.Format)
	if f != nil {
		f.Usage = s.Got.Usage
		return Answer{}, f
	}
	return a, nil
}

// gathered is what an answer's events have said so far.
type gathered struct {
	Blocks  []block     `json:"blocks,omitempty"`
	Usage   Usage       `json:"usage"`
	Stop    string      `json:"stop,omitempty"`
	Done    bool        `json:"done,omitempty"` // the terminal event came
	Refusal []byte      `json:"refusal,omitempty"`
	Thought []byte      `json:"thought,omitempty"` // reasoning of OpenAI-like providers
	Field   string      `json:"field,omitempty"`   // the name under which it came
	Fault   *Failure    `json:"fault,omitempty"`
	At      map[int]int `json:"at,omitempty"` // the provider's index → Blocks
	Calls   int         `json:"calls,omitempty"`
}

// Block kinds.
const (
	blockText = "text"
	blockCall = "call"
	blockRaw  = "raw" // the provider's own: thinking, or a kind we do not know
)

// block is a piece of the answer, in the order in which the pieces began.
type block struct {
	Kind string          `json:"kind"`
	Text []byte          `json:"text,omitempty"` // of a text; of a call its arguments; of a raw one its thinking
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name,omitempty"`
	Sig  []byte          `json:"sig,omitempty"` // signature of a thinking block
	Raw  json.RawMessage `json:"raw,omitempty"` // a raw block as it began; arguments that came with a call's beginning
}

// open begins a block under the provider's index. It returns nil when there are too many.
func (g *gathered) open(index int, b block) *block {
	if b.Kind == blockCall {
		g.Calls++
	}
	if g.Calls > MaxCalls || len(g.Blocks) >= maxBlocks {
		g.fail(FailInvalid, "The model asked for too many tools at once.")
		return nil
	}
	if g.At == nil {
		g.At = map[int]int{}
	}
	g.At[index] = len(g.Blocks)
	g.Blocks = append(g.Blocks, b)
	return &g.Blocks[len(g.Blocks)-1]
}

// block is the newest block of a provider's index, nil when there is none.
func (g *gathered) block(index int) *block {
	i, ok := g.At[index]
	if !ok || i < 0 || i >= len(g.Blocks) {
		return nil
	}
	return &g.Blocks[i]
}

func (g *gathered) fail(kind, message string) {
	if g.Fault == nil {
		g.Fault = &Failure{Kind: kind, Message: message}
	}
}

// garbled is the fault of an event that is no JSON of the shape it says it has.
func (g *gathered) garbled() {
	g.fail(FailRetry, "The model's answer came garbled.")
}

// plain reads an answer that did not come as a stream.
func (g *gathered) plain(format string, body []byte) {
	if f := bodyFailure(body); f != nil {
		g.Fault = f
		return
	}
	var ok bool
	if format == Anthropic {
		ok = g.anthropicPlain(body)
	} else {
		ok = g.openaiPlain(body)
	}
	if !ok {
		g.fail(FailRetry, "The provider answered with something that is no model answer"+said(explain(body))+".")
	}
}

// answer judges what was gathered, in both formats by the same rules.
func (g *gathered) answer(format string) (Answer, *Failure) {
	full := g.Stop == "max_tokens" || g.Stop == "length" || g.Stop == "model_context_window_exceeded"
	switch {
	case g.Stop == "refusal" || len(g.Refusal) > 0:
		return Answer{}, refused("The model declined to answer", string(g.Refusal))
	case g.Stop == "content_filter" || g.Stop == "sensitive":
		return Answer{}, refused("The provider's content filter stopped the answer", "")
	case !g.Done || g.Stop == "":
		return Answer{}, &Failure{Kind: FailRetry, Message: "The model's answer was cut off before its end."}
	case g.Stop == "error" || g.Stop == "insufficient_system_resource":
		return Answer{}, &Failure{Kind: FailRetry, Message: "The provider broke off the answer."}
	}
	a := Answer{Usage: g.Usage, Stop: g.Stop, Text: g.text(), Calls: g.calls(full)}
	a.Opaque = g.opaque(format)
	if f := g.cut(a); f != nil {
		return Answer{}, f
	}
	return a, nil
}

// cut judges an answer that ended because there was no more room.
func (g *gathered) cut(a Answer) *Failure {
	broken := false
	for _, c := range a.Calls {
		broken = broken || c.Broken != ""
	}
	empty := blank(a.Text) && len(a.Calls) == 0
	switch {
	case g.Stop == "model_context_window_exceeded" && (empty || broken):
		return &Failure{Kind: FailOverflow, Message: overflowText + "."}
	case (g.Stop == "max_tokens" || g.Stop == "length") && empty:
		return &Failure{Kind: FailLimit, Message: "The model used up its output limit without an answer. Raise max_output of this model, or ask for less at once."}
	}
	return nil
}

// text is the answer's text. Pieces with something between them are paragraphs.
func (g *gathered) text() string {
	var out strings.Builder
	apart := false
	for _, b := range g.Blocks {
		switch {
		case b.Kind != blockText:
			apart = true
		case blank(string(b.Text)):
		default:
			if apart && out.Len() > 0 {
				out.WriteString("\n\n")
			}
			out.Write(b.Text)
			apart = false
		}
	}
	return strings.ToValidUTF8(withoutThoughts(out.String()), "\ufffd")
}

// withoutThoughts takes off a leading <think> section, which some local servers leave in the text.
func withoutThoughts(s string) string {
	t := strings.TrimLeft(s, " \r\n\t")
	if !strings.HasPrefix(t, "<think>") {
		return s
	}
	_, rest, ok := strings.Cut(t, "</think>")
	if !ok {
		return s
	}
	return strings.TrimLeft(rest, " \r\n\t")
}
