package rig

import (
	"context"
	"errors"
	"strings"
)

// sayWhereItBelongs: who calls the bot does so in the channel, everything else is said in the thread.
func sayWhereItBelongs(ctx context.Context, p *Play, a arguments) error {
	if strings.Contains(a[1], "@bot") {
		return p.say(ctx, a[0], a[1], p.stage.Info.Channel)
	}
	return inThread((*Play).say)(ctx, p, a)
}

func (p *Play) killEdge() error {
	if p.edge == nil {
		return errors.New("the edge is down already")
	}
	err := p.edge.Kill()
	p.edge = nil
	return err
}

// edgeIsDown refuses what must not happen to an edge that runs: a trap is for the next start.
func (p *Play) edgeIsDown() error {
	if p.edge != nil {
		return errors.New("the edge runs: kill it, or wait until it is down")
	}
	return nil
}

func (p *Play) waitDown(ctx context.Context) error {
	if p.edge == nil {
		return errors.New("the edge is down already")
	}
	select {
	case <-p.edge.Down():
	case <-ctx.Done():
		return errors.New("the edge did not reach the point where it dies")
	}
	return p.killEdge()
}

// killRunner ends the runner; before anything was started it says that there is none.
func (p *Play) killRunner() error {
	if !p.opened {
		p.lonely = true
		return nil
	}
	if p.runner == nil {
		return errors.New("there is no runner")
	}
	if _, ok := p.runner.(*linkedRunner); ok {
		return errNoCrash
	}
	err := p.runner.Kill()
	p.runner = nil
	return err
}
