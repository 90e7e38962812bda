package main

import (
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	"holdfast/actor"
)

func (a app) jobCmd() *cobra.Command {
	var t target
	var events bool
	cmd := &cobra.Command{
		Use: "job ID", Short: "Show one job and its steps", Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client(t)
			if err != nil {
				return err
			}
			path, err := c.inWorkspace("jobs/" + url.PathEscape(args[0]))
			if err != nil {
				return err
			}
			if events {
				path += "/events"
			}
			var raw json.RawMessage
			if err := c.do(cmd.Context(), "GET", path, nil, &raw); err != nil {
				return err
			}
			switch {
			case t.json:
				return printJSON(a.out, raw)
			case events:
				return a.printEvents(raw)
			}
			return a.printJob(raw)
		},
	}
	t.add(cmd)
	cmd.Flags().BoolVar(&events, "events", false, "the job's event log instead")
	return cmd
}

func (a app) printJob(raw json.RawMessage) error {
	var x struct {
		Job    actor.Job       `json:"job"`
		Tasks  []actor.JobTask `json:"tasks"`
		Answer string          `json:"answer"`
	}
	if err := json.Unmarshal(raw, &x); err != nil {
		return err
	}
	j := x.Job
	w := table(a.out, "job "+j.ID, j.Title)
	row(w, "state", stateOf(j))
	row(w, "activity", j.Activity)
	row(w, "author", j.Author)
	row(w, "conversation", j.Conversation)
	row(w, "created", when(j.Created))
	row(w, "settled", when(j.Settled))
	row(w, "tokens", fmt.Sprintf("%d, $%.4f", j.Tokens, float64(j.Micros)/1e6))
	row(w, "restarts", j.Restarts)
	if err := w.Flush(); err != nil {
		return err
	}
	if err := a.printTasks(x.Tasks); err != nil || x.Answer == "" {
		return err
	}
	_, err := fmt.Fprintf(a.out, "\n%s\n", printableLines(x.Answer))
	return err
}

func (a app) printTasks(tasks []actor.JobTask) error {
	if len(tasks) == 0 {
		return nil
	}
	fmt.Fprintln(a.out)
	w := table(a.out, "TASK", "KIND", "TOOL", "STATE", "ATTEMPT", "STARTED", "TOOK", "RULE")
	for _, t := range tasks {
		row(w, t.ID, t.Kind, t.Tool, t.State, t.Epoch, when(t.Started), took(t), t.Rule)
	}
	return w.Flush()
}

func took(t actor.JobTask) string {
	switch {
	case t.Millis > 0:
		return fmt.Sprintf("%d ms", t.Millis)
	case t.Started > 0 && t.Ended >= t.Started:
		return fmt.Sprintf("%d ms", t.Ended-t.Started)
	}
	return ""
}

func (a app) printEvents(raw json.RawMessage) error {
	var list struct {
		Events []actor.JobEvent `json:"events"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	w := table(a.out, "EVENT", "AT", "NAME", "REF", "DETAIL")
	for _, e := range list.Events {
		row(w, e.ID, when(e.At), e.Name, e.Ref, e.Detail)
	}
	return w.Flush()
}
