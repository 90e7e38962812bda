package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/actor/errs"
	"holdfast/worker/host"
)

func (a app) backupCmd() *cobra.Command {
	var t target
	var to string
	cmd := &cobra.Command{
		Use: "backup --to FILE", Short: "Back up a self-hosted edge while it serves", Args: exactly(0),
		Long: "Asks the serving process for a copy of all its databases and writes it to one file, mode 0600. Nothing stops\n" +
			"meanwhile. Each database was checked before it was added, and the file is whole when this command ends with 0.\n" +
			"It takes a key with the role admin. Keep the file as safe as the data: unless the edge has a key_file, it can be read.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if to == "" {
				return usageError{errors.New("where to? Name a file with --to")}
			}
			c, err := a.client(t)
			if err != nil {
				return err
			}
			m, err := c.backup(cmd.Context(), to)
			if err != nil {
				return err
			}
			return a.reportBackup(m, to)
		},
	}
	t.add(cmd)
	cmd.Flags().StringVar(&to, "to", "", "the file to write; one that is there is never replaced")
	return cmd
}

// backup fetches a backup into a new file, and checks that it is whole.
func (c *client) backup(ctx context.Context, to string) (_ *host.Manifest, err error) {
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil, errs.New(errs.Conflict, "%s is there already; nothing was changed.", to)
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, os.Remove(to))
		}
	}()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+"/v1/backup", nil)
	if err != nil {
		return nil, usageError{err}
	}
	req.Header.Set("Authorization", "Bearer "+c.Token)
	res, err := new(http.Client).Do(req) // without the other verbs' time limit: a large one takes as long as it takes
	if err != nil {
		return nil, errs.Wrap(errs.Unavailable, err, "The deployment does not answer.")
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		raw, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer)) // half an error is an error too
		return nil, refusal(res.StatusCode, raw)
	}
	copied := io.TeeReader(res.Body, f)
	m, err := host.ReadBackup(copied, nil)
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(io.Discard, copied); err != nil { // the end of the archive
		return nil, err
	}
	return m, f.Sync()
}

// reportBackup says what is in it. One that had to leave databases out is no success.
func (a app) reportBackup(m *host.Manifest, file string) error {
	size := int64(0)
	for _, f := range m.Files {
		size += f.Bytes
	}
	fmt.Fprintf(a.out, "%s: %d databases, %.1f MiB\n", file, len(m.Files), float64(size)/(1<<20))
	if len(m.Damaged) > 0 {
		return fmt.Errorf("these are damaged and not in it, everything else is: %s", strings.Join(m.Damaged, ", "))
	}
	return nil
}
