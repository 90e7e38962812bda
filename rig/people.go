package rig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
)

// outcome is what a person sees of a command or a press (package playground, Outcome).
type outcome struct {
	Interaction string
	State       string // acked or failed
	Answer      int    // callback type
	Why         string
	Error       string
	Message     *message
	Modal       json.RawMessage
	Choices     []struct{ Name, Value string }
}

// take keeps what a person was told.
func (p *Play) take(o outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := o.Error
	if o.Message != nil {
		text += "\n" + o.Message.text()
	}
	p.told = append(p.told, strings.TrimSpace(text))
	p.choices = nil
	for _, c := range o.Choices {
		p.choices = append(p.choices, c.Name)
	}
}

// anew forgets what the people of an earlier step were told.
func (p *Play) anew() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told, p.choices = nil, nil
}

// as posts to the control API in a person's name.
func (p *Play) as(ctx context.Context, user, what string, in, out any) error {
	return p.stage.control.call(ctx, "POST", "/users/"+user+"/"+what, in, out)
}

// question is a text with the script that was written for it.
func (p *Play) question(text string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	lines := append([]string{text}, p.script...)
	p.script = nil
	return strings.Join(lines, "\n")
}

func (p *Play) command(ctx context.Context, user, channel, name string, options map[string]any) error {
	var o outcome
	err := p.as(ctx, user, "commands", map[string]any{"channel": channel, "name": name, "options": options}, &o)
	if err == nil {
		p.take(o)
	}
	return err
}

func (p *Play) ask(ctx context.Context, user, text, channel string) error {
	return p.command(ctx, user, channel, "ask", map[string]any{"prompt": p.question(text)})
}

func (p *Play) say(ctx context.Context, user, text, channel string) error {
	text = strings.ReplaceAll(text, "@bot", "<@"+p.stage.Info.Application+">")
	for name, id := range p.stage.Info.Users {
		text = strings.ReplaceAll(text, "@"+name, "<@"+id+">")
	}
	var m message
	err := p.as(ctx, user, "messages", map[string]any{"channel": channel, "content": p.question(text)}, &m)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.said = m.ID
	return err
}

func (p *Play) edit(ctx context.Context, user, text string) error {
	path := "/users/" + user + "/messages/" + p.said
	return p.stage.control.call(ctx, "PATCH", path, map[string]any{"content": text}, nil)
}

// thread is the newest one, once there is one.
func (p *Play) thread(ctx context.Context) (id string, err error) {
	err = poll(ctx, func(ctx context.Context) error {
		list, err := p.threads(ctx)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return errors.New("there is no thread")
		}
		id = list[len(list)-1].ID
		return nil
	})
	return id, err
}

var buttonVerbs = map[string]string{"approve": "a", "deny": "d", "stop": "s", "details": "i"}

// press waits for a button and presses it.
func (p *Play) press(ctx context.Context, user, verb string) (outcome, error) {
	var m message
	err := poll(ctx, func(ctx context.Context) (err error) {
		m, err = p.newest(ctx, fmt.Sprintf("message with a button %q", verb), func(m message) bool { return m.find(verb) != "" })
		return err
	})
	if err != nil {
		return outcome{}, err
	}
	var o outcome
	err = p.as(ctx, user, "components", map[string]any{"message": m.ID, "custom_id": m.find(verb)}, &o)
	return o, err
}

func (p *Play) pressButton(ctx context.Context, user, name string) error {
	o, err := p.press(ctx, user, buttonVerbs[name])
	if err == nil {
		p.take(o)
	}
	return err
}

// denyBecause opens the form of "Deny and say why" and submits it.
func (p *Play) denyBecause(ctx context.Context, user, why string) error {
	o, err := p.press(ctx, user, "w")
	if err != nil {
		return err
	}
	var form any
	if json.Unmarshal(o.Modal, &form) != nil {
		return fmt.Errorf("no form was opened: %s %s", o.Error, o.Why)
	}
	values := map[string]string{}
	walk(form, func(part map[string]any) {
		if id, ok := part["custom_id"].(string); ok && part["type"] == float64(4) { // a text input
			values[id] = why
		}
	})
	if err := p.as(ctx, user, "modals", map[string]any{"interaction": o.Interaction, "values": values}, &o); err != nil {
		return err
	}
	p.take(o)
	return nil
}

func (p *Play) complete(ctx context.Context, user, query, channel string) (outcome, error) {
	var o outcome
	err := p.as(ctx, user, "autocomplete", map[string]any{"channel": channel, "name": "resume", "focused": "conversation",
		"options": map[string]any{"conversation": query}}, &o)
	if err == nil {
		p.take(o)
	}
	return o, err
}

// resume picks the first choice for a query, as a person does; what nothing fits is sent as typed.
func (p *Play) resume(ctx context.Context, user, query, channel string) error {
	o, err := p.complete(ctx, user, query, channel)
	if err != nil {
		return err
	}
	value := query
	if len(o.Choices) > 0 {
		value = o.Choices[0].Value
	}
	p.anew()
	return p.command(ctx, user, channel, "resume", map[string]any{"conversation": value})
}

func (p *Play) openThread(ctx context.Context, user, name string) error {
	return p.as(ctx, user, "threads", map[string]any{"channel": p.stage.Info.Channel, "name": name}, nil)
}

// changeThread lets maya change the thread.
func (p *Play) changeThread(ctx context.Context, method string, in any) error {
	id, err := p.thread(ctx)
	if err != nil {
		return err
	}
	return p.stage.control.call(ctx, method, "/users/maya/threads/"+url.PathEscape(id), in, nil)
}

func (p *Play) deleteAnchor(ctx context.Context) error {
	m, err := p.newest(ctx, "anchor", isAnchor)
	if err != nil {
		return err
	}
	return p.stage.control.call(ctx, "DELETE", "/users/maya/messages/"+m.ID, nil, nil)
}

// raceSteps splits the steps of a race.
func raceSteps(text string) ([]Step, error) {
	var steps []Step
	for part := range strings.SplitSeq(text, " | ") {
		step, err := parseStep(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		if step.form.act == nil || step.form.stage {
			return nil, fmt.Errorf("%q: a race is between people", step.Text)
		}
		steps = append(steps, step)
	}
	return steps, nil
}

// race lets people act at the same time.
func (p *Play) race(ctx context.Context, text string) error {
	steps, err := raceSteps(text)
	if err != nil {
		return err
	}
	failures := make([]error, len(steps))
	var running sync.WaitGroup
	for i, step := range steps {
		running.Go(func() { failures[i] = step.form.act(ctx, p, step.args) })
	}
	running.Wait()
	return errors.Join(failures...)
}
