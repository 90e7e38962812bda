package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"holdfast/actor/policy"
)

func (a app) policyCmd() *cobra.Command {
	root := &cobra.Command{Use: "policy", Short: "What the agent may do", Args: cobra.ArbitraryArgs, RunE: help}
	var file, tool string
	var asJSON bool
	test := &cobra.Command{
		Use:   "test 'COMMAND'",
		Short: "Say whether a command would be allowed, asked about or denied, and why; runs nothing",
		Long: "Judges a shell command by a policy, exactly as a workspace does before it runs one. Nothing is executed and no\n" +
			"deployment is asked.",
		Args: exactly(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.testPolicy(file, tool, args[0], asJSON)
		},
	}
	test.Flags().StringVar(&file, "policy", "", "a policy's JSON file (default: the shipped policy)")
	test.Flags().StringVar(&tool, "tool", "bash", "the tool; for one other than bash the argument is its path")
	test.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	root.AddCommand(test)
	return root
}

func (a app) testPolicy(file, tool, subject string, asJSON bool) error {
	var document []byte
	if file != "" {
		raw, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		document = raw
	}
	p, err := policy.Parse(document)
	if err != nil {
		return usageError{err}
	}
	key := "path"
	if tool == "bash" {
		key = "command"
	}
	args, err := json.Marshal(map[string]string{key: subject})
	if err != nil {
		return err
	}
	return a.printDecision(p.Judge(policy.Call{Tool: tool, Args: args}), asJSON)
}

func (a app) printDecision(d policy.Decision, asJSON bool) error {
	if asJSON {
		raw, err := json.Marshal(d)
		if err != nil {
			return err
		}
		return printJSON(a.out, raw)
	}
	fmt.Fprintf(a.out, "%s  %s\n%s\n", d.Verdict, printable(d.Rule), printable(d.Reason))
	w := table(a.out, "VERDICT", "WHAT", "RULE", "INSIDE")
	for _, c := range d.Commands {
		row(w, c.Verdict, c.Text, c.Rule, c.Via)
	}
	for _, p := range d.Paths {
		what := "read " + p.Path
		if p.Write {
			what = "write " + p.Path
		}
		row(w, p.Verdict, what, p.Rule, "")
	}
	for _, g := range d.Grants {
		row(w, "", "needs "+g.Kind+" "+g.Target, "", "")
	}
	return w.Flush()
}
