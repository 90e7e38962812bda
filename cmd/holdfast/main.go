// Command holdfast is the one binary: the self-hosted edge, the runner, the playground, and the operator's tools.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A file at the limit of `ulimit -f` is an error, as a full disk is, and no end.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGXFSZ)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once; what it accepted is safe
	code := execute(ctx, os.Args[1:], app{out: os.Stdout, err: os.Stderr, env: os.Getenv})
	stop()
	os.Exit(code)
}

// app is what a verb may touch of the process, so that tests run the same verbs.
type app struct {
	out, err io.Writer
	env      func(string) string
}

// execute runs one command line and gives its exit code.
func execute(ctx context.Context, args []string, a app) int {
	root := a.root()
	root.SetArgs(args)
	root.SetOut(a.out)
	root.SetErr(a.err)
	err := root.ExecuteContext(ctx)
	if err != nil {
		fmt.Fprintln(a.err, "holdfast: "+explain(err))
	}
	return exitCode(err)
}

func (a app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "holdfast",
		Short: "A durable coding agent that lives in Discord",
		Long: "Holdfast is a durable coding agent that lives in Discord. `holdfast run` shows all of it on this machine.\n\n" +
			"Exit codes: 0 done, 1 failed, 2 usage, 3 not found, 4 refused, 5 unknown outcome.",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE:          help,
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(
		a.runCmd(), a.edgeCmd(), a.runnerCmd(), a.playgroundCmd(),
		a.statusCmd(), a.jobsCmd(), a.jobCmd(), a.usageCmd(),
		a.decisionCmd("approve", "Approve what a job waits for, as its card's button does"),
		a.decisionCmd("deny", "Deny what a job waits for, and say why"),
		a.decisionCmd("stop", "Stop a job's turn"),
		a.reviewCmd(), a.backupCmd(), a.restoreCmd(),
		a.policyCmd(), a.registerCmd(), a.tokenCmd(), a.configCmd(), a.versionCmd(),
	)
	return root
}

// help is what a command does that only has others below it.
func help(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("unknown command %q; see `%s --help`", args[0], cmd.CommandPath())}
	}
	return cmd.Help()
}

// exactly is cobra.ExactArgs whose error counts as usage.
func exactly(n int) cobra.PositionalArgs { return usage(cobra.ExactArgs(n)) }

// atLeast is cobra.MinimumNArgs whose error counts as usage.
func atLeast(n int) cobra.PositionalArgs { return usage(cobra.MinimumNArgs(n)) }

func usage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{fmt.Errorf("%w: %s", err, cmd.UseLine())}
		}
		return nil
	}
}
