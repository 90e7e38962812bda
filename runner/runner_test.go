//go:build linux

package runner

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"holdfast/actor/errs"
	"holdfast/actor/frame"
	"holdfast/runner/protocol"
)

func TestConversation(t *testing.T) {
	w := newWorkspace(t)
	project, origin := sample(t)
	if err := os.WriteFile(filepath.Join(project, "AGENTS.md"), []byte("be kind"), 0o644); err != nil {
		t.Fatal(err)
	}
	begin(t, w.options(project))
	p, hello := w.welcome()
	if hello.Runner != "laptop" || len(hello.JournalID) != 32 || hello.Sandbox != "bwrap" || hello.Project != "project" || len(hello.Tools) != 6 || len(hello.Journal) != 0 {
		t.Fatalf("hello %+v", hello)
	}
	p.send(frame.Frame{Type: frame.TypeAskFacts})
	if f := p.expect(frame.TypeFacts); f.AgentsMD != "be kind" || f.Branch != "main" || len(f.Head) != 40 {
		t.Fatalf("facts %+v", f)
	}
	if r := p.result(1, "write", m{"path": "a.txt", "content": "hello\n"}); r.Status != "ok" || len(r.Files) != 1 {
		t.Fatalf("%+v", r)
	}
	if r := p.result(2, "bash", m{"command": "cat a.txt && git add . && git commit -qm second && git push -q origin HEAD:fix"}); r.Status != "error" || *r.Exit == 0 || !strings.HasPrefix(r.Summary, "hello\n") {
		t.Fatalf("push without a grant: %+v", r)
	}
	if r := p.result(3, "bash", m{"command": "git push -q origin HEAD:fix"}, frame.Grant{Kind: "git-push", Target: "origin"}); r.Status != "ok" {
		t.Fatalf("push with its grant: %+v", r)
	}
	if got := host(t, "-C", origin, "log", "-1", "--format=%s", "fix"); got != "second" {
		t.Fatalf("the origin has %q", got)
	}
	if r := p.result(4, "bash", m{"command": "true"}, frame.Grant{Kind: "moon", Target: "x"}); r.Status != "error" || !strings.Contains(r.Summary, "no grant") {
		t.Fatalf("%+v", r)
	}
	if r := p.result(5, "read", m{"path": "/etc/passwd"}); r.Status != "error" || !strings.Contains(r.Summary, "outside the project") {
		t.Fatalf("%+v", r)
	}
}

func TestLongResultComesInChunks(t *testing.T) {
	w := newWorkspace(t)
	project, _ := sample(t)
	begin(t, w.options(project))
	p, _ := w.welcome()
	p.task(1, 1, "bash", m{"command": "seq 100000"})
	p.expect(frame.TypeStarted)
	var whole strings.Builder
	for total := 1; total > 0; total-- {
		c := p.expect(frame.TypeChunk).Blobs
		if c.Seq == 0 {
			total = c.Total
		}
		data, err := base64.StdEncoding.DecodeString(c.Data)
		if err != nil {
			t.Fatal(err)
		}
		whole.Write(data)
	}
	r := p.expect(frame.TypeResult)
	if r.Status != "ok" || len(r.Summary) > protocol.MaxSummary || len(r.Blob) != 64 {
		t.Fatalf("%d bytes, blob %q", len(r.Summary), r.Blob)
	}
	if lines := strings.Split(whole.String(), "\n"); len(lines) != 100001 || lines[99999] != "100000" {
		t.Fatalf("%d lines", len(lines))
	}
}

