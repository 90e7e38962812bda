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

// textFields are the names, quoted, of the fields whose strings pile up to an answer.
var textFields = map[string][][]byte{
	Anthropic: {[]byte(`"text"`), []byte(`"partial_json"`), []byte(`"thinking"`)},
	OpenAI:    {[]byte(`"content"`), []byte(`"reasoning_content"`), []byte(`"reasoning"`), []byte(`"arguments"`)},
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
	at := onlyString(format, data)
	if at < 0 {
		return nil
	}
	end := closingQuote(data, at)
	text, ok := plainString(data[at:end])
	if !ok || !bytes.Equal(text, added) || !plainASCII(data[:at]) || !plainASCII(data[end:]) {
		return nil
	}
	p.head, p.tail = bytes.Clone(data[:at]), bytes.Clone(data[end:])
	return p
}

// onlyString is where the string of the only text field begins that has one; -1 when it is not the only one, or when
// a field is there twice in whatever case, which JSON decoding would take for one.
func onlyString(format string, data []byte) int {
	lower, at := bytes.ToLower(data), -1
	for _, name := range textFields[format] {
		first := bytes.Index(lower, name)
		if first < 0 {
			continue
		}
		value := bytes.TrimPrefix(bytes.TrimPrefix(data[first+len(name):], []byte(":")), []byte(" "))
		if bytes.Contains(lower[first+1:], name) || len(lower) != len(data) {
			return -1
		}
		if !bytes.HasPrefix(value, []byte(`"`)) {
			continue
		}
		if at >= 0 {
			return -1
		}
		at = len(data) - len(value) + 1
	}
	return at
}

// plainASCII says that no escape and no letter beyond ASCII can make a field's name of something else.
func plainASCII(b []byte) bool {
	for _, c := range b {
		if c == '\\' || c >= 0x80 {
			return false
		}
	}
	return true
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
