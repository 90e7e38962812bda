package rig

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// forms are all steps there are; doc.go says what they mean. It is filled at the start because a race parses steps.
var forms []form

func init() {
	forms = append(forms, peopleForms...)
	forms = append(forms, troubleForms...)
	forms = append(forms, expectForms...)
}

type (
	ctxt = context.Context
	args = arguments
)

// inThread gives a step of people the thread as its place.
func inThread(do func(p *Play, ctx ctxt, user, text, channel string) error) func(ctxt, *Play, args) error {
	return func(ctx ctxt, p *Play, a args) error {
		channel, err := p.thread(ctx)
		if err != nil {
			return err
		}
		return do(p, ctx, a[0], a[1], channel)
	}
}

func inChannel(do func(p *Play, ctx ctxt, user, text, channel string) error) func(ctxt, *Play, args) error {
	return func(ctx ctxt, p *Play, a args) error { return do(p, ctx, a[0], a[1], p.stage.Info.Channel) }
}

var peopleForms = []form{
	{pattern: "as USER: ask TEXT", act: inChannel((*Play).ask)},
	{pattern: "as USER: ask TEXT in thread", act: inThread((*Play).ask)},
	{pattern: "as USER: say TEXT", act: sayWhereItBelongs},
	{pattern: "as USER: say TEXT in thread", act: inThread((*Play).say)},
	{pattern: "as USER: say TEXT in channel", act: inChannel((*Play).say)},
	{pattern: "as USER: edit TEXT", act: func(ctx ctxt, p *Play, a args) error { return p.edit(ctx, a[0], a[1]) }},
	{pattern: "as USER: press BUTTON", act: func(ctx ctxt, p *Play, a args) error { return p.pressButton(ctx, a[0], a[1]) }},
	{pattern: "as USER: press deny because TEXT", act: func(ctx ctxt, p *Play, a args) error { return p.denyBecause(ctx, a[0], a[1]) }},
	{pattern: "as USER: stop", act: func(ctx ctxt, p *Play, a args) error {
		id, err := p.thread(ctx)
		if err != nil {
			return err
		}
		return p.command(ctx, a[0], id, "stop", map[string]any{})
	}},
	{pattern: "as USER: usage", act: func(ctx ctxt, p *Play, a args) error {
		return p.command(ctx, a[0], p.stage.Info.Channel, "usage", map[string]any{})
	}},
	{pattern: "as USER: budget SCOPE UNIT AMOUNT", act: func(ctx ctxt, p *Play, a args) error {
		return p.command(ctx, a[0], p.stage.Info.Channel, "workspace budget", map[string]any{"scope": a[1], a[2]: a[3]})
	}},
	{pattern: "as USER: complete TEXT", act: inChannel(func(p *Play, ctx ctxt, user, text, channel string) error {
		_, err := p.complete(ctx, user, text, channel)
		return err
	})},
	{pattern: "as USER: resume TEXT", act: inChannel((*Play).resume)},
	{pattern: "as USER: resume TEXT in thread", act: inThread((*Play).resume)},
	{pattern: "as USER: open thread TEXT", act: func(ctx ctxt, p *Play, a args) error { return p.openThread(ctx, a[0], a[1]) }},
	{pattern: "delete thread", act: func(ctx ctxt, p *Play, _ args) error { return p.changeThread(ctx, "DELETE", nil) }},
	{pattern: "lock thread", act: func(ctx ctxt, p *Play, _ args) error {
		return p.changeThread(ctx, "PATCH", map[string]any{"locked": true})
	}},
	{pattern: "archive thread", act: func(ctx ctxt, p *Play, _ args) error {
		return p.changeThread(ctx, "PATCH", map[string]any{"archived": true})
	}},
	{pattern: "delete anchor", act: func(ctx ctxt, p *Play, _ args) error { return p.deleteAnchor(ctx) }},
	{pattern: "race: REST", act: func(ctx ctxt, p *Play, a args) error { return p.race(ctx, a[0]) },
		check: func(a args) error { _, err := raceSteps(a[0]); return err }},
	{pattern: "model: REST", stage: true, act: func(_ ctxt, p *Play, a args) error {
		p.script = append(p.script, a[0])
		return nil
	}},
}

