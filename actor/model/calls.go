package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of a call, so that a hostile model cannot fill a card or a record.
const (
	maxBroken = 4096 // bytes kept of arguments that are no JSON object
	maxID     = 128
	maxName   = 128
)

// calls are the answer's tool calls, ids unique and never empty. Full says that the answer ended for lack of room: a
// last call without arguments was then cut, and did not mean to have none.
func (g *gathered) calls(full bool) []Call {
	var out []Call
	ids := map[string]bool{}
	for _, b := range g.Blocks {
		if b.Kind != blockCall {
			continue
		}
		c := Call{ID: b.ID, Name: clip(b.Name, maxName)}
		if c.ID == "" || len(c.ID) > maxID || !utf8.ValidString(c.ID) || ids[c.ID] {
			c.ID = freshID(ids, len(out)+1)
		}
		ids[c.ID] = true
		if len(b.Text) == 0 {
			b.Text = b.Raw
		}
		c.Args, c.Broken = arguments(b.Text)
		out = append(out, c)
	}
	if n := len(g.Blocks); full && n > 0 && g.Blocks[n-1].Kind == blockCall && len(bytes.TrimSpace(g.Blocks[n-1].Text))+len(g.Blocks[n-1].Raw) == 0 {
		out[len(out)-1].Args, out[len(out)-1].Broken = nil, "(nothing: the answer was cut here)"
	}
	return out
}

func freshID(taken map[string]bool, n int) string {
	id := "call_" + strconv.Itoa(n)
	for taken[id] {
		id += "x"
	}
	return id
}

// arguments are what a model wrote as a call's arguments, compacted, or why they cannot be used. No arguments at all
// are an empty object. A name that is there twice makes them unusable: two readers could see two different calls.
func arguments(text []byte) (json.RawMessage, string) {
	text = bytes.TrimSpace(text)
	if len(text) == 0 {
		return json.RawMessage("{}"), ""
	}
	if !isObject(text) || !utf8.Valid(text) || repeatsName(text) {
		return nil, clip(strings.ToValidUTF8(string(text), "\ufffd"), maxBroken)
	}
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return nil, clip(string(text), maxBroken)
	}
	return b.Bytes(), ""
}

// repeatsName says whether an object of valid JSON has a name twice, at any depth; at the first depth also in another
// case of its letters, which encoding/json takes for the same field.
func repeatsName(text []byte) bool {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var open []map[string]bool // one for each open bracket, nil for a list
	name := false              // the next token is a name
	for {
		tok, err := d.Token()
		if err != nil {
			return !errors.Is(err, io.EOF)
		}
		in := len(open) > 0 && open[len(open)-1] != nil
		switch t := tok.(type) {
		case json.Delim:
			switch t {
			case '{':
				open = append(open, map[string]bool{})
			case '[':
				open = append(open, nil)
			default:
				open = open[:len(open)-1]
			}
			name = len(open) > 0 && open[len(open)-1] != nil
			continue
		case string:
			if in && name {
				key := t
				if len(open) == 1 {
					key = fold(t)
				}
				if open[len(open)-1][key] {
					return true
				}
				open[len(open)-1][key] = true
				name = false
				continue
			}
		}
		name = in
	}
}

// fold is the same for strings that strings.EqualFold calls equal.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, s)
}

// clip cuts s to at most n bytes at a character's border and marks the cut.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	n -= len("…")
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// count is a number of tokens as a provider sends it: whatever is no sensible number counts as 0.
type count int64

// maxCount keeps sums of counts far from an overflow.
const maxCount = 1 << 40

// UnmarshalJSON never fails: a wrong usage must not cost an answer.
func (c *count) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil || !(f > 0) {
		*c = 0
		return nil
	}
	*c = count(min(f, maxCount))
	return nil
}
