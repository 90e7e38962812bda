package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"holdfast/playground"
	"holdfast/worker/host"
)

// suggestions are what the page offers to ask, while nothing was said yet.
var suggestions = []string{
	"what does this project do, and do its tests pass?",
	"add a line to the README, commit it and push",
	"run sleep 20 && echo done",
	"show the last 5 commits",
}

// actions are the buttons that the page's panel of faults gets from this program.
func (s *stack) actions() []playground.Action {
	return []playground.Action{{
		Name: "kill-edge", Label: "Kill the edge", Note: "as kill -9 would, in the middle of whatever runs; it starts again by itself", Run: s.killEdge,
	}}
}

// openHost starts the edge's host on the folder it had before, and lets it answer.
func (s *stack) openHost(ctx context.Context) (err error) {
	if s.host, err = host.New(ctx, s.hostOptions); err != nil {
		return fmt.Errorf("start the edge: %w", err)
	}
	h := s.host.Handler()
	s.edge.Store(&h)
	return nil
}

// killEdge drops the edge with all that it has in memory, as kill -9 would, and starts it again behind the same
// address. Who was connected is cut off; the runner and the playground come back by themselves. When it does not
// start the program ends.
func (s *stack) killEdge(ctx context.Context) error {
	s.hostMu.Lock()
	defer s.hostMu.Unlock()
	if s.stopping {
		return errors.New("the program is stopping")
	}
	s.edge.Store(nil)
	s.host.Kill()
	err := s.host.Close()
	if err == nil {
		err = s.openHost(context.WithoutCancel(ctx))
	}
	if err != nil {
		s.failed <- err
	}
	return err
}

// serveEdge answers with the host that is there. While there is none it cuts the connection, as a dead process does.
func (s *stack) serveEdge(w http.ResponseWriter, r *http.Request) {
	h := s.edge.Load()
	if h == nil {
		panic(http.ErrAbortHandler) // the documented way to cut a connection
	}
	(*h).ServeHTTP(w, r)
}
