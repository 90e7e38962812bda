package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/actor"
	"holdfast/clock"
	"holdfast/cmd/holdfast/config"
	"holdfast/playground"
	"holdfast/worker/engine"
	"holdfast/worker/host"
)

// workspaceName is the workspace of `holdfast run`, inside the playground's guild.
const workspaceName = "main"

// stack is everything that `holdfast run` serves, in one process. Start it, then stop it, also when starting failed.
type stack struct {
	app
	opts    runOptions
	data    *folder
	project string
	failed  chan error // what ended a part that should go on

	log    *slog.Logger
	clock  clock.Shifted // of every part that tells time; the page may move it
	secret config.Secret
	model  chosenModel
	page   string // the one URL

	warnings []string // for the person at the terminal

	agent, front, site *server // own models, edge, playground
	engine             engine.Engine
	hostOptions        host.Options
	edge               atomic.Pointer[http.Handler] // of the host that answers; nil while it starts again
	playground         *playground.Server
	runner             func(context.Context) error // ends it
	drain              time.Duration               // as long as each of runner and host is waited for; 0: drainTimeout

	hostMu   sync.Mutex // held while the host is replaced or stopped
	host     *host.Host
	stopping bool
}

// start opens everything. The addresses come first, since each part must know another's.
func (s *stack) start(ctx context.Context) error {
	s.log = newLog(io.Discard, "info", "text")
	if s.opts.verbose {
		s.log = newLog(s.err, "debug", "text")
	}
	for _, step := range []func(context.Context) error{
		s.openListeners, s.openModel, s.openPlayground, s.openEdge, s.introduce, s.openRunner,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *stack) openListeners(ctx context.Context) (err error) {
	if s.secret, err = s.data.secret(); err != nil {
		return err
	}
	if s.agent, err = listen(ctx, "127.0.0.1:0"); err != nil {
		return err
	}
	if s.front, err = listen(ctx, "127.0.0.1:0"); err != nil {
		return err
	}
	if s.opts.listen != "" {
		s.site, err = listen(ctx, s.opts.listen)
		return err
	}
	if s.site, err = listen(ctx, defaultListen); err != nil {
		s.site, err = listen(ctx, "127.0.0.1:0")
	}
	return err
}

func (s *stack) openModel(ctx context.Context) (err error) {
	if s.model, err = s.chooseModel(ctx, s.opts.model, ownModels(s.agent.url())); err != nil {
		return err
	}
	s.agent.serve(ownModelHandler(), s.failed)
	return nil
}

// openPlayground comes before the other parts that tell time: it moves the clock to where it was.
func (s *stack) openPlayground(context.Context) (err error) {
	s.playground, err = playground.New(playground.Options{Data: s.data.in(playgroundData), Clock: &s.clock, Log: s.log.With("component", "playground"),
		Suggestions: suggestions, Actions: s.actions()})
	if err != nil {
		return err
	}
	return s.playground.SetBase(s.site.url())
}

func (s *stack) openEdge(ctx context.Context) (err error) {
	log := s.log.With("component", "edge")
	if s.engine, err = newEngine(ctx, s.opts.engine, s.data.in(cacheData), log); err != nil {
		return err
	}
	key, err := config.ReadDataKey(s.opts.keyFile)
	if err != nil {
		return err
	}
	info := s.playground.Info()
	s.hostOptions = host.Options{
		Data: s.data.in(edgeData), Engine: s.engine, Log: log, Key: key, Clock: &s.clock,
		Secrets: []host.Secret{host.Secret(s.secret.Reveal())},
		Config: actor.Config{ApplicationID: info.Application, PublicKeys: []string{info.PublicKey}, AllowedGuilds: []string{info.Guild},
			Models: map[string]actor.Model{"default": s.model.model}, DefaultModel: "default"},
		Targets: map[string]host.Target{
			"discord":       {BaseURL: info.API, Credential: host.Secret(info.Token)},
			"model:default": s.model.target,
		},
	}
	if err := s.openHost(ctx); err != nil {
		return err
	}
	s.front.serve(http.HandlerFunc(s.serveEdge), s.failed)
	s.site.serve(s.playground.Handler(), s.failed)
	return nil
}

// introduce makes the parts known to each other: settings of the workspace, commands at Discord, the edge at Discord,
// and the operator's access for the other verbs.
func (s *stack) introduce(ctx context.Context) error {
	info := s.playground.Info()
	workspace := info.Guild + "/" + workspaceName
	token, err := host.Token(host.Secret(s.secret.Reveal()), host.KindOperator, "local", []string{"read", "reply", "approve", "admin"}, 1)
	if err != nil {
		return err
	}
	c := &client{access: access{URL: s.front.url(), Token: token, Workspace: workspace}, http: &http.Client{Timeout: time.Minute}}
	if err := seed(ctx, c, s.data.path, firstSettings(info.Users, info.Channel)); err != nil {
		return err
	}
	r := registrar{api: info.API, application: info.Application, token: config.NewSecret(info.Token), http: c.http}
	if _, err := r.register(ctx, false); err != nil {
		return fmt.Errorf("register the commands: %w", err)
	}
	edge, err := edgeFor(s.front.url(), s.secret, workspace)
	if err != nil {
		return err
	}
	s.playground.SetEdge(edge)
	s.page = info.Page
	return c.save(s.data.path)
}

// stop ends the parts in the order that loses nothing: first who brings new work, then the edge, which may still need
// Discord and the model for what is in flight, then those. A second signal ends the process at once. Each has its own time:
// a tool that runs on takes none of the edge's, in which a model's answer may still come.
func (s *stack) stop(ctx context.Context) (err error) {
	ctx = context.WithoutCancel(ctx)
	s.hostMu.Lock()
	defer s.hostMu.Unlock()
	s.stopping = true
	if s.runner != nil {
		err = errors.Join(err, s.within(ctx, s.runner))
	}
	if s.host != nil {
		err = errors.Join(err, s.within(ctx, s.host.Drain))
	}
	for _, part := range []*server{s.front, s.site, s.agent} {
		if part != nil {
			err = errors.Join(err, part.http.Close(), ignoreClosed(part.listener.Close()))
		}
	}
	if s.playground != nil {
		err = errors.Join(err, s.playground.Close())
	}
	if s.host != nil {
		err = errors.Join(err, s.host.Close())
	}
	if s.engine != nil {
		err = errors.Join(err, s.within(ctx, s.engine.Close))
	}
	return err
}

// within gives a part its time to end.
func (s *stack) within(ctx context.Context, end func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(s.drain, drainTimeout))
	defer cancel()
	return end(ctx)
}
