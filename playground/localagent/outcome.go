package localagent

import (
	"regexp"
	"strings"

	"holdfast/actor/model"
)

// kinds of an outcome.
type kind int

const (
	ok          kind = iota
	failed           // it ran, or tried to, and reported an error
	denied           // policy or a person did not allow it, or nobody decided in time
	interrupted      // it may or may not have run
	stopped          // it ran into its time limit or was killed
	missing          // there is no such tool here
	aborted          // the turn was ended from outside
)

// outcome is the result of a call as the agent understands it. Text is without the marks that told the kind.
type outcome struct {
	kind kind
	text string
}

var killed = regexp.MustCompile(`(?:^|\n)\[killed: [^\n]*\]$`)

var exitStatus = regexp.MustCompile(`\s*(?:^|\n)(?:exit status (-?\d+)|\[exit code (-?\d+), [\d.]+ s\])$`)

// withoutExit takes the lines off the end of a command's output that tell its exit code.
func withoutExit(s string) (output, code string, found bool) {
	for {
		m := exitStatus.FindStringSubmatchIndex(s)
		if m == nil {
			return s, code, found
		}
		for _, g := range []int{2, 4} {
			if m[g] >= 0 && !found {
				code = s[m[g]:m[g+1]]
			}
		}
		found, s = true, s[:m[0]]
	}
}

// judge reads a result as Holdfast words it.
func judge(r model.Result) outcome {
	text := strings.TrimRight(strings.TrimLeft(r.Text, "\r\n"), " \t\r\n")
	rest, isError := strings.CutPrefix(text, "Error: ")
	isError = isError || r.Error || strings.HasPrefix(text, "Error")
	has := func(beginnings ...string) bool {
		for _, b := range beginnings {
			if strings.HasPrefix(rest, b) {
				return true
			}
		}
		return false
	}
	switch {
	case text == "":
		return outcome{kind: interrupted, text: "there is no result"}
	case has("This call has no result", "no result of this call"):
		return outcome{kind: aborted, text: rest}
	case has("Not run:", "Denied"):
		return outcome{kind: denied, text: rest}
	case has("Interrupted", "Given up"):
		return outcome{kind: interrupted, text: rest}
	case has("There is no tool"):
		return outcome{kind: missing, text: rest}
	case killed.MatchString(rest), strings.HasSuffix(rest, "The tool ran into its time limit and was stopped."), strings.HasSuffix(rest, "The tool was stopped."):
		return outcome{kind: stopped, text: rest}
	}
	rest, code, ran := withoutExit(rest)
	if ran && code != "0" {
		return outcome{kind: failed, text: strings.TrimSpace(rest + "\n(exit status " + code + ")")}
	}
	if isError {
		return outcome{kind: failed, text: rest}
	}
	if rest == "(no output)" {
		rest = ""
	}
	return outcome{kind: ok, text: rest}
}

// excuse says honestly why something is not there. What is the thing that was tried, as "read `a.go`". It is for
// every kind but ok.
func (o outcome) excuse(what string) string {
	switch o.kind {
	case denied:
		return "I was not allowed to " + what + ". " + sentence(o.text)
	case interrupted:
		return "I tried to " + what + ", but it was interrupted: I do not know whether it ran to its end. " + sentence(o.text)
	case stopped:
		return "I tried to " + what + ", but it was stopped before its end." + block(o.text)
	case missing:
		text := "I cannot " + what + ": the tool for it is not offered here."
		if o.text == "bash" {
			text += " Commands need bubblewrap on the runner's machine (Debian, Ubuntu: `apt-get install bubblewrap`), and a policy that does not deny them."
		}
		return text
	case aborted:
		return "I did not get to " + what + ": the turn was ended."
	}
	return "I tried to " + what + ", but it failed:" + block(o.text)
}

func sentence(s string) string {
	first, _, _ := strings.Cut(s, "\n")
	return clip(first, 300)
}
