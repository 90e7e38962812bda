package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"holdfast/worker/edge/workerd"
)

// events measures one small committed event, /stop where nothing runs, from the connection to its answer: on the three
// engines, in turns, and on two workspaces at once.
func events(ctx context.Context, b *bench) error {
	floor, stop, err := b.floor(ctx, false)
	if err != nil {
		return err
	}
	defer stop()
	base := dial(1)
	for _, kind := range []string{"linked", "wazero", "workerd"} {
		e, stop, err := b.edge(ctx, kind)
		if err != nil {
			return err
		}
		err = eventsOf(ctx, b, kind, e, base, floor)
		stop()
		if err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
	}
	return nil
}

func eventsOf(ctx context.Context, b *bench, kind string, e *edge, base *edgeClients, floor string) error {
	spaces, err := e.open(ctx, 2)
	if err != nil {
		return err
	}
	one, two := dial(1), dial(2)
	var p pair
	var both ratios
	for round := range b.rounds(6) + 1 {
		list := e.stops(spaces[:1], 60)
		var this pair
		if err := compare(ctx, &this, one, list, base, at(floor, list)); err != nil {
			return err
		}
		alone, err := rate(ctx, one, e.stops(spaces[:1], 60))
		if err != nil {
			return err
		}
		together, err := rate(ctx, two, e.stops(spaces, 30))
		if err != nil {
			return err
		}
		if round > 0 {
			p.add(this.ours, this.floor)
			both = append(both, together/alone)
		}
	}
	b.add(of("one event, "+kind, "bare server, one commit", p, 0),
		row{What: "two workspaces at once, " + kind, Value: fmt.Sprintf("%.2f × the events of one", both.median()), Spread: both.spread()})
	return nil
}

// rate is how many requests a second are answered.
func rate(ctx context.Context, c *edgeClients, list []request) (float64, error) {
	begin := time.Now()
	_, err := all(ctx, c.list, deal(list, len(c.list)))
	return float64(len(list)) / time.Since(begin).Seconds(), err
}

// edge starts an edge of any kind on an empty folder.
func (b *bench) edge(ctx context.Context, kind string) (*edge, func(), error) {
	if kind != "workerd" {
		return b.host(ctx, kind)
	}
	p, err := b.workerd(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	return newEdge(p.URL, b.world), func() { _ = p.Kill() }, nil
}

// workerd starts the Cloudflare edge, or with modules something else in its place.
func (b *bench) workerd(ctx context.Context, modules map[string]string) (*workerd.Process, error) {
	bin, err := workerd.Find()
	if err != nil {
		return nil, err
	}
	dir, err := b.folder()
	if err != nil {
		return nil, err
	}
	env, err := b.world.workerdEnv()
	if err != nil {
		return nil, err
	}
	return workerd.Start(ctx, workerd.Options{Bin: bin, Dir: filepath.Join(dir, "edge"), CoreWasm: b.core, Env: env, Rig: true, Modules: modules})
}

// ready waits until a request is answered, from the start of whatever answers it.
func ready(ctx context.Context, r request) error {
	c := newClient()
	for {
		_, _, err := c.do(ctx, r)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Millisecond):
		}
	}
}
