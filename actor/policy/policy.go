// Package policy decides what a tool call may do: allow, ask or deny (spec 4.1).
//
// It judges what would run, never what a model says about it. It is pure: the core calls it on what it can see
// (the lexical stage), the runner calls it again on resolved paths.
//
// In a rule's pattern * stands for any text; the most specific rule wins, that is the one with the most characters
// that are no *, and among equals the stricter. A rule of the bash section is matched with the words of one simple
// command, unquoted, joined by spaces. Rules that ask or deny are also read loosely: "rm -rf *" is rm -r x -f, too.
// The bash pattern "fetch | execute" speaks of every download that would be run. What cannot be seen through asks,
// whatever a rule like "*" allows.
//
// What is left to the runner's stage and the sandbox's masks: links, the contents of variables and of standard input
// as plain arguments, files that a program finds by itself (grep -r, or the pattern *), and what the project's own
// files make an allowed build or test do.
package policy

import "encoding/json"

// Verdict is allow, ask or deny; the strictest of several wins.
type Verdict string

// The verdicts, from the most to the least permissive.
const (
	Allow Verdict = "allow"
	Ask   Verdict = "ask"
	Deny  Verdict = "deny"
)

// Call is what a model wants to run.
type Call struct {
	Tool string
	Args json.RawMessage
}

// Decision is the verdict and all that explains it: the card, /why, the audit row and `policy test` show this one
// structure.
type Decision struct {
	Verdict  Verdict   `json:"verdict"`
	Rule     string    `json:"rule"`   // the deciding rule, as `bash "git push*" → ask`
	Reason   string    `json:"reason"` // one sentence
	Commands []Command `json:"commands,omitempty"`
	Paths    []Path    `json:"paths,omitempty"`
	Grants   []Grant   `json:"grants,omitempty"` // what the call needs beyond the sandbox, as far as can be seen
}

// Command is one simple command found anywhere in a shell program.
type Command struct {
	Text    string  `json:"text"` // unquoted words joined by spaces; "…" for a word that is no literal
	Verdict Verdict `json:"verdict"`
	Rule    string  `json:"rule"`
	Via     string  `json:"via,omitempty"` // the wrapper it was found in, as "bash -c"
}

// Path is a file that the call names.
type Path struct {
	Path    string  `json:"path"`
	Write   bool    `json:"write,omitempty"`
	Verdict Verdict `json:"verdict"`
	Rule    string  `json:"rule"`
}

// Grant is a need beyond the sandbox; kinds as in package frame.
type Grant struct {
	Kind   string `json:"kind"`
	Target string `json:"target"`
}