var troubleForms = []form{
	{pattern: "kill edge", stage: true, act: func(ctx ctxt, p *Play, _ args) error { return p.killEdge() }},
	{pattern: "kill edge WHEN WHAT POINT", stage: true, act: func(_ ctxt, p *Play, a args) error {
		p.trap.Kill = a[0] + " " + a[1] + " " + a[2]
		return p.edgeIsDown()
	}},
	{pattern: "stall edge WHEN WHAT POINT DURATION", stage: true, act: func(_ ctxt, p *Play, a args) error {
		p.trap.Stall, p.trap.For = a[0]+" "+a[1]+" "+a[2], a.duration(3)
		return p.edgeIsDown()
	}},
	{pattern: "wait edge down", act: func(ctx ctxt, p *Play, _ args) error { return p.waitDown(ctx) }},
	{pattern: "wait card due", look: func(ctx ctxt, p *Play, _ args) error { return p.cardPast(ctx, 0) }},
	{pattern: "wait card overdue", look: func(ctx ctxt, p *Play, _ args) error { return p.cardPast(ctx, time.Second) }},
	{pattern: "start edge", stage: true, act: func(ctx ctxt, p *Play, _ args) error {
		if err := p.edgeIsDown(); err != nil {
			return err
		}
		return p.startEdge(ctx)
	}},
	{pattern: "kill runner", stage: true, act: func(_ ctxt, p *Play, _ args) error { return p.killRunner() }},
	{pattern: "start runner", stage: true, act: func(ctx ctxt, p *Play, _ args) error { return p.startRunner(ctx) }},
	{pattern: "start second runner", act: func(_ ctxt, p *Play, _ args) error {
		r, err := p.run(p.stage, fmt.Sprintf("runner%d", len(p.others)+2))
		if err == nil {
			p.others = append(p.others, r)
		}
		return err
	}},
	{pattern: "advance DURATION", act: func(ctx ctxt, p *Play, a args) error {
		if p.host.Name() != Linked {
			return errors.New("only the linked host's clock can be turned: write \"on linked: advance …\"")
		}
		return p.stage.control.call(ctx, "POST", "/clock", map[string]any{"advance": a[0]}, nil)
	}},
	{pattern: "discord: REST", act: func(ctx ctxt, p *Play, a args) error { return p.fault(ctx, a[0]) },
		check: func(a args) error { _, _, err := parseFault(a[0]); return err }},
}

func always(args) bool { return true }

var expectForms = []form{
	{pattern: "expect anchor contains TEXT", passing: always, look: func(ctx ctxt, p *Play, a args) error { return p.anchorContains(ctx, a[0], false) }},
	{pattern: "expect anchor final contains TEXT", look: func(ctx ctxt, p *Play, a args) error { return p.anchorContains(ctx, a[0], true) }},
	{pattern: "expect thread contains TEXT", look: func(ctx ctxt, p *Play, a args) error {
		id, err := p.thread(ctx)
		if err != nil {
			return err
		}
		return p.someContains(ctx, id, a[0])
	}},
	{pattern: "expect channel contains TEXT", look: func(ctx ctxt, p *Play, a args) error { return p.someContains(ctx, p.stage.Info.Channel, a[0]) }},
	{pattern: "expect nothing contains TEXT", look: func(ctx ctxt, p *Play, a args) error { return p.countContaining(ctx, a[0], 0) }},
	{pattern: "expect N messages contain TEXT", look: func(ctx ctxt, p *Play, a args) error { return p.countContaining(ctx, a[1], a.number(0)) }},
	{pattern: "expect messages N", look: func(ctx ctxt, p *Play, a args) error { return p.countMessages(ctx, a.number(0)) }},
	{pattern: "expect threads N", look: func(ctx ctxt, p *Play, a args) error { return p.countThreads(ctx, a.number(0)) }},
	{pattern: "expect final edits N", look: func(ctx ctxt, p *Play, a args) error { return p.countFinalEdits(ctx, a.number(0)) }},
	{pattern: "expect card STATE", passing: func(a args) bool { return a[0] == "pending" }, look: func(ctx ctxt, p *Play, a args) error { return p.cardIs(ctx, a[0]) }},
	{pattern: "expect told TEXT", look: func(_ ctxt, p *Play, a args) error { return p.toldContains(a[0], false) }},
	{pattern: "expect one told TEXT", look: func(_ ctxt, p *Play, a args) error { return p.toldContains(a[0], true) }},
	{pattern: "expect choice TEXT", look: func(_ ctxt, p *Play, a args) error { return p.hasChoice(a[0]) }},
	{pattern: "expect job done", look: func(ctx ctxt, p *Play, _ args) error { return p.jobIs(ctx, "done", "") }},
	{pattern: "expect job running", passing: always, look: func(ctx ctxt, p *Play, _ args) error { return p.jobIs(ctx, "running", "") }},
	{pattern: "expect job unanswered REASON", look: func(ctx ctxt, p *Play, a args) error { return p.jobIs(ctx, "unanswered", a[0]) }},
	{pattern: "expect jobs N", look: func(ctx ctxt, p *Play, a args) error { return p.countJobs(ctx, a.number(0)) }},
	{pattern: "expect model calls N", look: func(_ ctxt, p *Play, a args) error { return equal("model calls", p.stage.Model.Total(), a.number(0)) }},
	{pattern: "expect tool TOOL ran N", look: func(ctx ctxt, p *Play, a args) error { return p.countRuns(ctx, a[0], a.number(1)) }},
	{pattern: "expect origin has N pushes", look: func(_ ctxt, p *Play, a args) error { return p.countPushes(a.number(0)) }},
	{pattern: "expect event NAME", look: func(ctx ctxt, p *Play, a args) error {
		if n, err := p.countEvents(ctx, a[0]); err != nil || n > 0 {
			return err
		}
		return fmt.Errorf("the log has no event %s", a[0])
	}},
	{pattern: "expect events NAME N", look: func(ctx ctxt, p *Play, a args) error {
		n, err := p.countEvents(ctx, a[0])
		if err != nil {
			return err
		}
		return equal(a[0], n, a.number(1))
	}},
	{pattern: "expect restarts N", look: func(ctx ctxt, p *Play, a args) error { return p.countRestarts(ctx, a.number(0)) }},
}
