package main

import (
	"context"

	"github.com/spf13/cobra"
)

func (a app) runnerCmd() *cobra.Command {
	return &cobra.Command{Use: "runner", Args: exactly(0), RunE: func(*cobra.Command, []string) error { return nil }}
}

func (s *stack) openRunner(ctx context.Context) error { return nil }
