package rig

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"sync"

	"holdfast/actor"
	"holdfast/interactions"
	"holdfast/worker/engine"
	"holdfast/worker/host"
)

// LinkedHost runs edges in this process, on the stage's clock.
type LinkedHost struct{}

// Name is Linked.
func (LinkedHost) Name() string { return Linked }

type linkedEdge struct {
	host *host.Host
	door *door
	log  *tail
	down chan struct{}
	once sync.Once
	err  error
}

// Start opens a host on the stage's data.
func (LinkedHost) Start(ctx context.Context, s *Stage, t Trap) (Edge, error) {
	e := &linkedEdge{log: &tail{}, down: make(chan struct{})}
	trap := &trap{Trap: t, stage: s, log: e.log, armed: make(chan struct{}), die: make(chan struct{})}
	var err error
	e.host, err = host.New(ctx, host.Options{
		Data:   filepath.Join(s.Dir, "edge"),
		Engine: engine.Linked{HandleFunc: actor.Handle, RouteFunc: interactions.Route},
		Clock:  s.Clock, Secrets: []host.Secret{secret}, OnPoint: trap.point,
		Log: slog.New(slog.NewTextHandler(e.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Config: actor.Config{
			ApplicationID: s.Info.Application, PublicKeys: []string{s.Info.PublicKey}, AllowedGuilds: []string{s.Info.Guild},
			Models: map[string]actor.Model{modelName: s.model()}, DefaultModel: modelName,
		},
		Targets: map[string]host.Target{
			"discord":            {BaseURL: s.Info.API, Credential: host.Secret(s.Info.Token)},
			"model:" + modelName: {BaseURL: s.ModelURL + "/v1", Format: s.model().Format},
		},
	})
	if err != nil {
		return nil, err
	}
	trap.arm(e.host)
	if e.door, err = openDoor(s.Port, e.host.Handler()); err != nil {
		return nil, errors.Join(err, e.host.Close())
	}
	go func() {
		select {
		case <-trap.die:
			_ = e.Kill() // kept in e.err
		case <-e.down:
		}
	}()
	return e, ready(ctx, s, e, t)
}

// Down is closed when the host is closed.
func (e *linkedEdge) Down() <-chan struct{} { return e.down }

// Kill drops the host.
func (e *linkedEdge) Kill() error {
	e.once.Do(func() {
		e.host.Kill()
		e.err = errors.Join(e.door.shut(), e.host.Close())
		close(e.down)
	})
	<-e.down
	return e.err
}

// Said is the host's log.
func (e *linkedEdge) Said() string { return e.log.String() }

// trap stops a host in this process at its point.
type trap struct {
	Trap
	stage *Stage
	log   io.Writer
	armed chan struct{} // closed once host is set
	host  *host.Host
	die   chan struct{} // closed when it kills

	mu      sync.Mutex
	stalled bool
	killed  bool
}

// arm tells which host to kill. What the host does before, as it starts, waits at its trap until then.
func (t *trap) arm(h *host.Host) {
	t.host = h
	close(t.armed)
}

func (t *trap) point(when, what, point string) {
	here := when + " " + what + " " + point
	t.mu.Lock()
	stall := here == t.Stall && !t.stalled
	t.stalled = t.stalled || stall
	kill := here == t.Kill && !t.killed
	t.killed = t.killed || kill
	t.mu.Unlock()
	if stall {
		passed := make(chan struct{})
		t.stage.Clock.AfterFunc(t.For, func() { close(passed) })
		<-passed
	}
	if kill {
		fmt.Fprintln(t.log, "rig:", here)
		<-t.armed
		t.host.Kill()
		close(t.die)
	}
}
