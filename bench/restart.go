package main

import (
	"context"
	"time"
)

// restart measures the time from the start of a process, after kill -9 in the middle of a model call, until the call is
// made again: the workspace was opened, its new owner's commit is on the disk, and the work goes on. The floor is the
// bare server's start until its first commit is acknowledged.
func restart(ctx context.Context, b *bench) error {
	b.world.hang.Store(true)
	defer b.world.hang.Store(false)
	var p pair
	for range b.rounds(5) {
		again, err := b.killed(ctx)
		if err != nil {
			return err
		}
		bare, err := b.bareStart(ctx)
		if err != nil {
			return err
		}
		p.add(sample{again}, sample{bare})
	}
	b.add(of("restart after kill -9 until the work goes on", "bare server until its first commit", p, 0))
	return nil
}

func (b *bench) killed(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	dir, err := b.folder()
	if err != nil {
		return 0, err
	}
	args := b.world.hostArgs("wazero", b.core, b.cache())
	c, err := spawn(ctx, "host", dir, args)
	if err != nil {
		return 0, err
	}
	defer func() { _ = c.kill() }()
	e := newEdge(c.url, b.world)
	spaces, err := e.open(ctx, 1)
	if err != nil {
		return 0, err
	}
	b.forget()
	if _, _, err := e.admin.do(ctx, e.ask(spaces[0], 0, "Why?")); err != nil {
		return 0, err
	}
	if _, err := b.call(ctx); err != nil {
		return 0, err
	}
	if err := c.kill(); err != nil {
		return 0, err
	}
	if c, err = spawn(ctx, "host", dir, args); err != nil {
		return 0, err
	}
	at, err := b.call(ctx)
	return at.Sub(c.began), err
}

// forget drops a model call that nobody waited for.
func (b *bench) forget() {
	select {
	case <-b.world.called:
	default:
	}
}

// call waits for the next call of the model.
func (b *bench) call(ctx context.Context) (time.Time, error) {
	select {
	case at := <-b.world.called:
		return at, nil
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	}
}

func (b *bench) bareStart(ctx context.Context) (time.Duration, error) {
	dir, err := b.folder()
	if err != nil {
		return 0, err
	}
	c, err := spawn(ctx, "floor", dir, floorArgs{Key: b.world.publicKey()})
	if err != nil {
		return 0, err
	}
	defer func() { _ = c.kill() }()
	ping := at(c.url, []request{newEdge(c.url, b.world).ping()})[0]
	if _, _, err := newClient().do(ctx, ping); err != nil {
		return 0, err
	}
	return time.Since(c.began), nil
}
