package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"holdfast/actor/errs"
	"holdfast/cmd/holdfast/config"
	"holdfast/worker/host"
)

func (a app) tokenCmd() *cobra.Command {
	var file string
	var n int
	root := &cobra.Command{
		Use: "token", Short: "Derive a key from the deployment secret and print it", Args: cobra.ArbitraryArgs, RunE: help,
		Long: "Prints a key that the deployment accepts. Nothing is stored: the same arguments give the same key. To revoke keys,\n" +
			"raise `tokens.least` for their subject above their number.",
	}
	configFlag(root, &file)
	root.PersistentFlags().AddFlagSet(root.Flags())
	root.PersistentFlags().IntVar(&n, "n", 1, "the key's number; a higher one outlives a revocation of the lower ones")
	show := func(kind, subject string, roles []string) error {
		c, err := config.Load(file, a.env)
		if err != nil {
			return err
		}
		secret, err := c.DeploymentSecret()
		if err != nil {
			return err
		}
		if secret.Reveal() == "" {
			return usageError{errs.New(errs.Invalid, "There is no deployment secret.").WithHint("Name its file in edge.secret_file, or set HOLDFAST_SECRET.")}
		}
		t, err := host.Token(host.Secret(secret.Reveal()), kind, subject, roles, n)
		if err == nil {
			_, err = fmt.Fprintln(a.out, t)
		}
		return err
	}
	root.AddCommand(
		&cobra.Command{Use: "relay", Short: "The relay's key", Args: exactly(0),
			RunE: func(*cobra.Command, []string) error { return show(host.KindRelay, "relay", nil) }},
		&cobra.Command{Use: "runner GUILD/WORKSPACE", Short: "A runner's key, for one workspace", Args: exactly(1),
			RunE: func(_ *cobra.Command, args []string) error { return show(host.KindRunner, args[0], nil) }},
		&cobra.Command{Use: "operator NAME ROLE…", Short: "An operator's key; roles are read, reply, approve, admin", Args: atLeast(2),
			RunE: func(_ *cobra.Command, args []string) error { return show(host.KindOperator, args[0], args[1:]) }},
	)
	return root
}
