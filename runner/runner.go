// Package runner works on one project for one workspace: it dials out to it, runs the tools that it is sent, and keeps
// what came of them until the workspace has it (spec 4.3).
package runner

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"holdfast/actor/errs"
	"holdfast/actor/frame"
	"holdfast/clock"
	"holdfast/runner/broker"
	"holdfast/runner/journal"
	"holdfast/runner/protocol"
	"holdfast/runner/sandbox"
	"holdfast/runner/tools"
	"holdfast/runner/worktree"
)

// Options of a runner. URL, Token, Project and Data are needed.
type Options struct {
	URL     string // ws or wss: …/v1/workspaces/{guild}/{workspace}/runner
	Token   string // hf1.runner.…
	Project string // folder that it works on
	Data    string // folder of its own, outside the project: journal, worktrees, caches
	Name    string // for people; "" is "runner"
	Version string // for people
	Sandbox string // "bwrap" (or "") or "none"

	DeniedPaths []string       // see tools.Options
	ReadOnly    []string       // further folders that commands may read, as a module cache
	Limits      sandbox.Limits // zero: sandbox.DefaultLimits
	Drain       bool           // a stop waits for running tools instead of killing them

	Clock   clock.Clock  // nil: the machine's
	Log     *slog.Logger // nil: none
	Entropy io.Reader    // nil: crypto/rand; for the journal's id and the jitter between connections

	// Hook is for tests: it is called with "started" once the journal has a task's start and before anything is
	// executed or said, and with "finished" once it has its result and before that is sent.
	Hook func(point string, task int64)
}

// Runner is a runner that is ready to connect. Run it once.
type Runner struct {
	o        Options
	journal  *journal.Journal
	project  *worktree.Project
	tools    *tools.Set
	broker   *broker.Broker
	machine  *protocol.Machine
	warnings []string

	inputs chan func() []protocol.Output // handled one after the other by Run
	calls  map[protocol.Key]context.CancelFunc
	link   *link // the current connection, nil without
	timer  clock.Timer

	life    context.Context // ends with Run
	closing chan struct{}   // closed when the connection is to be ended for good
}

// New locks the data folder, ends what an earlier process left running, tries the sandbox and looks at the project.
// Where bubblewrap does not work the runner offers no bash; Warnings says so, and how to install it.
func New(o Options) (*Runner, error) {
	if o.URL == "" || o.Project == "" || o.Data == "" {
		return nil, errs.New(errs.Invalid, "a runner needs the workspace's address, a project and a data folder")
	}
	o = o.withDefaults()
	if err := os.MkdirAll(o.Data, 0o700); err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	j, err := journal.Open(filepath.Join(o.Data, "journal.db"), o.Entropy)
	if err != nil {
		return nil, err
	}
	r := &Runner{o: o, journal: j, inputs: make(chan func() []protocol.Output), calls: map[protocol.Key]context.CancelFunc{},
		closing: make(chan struct{})}
	if err := r.prepare(); err != nil {
		return nil, errors.Join(err, j.Close())
	}
	return r, nil
}

func (o Options) withDefaults() Options {
	if o.Name == "" {
		o.Name = "runner"
	}
	if o.Clock == nil {
		o.Clock = clock.Real{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Entropy == nil {
		o.Entropy = rand.Reader
	}
	if o.Hook == nil {
		o.Hook = func(string, int64) {}
	}
	return o
}

// prepare needs the journal's lock: without it another runner may be at work on the same folder.
func (r *Runner) prepare() error {
	home := filepath.Join(r.o.Data, "sandbox")
	if n, err := sandbox.Reap(home); err != nil {
		return fmt.Errorf("end what an earlier runner left: %w", err)
	} else if n > 0 {
		r.o.Log.Warn("runner.reap.done", "calls", n)
	}
	box, err := r.sandbox(home)
	if err != nil {
		return err
	}
	ctx := context.Background()
	if r.project, err = worktree.Open(ctx, r.o.Project, r.o.Data, box); err != nil {
		return err
	}
	if r.tools, err = tools.New(tools.Options{Sandbox: box, Denied: r.o.DeniedPaths, Clock: r.o.Clock}); err != nil {
		return err
	}
	r.broker = broker.New(r.project.Dir(), r.project.Origin())
	entries, err := r.journal.Entries()
	if err != nil {
		return err
	}
	r.machine = protocol.New(r.hello(box), entries)
	return nil
}

// sandbox makes the sandbox that was asked for; nil when that is bubblewrap and it does not work here.
func (r *Runner) sandbox(home string) (sandbox.Sandbox, error) {
	config := sandbox.Config{Data: home, Limits: r.o.Limits, ReadOnly: r.o.ReadOnly}
	switch r.o.Sandbox {
	case "none":
		r.warnings = append(r.warnings, "Commands run without a sandbox, as your own user.")
		return sandbox.NewNone(config)
	case "", "bwrap":
	default:
		return nil, errs.New(errs.Invalid, "there is no sandbox %.40q: bwrap or none", r.o.Sandbox)
	}
	box, err := sandbox.NewBwrap(config)
	if err == nil {
		err = sandbox.SelfTest(context.Background(), box)
	}
	if errs.CodeOf(err) == errs.Unavailable {
		e := errs.Public(err)
		r.warnings = append(r.warnings, fmt.Sprintf("bash is not offered, and conversations share the project's folder: %s. %s", e.Message, e.Hint))
		r.o.Log.Warn("runner.sandbox.unavailable", "error", err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return box, nil
}

func (r *Runner) hello(box sandbox.Sandbox) frame.Frame {
	f := frame.Frame{Type: frame.TypeHello, Runner: r.o.Name, JournalID: r.journal.ID(), Version: r.o.Version,
		Project: filepath.Base(r.project.Dir()), Tools: r.tools.Offer()}
	if box != nil {
		f.Sandbox = box.Name()
	}
	return f
}

// Warnings are sentences for the person who starts the runner; none when all is well.
func (r *Runner) Warnings() []string { return r.warnings }

// JournalID names this runner's journal.
func (r *Runner) JournalID() string { return r.journal.ID() }
