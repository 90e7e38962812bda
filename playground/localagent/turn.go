package localagent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"holdfast/actor/model"
	"holdfast/playground/chat"
)

// maxCalls is the number of tool calls in one turn.
const maxCalls = 40

// turn is what happened since the last finished answer, and what is to be done next.
//
// Each request runs all goals of the question from their beginning. A goal that needs a tool asks for it with call:
// when the transcript has the result the goal goes on, otherwise the call becomes pending and the goal waits. So the
// transcript is the only memory.
type turn struct {
	question string            // what persons wrote in this turn
	before   string            // what they wrote in the turn before it
	offered  map[string]string // tools, with their schemas
	history  []*made
	pending  []model.Call
	done     int  // calls in the history
	calls    int  // calls in the whole transcript: makes ids that it does not have
	changes  int  // calls that may change something, replayed so far
	failed   bool // one of them did not succeed
}

// made is a call of this turn with its result.
type made struct {
	name, args string
	changes    int // calls before it that may change something
	used       bool
	outcome    outcome
}

// changing says whether a tool may change something. Its calls happen one after another, each exactly as often as it
// was asked for; results of others may serve several goals.
func changing(tool string) bool { return tool == "bash" || tool == "write" || tool == "edit" }

func newTurn(q chat.Request) *turn {
	t := &turn{offered: map[string]string{}, calls: q.Calls()}
	for _, tool := range q.Tools {
		t.offered[tool.Name] = string(tool.Schema)
	}
	begin := turnBegin(q.Messages, len(q.Messages))
	t.question = questions(q.Messages[begin:])
	t.before = questions(q.Messages[turnBegin(q.Messages, begin-1):begin])
	results := map[string]model.Result{}
	for _, m := range q.Messages[begin:] {
		for _, r := range m.Results {
			results[r.CallID] = r
		}
	}
	changes := 0
	for _, m := range q.Messages[begin:] {
		for _, c := range m.Calls {
			t.history = append(t.history, &made{name: c.Name, args: canonical(c.Args), changes: changes, outcome: judge(results[c.ID])})
			if changing(c.Name) {
				changes++
			}
		}
	}
	t.done = len(t.history)
	return t
}

// turnBegin is where the turn begins that ends before end: behind the last answer without calls, or behind calls that
// were ended from outside (a person pressed Stop).
func turnBegin(messages []model.Message, end int) int {
	for i := end - 1; i >= 0; i-- {
		m := messages[i]
		if m.Role == model.Assistant && len(m.Calls) == 0 {
			return i + 1
		}
		for _, r := range m.Results {
			if i < end-1 && judge(r).kind == aborted {
				return i + 1
			}
		}
	}
	return 0
}

// questions joins what persons wrote, without what Holdfast puts before it.
func questions(messages []model.Message) string {
	var out []string
	for _, m := range messages {
		if m.Role != model.User || strings.HasPrefix(m.Text, "[system] ") {
			continue
		}
		text := m.Text
		if first, rest, ok := strings.Cut(text, "\n"); ok && strings.HasPrefix(first, "[earlier messages") {
			text = rest
		}
		if first, rest, ok := strings.Cut(text, "\n"); ok && strings.HasSuffix(first, " says:") {
			text = rest
		}
		out = append(out, text)
	}
	return strings.Join(out, "\n")
}

// canonical makes equal arguments equal strings.
func canonical(args json.RawMessage) string {
	var v any
	if json.Unmarshal(args, &v) != nil {
		return string(args)
	}
	b, err := encode(v) // object keys come out sorted
	if err != nil {
		return string(args)
	}
	return string(b)
}

// encode is v as JSON without HTML escapes: a person reads "a && b" on the approval card.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// args are a call's arguments; empty values are left out.
type args map[string]any

// call gives the outcome of a tool call, or makes it pending and returns false.
func (t *turn) call(tool string, a args) (outcome, bool) {
	if _, offered := t.offered[tool]; !offered {
		return outcome{kind: missing, text: tool}, true
	}
	for k, v := range a {
		if v == "" || v == 0 || v == false {
			delete(a, k)
		}
	}
	raw, err := encode(a)
	if err != nil {
		return outcome{kind: failed, text: err.Error()}, true
	}
	for _, m := range t.history {
		if m.name != tool || m.args != string(raw) || m.changes != t.changes || m.used && changing(tool) {
			continue
		}
		m.used = true
		if changing(tool) {
			t.changes++
			t.failed = t.failed || m.outcome.kind != ok
		}
		return m.outcome, true
	}
	for _, p := range t.pending { // two goals want to know the same
		if p.Name == tool && string(p.Args) == string(raw) && !changing(tool) {
			return outcome{}, false
		}
	}
	id := fmt.Sprintf("call_local_%d", t.calls+len(t.pending)+1)
	t.pending = append(t.pending, model.Call{ID: id, Name: tool, Args: raw})
	return outcome{}, false
}

func (t *turn) bash(command string) (outcome, bool) { return t.call("bash", args{"command": command}) }

func (t *turn) read(path string, offset, limit int) (outcome, bool) {
	return t.call("read", args{"path": path, "offset": offset, "limit": limit})
}

// glob lists files: "*" everywhere below dir, "/*" right in it. An empty dir is the project.
func (t *turn) glob(pattern, dir string) (outcome, bool) {
	return t.call("glob", args{"pattern": pattern, "path": dir})
}

// grep searches; the argument that narrows the files has the name that the tool's schema gives it.
func (t *turn) grep(pattern, path, files string) (outcome, bool) {
	name := "glob"
	if strings.Contains(t.offered["grep"], `"include"`) {
		name = "include"
	}
	return t.call("grep", args{"pattern": pattern, "path": path, name: files})
}

// run works on the intents in their order and returns the answers of those that are done. What only looks runs side
// by side; what may change something waits for everything before it, and everything waits for it.
func (t *turn) run(intents []intent) []string {
	var parts []string
	waiting := false
	for _, in := range intents {
		g := goals[in.name]
		if waiting && g.changes {
			break
		}
		text, done := g.run(t, in.args)
		if !done {
			waiting = true
			if g.changes {
				break
			}
			continue
		}
		parts = append(parts, text)
	}
	return parts
}
