package main

import (
	"context"
	"fmt"
	"time"
)

// Bounds of a durable acknowledgement, by its floor.
const (
	boundAckAlone = 1.5
	boundAckGroup = 1.5
)

// acknowledgement measures how long Discord waits for the answer to /ask, whose question is on the disk by then. The
// floors verify the same signatures and commit one row each, with FULL synchronization; over eight connections the
// commits that wait together are one.
func acknowledgement(ctx context.Context, b *bench) error {
	if err := acknowledged(ctx, b, "wazero", 6, boundAckAlone, boundAckGroup); err != nil {
		return err
	}
	return acknowledged(ctx, b, "linked", 3, 0, 0) // what WebAssembly costs is the difference
}

func acknowledged(ctx context.Context, b *bench, engine string, rounds int, bound1, bound8 float64) error {
	e, stop, err := b.host(ctx, engine)
	if err != nil {
		return err
	}
	defer stop()
	alone, stopAlone, err := b.floor(ctx, false)
	if err != nil {
		return err
	}
	defer stopAlone()
	group, stopGroup, err := b.floor(ctx, true)
	if err != nil {
		return err
	}
	defer stopGroup()
	b.world.mute.Store(true) // the turns go no further while the next ones are acknowledged
	defer b.world.mute.Store(false)
	ours, floors := [2]*edgeClients{dial(1), dial(8)}, [2]*edgeClients{dial(1), dial(8)}
	var one, eight, crowd pair
	for round := range b.rounds(rounds) + 1 {
		spaces, err := e.open(ctx, 33)
		if err != nil {
			return err
		}
		busy := e.asks(spaces[32:], 64)
		for i := range busy {
			busy[i].want = `"type":` // four begin, the others wait their turn: all are recorded
		}
		for _, c := range []struct {
			into        *pair
			ours, floor *edgeClients
			url         string
			list        []request
			warm        int
		}{
			{&one, ours[0], floors[0], alone, e.asks(spaces[:16], 4), 16},
			{&eight, ours[1], floors[1], group, e.asks(spaces[16:32], 4), 16},
			{&crowd, ours[1], floors[1], group, busy, 4},
		} {
			if round == 0 { // everything is warm afterwards
				c.into = &pair{}
			}
			if err := warm(ctx, c.ours, c.list[:c.warm]); err != nil {
				return err
			}
			list := c.list[c.warm:]
			if err := compare(ctx, c.into, c.ours, list, c.floor, at(c.url, list)); err != nil {
				return err
			}
		}
	}
	what := "acknowledgement of /ask, " + engine
	b.add(of(what+", 1 connection", "bare server, one commit", one, bound1),
		of(what+", 8 connections, 16 workspaces", "bare server, group commit", eight, bound8),
		of(what+", 8 connections, one workspace", "bare server, group commit", crowd, bound8))
	return nil
}

// edgeClients are connections that are used together.
type edgeClients struct{ list []*client }

func dial(n int) *edgeClients { return &edgeClients{newClients(n)} }

// warm asks the first question of each workspace, for which its database prepares its statements, and waits until what
// follows from it, half a second later, has been done.
func warm(ctx context.Context, c *edgeClients, list []request) error {
	if _, err := inOrder(ctx, c.list[0], list); err != nil {
		return err
	}
	select {
	case <-time.After(700 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// compare measures both sides, in turns of a quarter each.
func compare(ctx context.Context, p *pair, ours *edgeClients, a []request, floor *edgeClients, f []request) error {
	const parts = 4
	var s, base sample
	for i := range parts {
		part, err := all(ctx, ours.list, deal(quarter(a, i, parts), len(ours.list)))
		if err != nil {
			return fmt.Errorf("the edge: %w", err)
		}
		s = append(s, part...)
		if part, err = all(ctx, floor.list, deal(quarter(f, i, parts), len(floor.list))); err != nil {
			return fmt.Errorf("the floor: %w", err)
		}
		base = append(base, part...)
	}
	p.add(s, base)
	return nil
}

func quarter(list []request, i, parts int) []request {
	return list[i*len(list)/parts : (i+1)*len(list)/parts]
}
