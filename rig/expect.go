package rig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// equal compares a count that only grows: one that was passed will not come back.
func equal(what string, got, want int) error {
	switch {
	case got > want:
		return neverf("%s: %d, more than %d", what, got, want)
	case got < want:
		return fmt.Errorf("%s: %d, not yet %d", what, got, want)
	}
	return nil
}

func contains(where, text, want string) error {
	if strings.Contains(text, want) {
		return nil
	}
	return fmt.Errorf("%s says %q", where, text)
}

func (p *Play) anchorContains(ctx context.Context, want string, final bool) error {
	m, err := p.newest(ctx, "anchor", isAnchor)
	if err != nil {
		return err
	}
	if final && !isFinal(m) {
		return fmt.Errorf("the anchor shows a turn that runs: %q", m.text())
	}
	return contains("the anchor", m.text(), want)
}

func (p *Play) someContains(ctx context.Context, channel, want string) error {
	list, err := p.seen(ctx, channel)
	if err != nil {
		return err
	}
	for _, m := range list {
		if strings.Contains(m.text(), want) {
			return nil
		}
	}
	return fmt.Errorf("no message there does:%s", outline(list))
}

func (p *Play) countContaining(ctx context.Context, want string, n int) error {
	all, err := p.everything(ctx)
	if err != nil {
		return err
	}
	got := 0
	for _, m := range all {
		if slices.Contains(written, m.Type) && m.Author.ID == p.stage.Info.Application && strings.Contains(m.text(), want) {
			got++
		}
	}
	return equal("messages", got, n)
}

func (p *Play) countMessages(ctx context.Context, n int) error {
	all, err := p.public(ctx)
	if err != nil {
		return err
	}
	return equal("messages", len(all), n)
}

func (p *Play) countThreads(ctx context.Context, n int) error {
	list, err := p.threads(ctx)
	if err != nil {
		return err
	}
	return equal("threads", len(list), n)
}

// countFinalEdits counts the accepted edits of the newest anchor whose text is that of an ended turn.
func (p *Play) countFinalEdits(ctx context.Context, n int) error {
	m, err := p.newest(ctx, "anchor", isAnchor)
	if err != nil {
		return err
	}
	entries, err := p.wire(ctx)
	if err != nil {
		return err
	}
	got := 0
	for _, e := range entries {
		if e.Kind == "rest" && e.Method == "PATCH" && e.Status == 200 && strings.HasSuffix(e.Path, "/messages/"+m.ID) &&
			strings.Contains(e.Request, `"custom_id":"i:`) {
			got++
		}
	}
	return equal("final edits", got, n)
}

// cardStates are the states of a card by what its headline says (package render, ApprovalCard).
var cardStates = map[string]string{"**Approval required**": "pending", "**Approved**": "approved", "**Denied**": "denied",
	"**Expired, so denied**": "expired", "**Cancelled**": "cancelled"}

func isCard(m message) bool {
	return slices.ContainsFunc(m.buttons(), func(b button) bool { return b.verb() == "a" })
}

func (p *Play) cardIs(ctx context.Context, want string) error {
	m, err := p.newest(ctx, "approval card", isCard)
	if err != nil {
		return err
	}
	state := "unknown"
	for words, s := range cardStates {
		if strings.Contains(m.Content, words) {
			state = s
		}
	}
	if open := m.find("a") != ""; open != (state == "pending") {
		return fmt.Errorf("the card is %s, and its buttons work: %v", state, open)
	}
	if state == want || want == "decided" && state != "pending" {
		return nil
	}
	err = fmt.Errorf("the card is %s", state)
	if state != "pending" {
		return never{err}
	}
	return err
}

var deadline = regexp.MustCompile(`<t:(\d+):R>`)

// cardPast compares the time that the newest card shows, in whole seconds, with Discord's.
func (p *Play) cardPast(ctx context.Context, grace time.Duration) error {
	m, err := p.newest(ctx, "approval card", isCard)
	if err != nil {
		return err
	}
	shown := deadline.FindStringSubmatch(m.text())
	if shown == nil {
		return fmt.Errorf("the card shows no deadline: %q", m.text())
	}
	seconds, err := strconv.ParseInt(shown[1], 10, 64)
	if err != nil {
		return err
	}
	if left := time.Unix(seconds, 0).Add(grace).Sub(p.stage.Clock.Now()); left > 0 {
		return fmt.Errorf("%s are left", left)
	}
	return nil
}

func (p *Play) toldContains(want string, exactlyOne bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, text := range p.told {
		if strings.Contains(text, want) {
			n++
		}
	}
	if n == 1 || n > 1 && !exactlyOne {
		return nil
	}
	return neverf("%d answers say so, of %q", n, p.told)
}

func (p *Play) hasChoice(want string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if slices.ContainsFunc(p.choices, func(c string) bool { return strings.Contains(c, want) }) {
		return nil
	}
	return neverf("the choices are %q", p.choices)
}

// jobIs compares the newest job. One that has ended otherwise stays so.
func (p *Play) jobIs(ctx context.Context, state, reason string) error {
	j, err := p.newestJob(ctx)
	if err != nil {
		return err
	}
	if j.State == state && j.Reason == reason {
		return nil
	}
	if j.State == "done" || j.State == "unanswered" {
		return neverf("job %s", j)
	}
	return fmt.Errorf("job %s", j)
}

func (p *Play) countJobs(ctx context.Context, n int) error {
	list, err := p.jobs(ctx)
	if err != nil {
		return err
	}
	return equal("jobs", len(list), n)
}

func (p *Play) countRestarts(ctx context.Context, n int) error {
	j, err := p.newestJob(ctx)
	if err != nil {
		return err
	}
	return equal("restarts", j.Restarts, n)
}

func (p *Play) countEvents(ctx context.Context, name string) (n int, err error) {
	list, err := p.events(ctx)
	for _, e := range list {
		if e.Name == name {
			n++
		}
	}
	return n, err
}

// countRuns counts real executions of bash by what its commands wrote, of other tools by the log.
func (p *Play) countRuns(ctx context.Context, tool string, n int) error {
	if tool == "bash" {
		got, err := p.linesOf("ran", "bash")
		if err != nil {
			return err
		}
		return equal("executions of bash", got, n)
	}
	list, err := p.events(ctx)
	if err != nil {
		return err
	}
	intended := map[string]bool{}
	got := 0
	for _, e := range list {
		switch {
		case e.Name == "tool.intended" && strings.HasPrefix(e.Detail, tool+" "):
			intended[e.Ref] = true
		case e.Name == "tool.started" && intended[e.Ref]:
			got++
		}
	}
	return equal("starts of "+tool, got, n)
}

// linesOf counts a line in all files of a name below the stage's folder: the project and every worktree.
func (p *Play) linesOf(name, line string) (n int, err error) {
	err = eachFile(p.stage.Dir, func(path string) error {
		if filepath.Base(path) != name {
			return nil
		}
		text, err := os.ReadFile(path)
		for l := range bytes.Lines(text) {
			if string(bytes.TrimSpace(l)) == line {
				n++
			}
		}
		return err
	})
	return n, err
}

// countPushes counts the updates of branches that the origin has logged.
func (p *Play) countPushes(n int) error {
	got := 0
	err := filepath.WalkDir(filepath.Join(p.stage.Origin, "logs", "refs"), func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil || d.IsDir():
			return err
		}
		text, err := os.ReadFile(path)
		got += bytes.Count(text, []byte{'\n'})
		return err
	})
	if err != nil {
		return err
	}
	return equal("pushes", got, n)
}