func TestF09_ResultIsResentAfterReconnect(t *testing.T) {
	w := newWorkspace(t)
	project, _ := sample(t)
	o := w.options(project)
	stop := begin(t, o)
	p, _ := w.welcome()
	p.task(1, 1, "bash", m{"command": "sleep 0.2; echo done"})
	p.expect(frame.TypeStarted)
	p.conn.CloseNow()
	p, hello := w.welcome()
	if len(hello.Journal) != 1 || hello.Journal[0].State == frame.StateStarted {
		t.Fatalf("journal %+v", hello.Journal)
	}
	first := p.expect(frame.TypeResult)
	if first.Status != "ok" || !strings.HasPrefix(first.Summary, "done\n") {
		t.Fatalf("%+v", first)
	}
	stop()
	begin(t, o) // a new process, not acknowledged yet
	p, hello = w.welcome()
	if len(hello.Journal) != 1 || hello.Journal[0].State != frame.StateFinished {
		t.Fatalf("journal %+v", hello.Journal)
	}
	if again := p.expect(frame.TypeResult); again.Summary != first.Summary || again.Millis != first.Millis {
		t.Fatalf("%+v, before %+v", again, first)
	}
	p.send(frame.Frame{Type: frame.TypeAck, Task: 1, Epoch: 1})
	p.result(2, "read", m{"path": "x"}) // the acknowledgement has been handled when this is
	p.conn.CloseNow()
	if _, hello = w.welcome(); len(hello.Journal) > 1 {
		t.Fatalf("journal %+v", hello.Journal)
	}
}

func TestCancelAndStop(t *testing.T) {
	w := newWorkspace(t)
	project, _ := sample(t)
	o := w.options(project)
	stop := begin(t, o)
	p, _ := w.welcome()
	p.task(1, 1, "bash", m{"command": "echo begun; sleep 600"})
	p.expect(frame.TypeStarted)
	p.expect(frame.TypeProgress)
	p.send(frame.Frame{Type: frame.TypeCancel, Task: 1, Epoch: 1})
	if r := p.expect(frame.TypeResult); r.Status != frame.StatusKilled {
		t.Fatalf("%+v", r)
	}
	p.task(2, 1, "bash", m{"command": "echo begun; sleep 600"})
	p.expect(frame.TypeStarted)
	p.expect(frame.TypeProgress)
	stop()
	if r := p.expect(frame.TypeResult); r.Task != 2 || r.Status != frame.StatusKilled {
		t.Fatalf("a stop must tell what it ended: %+v", r)
	}
	if err := <-p.closed; websocket.CloseStatus(err) != websocket.StatusNormalClosure {
		t.Fatalf("closed by %v", err)
	}
}

func TestDrainAwaitsWhatRuns(t *testing.T) {
	w := newWorkspace(t)
	project, _ := sample(t)
	o := w.options(project)
	o.Drain = true
	stop := begin(t, o)
	p, _ := w.welcome()
	p.task(1, 1, "bash", m{"command": "echo begun; sleep 0.5; echo ended"})
	p.expect(frame.TypeStarted)
	p.expect(frame.TypeProgress)
	stop()
	if r := p.expect(frame.TypeResult); r.Status != "ok" || !strings.Contains(r.Summary, "ended") {
		t.Fatalf("%+v", r)
	}
}

