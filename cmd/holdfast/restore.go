package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"holdfast/cmd/holdfast/config"
	"holdfast/worker/host"
)

func (a app) restoreCmd() *cobra.Command {
	var from, data, keyFile string
	cmd := &cobra.Command{
		Use: "restore --from FILE --data DIR", Short: "Make an edge's data directory from a backup", Args: exactly(0),
		Long: "Unpacks a backup into a directory that is missing or empty: edge.data of holdfast.toml, or the folder edge in the\n" +
			"data folder of `holdfast run`. Every database is checked in full, and one from a newer holdfast is refused.\n\n" +
			"Each workspace then starts in review: nothing runs by itself, and what was answered in Discord since the backup is\n" +
			"found there and settled. `holdfast review` lists the rest, decides about it, and releases the workspace.",
		RunE: func(*cobra.Command, []string) error {
			if from == "" || data == "" {
				return usageError{errors.New("a restore needs --from and --data")}
			}
			key, err := config.ReadDataKey(keyFile)
			if err != nil {
				return err
			}
			f, err := os.Open(from)
			if err != nil {
				return err
			}
			defer f.Close()
			m, err := host.Restore(f, host.RestoreOptions{Data: data, Key: key, Now: time.Now()})
			if err != nil {
				return err
			}
			fmt.Fprintf(a.out, "%s: %d databases as of %s. Start the edge, then: holdfast review\n", data, len(m.Files), when(m.Created))
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&from, "from", "", "the backup")
	f.StringVar(&data, "data", "", "directory to make")
	f.StringVar(&keyFile, "key-file", "", "file, mode 0600, with the key of an encrypted backup")
	return cmd
}
