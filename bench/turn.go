package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"
)

// boundSteps is how much longer five committed steps may take than five FULL commits in a bare loop.
const boundSteps = 2.5

// answerMark is what the model says at the end of a turn: an edit that has it shows the answer.
const answerMark = "The build is green again."

// oneTool is a question for which the scripted model calls one tool and then answers.
const oneTool = "Why?\n!tool read {\"path\":\"main.go\"}\n!say " + answerMark

// turns measures what the edge adds to a turn with one tool, when Discord, model and runner take no time: how many
// commits it makes and how long those and the core take. The floor is a bare loop of FULL commits.
func turns(ctx context.Context, b *bench) error {
	e, stop, err := b.host(ctx, "wazero")
	if err != nil {
		return err
	}
	defer stop()
	dir, err := b.folder()
	if err != nil {
		return err
	}
	loop, err := openLedger(filepath.Join(dir, "loop.db"))
	if err != nil {
		return err
	}
	defer loop.close()
	s, r, err := e.staffed(ctx)
	if err != nil {
		return err
	}
	defer r.close()
	var steps, durability pair
	var commits, index float64
	rounds := b.rounds(6)
	for i := range rounds + 1 {
		before, err := e.metrics(ctx)
		if err != nil {
			return err
		}
		if err := e.turn(ctx, s); err != nil {
			return err
		}
		bare, err := loop.commits(50, 1000)
		if err != nil {
			return err
		}
		after, err := e.settled(ctx)
		if err != nil {
			return err
		}
		if i == 0 {
			continue
		}
		since := func(name string) float64 { return total(after, name) - total(before, name) }
		n := since("holdfast_commit_seconds_count")
		commits += n / float64(rounds)
		index += since("holdfast_alarm_writes_total") / float64(rounds)
		five := seconds((since("holdfast_commit_seconds_sum") + since("holdfast_core_seconds_sum")) / n * 5)
		steps.add(sample{five}, sample{5 * bare.median()})
		durability.add(sample{seconds(since("holdfast_commit_seconds_sum"))}, sample{time.Duration(n) * bare.median()})
	}
	b.add(of("five committed steps of a turn, core and disk", "five FULL commits in a bare loop", steps, boundSteps),
		of("durability of a turn with one tool", fmt.Sprintf("as many FULL commits as the turn has, %.1f", commits), durability, 0),
		row{What: "commits of a turn with one tool", Value: fmt.Sprintf("%.1f of the workspace, %.1f of the alarm index", commits, index)})
	return nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// staffed makes a workspace with a runner that does everything at once.
func (e *edge) staffed(ctx context.Context) (space, *instant, error) {
	spaces, err := e.open(ctx, 1)
	if err != nil {
		return space{}, nil, err
	}
	r, err := connect(ctx, e, spaces[0])
	return spaces[0], r, err
}

// turn asks a question and waits until Discord shows the answer.
func (e *edge) turn(ctx context.Context, s space) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	question := e.ask(s, 0, oneTool)
	question.want = `"type":5`
	if _, _, err := e.admin.do(ctx, question); err != nil {
		return err
	}
	for {
		select {
		case body := <-e.world.edited:
			if strings.Contains(body, answerMark) {
				return nil
			}
		case <-ctx.Done():
			return errors.New("a turn did not come to its answer")
		}
	}
}

// settled waits until no more commits are made, and gives the metrics then.
func (e *edge) settled(ctx context.Context) (map[string]float64, error) {
	last := -1.0
	for {
		m, err := e.metrics(ctx)
		if err != nil {
			return nil, err
		}
		// The alarm index is put in order a second after the last change, so two looks lie further apart.
		if now := total(m, "holdfast_commit_seconds_count") + total(m, "holdfast_alarm_writes_total"); now != last {
			last = now
		} else {
			return m, nil
		}
		select {
		case <-time.After(1200 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// bill measures what Cloudflare would bill for the same turn.
func bill(ctx context.Context, b *bench) error {
	e, stop, err := b.edge(ctx, "workerd")
	if err != nil {
		return err
	}
	defer stop()
	s, r, err := e.staffed(ctx)
	if err != nil {
		return err
	}
	defer r.close()
	if err := e.turn(ctx, s); err != nil { // the first turn of a workspace costs a little more
		return err
	}
	workspace := "workspace:" + guild + "/" + s.name
	before, err := e.counters(ctx, workspace)
	if err != nil {
		return err
	}
	drawn, err := e.counters(ctx, "application")
	if err != nil {
		return err
	}
	if err := e.turn(ctx, s); err != nil {
		return err
	}
	var after counters
	for range 20 { // the last confirmation is committed behind the edit that was waited for
		if after, err = e.counters(ctx, workspace); err != nil || after.Events["effect"]-before.Events["effect"] >= 5 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err != nil {
		return err
	}
	pace, err := e.counters(ctx, "application")
	if err != nil {
		return err
	}
	d := func(name string) int { return after.Events[name] - before.Events[name] }
	b.add(row{What: "billable units of a turn with one tool at the edge", Value: fmt.Sprintf(
		"%d object requests, %d alarms run, %d set, %d rows read, %d written, %d socket messages in, %d out",
		d("interaction")+d("operator"), d("wake"), after.Alarms-before.Alarms, after.RowsRead-before.RowsRead,
		after.RowsWritten-before.RowsWritten, d("runner.message"), after.Sockets-before.Sockets)},
		row{What: "and of the pace that all workspaces share, for the same turn", Value: fmt.Sprintf(
			"%d object requests, %d rows read, %d written", pace.Events["actor"]-drawn.Events["actor"], pace.RowsRead-drawn.RowsRead, pace.RowsWritten-drawn.RowsWritten)})
	return nil
}

// counters are what an object of the test build of the Worker counts.
type counters struct {
	Events      map[string]int
	RowsRead    int `json:"rows_read"`
	RowsWritten int `json:"rows_written"`
	Alarms      int
	Sockets     int
}

func (e *edge) counters(ctx context.Context, actor string) (c counters, err error) {
	path := "/rig/counters?actor=" + url.QueryEscape(actor)
	_, body, err := e.admin.do(ctx, request{method: "GET", url: e.url + path, header: http.Header{}})
	if err != nil {
		return c, err
	}
	return c, json.Unmarshal(body, &c)
}
