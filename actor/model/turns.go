package model

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Texts that the encoder puts where a provider demands something that the transcript lacks.
const (
	noResult  = "Error: no result of this call was recorded; whether it ran is not known."
	noOutput  = "(no output)"
	cutBefore = "(The conversation before this point was left out.)"
	orphan    = "Result of an earlier tool call:\n"
)

// turn is a step of a transcript that every provider accepts: the first is a user's, each call has exactly one
// result in the tool turn that follows it at once, ids are unique and of the characters that providers allow.
type turn struct {
	role    string
	texts   []string // of a user turn: one for each message of a person; of an assistant: at most one
	calls   []Call
	results []Result
	opaque  json.RawMessage
}

// normalizer builds turns message by message.
type normalizer struct {
	turns []turn
	ids   map[string]bool   // every id that was given away
	open  map[string]string // the last assistant's calls: id in the transcript → id on the wire
	count int               // of calls so far; names the calls whose own id cannot be sent
}

// normalize turns messages into what every provider accepts. It depends on the messages before only, so that a
// longer transcript keeps its prefix.
func normalize(messages []Message) []turn {
	n := normalizer{ids: map[string]bool{}}
	for _, m := range messages {
		switch m.Role {
		case Assistant:
			n.assistant(m)
		case ToolRole:
			n.results(m)
		default:
			n.user(m.Text)
		}
	}
	n.closeCalls()
	return n.turns
}

func (n *normalizer) last() *turn {
	if len(n.turns) == 0 {
		return nil
	}
	return &n.turns[len(n.turns)-1]
}

func (n *normalizer) user(text string) {
	if blank(text) {
		return
	}
	n.closeCalls()
	if l := n.last(); l != nil && l.role == User {
		l.texts = append(l.texts, text)
		return
	}
	n.turns = append(n.turns, turn{role: User, texts: []string{text}})
}

func (n *normalizer) assistant(m Message) {
	if blank(m.Text) && len(m.Calls) == 0 {
		return
	}
	n.closeCalls()
	if len(n.turns) == 0 {
		n.user(cutBefore)
	}
	t := turn{role: Assistant, opaque: m.Opaque}
	if !blank(m.Text) {
		t.texts = []string{strings.TrimRight(m.Text, " \t\r\n")}
	}
	n.open = map[string]string{}
	for _, c := range m.Calls {
		id := n.wireID(c.ID)
		n.open[c.ID] = id
		t.calls = append(t.calls, Call{ID: id, Name: wireName(c.Name), Args: wireArgs(c)})
	}
	if l := n.last(); l.role == Assistant && len(l.calls) == 0 { // two answers in a row become one
		l.texts = append(l.texts, t.texts...)
		l.calls, l.opaque = t.calls, nil
		return
	}
	n.turns = append(n.turns, t)
}

// results puts the results that belong to the last assistant's calls behind it; others become texts of a user.
func (n *normalizer) results(m Message) {
	var strays []string
	for _, r := range m.Results {
		id, ok := n.open[r.CallID]
		if !ok {
			strays = append(strays, orphan+r.Text)
			continue
		}
		delete(n.open, r.CallID)
		t := n.toolTurn()
		t.results = append(t.results, Result{CallID: id, Text: resultText(r), Error: r.Error})
	}
	if len(strays) > 0 {
		n.user(strings.Join(strays, "\n\n"))
	}
}

// toolTurn is the tool turn behind the last assistant turn.
func (n *normalizer) toolTurn() *turn {
	if l := n.last(); l != nil && l.role == ToolRole {
		return l
	}
	n.turns = append(n.turns, turn{role: ToolRole})
	return n.last()
}

// closeCalls answers the calls that are still open, and brings the results into the calls' order.
func (n *normalizer) closeCalls() {
	if n.open == nil {
		return
	}
	i := len(n.turns) - 1
	for i >= 0 && n.turns[i].role != Assistant {
		i--
	}
	calls := n.turns[i].calls
	n.open = nil
	if len(calls) == 0 {
		return
	}
	t := n.toolTurn()
	byID := map[string]Result{}
	for _, r := range t.results {
		byID[r.CallID] = r
	}
	t.results = t.results[:0]
	for _, c := range calls {
		r, ok := byID[c.ID]
		if !ok {
			r = Result{CallID: c.ID, Text: noResult, Error: true}
		}
		t.results = append(t.results, r)
	}
}

// wireID is id when it is unique and made of at most 40 of [a-zA-Z0-9_-] (Anthropic's alphabet, OpenAI's length),
// otherwise a name by position.
func (n *normalizer) wireID(id string) string {
	n.count++
	if id == "" || len(id) > 40 || id != wireChars(id) || n.ids[id] {
		id = "call_" + strconv.Itoa(n.count)
		for n.ids[id] {
			id += "x"
		}
	}
	n.ids[id] = true
	return id
}

// wireName is a tool's name as every provider takes it: at most 64 of [a-zA-Z0-9_-]. A model may have made up another.
func wireName(name string) string {
	name = wireChars(name)
	if name == "" {
		return "unknown"
	}
	return name[:min(len(name), 64)]
}

func wireChars(s string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' {
			return c
		}
		return '_'
	}, s)
}

// wireArgs are the arguments of a call, an empty object for a broken one: its result tells the model what it wrote.
func wireArgs(c Call) json.RawMessage {
	if c.Broken != "" || !isObject(c.Args) {
		return json.RawMessage("{}")
	}
	return c.Args
}

func resultText(r Result) string {
	if blank(r.Text) {
		return noOutput
	}
	return r.Text
}
