package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// killEdge presses the button of the page.
func (r *running) killEdge() {
	r.t.Helper()
	r.control("POST", "/actions/kill-edge", nil, nil)
}

// answered waits for the answer and fails when it is there twice, or was never interrupted.
func (r *running) answered(text string) {
	r.t.Helper()
	all := strings.Join(r.eventually(text), "\n")
	if strings.Count(all, text) != 1 || !strings.Contains(all, "survived 1 restart") {
		r.t.Errorf("the channel shows %q", all)
	}
}

// The edge is killed while the model answers, and finishes the turn after it came back by itself.
func TestKillEdgeWhileTheModelAnswers(t *testing.T) {
	r := up(t, t.TempDir())
	defer r.down()
	before := r.s.host
	r.ask("maya", "!slow 2000\n!say Said once.")
	r.eventually("Working")
	r.killEdge()
	if r.s.host == before {
		t.Error("the host was not replaced")
	}
	r.answered("Said once.")
	r.ask("sam", "!say After it.")
	r.eventually("After it.")
	if status := r.verb("status"); status.code != 0 {
		t.Errorf("status: %+v", status)
	}
}

// The edge is killed while a command runs: the runner goes on with it, connects again, and the command ran once.
func TestKillEdgeWhileACommandRuns(t *testing.T) {
	if _, err := exec.LookPath("bwrap"); err != nil {
		t.Skip("bubblewrap is missing")
	}
	r := up(t, t.TempDir())
	defer r.down()
	r.ask("maya", `!tool bash {"command":"echo begun >> log.txt; sleep 2; cat log.txt"}`)
	r.poll("the command", func() bool { return strings.Contains(r.verb("job", "1", "--events").out, "tool.") })
	r.killEdge()
	r.answered("begun")
	if all := strings.Join(r.contents(), "\n"); strings.Count(all, "begun") != 1 {
		t.Errorf("the command ran more than once: %q", all)
	}
}

// The page offers what this program can do, and what to ask.
func TestPageOffersActionsAndSuggestions(t *testing.T) {
	r := up(t, t.TempDir())
	defer r.down()
	var state struct {
		Suggestions []string
		Actions     []struct{ Name, Label, Note string }
	}
	r.control("GET", "/state?user="+r.info.Users["maya"], nil, &state)
	if !slices.Equal(state.Suggestions, suggestions) || len(state.Actions) != 1 || state.Actions[0].Name != "kill-edge" || state.Actions[0].Label != "Kill the edge" {
		t.Errorf("%+v", state)
	}
}

// A clock that the page moves is the edge's, too: it would refuse interactions from a time that is not its own.
func TestEveryPartSharesTheClock(t *testing.T) {
	r := up(t, t.TempDir())
	defer r.down()
	r.control("POST", "/clock", map[string]string{"advance": "25h"}, nil)
	r.ask("maya", `!tool read {"path":"AGENTS.md"}`)
	r.eventually("The standard library only.")
	r.killEdge()
	r.ask("sam", "!say A day later.")
	r.eventually("A day later.")
}
