package main

import (
	"context"
	"fmt"
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
	e, stop, err := b.host(ctx, "wazero")
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
	for round := range b.rounds(8) + 1 {
		spaces, err := e.open(ctx, 33)
		if err != nil {
			return err
		}
		single, several, busy := e.asks(spaces[:16], 4), e.asks(spaces[16:32], 4), e.asks(spaces[32:], 64)
		for i := range busy {
			busy[i].want = `"type":` // four begin, the others wait their turn: all are recorded
		}
		p := [3]*pair{&one, &eight, &crowd}
		if round == 0 { // everything is warm afterwards
			p = [3]*pair{{}, {}, {}}
		}
		if err := compare(ctx, p[0], ours[0], single, floors[0], at(alone, single)); err != nil {
			return err
		}
		if err := compare(ctx, p[1], ours[1], several, floors[1], at(group, several)); err != nil {
			return err
		}
		if err := compare(ctx, p[2], ours[1], busy, floors[1], at(group, busy)); err != nil {
			return err
		}
	}
	b.add(of("acknowledgement of /ask, 1 connection", "bare server, one commit", one, boundAckAlone),
		of("acknowledgement of /ask, 8 connections, 16 workspaces", "bare server, group commit", eight, boundAckGroup),
		of("acknowledgement of /ask, 8 connections, one workspace", "bare server, group commit", crowd, boundAckGroup))
	return nil
}

// edgeClients are connections that are used together.
type edgeClients struct{ list []*client }

func dial(n int) *edgeClients { return &edgeClients{newClients(n)} }

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
