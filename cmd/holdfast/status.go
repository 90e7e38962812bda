package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"holdfast/worker/api"
)

// workspaceStatus is what a workspace says of itself (op status).
type workspaceStatus struct {
	Now     int64  `json:"now"`
	Queued  int64  `json:"queued"`
	Running int64  `json:"running"`
	Oldest  int64  `json:"oldest_unsettled"` // unix ms, 0 for none
	Storage string `json:"storage"`          // "ok", or why nothing can be written
	Unread  bool   `json:"unreadable"`       // nothing else is known: the database cannot even be read
	Review  struct {
		On   bool  `json:"on"`
		Open int64 `json:"open"`
	} `json:"review"`
	Runner struct {
		Connected bool   `json:"connected"`
		Name      string `json:"name"`
		Project   string `json:"project"`
		Sandbox   string `json:"sandbox"`
	} `json:"runner"`
}

func (a app) statusCmd() *cobra.Command {
	var t target
	cmd := &cobra.Command{
		Use: "status", Short: "Show each workspace: its runner, what runs and waits", Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.client(t)
			if err != nil {
				return err
			}
			var raw json.RawMessage
			if err := c.do(cmd.Context(), "GET", "/v1/status", nil, &raw); err != nil {
				return err
			}
			if t.json {
				return printJSON(a.out, raw)
			}
			return printStatus(a.out, raw)
		},
	}
	t.add(cmd)
	return cmd
}

func printStatus(out io.Writer, raw json.RawMessage) error {
	var l api.Listing
	if err := json.Unmarshal(raw, &l); err != nil {
		return err
	}
	notes := l.Notes
	w := table(out, "WORKSPACE", "RUNNER", "PROJECT", "SANDBOX", "RUNNING", "QUEUED", "OLDEST")
	for _, x := range l.Workspaces {
		name := x.Guild + "/" + x.Workspace
		var s workspaceStatus
		if len(x.Status) == 0 || json.Unmarshal(x.Status, &s) != nil {
			row(w, name, "unknown", "", "", "", "", string(x.Error))
			continue
		}
		notes = append(notes, s.notes(name)...)
		if s.Unread {
			row(w, name, "unknown", "", "", "unknown", "unknown", "")
			continue
		}
		runner, oldest := "none connected", ""
		if s.Runner.Connected {
			runner = s.Runner.Name
		}
		if s.Oldest > 0 {
			oldest = ago(s.Now - s.Oldest)
		}
		row(w, name, runner, s.Runner.Project, s.Runner.Sandbox, s.Running, s.Queued, oldest)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, n := range notes {
		fmt.Fprintln(out, printable(n))
	}
	return nil
}

// notes are what somebody has to do about a workspace.
func (s workspaceStatus) notes(name string) (notes []string) {
	if s.Storage != "" && s.Storage != "ok" {
		notes = append(notes, name+": "+s.Storage)
	}
	if s.Review.On {
		notes = append(notes, fmt.Sprintf("%s: restored and in review, %d to decide: holdfast review --workspace %s", name, s.Review.Open, name))
	}
	return notes
}

// table begins a table with its headings.
func table(out io.Writer, headings ...any) *tabwriter.Writer {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	row(w, headings...)
	return w
}

// row writes one line; an empty cell shows as a dash.
func row(w *tabwriter.Writer, cells ...any) {
	for i, c := range cells {
		if i > 0 {
			fmt.Fprint(w, "\t")
		}
		if s := printable(fmt.Sprint(c)); s != "" {
			fmt.Fprint(w, s)
		} else {
			fmt.Fprint(w, "-")
		}
	}
	fmt.Fprintln(w)
}

// printable takes from a text of others what would move the cursor or colour the terminal.
func printable(s string) string {
	out := []rune{}
	for _, r := range s {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			r = ' '
		}
		out = append(out, r)
	}
	return string(out)
}

// printableLines is the same for a text of several lines.
func printableLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = printable(lines[i])
	}
	return strings.Join(lines, "\n")
}

func ago(ms int64) string {
	return (time.Duration(ms) * time.Millisecond).Round(time.Second).String()
}

func printJSON(out io.Writer, raw json.RawMessage) error {
	_, err := fmt.Fprintln(out, string(raw))
	return err
}
