package rig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"holdfast/actor"
	"holdfast/interactions"
	"holdfast/worker/host"
)

// Play is one scenario on one host while it runs.
type Play struct {
	host     Host
	run      Runners
	scenario Scenario
	stage    *Stage
	operator control

	edge   Edge
	trap   Trap // of the next edge
	seeded bool
	opened bool // edge and runner were started once
	runner Runner
	others []Runner
	lonely bool // no runner is started by itself

	mu      sync.Mutex // of what follows: in a race several people act
	script  []string   // of the next question
	said    string     // id of the message that a person wrote last
	told    []string   // what the last step's people were answered with
	choices []string
}

// Open sets the stage for a scenario below dir. Close the play.
func Open(ctx context.Context, h Host, run Runners, s Scenario, dir string) (*Play, error) {
	files := map[string]string{}
	for name, text := range s.Files {
		if path, ok := strings.CutPrefix(name, "project/"); ok {
			files[path] = text
		}
	}
	stage, err := NewStage(ctx, dir, files)
	if err != nil {
		return nil, fmt.Errorf("set the stage: %w", err)
	}
	token, err := stage.Token(host.KindOperator, "rig", "read", "reply", "approve", "admin")
	if err != nil {
		return nil, errors.Join(err, stage.Close())
	}
	p := &Play{host: h, run: run, scenario: s, stage: stage,
		operator: control{base: stage.URL() + "/v1/workspaces/" + stage.WorkspaceID(), token: "Bearer " + token}}
	return p, nil
}

// Run plays all steps, and looks at the end once more. Its error names the step.
func (p *Play) Run(ctx context.Context) error {
	last := 0
	for i, step := range p.scenario.Steps {
		if !step.For(p.host.Name()) {
			continue
		}
		if err := p.step(ctx, step); err != nil {
			return fmt.Errorf("steps:%d: %s: %w%s", step.Line, step.Text, err, p.evidence())
		}
		if step.form.act != nil || step.form.passing != nil && step.form.passing(step.args) {
			last = i
		}
	}
	if err := p.atRest(ctx); err != nil {
		return fmt.Errorf("at the end: %w%s", err, p.evidence())
	}
	for _, step := range p.scenario.Steps[last+1:] {
		if !step.For(p.host.Name()) {
			continue
		}
		if err := step.form.look(ctx, p, step.args); err != nil {
			return fmt.Errorf("steps:%d: %s: it was so, and at the end it is not: %w%s", step.Line, step.Text, err, p.evidence())
		}
	}
	return p.checkWire(ctx)
}

func (p *Play) step(ctx context.Context, step Step) error {
	ctx, cancel := context.WithTimeout(ctx, p.scenario.Patience)
	defer cancel()
	if !step.form.stage && !p.opened {
		if err := p.open(ctx); err != nil {
			return err
		}
	}
	if step.form.act != nil {
		p.anew()
		return step.form.act(ctx, p, step.args)
	}
	return poll(ctx, func(ctx context.Context) error { return step.form.look(ctx, p, step.args) })
}

// open starts edge and runner for the first time.
func (p *Play) open(ctx context.Context) error {
	p.opened = true
	if p.edge == nil {
		if err := p.startEdge(ctx); err != nil {
			return err
		}
	}
	if p.runner != nil || p.lonely {
		return nil
	}
	return p.startRunner(ctx)
}

// startEdge starts the edge with the trap that was set, and at the first time gives the workspace its settings.
func (p *Play) startEdge(ctx context.Context) (err error) {
	if p.edge, err = p.host.Start(ctx, p.stage, p.trap); err != nil {
		return err
	}
	p.opened, p.trap = true, Trap{}
	if p.seeded {
		return nil
	}
	p.seeded = true
	return p.seed(ctx)
}

// seed does what `holdfast run` does at its first start: settings of the workspace, commands at Discord.
func (p *Play) seed(ctx context.Context) error {
	settings, err := p.settings()
	if err != nil {
		return err
	}
	if err := p.operator.call(ctx, "PUT", "/config", settings, nil); err != nil {
		return fmt.Errorf("settings of the workspace: %w", err)
	}
	discord := control{base: p.stage.Info.API, token: "Bot " + p.stage.Info.Token}
	err = discord.call(ctx, "PUT", "/applications/"+p.stage.Info.Application+"/commands", interactions.Commands(), nil)
	if err != nil {
		return fmt.Errorf("register the commands: %w", err)
	}
	return nil
}

func (p *Play) settings() (map[string]any, error) {
	users := p.stage.Info.Users
	all := map[string]any{
		"self_approve": true,
		"members": []actor.Member{
			{User: users["maya"], Roles: []string{"admin", "approver", "member"}},
			{User: users["sam"], Roles: []string{"member"}},
		},
		"bindings": []string{p.stage.Info.Channel},
	}
	if text, ok := p.scenario.Files["settings.json"]; ok {
		for name, id := range users {
			text = strings.ReplaceAll(text, "@"+name, id)
		}
		if err := json.Unmarshal([]byte(text), &all); err != nil {
			return nil, fmt.Errorf("settings.json: %w", err)
		}
	}
	if text, ok := p.scenario.Files["policy.json"]; ok {
		if !json.Valid([]byte(text)) {
			return nil, errors.New("policy.json is no JSON")
		}
		all["policy"] = json.RawMessage(text)
	}
	return all, nil
}

// startRunner starts the runner and waits until the workspace has taken it.
func (p *Play) startRunner(ctx context.Context) (err error) {
	if p.runner != nil {
		return errors.New("the runner runs already")
	}
	if p.runner, err = p.run(p.stage, "runner"); err != nil {
		return fmt.Errorf("start the runner: %w", err)
	}
	return poll(ctx, func(ctx context.Context) error {
		select {
		case <-p.runner.Down():
			return neverf("the runner ended:\n%s", p.runner.Said())
		default:
		}
		var status struct{ Runner struct{ Connected bool } }
		if err := p.operator.call(ctx, "GET", "/status", nil, &status); err != nil {
			return err
		}
		if !status.Runner.Connected {
			return fmt.Errorf("the runner does not connect:\n%s", p.runner.Said())
		}
		return nil
	})
}

// Close ends everything that the scenario started.
func (p *Play) Close() error {
	var list []error
	for _, r := range append(p.others, p.runner) {
		if r != nil {
			list = append(list, r.Kill())
		}
	}
	if p.edge != nil {
		list = append(list, p.edge.Kill())
	}
	return errors.Join(append(list, p.stage.Close())...)
}

// evidence is what a failure shows beside itself.
func (p *Play) evidence() string {
	ctx, cancel := context.WithTimeout(context.Background(), looksBack)
	defer cancel()
	var b strings.Builder
	if all, err := p.everything(ctx); err == nil {
		fmt.Fprintf(&b, "\nDiscord shows:%s", outline(all))
	}
	if t, err := p.records(ctx); err == nil {
		fmt.Fprintf(&b, "\nrecords:\n%s", t)
	}
	if p.edge != nil {
		fmt.Fprintf(&b, "\nthe edge said:\n%s", lastLines(p.edge.Said(), 60))
	}
	if p.runner != nil {
		fmt.Fprintf(&b, "\nthe runner said:\n%s", lastLines(p.runner.Said(), 30))
	}
	return b.String()
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
