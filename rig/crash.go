package rig

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Crashing says how a deployment is to be killed.
type Crashing struct {
	Kills int
	Seed  uint64         // of the dice; what a kill meets is not up to them, so no run repeats another exactly
	Tell  func(done int) // after each kill; nil: nobody
}

// Kinds of kills, as the report names them.
const (
	killAnyMoment = "of the edge at any moment"
	killPoint     = "of the edge at a named point"
	killTool      = "of the runner during a tool"
	killIdle      = "of the runner at rest"
)

// Times of a crash run.
const (
	longestLife = 2 * time.Second         // of an edge that is killed at any moment, once it answers
	trapWithin  = 2500 * time.Millisecond // else an edge is killed where it stands
	toolWithin  = 2 * time.Second         // else a runner is killed at rest
	restWithin  = 3 * time.Minute         // for what was accepted, once the killing is over
)

// crashScenario is what every crash run is played on. An approval that nobody finds, because its card is where nobody looks, is
// denied before long.
const crashScenario = `# killed at random
-- steps --
start edge
-- settings.json --
{"approval_expiry_ms": 20000}
-- project/NOTES.md --
the tide table is in the drawer
`

// Crash kills the edge, and sometimes the runner, again and again while people ask, and starts what was killed at once.
// Everything is below dir. An error says that this could not be done, or that the deployment did not come to rest; what it
// did wrong is in the report.
func Crash(ctx context.Context, h Host, run Runners, dir string, o Crashing) (c *Crashes, err error) {
	s, err := Parse("crash.txtar", []byte(crashScenario))
	if err != nil {
		return nil, err
	}
	s.Patience = restWithin
	p, err := Open(ctx, h, run, s, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	if err := p.open(ctx); err != nil {
		return nil, err
	}
	began := time.Now()
	k := &killer{Play: p, dice: rand.New(rand.NewPCG(o.Seed, 0)), crashes: &Crashes{Host: h.Name(), Seed: o.Seed, Load: load(), Kills: map[string]int{}}}
	people := gather(ctx, p, o.Seed)
	err = k.spree(ctx, o)
	k.crashes.questions = people.leave()
	if err == nil {
		err = k.rest(ctx)
	}
	if err == nil {
		err = k.count(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("seed %d: %w%s", o.Seed, err, p.evidence())
	}
	k.crashes.Took = time.Since(began)
	return k.crashes, nil
}

// killer kills and starts the programs of a play.
type killer struct {
	*Play
	dice    *rand.Rand
	armed   bool   // the edge that runs will die at a point
	last    string // the last such point
	starts  []time.Time
	crashes *Crashes
}

func (k *killer) spree(ctx context.Context, o Crashing) error {
	for n := 1; n <= o.Kills; n++ {
		if err := k.kill(ctx, n < o.Kills); err != nil {
			return fmt.Errorf("kill %d: %w", n, err)
		}
		if o.Tell != nil {
			o.Tell(n)
		}
	}
	return nil
}

// kill kills something and starts it again. more says that this is not the last time.
func (k *killer) kill(ctx context.Context, more bool) error {
	if r, real := k.runner.(*process); real && k.dice.IntN(6) == 0 {
		return k.crashRunner(ctx, r)
	}
	kind, within := killAnyMoment, time.Duration(k.dice.Int64N(int64(longestLife)))
	if k.armed {
		within = trapWithin
	}
	if happens(ctx, k.edge.Down(), within) {
		kind = killPoint
	}
	if err := errors.Join(ctx.Err(), k.killEdge()); err != nil {
		return err
	}
	k.crashes.Kills[kind]++
	return k.restart(ctx, more)
}

// restart starts the edge: for a death at a point, or alone, so that nobody but itself makes it go on, or as it comes.
func (k *killer) restart(ctx context.Context, more bool) error {
	alone := false
	k.armed = false
	switch n := k.dice.IntN(20); {
	case n < 8 && more:
		k.armed, k.trap.Kill = true, k.point()
	case n < 16:
		alone = k.host.Name() != Workerd // which says in no log what it commits
	}
	if alone {
		speak, err := k.hush()
		if err != nil {
			return err
		}
		defer speak()
	}
	began := time.Now()
	k.starts = append(k.starts, began)
	if err := k.startEdge(ctx); err != nil || !alone {
		return err
	}
	if took, ok := k.resumed(ctx, began); ok {
		k.crashes.Resumed = append(k.crashes.Resumed, took)
	}
	return nil
}

// point draws where the next edge dies, never twice the same in a row: a call that ends its host each time is given up (F17),
// and that is not what this is about.
func (k *killer) point() string {
	for {
		when, what := choices["WHEN"][k.dice.IntN(2)], "commit"
		point := points[k.dice.IntN(len(points))]
		if k.dice.IntN(3) == 0 {
			what, point = "effect", effectPoints[k.dice.IntN(len(effectPoints))]
		}
		if here := when + " " + what + " " + point; here != k.last {
			k.last = here
			return here
		}
	}
}

var effectPoints = []string{"ack", "model", "intent", "card", "edit"}

// crashRunner kills the runner while it runs something, if it does before long.
func (k *killer) crashRunner(ctx context.Context, r *process) error {
	kind := killIdle
	short, cancel := context.WithTimeout(ctx, toolWithin)
	defer cancel()
	if poll(short, func(context.Context) error { return r.busy() }) == nil {
		kind = killTool
	}
	if err := errors.Join(ctx.Err(), k.killRunner()); err != nil {
		return err
	}
	k.crashes.Kills[kind]++
	var err error
	k.runner, err = k.run(k.stage, "runner")
	return err
}

// rest waits until everything that was asked has come to its end, and nothing is left to be done.
func (k *killer) rest(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, restWithin)
	defer cancel()
	err := poll(within, func(ctx context.Context) error {
		jobs, err := k.jobs(ctx)
		for _, j := range jobs {
			if j.State != "done" && j.State != "unanswered" {
				return fmt.Errorf("job %s", j)
			}
		}
		return err
	})
	return errors.Join(err, k.atRest(ctx))
}

// happens waits for something, and says whether it happened in time.
func happens(ctx context.Context, it <-chan struct{}, within time.Duration) bool {
	t := time.NewTimer(within)
	defer t.Stop()
	select {
	case <-it:
		return true
	case <-t.C:
	case <-ctx.Done():
	}
	return false
}
