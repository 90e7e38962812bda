package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"holdfast/actor"
)

func (a app) usageCmd() *cobra.Command {
	var t target
	var day string
	var asCSV bool
	cmd := &cobra.Command{
		Use: "usage", Short: "Show what a workspace spent in a day, by person and model, against its budgets", Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.client(t)
			if err != nil {
				return err
			}
			path, err := c.inWorkspace("usage?day=" + url.QueryEscape(day))
			if err != nil {
				return err
			}
			var raw json.RawMessage
			if err := c.do(cmd.Context(), "GET", path, nil, &raw); err != nil {
				return err
			}
			var s actor.Spending
			switch err := json.Unmarshal(raw, &s); {
			case t.json:
				return printJSON(a.out, raw)
			case err != nil:
				return err
			case asCSV:
				return a.usageCSV(s)
			}
			return a.printUsage(s)
		},
	}
	t.add(cmd)
	cmd.Flags().StringVar(&day, "day", "", "a day in UTC, as 2026-11-30; absent: today")
	cmd.Flags().BoolVar(&asCSV, "csv", false, "print comma-separated values, money in millionths of a dollar")
	return cmd
}

func (a app) usageCSV(s actor.Spending) error {
	w := csv.NewWriter(a.out)
	rows := [][]string{{"day", "user", "model", "tokens", "micro_dollars"}}
	for _, one := range s.Spend {
		rows = append(rows, []string{s.Day, one.User, one.Model, strconv.FormatInt(one.Tokens, 10), strconv.FormatInt(one.Micros, 10)})
	}
	return w.WriteAll(rows)
}

func (a app) printUsage(s actor.Spending) error {
	w := table(a.out, "USER", "MODEL", "TOKENS", "DOLLARS")
	for _, one := range s.Spend {
		row(w, one.User, one.Model, one.Tokens, actor.Dollars(one.Micros))
	}
	row(w, "all", "", s.Tokens, actor.Dollars(s.Micros))
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.out, "Budget of the workspace: %s; of each person: %s.\n", s.Budget.Workspace, s.Budget.User)
	return err
}
