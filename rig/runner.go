package rig

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"

	"holdfast/runner"
	"holdfast/worker/host"
)

// Runner is a runner that a scenario started.
type Runner interface {
	// Kill ends it, a real program as kill -9 would, and returns once it is gone.
	Kill() error
	// Down is closed when it is gone.
	Down() <-chan struct{}
	// Said is the end of what it logged.
	Said() string
}

// Runners starts a runner beside the stage's project. name tells the runners of one stage apart.
type Runners func(s *Stage, name string) (Runner, error)

// errNoCrash: a goroutine cannot be killed as a process can.
var errNoCrash = errors.New("a runner in this process cannot be killed: play the scenario with a real one")

type linkedRunner struct {
	stop context.CancelFunc
	log  *tail
	done chan struct{}
	err  error // of Run, valid once done is closed
}

// LinkedRunner runs a runner in this process, on the stage's clock.
func LinkedRunner(s *Stage, name string) (Runner, error) {
	token, err := s.Token(host.KindRunner, s.WorkspaceID())
	if err != nil {
		return nil, err
	}
	r := &linkedRunner{log: &tail{}, done: make(chan struct{})}
	run, err := runner.New(runner.Options{
		URL:   strings.Replace(s.URL(), "http:", "ws:", 1) + "/v1/workspaces/" + s.WorkspaceID() + "/runner",
		Token: token, Project: s.Project, Data: filepath.Join(s.Dir, name), Name: name, Clock: s.Clock,
		Log: slog.New(slog.NewTextHandler(r.log, nil)),
	})
	if err != nil {
		return nil, err
	}
	if w := run.Warnings(); len(w) > 0 {
		return nil, errors.New("the runner cannot do all that the scenarios need: " + strings.Join(w, "; "))
	}
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	go func() {
		r.err = run.Run(ctx)
		close(r.done)
	}()
	return r, nil
}

// Kill stops the runner in order.
func (r *linkedRunner) Kill() error {
	r.stop()
	<-r.done
	return r.err
}

// Down is closed when Run has returned.
func (r *linkedRunner) Down() <-chan struct{} { return r.done }

// Said is the runner's log.
func (r *linkedRunner) Said() string { return r.log.String() }
