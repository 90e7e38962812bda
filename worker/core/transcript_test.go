package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/actor"
	"holdfast/worker/engine"
	"holdfast/worker/engine/enginetest"
	"holdfast/worker/host/sqlite"
)

const (
	aGuild   = "1300000000000000100"
	aChannel = "1300000000000000200"
	aUser    = "1300000000000000011"
	anApp    = "1300000000000000001"
	aThread  = "1300000000000005000"
	theStart = 1764470000000 // unix ms
)

// workspace is an actor in core.wasm, under its fuel and its memory limit.
type workspace struct {
	t    *testing.T
	core engine.Engine
	db   *sqlite.DB
	seq  int64
	now  int64
}

func newWorkspace(t *testing.T, core engine.Engine) *workspace {
	t.Helper()
	db, err := sqlite.Open(filepath.Join(t.TempDir(), "a.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	w := &workspace{t: t, core: core, db: db, now: theStart}
	w.handle(actor.EventStart, nil)
	args, _ := json.Marshal(actor.Settings{Members: []actor.Member{{User: aUser, Roles: []string{"admin"}}}})
	w.handle(actor.EventOperator, actor.Operator{Op: actor.OpConfig, Principal: actor.Principal{Name: "op", Roles: []string{"admin"}}, Args: args})
	return w
}

// handle commits one event. A wake comes when all that waits is due.
func (w *workspace) handle(kind string, data any) []actor.Effect {
	w.t.Helper()
	w.seq++
	if w.now += 5; kind == actor.EventWake {
		w.now += 60_000
	}
	raw, _ := json.Marshal(data)
	e := actor.Event{V: actor.EnvelopeVersion, ID: fmt.Sprint(w.seq), Type: kind, Attempt: 1, Now: w.now, Entropy: fmt.Sprintf("%064d", w.seq),
		Owner: "owner", Config: actor.ConfigRef{Version: 1, Hash: "h"}, Actor: "workspace:" + aGuild + "/demo", Data: raw}
	if kind == actor.EventStart {
		m := actor.Model{Format: "anthropic", Model: "m", Window: 200_000, MaxOutput: 8000}
		e.Config.Full = &actor.Config{ApplicationID: anApp, Models: map[string]actor.Model{"m": m}, DefaultModel: "m"}
	}
	in, _ := json.Marshal(e)
	if err := w.db.Begin(); err != nil {
		w.t.Fatal(err)
	}
	out, rc, err := w.core.Handle(context.Background(), w.db, engine.Call{Now: w.now, Event: in})
	if err != nil || rc != 0 {
		w.t.Fatalf("%s: rc %d, %v: %s", kind, rc, err, out)
	}
	if err := w.db.Commit(); err != nil {
		w.t.Fatal(err)
	}
	var r actor.Result
	if err := json.Unmarshal(out, &r); err != nil {
		w.t.Fatal(err)
	}
	return r.Effects
}

// wrote puts n rounds into the running turn, in each of which the model wrote a file and was told something.
func (w *workspace) wrote(n int, file, told string) {
	w.t.Helper()
	insert := func(sql string, args ...any) {
		w.t.Helper()
		if _, err := w.db.Do(sql, args); err != nil {
			w.t.Fatal(err)
		}
	}
	for i := range n {
		id := fmt.Sprint("c", i)
		args, _ := json.Marshal(map[string]string{"path": fmt.Sprintf("f%d.go", i), "content": file})
		said, _ := json.Marshal(map[string]any{"text": "", "model": "m", "calls": []any{map[string]any{"id": id, "name": "write", "args": json.RawMessage(args)}}})
		result, _ := json.Marshal(map[string]any{"call_id": id, "text": told})
		insert(`INSERT INTO task(kind, conversation, turn, state, tool, call_id, args, created_wall) VALUES ('tool', 1, 1, 'done', 'write', ?, ?, 0)`, id, string(args))
		insert(`INSERT INTO entry(conversation, kind, turn, body, created_wall) VALUES (1, 'assistant', 1, ?, 0), (1, 'tool_result', 1, ?, 0)`, string(said), string(result))
	}
}

// answered is an effect's outcome: the model is out of order, Discord takes everything.
func answered(e actor.Effect) actor.Outcome {
	o := actor.Outcome{ID: e.ID, Epoch: e.Epoch, Kind: actor.OutcomeResponse, Status: 503}
	if e.Target == "discord" {
		o.Status, o.Body = 200, `{"id":"1300000000000009001","channel_id":"`+aThread+`","author":{"id":"`+anApp+`"}}`
	}
	return o
}

// calls runs until the model is asked for an answer, and gives that request and what else was to be done.
func (w *workspace) calls(effects []actor.Effect) (request actor.Effect, rest []actor.Effect) {
	w.t.Helper()
	for range 20 {
		if len(effects) == 0 {
			effects = w.handle(actor.EventWake, nil)
			continue
		}
		e := effects[0]
		if effects = effects[1:]; e.Point == actor.PointModel {
			return e, effects
		}
		effects = append(effects, w.handle(actor.EventEffect, answered(e))...)
	}
	w.t.Fatal("the model is not called")
	return actor.Effect{}, nil
}

// One event reads, counts and cuts as much of a transcript as is ever read, and draws the card of the calls. It must not
// run out of fuel: it would each time that it is tried, and its turn could not go on.
func TestTheLongestTurnsFitIntoTheFuel(t *testing.T) {
	const source = "\tif err := w.tx.Exec(`UPDATE x`, id); err != nil {\n\t\treturn fmt.Errorf(\"no %q <%d>\", name, id)\n\t}\n"
	module, err := enginetest.Build(t.TempDir(), "holdfast/worker/core")
	if err != nil {
		t.Fatal(err)
	}
	core, err := engine.NewWazero(context.Background(), module, engine.WazeroOptions{Parallel: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { core.Close(context.Background()) })
	for _, c := range []struct {
		name               string
		rounds, file, told int // bytes of each file, and of what the model was told about it
	}{
		{"many files", 38, 28_000, 10},
		{"many files, and results", 45, 28_000, 28_000},
		{"as many of the largest as the card shows", 15, 400_000, 64_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorkspace(t, core)
			request, rest := w.calls(w.handle(actor.EventGateway, actor.GatewayEvent{ID: aThread, Type: "MESSAGE_CREATE", Source: "live", Message: aThread,
				Place: actor.Place{Guild: aGuild, Channel: aThread, Type: 11, Parent: aChannel}, Author: actor.User{ID: aUser, Name: "maya"},
				Content: "<@" + anApp + "> write the service", Mentions: []string{anApp}}))
			w.wrote(c.rounds, strings.Repeat(source, c.file/len(source)), strings.Repeat(source, c.told/len(source)+1))
			request, _ = w.calls(append(rest, w.handle(actor.EventEffect, answered(request))...))
			for _, part := range []string{"write the service", fmt.Sprintf("f%d.go", c.rounds-1)} {
				if !strings.Contains(string(request.Body), part) {
					t.Errorf("%q is not in a request of %d bytes", part, len(request.Body))
				}
			}
		})
	}
}
