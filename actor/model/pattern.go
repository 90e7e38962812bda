package model

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// A long answer is thousands of events that differ in one string. Decoding each as JSON costs about 16 loop steps a
// byte, and a call of the core has a budget of steps; so an event that has the same bytes as the one before it, but
// for that string, is taken without decoding the rest again.

// pattern is the event before: the bytes around its string, and where the string went. Any event that is decoded in
// full replaces it, so nothing that it rests on can have changed.
type pattern struct {
	head, tail []byte
	thought    bool // the string belongs to Thought, otherwise to the last block
}

// textKeys are the fields whose strings pile up to an answer, as they stand before the string.
var textKeys = map[string][][]byte{
	Anthropic: keys("text", "partial_json", "thinking"),
	OpenAI:    keys("content", "reasoning_content", "reasoning", "arguments"),
}

func keys(names ...string) [][]byte {
	var out [][]byte
	for _, n := range names {
		out = append(out, []byte(`"`+n+`":"`), []byte(`"`+n+`": "`))
	}
	return out
}

// take adds the string of an event of this pattern. It returns false, and changes nothing, for any other event.
func (p *pattern) take(g *gathered, data []byte) bool {
	if p == nil || len(data) < len(p.head)+len(p.tail) || !bytes.HasPrefix(data, p.head) || !bytes.HasSuffix(data, p.tail) {
		return false
	}
	text, ok := plainString(data[len(p.head) : len(data)-len(p.tail)])
	if !ok {
		return false
	}
	if p.thought {
		g.Thought = append(g.Thought, text...)
	} else {
		last := &g.Blocks[len(g.Blocks)-1]
		last.Text = append(last.Text, text...)
	}
	return true
}

// plainString decodes the inside of a JSON string; false when it is not one, or not in valid UTF-8.
func plainString(raw []byte) ([]byte, bool) {
	plain := true
	for _, c := range raw {
		if c < 0x20 {
			return nil, false
		}
		plain = plain && c != '"' && c != '\\'
	}
	if !utf8.Valid(raw) {
		return nil, false
	}
	if plain {
		return raw, true
	}
	quoted := make([]byte, 0, len(raw)+2)
	quoted = append(append(append(quoted, '"'), raw...), '"')
	var s string
	if json.Unmarshal(quoted, &s) != nil {
		return nil, false
	}
	return []byte(s), true
}

// mark is everything that an event can change but the strings that pile up, and their lengths.
type mark struct {
	blocks, calls, refusal, text, sig, thought int
	usage                                      Usage
	stop, field                                string
	done, fault                                bool
}

func (g *gathered) mark() mark {
	m := mark{blocks: len(g.Blocks), calls: g.Calls, refusal: len(g.Refusal), thought: len(g.Thought), usage: g.Usage,
		stop: g.Stop, field: g.Field, done: g.Done, fault: g.Fault != nil}
	if n := len(g.Blocks); n > 0 {
		m.text, m.sig = len(g.Blocks[n-1].Text), len(g.Blocks[n-1].Sig)
	}
	return m
}

// learn is the pattern of an event that was just decoded and only made one string longer; nil for any other.
func learn(format string, g *gathered, before mark, data []byte) *pattern {
	after := g.mark()
	var added []byte
	p := &pattern{thought: after.thought > before.thought}
	switch {
	case p.thought:
		added = g.Thought[before.thought:]
		after.thought = before.thought
	case after.blocks > 0 && after.blocks == before.blocks && after.text > before.text:
		added = g.Blocks[after.blocks-1].Text[before.text:]
		after.text = before.text
	}
	if added == nil || after != before {
		return nil
	}
	found := 0
	for _, k := range textKeys[format] {
		at := bytes.Index(data, k)
		if at < 0 {
			continue
		}
		found++
		at += len(k)
		end := closingQuote(data, at)
		if text, ok := plainString(data[at:end]); !ok || !bytes.Equal(text, added) || bytes.Contains(data[at:], k) {
			return nil
		}
		p.head, p.tail = bytes.Clone(data[:at]), bytes.Clone(data[end:])
	}
	if found != 1 {
		return nil
	}
	return p
}

// closingQuote is where the JSON string ends whose inside begins at from.
func closingQuote(data []byte, from int) int {
	for i := from; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(data)
}
