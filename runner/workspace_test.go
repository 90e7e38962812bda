//go:build linux

package runner

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"holdfast/actor/frame"
	"holdfast/runner/protocol"
)

const patience = 30 * time.Second

// workspace is the other end of the runner's socket, spoken by the test.
type workspace struct {
	t      *testing.T
	server *httptest.Server
	conns  chan *peer
}

// peer is one connection of a runner.
type peer struct {
	t      *testing.T
	conn   *websocket.Conn
	frames chan frame.Frame
	closed chan error
}

func newWorkspace(t *testing.T) *workspace {
	w := &workspace{t: t, conns: make(chan *peer, 10)}
	w.server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer token" || r.URL.Path != "/v1/workspaces/1/app/runner" {
			http.Error(rw, "no", http.StatusUnauthorized)
			return
		}
		conn, err := websocket.Accept(rw, r, nil)
		if err != nil {
			return
		}
		conn.SetReadLimit(frame.MaxFrame)
		p := &peer{t: t, conn: conn, frames: make(chan frame.Frame, 1000), closed: make(chan error, 1)}
		w.conns <- p
		p.read(r.Context())
	}))
	t.Cleanup(w.server.Close)
	return w
}

func (w *workspace) url() string {
	return "ws" + strings.TrimPrefix(w.server.URL, "http") + "/v1/workspaces/1/app/runner"
}

func (p *peer) read(ctx context.Context) {
	for {
		_, data, err := p.conn.Read(ctx)
		if err != nil {
			p.closed <- err
			return
		}
		var f frame.Frame
		if err := json.Unmarshal(data, &f); err != nil {
			p.closed <- err
			return
		}
		p.frames <- f
	}
}

func (w *workspace) accept() *peer {
	w.t.Helper()
	select {
	case p := <-w.conns:
		return p
	case <-time.After(patience):
		w.t.Fatal("no runner connects")
		return nil
	}
}

// welcome accepts a connection and its hello.
func (w *workspace) welcome() (*peer, frame.Frame) {
	w.t.Helper()
	p := w.accept()
	hello := p.expect(frame.TypeHello)
	p.send(frame.Frame{Type: frame.TypeWelcome, Lease: 30000})
	return p, hello
}

// expect waits for a frame of that type; progress and renewals in between are passed over.
func (p *peer) expect(typ string) frame.Frame {
	p.t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case f := <-p.frames:
			if f.Type == typ {
				return f
			}
			if f.Type != frame.TypeProgress && f.Type != frame.TypeRenew {
				p.t.Fatalf("%s, expected %s: %+v", f.Type, typ, f)
			}
		case <-deadline:
			p.t.Fatalf("no %s comes", typ)
		}
	}
}

func (p *peer) send(f frame.Frame) {
	p.t.Helper()
	data, err := json.Marshal(f)
	if err == nil {
		err = p.conn.Write(context.Background(), websocket.MessageText, data)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) task(id, epoch int64, tool string, args any, grants ...frame.Grant) {
	p.t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		p.t.Fatal(err)
	}
	p.send(frame.Frame{Type: frame.TypeTask, Task: id, Epoch: epoch, Tool: tool, Args: raw, ArgsHash: protocol.ArgsHash(tool, raw), Worktree: "c42", Grants: grants})
}

// result runs a task to its acknowledged end.
func (p *peer) result(id int64, tool string, args any, grants ...frame.Grant) frame.Frame {
	p.t.Helper()
	p.task(id, 1, tool, args, grants...)
	p.expect(frame.TypeStarted)
	r := p.expect(frame.TypeResult)
	p.send(frame.Frame{Type: frame.TypeAck, Task: id, Epoch: 1})
	return r
}

type m = map[string]any

// sample makes a project with a bare origin and says where they are.
func sample(t *testing.T) (project, origin string) {
	t.Helper()
	base := t.TempDir()
	project, origin = filepath.Join(base, "project"), filepath.Join(base, "origin.git")
	for _, args := range [][]string{
		{"init", "-q", "--bare", "-b", "main", origin}, {"init", "-q", "-b", "main", project},
		{"-C", project, "commit", "-q", "--allow-empty", "-m", "first"}, {"-C", project, "remote", "add", "origin", origin}, {"-C", project, "push", "-q", "origin", "main"},
	} {
		host(t, args...)
	}
	return project, origin
}

func host(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=p", "GIT_AUTHOR_EMAIL=p@x", "GIT_COMMITTER_NAME=p", "GIT_COMMITTER_EMAIL=p@x")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (w *workspace) options(project string) Options {
	return Options{URL: w.url(), Token: "token", Project: project, Data: w.t.TempDir(), Name: "laptop", Version: "test"}
}

// begin starts a runner. The returned function stops it and waits for its end.
func begin(t *testing.T, o Options) (stop func()) {
	t.Helper()
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(patience):
			t.Error("the runner does not stop")
		}
	}
	t.Cleanup(stop)
	return stop
}
