package main

import (
	"github.com/spf13/cobra"

	"holdfast/cmd/holdfast/config"
)

func (a app) configCmd() *cobra.Command {
	root := &cobra.Command{Use: "config", Short: "The configuration", Args: cobra.ArbitraryArgs, RunE: help}
	var file string
	show := &cobra.Command{
		Use: "print", Short: "Print the effective configuration; of secrets only whether they are set", Args: exactly(0),
		RunE: func(*cobra.Command, []string) error {
			c, err := config.Load(file, a.env)
			if err != nil {
				return err
			}
			return c.Print(a.out)
		},
	}
	configFlag(show, &file)
	root.AddCommand(show)
	return root
}

func configFlag(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "config", config.DefaultPath, "the configuration file; HOLDFAST_<TABLE>_<KEY> in the environment wins over it")
}
