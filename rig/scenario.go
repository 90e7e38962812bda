package rig

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/tools/txtar"
)

// Names of the hosts.
const (
	Linked     = "linked"
	Selfhosted = "selfhosted"
	Workerd    = "workerd"
)

var hostNames = []string{Linked, Selfhosted, Workerd}

const defaultPatience = 45 * time.Second

// Scenario is a parsed file.
type Scenario struct {
	Name     string // without extension
	Row      string // of the failure matrix, as "F08", or ""
	Title    string
	Hosts    []string
	Patience time.Duration
	Steps    []Step
	Files    map[string]string // everything but the steps, by name
}

// Step is one line of "steps".
type Step struct {
	Line  int
	Text  string
	Hosts []string // nil: every one
	form  *form
	args  arguments
}

// For says whether the scenario, or the step, is for a host.
func (s Scenario) For(host string) bool { return slices.Contains(s.Hosts, host) }

// For says whether the step is for a host.
func (s Step) For(host string) bool { return s.Hosts == nil || slices.Contains(s.Hosts, host) }

// KillsRunner says whether a runner dies in the scenario, which takes a real process.
func (s Scenario) KillsRunner() bool {
	for i, step := range s.Steps {
		if step.form.pattern == "kill runner" && i > 0 {
			return true
		}
	}
	return false
}

var row = regexp.MustCompile(`^F\d\d$`)

// Parse reads a scenario. Every mistake in it is told at once, each with its line in the file "steps".
func Parse(name string, raw []byte) (Scenario, error) {
	archive := txtar.Parse(raw)
	s := Scenario{Name: strings.TrimSuffix(name, ".txtar"), Hosts: hostNames, Patience: defaultPatience, Files: map[string]string{}}
	var problems []string
	if err := s.header(string(archive.Comment)); err != nil {
		problems = append(problems, "header: "+err.Error())
	}
	for _, f := range archive.Files {
		if f.Name == "steps" {
			problems = append(problems, s.steps(string(f.Data))...)
			continue
		}
		if f.Name != "policy.json" && f.Name != "settings.json" && !strings.HasPrefix(f.Name, "project/") {
			problems = append(problems, f.Name+": expected steps, policy.json, settings.json or project/…")
		}
		s.Files[f.Name] = string(f.Data)
	}
	if len(s.Steps) == 0 && len(problems) == 0 {
		problems = append(problems, "there are no steps")
	}
	if len(problems) > 0 {
		return s, fmt.Errorf("%s: %s", name, strings.Join(problems, "\n"))
	}
	return s, nil
}

func (s *Scenario) header(comment string) error {
	for i, line := range strings.Split(strings.TrimSpace(comment), "\n") {
		line = strings.TrimSpace(line)
		title, isComment := strings.CutPrefix(line, "#")
		key, value, _ := strings.Cut(line, ":")
		switch {
		case i == 0 && isComment:
			s.Title = strings.TrimSpace(title)
			if first, _, _ := strings.Cut(s.Title, " "); row.MatchString(first) {
				s.Row = first
			}
		case i == 0:
			return fmt.Errorf("the first line is %q, expected a comment that says what is shown", line)
		case isComment || line == "":
		case key == "hosts":
			hosts, err := hosts(strings.Fields(value))
			if err != nil {
				return err
			}
			s.Hosts = hosts
		case key == "patience":
			d, err := time.ParseDuration(strings.TrimSpace(value))
			if err != nil || d <= 0 {
				return fmt.Errorf("patience %q, expected a duration", value)
			}
			s.Patience = d
		default:
			return fmt.Errorf("%q, expected a comment, hosts: or patience:", line)
		}
	}
	return nil
}

func hosts(names []string) ([]string, error) {
	for _, n := range names {
		if !slices.Contains(hostNames, n) {
			return nil, fmt.Errorf("host %q, expected some of %s", n, strings.Join(hostNames, ", "))
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no host, expected some of %s", strings.Join(hostNames, ", "))
	}
	return names, nil
}

func (s *Scenario) steps(text string) (problems []string) {
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		step, err := parseStep(line)
		if err != nil {
			problems = append(problems, fmt.Sprintf("steps:%d: %v", i+1, err))
			continue
		}
		step.Line = i + 1
		s.Steps = append(s.Steps, step)
	}
	return problems
}

// parseStep reads one line.
func parseStep(line string) (Step, error) {
	step := Step{Text: line}
	if rest, ok := strings.CutPrefix(line, "on "); ok {
		names, rest, found := strings.Cut(rest, ":")
		if !found {
			return step, fmt.Errorf("%q: expected \"on HOST,HOST: step\"", line)
		}
		list, err := hosts(strings.Split(strings.ReplaceAll(names, " ", ""), ","))
		if err != nil {
			return step, err
		}
		step.Hosts, line = list, strings.TrimSpace(rest)
	}
	tokens, err := lex(line)
	if err != nil {
		return step, err
	}
	for i := range forms {
		args, ok, err := forms[i].match(line, tokens)
		if err != nil {
			return step, fmt.Errorf("%q: %w", line, err)
		}
		if !ok {
			continue
		}
		step.form, step.args = &forms[i], args
		if check := forms[i].check; check != nil {
			if err := check(args); err != nil {
				return step, fmt.Errorf("%q: %w", line, err)
			}
		}
		return step, nil
	}
	return step, fmt.Errorf("%q is no step", line)
}
