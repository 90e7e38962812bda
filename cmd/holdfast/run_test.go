package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/cmd/holdfast/sample"
	"holdfast/playground"
)

// running is a stack with somebody who uses its page.
type running struct {
	t    *testing.T
	s    *stack
	info playground.Info
}

// up starts everything in dir, with the linked core and the scripted provider, on free ports.
func up(t *testing.T, dir string) *running {
	t.Helper()
	return upWith(t, dir, "")
}

// upWith is up with encrypted databases.
func upWith(t *testing.T, dir, keyFile string) *running {
	t.Helper()
	data, err := openFolder(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	project, err := sample.Make(t.Context(), data.in(sampleData))
	if err != nil {
		t.Fatal(err)
	}
	s := &stack{
		app: app{out: io.Discard, err: io.Discard, env: func(string) string { return "" }}, data: data, project: project, failed: make(chan error, 8),
		opts: runOptions{listen: "127.0.0.1:0", engine: "linked", model: modelScripted, sandbox: "bwrap", keyFile: keyFile},
	}
	if err := s.start(t.Context()); err != nil {
		t.Fatal(err, s.stop(t.Context()))
	}
	return &running{t: t, s: s, info: s.playground.Info()}
}

func (r *running) down() {
	r.t.Helper()
	if err := r.s.stop(r.t.Context()); err != nil {
		r.t.Errorf("stop: %v", err)
	}
	if err := r.s.data.close(); err != nil {
		r.t.Error(err)
	}
}

// control calls the playground as its page does.
func (r *running) control(method, path string, in, out any) {
	r.t.Helper()
	raw, err := json.Marshal(in)
	if err != nil {
		r.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.info.Control+path, bytes.NewReader(raw))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+r.info.ControlToken)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode/100 != 2 {
		r.t.Fatalf("%s %s: %d %s %v", method, path, res.StatusCode, body, err)
	}
	if out != nil {
		if err := json.Unmarshal(body, out); err != nil {
			r.t.Fatalf("%s %s: %s: %v", method, path, body, err)
		}
	}
}

func (r *running) ask(user, prompt string) {
	r.t.Helper()
	r.control("POST", "/users/"+user+"/commands", map[string]any{"channel": r.info.Channel, "name": "ask", "options": map[string]string{"prompt": prompt}}, nil)
}

// contents are the channel's messages, the oldest first.
func (r *running) contents() []string {
	r.t.Helper()
	var c struct{ Messages []struct{ Content string } }
	r.control("GET", "/channels/"+r.info.Channel, nil, &c)
	texts := []string{}
	for _, m := range c.Messages {
		texts = append(texts, m.Content)
	}
	return texts
}

// eventually waits until the channel shows the text, and gives all its messages.
func (r *running) eventually(text string) (all []string) {
	r.t.Helper()
	r.poll(text, func() bool {
		all = r.contents()
		return strings.Contains(strings.Join(all, "\n"), text)
	})
	return all
}

// poll waits until ok.
func (r *running) poll(what string, ok func() bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case err := <-r.s.failed:
			r.t.Fatal(err)
		case <-ctx.Done():
			r.t.Fatalf("waited in vain for %q; the channel shows %q", what, r.contents())
		}
	}
}

// verb runs a command of the CLI against the stack.
func (r *running) verb(args ...string) result {
	r.t.Helper()
	return holdfast(r.t, nil, append(args, "--data", r.s.data.path)...)
}

func TestRunAnswers(t *testing.T) {
	r := up(t, t.TempDir())
	defer r.down()
	r.ask("maya", "!say The tide is high.")
	r.eventually("The tide is high.")
	r.ask("sam", `!tool read {"path":"AGENTS.md"}`) // and then the head of what the tool said
	r.eventually("The standard library only.")
	r.ask("kim", "let me in")
	r.eventually("You are not a member")
	if jobs := r.verb("jobs"); jobs.code != 0 || !strings.Contains(jobs.out, "done") || !strings.Contains(jobs.out, "Maya") {
		t.Errorf("jobs: %+v", jobs)
	}
	if status := r.verb("status"); status.code != 0 || !strings.Contains(status.out, "/main") || !strings.Contains(status.out, "berths") {
		t.Errorf("status: %+v", status)
	}
	if events := r.verb("job", "1", "--events"); events.code != 0 || !strings.Contains(events.out, "submission.admitted") {
		t.Errorf("events: %+v", events)
	}
	if job := r.verb("job", "1"); job.code != 0 || !strings.Contains(job.out, "The tide is high.") {
		t.Errorf("job: %+v", job)
	}
	if missing := r.verb("job", "zz"); missing.code != exitNotFound {
		t.Errorf("a job that is not there: %+v", missing)
	}
}

// A turn that a crash interrupts is answered after the next start, once, although every port changed.
func TestRunGoesOnAfterACrash(t *testing.T) {
	dir := t.TempDir()
	before := up(t, dir)
	before.ask("maya", "!slow 2000\n!say Said once.")
	before.eventually("Working")
	before.s.host.Kill()
	_ = before.s.stop(t.Context()) // a host that was killed may say that it cannot be drained
	if err := before.s.data.close(); err != nil {
		t.Fatal(err)
	}

	after := up(t, dir)
	defer after.down()
	if after.info.Token != before.info.Token || after.info.API == before.info.API {
		t.Errorf("token or address: before %s, now %s", before.info.API, after.info.API)
	}
	if all := after.eventually("Said once."); len(all) != 1 || !strings.Contains(all[0], "survived 1 restart") {
		t.Errorf("the channel shows %q", all)
	}
}
