package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"holdfast/cmd/holdfast/sample"
)

// runOptions are the flags of `holdfast run`.
type runOptions struct {
	project, data, listen, model, sandbox, engine, keyFile string
	fresh, verbose                                         bool
}

// defaultListen is a fixed port, so that the page's address stays the same from start to start when it can.
const defaultListen = "127.0.0.1:8700"

func (a app) runCmd() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use: "run", Short: "Run everything on this machine: edge, local Discord, runner and a sample project", Args: exactly(0),
		Long: "Starts the self-hosted edge, a local Discord with its page, and a runner beside a project, in one process, and\n" +
			"prints one URL to open. Nothing needs to be configured. The model is the first that is found: a key in\n" +
			"ANTHROPIC_API_KEY or OPENAI_API_KEY, Ollama on port 11434, llama.cpp on port 8080, and otherwise a small local\n" +
			"agent that says that it is no model.\n\n" +
			"Ctrl-C drains: what was accepted is kept and goes on at the next start, which also holds after a kill -9.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("listen") {
				o.listen = ""
			}
			return a.run(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.project, "project", "", "folder with the git repository to work on (default: a sample project is made in the data folder)")
	f.StringVar(&o.data, "data", "", "folder that everything is kept in (default: $XDG_DATA_HOME/holdfast/run, or ~/.local/share/holdfast/run)")
	f.StringVar(&o.listen, "listen", defaultListen, "loopback address of the page; when the default is taken, any free port")
	f.StringVar(&o.model, "model", "auto", "which model: "+modelNames)
	f.StringVar(&o.sandbox, "sandbox", "bwrap", "where commands run: bwrap (bubblewrap; where it is missing the agent gets no bash) or none (as your own user, unprotected)")
	f.StringVar(&o.engine, "engine", "wazero", "how the core runs: wazero (the same core.wasm as on Cloudflare, bounded by fuel) or linked (native, for development)")
	f.StringVar(&o.keyFile, "key-file", "", "file, mode 0600, with the key that encrypts the edge's databases: 128 hex digits")
	f.BoolVar(&o.fresh, "fresh", false, "start over: delete what earlier runs kept in the data folder, the sample project too")
	f.BoolVar(&o.verbose, "verbose", false, "show the log of all parts on stderr")
	return cmd
}

// run serves until ctx ends or a part fails, then stops everything in the order that loses nothing.
func (a app) run(ctx context.Context, o runOptions) (err error) {
	if o.listen != "" {
		if err := loopback(o.listen); err != nil {
			return err
		}
	}
	data, err := openFolder(first(o.data, a.dataDir()), o.fresh)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, data.close()) }()
	project := o.project
	if project == "" {
		project, err = sample.Make(ctx, data.in(sampleData))
	} else {
		project, err = filepath.Abs(project)
	}
	if err != nil {
		return err
	}
	s := &stack{app: a, opts: o, data: data, project: project, failed: make(chan error, 8)}
	if err := s.start(ctx); err != nil {
		return errors.Join(err, s.stop(ctx))
	}
	for _, w := range s.warnings {
		fmt.Fprintln(a.err, w)
	}
	fmt.Fprintf(a.err, "model    %s\nproject  %s\ndata     %s\nOpen this page; Ctrl-C stops.\n\n", s.model.label, project, data.path)
	fmt.Fprintln(a.out, s.page)
	select {
	case <-ctx.Done():
		fmt.Fprintln(a.err, "\nStopping: what was accepted goes on at the next start.")
	case err = <-s.failed:
	}
	return errors.Join(err, s.stop(ctx))
}
