package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/actor/errs"
	"holdfast/actor/policy"
	"holdfast/cmd/holdfast/config"
	"holdfast/runner"
	"holdfast/worker/host"
)

func (a app) runnerCmd() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "runner", Short: "Run the tools of one workspace beside its project", Args: exactly(0),
		Long: "Dials out to the workspace that runner.url names and runs, in a sandbox, the tools that it is sent. It needs no open\n" +
			"port and holds no key but its own. Ctrl-C waits for the tools that run; a second one does not.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := config.Load(file, a.env)
			if err != nil {
				return err
			}
			return a.serveRunner(cmd.Context(), c)
		},
	}
	configFlag(cmd, &file)
	return cmd
}

func (a app) serveRunner(ctx context.Context, c *config.Config) error {
	token, err := c.RunnerToken()
	if err != nil {
		return err
	}
	if c.Runner.URL == "" || c.Runner.Project == "" || token.Reveal() == "" {
		return usageError{errs.New(errs.Invalid, "A runner needs runner.url, runner.project and its token.").
			WithHint("`holdfast token runner <guild>/<workspace>` prints the token, where the deployment secret is.")}
	}
	o := a.runnerOptions(c.Runner.URL, token.Reveal(), c.Runner.Project, c.Runner.Data, c.Runner.Sandbox)
	o.Log = newLog(a.err, c.Log.Level, c.Log.Format)
	r, err := runner.New(o)
	if err != nil {
		return err
	}
	for _, w := range r.Warnings() {
		fmt.Fprintln(a.err, w)
	}
	return r.Run(ctx)
}

// runnerOptions are what every runner of this program has in common. workspace is its address over HTTP.
func (a app) runnerOptions(workspace, token, project, data, sandbox string) runner.Options {
	return runner.Options{
		URL:   "ws" + strings.TrimPrefix(strings.TrimRight(workspace, "/"), "http") + "/runner", // http → ws, https → wss
		Token: token, Project: project, Data: data, Sandbox: sandbox, Version: version(), Drain: true,
		DeniedPaths: policy.Default().DeniedPaths(), ReadOnly: []string{a.moduleCache()},
	}
}

// moduleCache is where Go keeps downloaded modules: a project's tests need them, and the sandbox has no network.
func (a app) moduleCache() string {
	if dir := a.env("GOMODCACHE"); dir != "" {
		return dir
	}
	return filepath.Join(first(a.env("GOPATH"), filepath.Join(a.env("HOME"), "go")), "pkg", "mod")
}

// openRunner starts the runner beside the project. Its loop ends with the stack's stop.
func (s *stack) openRunner(ctx context.Context) error {
	workspace := s.playground.Info().Guild + "/" + workspaceName
	token, err := host.Token(host.Secret(s.secret.Reveal()), host.KindRunner, workspace, nil, 1)
	if err != nil {
		return err
	}
	o := s.runnerOptions(s.front.url()+"/v1/workspaces/"+workspace, token, s.project, s.data.in(runnerData), s.opts.sandbox)
	o.Log, o.Name, o.Clock = s.log.With("component", "runner"), "local", &s.clock
	r, err := runner.New(o)
	if err != nil {
		return err
	}
	s.warnings = r.Warnings()
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() {
		err := r.Run(ctx)
		ended <- err
		if ctx.Err() == nil {
			s.failed <- errors.Join(errors.New("the runner ended"), err)
		}
	}()
	s.runner = func(limit context.Context) error {
		cancel()
		select {
		case err := <-ended:
			return err
		case <-limit.Done(): // the next start finds in the journal what was cut off
			return nil
		}
	}
	return nil
}
