package main

import (
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	"holdfast/actor/errs"
)

// decisionCmd is one of stop, approve and deny: what the buttons of a card do, for an operator.
func (a app) decisionCmd(verb, short string) *cobra.Command {
	var t target
	var task int64
	var reason string
	cmd := &cobra.Command{
		Use: verb + " ID", Short: short, Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client(t)
			if err != nil {
				return err
			}
			path, err := c.inWorkspace("jobs/" + url.PathEscape(args[0]) + "/" + verb)
			if err != nil {
				return err
			}
			body := map[string]any{}
			if task != 0 {
				body["task"] = task
			}
			if reason != "" {
				body["reason"] = reason
			}
			var raw json.RawMessage
			if err := c.do(cmd.Context(), "POST", path, body, &raw); err != nil {
				return err
			}
			if t.json {
				return printJSON(a.out, raw)
			}
			return a.printState(args[0], raw)
		},
	}
	t.add(cmd)
	if verb != "stop" {
		cmd.Flags().Int64Var(&task, "task", 0, "which approval, by its number in `holdfast job ID`; needed when several are open")
	}
	if verb == "deny" {
		cmd.Flags().StringVar(&reason, "reason", "", "why, for the model and the card")
	}
	return cmd
}

func (a app) printState(id string, raw json.RawMessage) error {
	var answer struct {
		State string `json:"state"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return errs.Wrap(errs.Internal, err, "The deployment's answer cannot be read.")
	}
	_, err := fmt.Fprintf(a.out, "job %s: %s\n", printable(id), printable(answer.State))
	return err
}
