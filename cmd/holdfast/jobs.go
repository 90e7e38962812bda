package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"holdfast/actor"
)

func (a app) jobsCmd() *cobra.Command {
	var t target
	var active, failed bool
	cmd := &cobra.Command{
		Use: "jobs", Short: "List a workspace's jobs, the newest first: their lifecycle, and the activity that was observed", Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.client(t)
			if err != nil {
				return err
			}
			q := url.Values{}
			switch {
			case active && failed:
				return usageError{errors.New("--active and --failed: a job is one or the other, take one")}
			case active:
				q.Set("state", "active")
			case failed:
				q.Set("state", "failed")
			}
			path, err := c.inWorkspace("jobs?" + q.Encode())
			if err != nil {
				return err
			}
			var raw json.RawMessage
			if err := c.do(cmd.Context(), "GET", path, nil, &raw); err != nil {
				return err
			}
			if t.json {
				return printJSON(a.out, raw)
			}
			return a.printJobs(raw)
		},
	}
	t.add(cmd)
	cmd.Flags().BoolVar(&active, "active", false, "only those that run or wait")
	cmd.Flags().BoolVar(&failed, "failed", false, "only those that ended without an answer")
	return cmd
}

func (a app) printJobs(raw json.RawMessage) error {
	var list struct {
		Jobs []actor.Job `json:"jobs"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	w := table(a.out, "JOB", "STATE", "ACTIVITY", "AUTHOR", "CREATED", "TOOLS", "TOKENS", "TITLE")
	for _, j := range list.Jobs {
		row(w, j.ID, stateOf(j), j.Activity, j.Author, when(j.Created), j.Tools, j.Tokens, j.Title)
	}
	return w.Flush()
}

// stateOf is a job's lifecycle, with why it went unanswered.
func stateOf(j actor.Job) string {
	if j.Reason != "" {
		return fmt.Sprintf("%s: %s", j.State, j.Reason)
	}
	return j.State
}

func when(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).Format("2006-01-02 15:04:05")
}