func TestBrokenFramesCloseWith4400(t *testing.T) {
	w := newWorkspace(t)
	project, _ := sample(t)
	begin(t, w.options(project))
	p, _ := w.welcome()
	if err := p.conn.Write(context.Background(), websocket.MessageText, []byte("{")); err != nil {
		t.Fatal(err)
	}
	if err := <-p.closed; websocket.CloseStatus(err) != frame.CloseProtocol || !strings.Contains(err.Error(), "not valid") {
		t.Fatalf("closed by %v", err)
	}
	p, _ = w.welcome()
	if err := p.conn.Write(context.Background(), websocket.MessageBinary, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if err := <-p.closed; websocket.CloseStatus(err) != frame.CloseProtocol {
		t.Fatalf("closed by %v", err)
	}
	w.welcome()
}

func TestHooksComeAfterTheJournalAndBeforeTheFrame(t *testing.T) {
	w := newWorkspace(t)
	project, _ := sample(t)
	o := w.options(project)
	points, proceed := make(chan string), make(chan bool)
	o.Hook = func(point string, task int64) {
		points <- fmt.Sprint(point, " ", task)
		<-proceed
	}
	begin(t, o)
	p, _ := w.welcome()
	p.task(7, 1, "read", m{"path": "x"})
	for _, want := range []struct{ point, frame string }{{"started 7", frame.TypeStarted}, {"finished 7", frame.TypeResult}} {
		if got := <-points; got != want.point {
			t.Fatalf("point %q, want %q", got, want.point)
		}
		select {
		case f := <-p.frames:
			t.Fatalf("%s left before its hook returned", f.Type)
		default:
		}
		proceed <- true
		p.expect(want.frame)
	}
}

// TestF08_RunnerDiesDuringATool kills a runner process while a command runs. Afterwards the command is gone, and the
// next runner says that it was started and nothing more.
func TestF08_RunnerDiesDuringATool(t *testing.T) {
	if raw := os.Getenv("RUNNER_OPTIONS"); raw != "" {
		var o Options
		if err := json.Unmarshal([]byte(raw), &o); err != nil {
			t.Fatal(err)
		}
		r, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		t.Fatal(r.Run(context.Background()))
	}
	for _, kind := range []string{"bwrap", "none"} {
		t.Run(kind, func(t *testing.T) {
			w := newWorkspace(t)
			project, _ := sample(t)
			o := w.options(project)
			o.Sandbox = kind
			raw, err := json.Marshal(m{"URL": o.URL, "Token": o.Token, "Project": o.Project, "Data": o.Data, "Sandbox": kind})
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(os.Args[0], "-test.run=^TestF08_RunnerDiesDuringATool$")
			cmd.Env = append(os.Environ(), "RUNNER_OPTIONS="+string(raw))
			cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			p, _ := w.welcome()
			p.task(1, 1, "bash", m{"command": "setsid flock lock sleep 600 & until ! flock -n lock true; do :; done; echo locked; flock lock2 sleep 600"})
			p.expect(frame.TypeStarted)
			p.expect(frame.TypeProgress)
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			cmd.Wait()
			begin(t, o)
			p, hello := w.welcome()
			if len(hello.Journal) != 1 || hello.Journal[0] != (frame.JournalEntry{Task: 1, Epoch: 1, State: frame.StateStarted}) {
				t.Fatalf("journal %+v", hello.Journal)
			}
			if r := p.result(2, "bash", m{"command": "flock -n lock echo free"}); !strings.HasPrefix(r.Summary, "free\n") {
				t.Fatalf("what the dead runner ran is still there: %+v", r)
			}
		})
	}
}

func TestSecondRunnerOnTheSameData(t *testing.T) {
	w := newWorkspace(t)
	project, _ := sample(t)
	o := w.options(project)
	stop := begin(t, o)
	if _, err := New(o); errs.CodeOf(err) != errs.Conflict {
		t.Fatalf("second runner: %v", err)
	}
	stop()
	begin(t, o)
}

func TestWithoutBubblewrap(t *testing.T) {
	w := newWorkspace(t)
	project, _ := sample(t)
	o := w.options(project)
	t.Setenv("PATH", t.TempDir())
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if warned := strings.Join(r.Warnings(), " "); !strings.Contains(warned, "apt-get install bubblewrap") {
		t.Fatalf("warnings %q", warned)
	}
	r.journal.Close()
	begin(t, o)
	p, hello := w.welcome()
	if len(hello.Tools) != 5 || hello.Sandbox != "" {
		t.Fatalf("hello %+v", hello)
	}
	if r := p.result(1, "bash", m{"command": "true"}); r.Status != "error" || !strings.Contains(r.Summary, "no tool called") {
		t.Fatalf("%+v", r)
	}
	if r := p.result(2, "write", m{"path": "a", "content": "x"}); r.Status != "ok" {
		t.Fatalf("%+v", r)
	}
}

func TestWaitIsBounded(t *testing.T) {
	r := &Runner{o: Options{}.withDefaults()}
	for failures := range 70 {
		for range 20 {
			limit := min(maxWait, firstWait<<min(failures, 10))
			if got := r.wait(failures, false); got < limit/10 || got > limit {
				t.Fatalf("after %d failures: %v", failures, got)
			}
		}
		if got := r.wait(failures, true); got < maxWait/10 || got > maxWait {
			t.Fatalf("slow: %v", got)
		}
	}
}

func TestWrongOptions(t *testing.T) {
	w := newWorkspace(t)
	project, _ := sample(t)
	for name, change := range map[string]func(*Options){
		"no url": func(o *Options) { o.URL = "" }, "no project": func(o *Options) { o.Project = filepath.Join(project, "none") },
		"sandbox": func(o *Options) { o.Sandbox = "docker" }, "data in project": func(o *Options) { o.Data = filepath.Join(project, "data") },
	} {
		o := w.options(project)
		change(&o)
		if _, err := New(o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
