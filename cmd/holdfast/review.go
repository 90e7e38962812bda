package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	"holdfast/actor"
)

func (a app) reviewCmd() *cobra.Command {
	var t target
	var cont, stop bool
	cmd := &cobra.Command{
		Use: "review [ID]", Short: "Look through what was open when a workspace was restored, decide, and release it", Args: usage(cobra.MaximumNArgs(1)),
		Long: "Without a decision it lists. With an ID, --continue lets that input go on once the workspace is released, and --stop\n" +
			"ends it. --continue without an ID releases the workspace; everything that Discord could not decide must be decided before.",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client(t)
			if err != nil {
				return err
			}
			method, path, body, err := reviewRequest(args, cont, stop)
			if err != nil {
				return err
			}
			if path, err = c.inWorkspace(path); err != nil {
				return err
			}
			var raw json.RawMessage
			if err := c.do(cmd.Context(), method, path, body, &raw); err != nil {
				return err
			}
			if t.json {
				return printJSON(a.out, raw)
			}
			return a.printReview(raw)
		},
	}
	t.add(cmd)
	cmd.Flags().BoolVar(&cont, "continue", false, "let it go on; without an ID: release the workspace")
	cmd.Flags().BoolVar(&stop, "stop", false, "end it")
	return cmd
}

// reviewRequest is what to ask the edge for.
func reviewRequest(args []string, cont, stop bool) (method, path string, body any, err error) {
	decision := map[bool]string{true: "continue", false: "stop"}[cont]
	switch {
	case cont && stop:
		return "", "", nil, usageError{errors.New("--continue and --stop: take one")}
	case !cont && !stop && len(args) > 0:
		return "", "", nil, usageError{errors.New("what about it? Say --continue or --stop")}
	case !cont && !stop:
		return "GET", "review", nil, nil
	case len(args) > 0:
		return "POST", "jobs/" + url.PathEscape(args[0]) + "/review", map[string]string{"decision": decision}, nil
	case stop:
		return "", "", nil, usageError{errors.New("which one? --stop takes an ID; a workspace is released with --continue")}
	}
	return "POST", "release", struct{}{}, nil
}

// verdictText says what a verdict means for the person who has to decide.
var verdictText = map[string]string{
	"unknown": "Discord is being asked", "absent": "not answered", "begun": "begun, how far is not known", "unclear": "Discord cannot tell",
	"answered": "answered", "continued": "goes on", "stopped": "stopped",
}

func (a app) printReview(raw json.RawMessage) error {
	var r actor.Review
	if err := json.Unmarshal(raw, &r); err != nil {
		return err
	}
	switch r.Mode {
	case "":
		fmt.Fprintln(a.out, "This workspace was never restored.")
		return nil
	case "over":
		fmt.Fprintln(a.out, "This workspace was restored and is released.")
	default:
		fmt.Fprintln(a.out, "This workspace is in review: nothing runs until `holdfast review --continue`.")
	}
	if len(r.Items) == 0 {
		return nil
	}
	w := table(a.out, "ID", "STATE", "AUTHOR", "CREATED", "TEXT")
	for _, x := range r.Items {
		row(w, x.ID, verdictText[x.Verdict], x.Author, when(x.Created), x.Text)
	}
	return w.Flush()
}
