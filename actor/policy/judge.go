package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// shellTool is the tool whose argument is a program.
const shellTool = "bash"

// known are the tools whose arguments this package understands or that have no effect outside the workspace. The
// pattern * of the tool section covers these only; another tool must be named.
var known = map[string]bool{
	shellTool: true, "read": true, "grep": true, "glob": true, "write": true, "edit": true, "patch": true,
	"task": true, "todo": true, "ask_user": true,
}

// toolVerdict is the tool's own verdict and the rule behind it.
func (p *Policy) toolVerdict(name string) (Verdict, string) {
	m := p.tool.find(func(r *rule) bool {
		return glob(r.pattern, name) && (known[name] || r.literal > 0)
	})
	switch {
	case m.found:
		return m.verdict, m.String()
	case !known[name]:
		return Deny, "unknown tool → deny"
	}
	return Deny, fmt.Sprintf("no rule for tool %q → deny", name)
}

// Offered reports whether a model should see the tool: not when it is denied and no rule of its own says otherwise.
func (p *Policy) Offered(tool string) bool {
	v, _ := p.toolVerdict(tool)
	if p.settle(v) != Deny {
		return true
	}
	if tool != shellTool {
		return false
	}
	for _, r := range p.bash.rules {
		if p.settle(r.verdict) != Deny {
			return true
		}
	}
	return false
}

// settle turns ask into deny when nobody is there to ask.
func (p *Policy) settle(v Verdict) Verdict {
	if p.unattended && v == Ask {
		return Deny
	}
	return v
}

// Judge decides about one call by what can be seen in its arguments. It never panics; what it cannot understand it
// asks about, or denies where nothing sensible could be approved.
func (p *Policy) Judge(c Call) (d Decision) {
	defer func() {
		if r := recover(); r != nil {
			d = Decision{Verdict: Ask, Rule: "unresolved → ask", Reason: "The call could not be understood."}
		}
		if p.unattended && d.Verdict == Ask {
			d.Verdict, d.Reason = Deny, d.Reason+" Nobody is there to ask (unattended)."
		}
	}()
	return p.judge(c)
}

func (p *Policy) judge(c Call) Decision {
	args, err := decodeArgs(c.Args)
	if err != nil {
		return Decision{Verdict: Deny, Rule: "arguments → deny", Reason: err.Error()}
	}
	if c.Tool == shellTool {
		return p.judgeShell(args)
	}
	v, rule := p.toolVerdict(c.Tool)
	t := tally{}
	t.note(v, rule, fmt.Sprintf("The policy's word on the tool %q is %s.", c.Tool, v))
	for _, path := range toolPaths(c.Tool, args) {
		j := p.JudgePath(path, writes[c.Tool])
		t.paths = append(t.paths, j)
		t.note(j.Verdict, j.Rule, pathReason(j))
	}
	return t.decision()
}

var writes = map[string]bool{"write": true, "edit": true, "patch": true}

// toolPaths are the files that a call of a tool other than bash names. The pattern of glob is matched against names
// below its path, and a leading slash anchors it there, as in .gitignore; only what tries to climb is judged as a path.
func toolPaths(tool string, args map[string]json.RawMessage) []string {
	var out []string
	if s, ok := text(args, "path"); ok && s != "" {
		out = append(out, s)
	}
	switch tool {
	case "glob":
		if s, _ := text(args, "pattern"); strings.HasPrefix(s, "~") || strings.Contains(s, "..") {
			out = append(out, s)
		}
	case "patch":
		for _, v := range args {
			var s string
			if json.Unmarshal(v, &s) == nil {
				out = append(out, diffPaths(s)...)
			}
		}
	}
	return out
}

// diffPaths are the files that a unified diff touches, sorted by their place in it.
func diffPaths(diff string) []string {
	var out []string
	for line := range strings.Lines(diff) {
		line = strings.TrimRight(line, "\r\n")
		for _, head := range []string{"--- ", "+++ ", "rename from ", "rename to ", "copy from ", "copy to "} {
			rest, ok := strings.CutPrefix(line, head)
			if !ok {
				continue
			}
			rest, _, _ = strings.Cut(rest, "\t")
			rest = strings.Trim(rest, `"`)
			if len(head) == 4 && (strings.HasPrefix(rest, "a/") || strings.HasPrefix(rest, "b/")) {
				rest = rest[2:]
			}
			if rest != "/dev/null" && rest != "" {
				out = append(out, rest)
			}
		}
	}
	return out
}

// tally collects what was judged; the first of the strictest decides.
type tally struct {
	verdict  Verdict
	rule     string
	reason   string
	commands []Command
	paths    []Path
	grants   []Grant
}

func (t *tally) note(v Verdict, rule, reason string) {
	if t.verdict == "" || rank(v) > rank(t.verdict) {
		t.verdict, t.rule, t.reason = v, rule, reason
	}
}

func (t *tally) decision() Decision {
	return Decision{
		Verdict: Stricter(t.verdict, Allow), Rule: t.rule, Reason: t.reason,
		Commands: t.commands, Paths: t.paths, Grants: t.grants,
	}
}

// decodeArgs reads the arguments' object. Keys that are there twice or differ only by case are refused: whoever
// executes the call might read the other one.
func decodeArgs(raw json.RawMessage) (map[string]json.RawMessage, error) {
	args := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(raw)) == 0 {
		return args, nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("The arguments are no JSON object.")
	}
	folded := map[string]bool{}
	for dec.More() {
		t, err := dec.Token()
		key, ok := t.(string)
		if err != nil || !ok {
			return nil, fmt.Errorf("The arguments are no valid JSON.")
		}
		if folded[strings.ToLower(key)] {
			return nil, fmt.Errorf("The argument %q is there twice.", key)
		}
		folded[strings.ToLower(key)] = true
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return nil, fmt.Errorf("The arguments are no valid JSON.")
		}
		args[key] = v
	}
	if !json.Valid(raw) {
		return nil, fmt.Errorf("The arguments are no valid JSON.")
	}
	for _, name := range []string{"path", "command", "cwd"} {
		if _, ok := args[name]; !ok && folded[name] {
			return nil, fmt.Errorf("The argument %q must be written in lower case.", name)
		}
		if _, ok := text(args, name); !ok && folded[name] {
			return nil, fmt.Errorf("The argument %q must be a string.", name)
		}
	}
	return args, nil
}

func text(args map[string]json.RawMessage, name string) (string, bool) {
	var s string
	raw, ok := args[name]
	if !ok || len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}
