package model

import (
	"bytes"
	"encoding/json"
	"strings"

	"holdfast/actor/errs"
)

// defaultOutput is asked for when Request.MaxOutput is not set; Anthropic demands a number.
const defaultOutput = 4096

// Encode turns r into the bytes that a provider of this format reads. Equal requests give equal bytes, and a request
// that only appends messages keeps what it says of those before, since providers cache by prefix (one exception: the
// reasoning of an OpenAI-like model is sent back only until the next message of a person).
//
// The caller clears Opaque of what another model wrote: its signatures mean nothing to this one.
//
// A transcript that no provider would take is repaired and never refused: a call without a result gets an error
// result that says so, a result without its call becomes a text. It returns errs.Invalid for a request that has no
// model, nothing to answer, or a tool whose schema is no JSON object.
func Encode(format string, r Request) (Wire, error) {
	turns := normalize(r.Messages)
	if err := check(r, turns); err != nil {
		return Wire{}, err
	}
	var path string
	var body any
	headers := map[string]string{"Accept": "text/event-stream"}
	switch format {
	case Anthropic:
		path, body = "/v1/messages", anthropicBody(r, turns)
		headers["anthropic-version"] = "2023-06-01"
	case OpenAI:
		path, body = "/chat/completions", openaiBody(r, turns)
	default:
		return Wire{}, errs.New(errs.Invalid, "unknown model format %q", format)
	}
	b, err := marshal(body)
	if err != nil {
		return Wire{}, errs.Wrap(errs.Internal, err, "encode the model request")
	}
	return Wire{Path: path, Headers: headers, Body: b}, nil
}

func check(r Request, turns []turn) error {
	if r.Model == "" {
		return errs.New(errs.Invalid, "the request names no model")
	}
	for _, t := range r.Tools {
		if !isObject(t.Schema) {
			return errs.New(errs.Invalid, "the schema of tool %q is no JSON object", t.Name)
		}
	}
	if n := len(turns); n == 0 || turns[n-1].role == Assistant {
		return errs.New(errs.Invalid, "the transcript ends with nothing to answer")
	}
	return nil
}

// marshal encodes without HTML escaping: what the model reads is what was written.
func marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

func isObject(raw json.RawMessage) bool {
	t := bytes.TrimLeft(raw, " \t\r\n")
	return len(t) > 0 && t[0] == '{' && json.Valid(raw)
}

// maxOutput is the number of output tokens to ask for.
func maxOutput(r Request) int {
	if r.MaxOutput <= 0 {
		return defaultOutput
	}
	return r.MaxOutput
}

// EstimateTokens guesses how many tokens r is, erring on the high side by some 20 % for English and code. Providers
// do not publish their tokenizers; about 4 bytes a token is OpenAI's own rule of thumb for English, and scripts
// beyond ASCII take about a token for each character.
func EstimateTokens(r Request) int {
	n := estimate(r.System) + 8
	for _, m := range r.Messages {
		n += m.Tokens()
	}
	for _, t := range r.Tools {
		n += 12 + estimate(t.Name) + estimate(t.Description) + estimate(string(t.Schema))
	}
	return n
}

// Tokens is what a message adds to EstimateTokens of its request.
func (m Message) Tokens() int {
	n := 6 + estimate(m.Text) + len(m.Opaque)/4
	for _, c := range m.Calls {
		n += 12 + estimate(c.Name) + estimate(string(c.Args))
	}
	for _, res := range m.Results {
		n += 8 + estimate(res.Text)
	}
	return n
}

func estimate(s string) int {
	ascii, other := 0, 0
	for i := range len(s) {
		switch c := s[i]; {
		case c < 0x80:
			ascii++
		case c >= 0xC0: // a character's first byte
			other++
		}
	}
	return (ascii*3+9)/10 + other
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }
