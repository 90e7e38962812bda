package enginetest

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"holdfast/actor"
	"holdfast/actor/store"
	"holdfast/worker/engine"
)

//go:embed cases.json
var casesJSON []byte

// Case is one call of the suite; the calls of a suite share a database, in order. The file cases.json is what
// another host's own test reads.
type Case struct {
	Name  string          `json:"name"`
	Only  string          `json:"only,omitempty"` // "wasm": what needs fuel, exits or memory limits
	Call  string          `json:"call"`           // "handle" or "route"
	Now   int64           `json:"now,omitempty"`
	Data  json.RawMessage `json:"data,omitempty"`  // handle: the event's data
	Pad   int             `json:"pad,omitempty"`   // handle: so many spaces behind the event
	Path  string          `json:"path,omitempty"`  // route
	Body  string          `json:"body,omitempty"`  // route
	Crash string          `json:"crash,omitempty"` // "any" or "fuel": the call fails with ErrCrash or ErrFuel
	RC    int             `json:"rc,omitempty"`
	Out   json.RawMessage `json:"out,omitempty"`   // the whole output, as JSON
	Reply json.RawMessage `json:"reply,omitempty"` // the reply's body in it
}

// Cases gives the suite.
func Cases() []Case {
	var cases []Case
	if err := json.Unmarshal(casesJSON, &cases); err != nil {
		panic(err)
	}
	return cases
}

// Database is a store.Conn with transactions, as a host has one.
type Database interface {
	store.Conn
	Begin() error
	Commit() error
	Rollback() error
}

// Seed is the entropy of the suite's calls.
var Seed = sha256.Sum256([]byte("conformance"))

// Run makes every call of the suite. wasm says that the engine has fuel and a memory limit; except names the cases
// that the engine's host cannot pass.
func Run(t *testing.T, e engine.Engine, db Database, wasm bool, except ...string) {
	for _, c := range Cases() {
		if c.Only == "wasm" && !wasm || slices.Contains(except, c.Name) {
			continue
		}
		t.Run(c.Name, func(t *testing.T) { c.run(t, e, db) })
	}
}

func (c Case) run(t *testing.T, e engine.Engine, db Database) {
	out, rc, err := c.call(t, e, db)
	if c.Crash != "" {
		want := map[string]error{"any": engine.ErrCrash, "fuel": engine.ErrFuel}[c.Crash]
		if !errors.Is(err, want) {
			t.Fatalf("err = %v, want %v", err, want)
		}
		return
	}
	if err != nil || rc != c.RC {
		t.Fatalf("rc = %d, err = %v, out = %.300s; want rc %d", rc, err, out, c.RC)
	}
	if c.Out != nil {
		same(t, "output", out, c.Out)
	}
	if c.Reply != nil {
		var res struct {
			Reply struct{ Body json.RawMessage }
		}
		if err := json.Unmarshal(out, &res); err != nil {
			t.Fatalf("output %.300s: %v", out, err)
		}
		same(t, "reply", res.Reply.Body, c.Reply)
	}
}

func (c Case) call(t *testing.T, e engine.Engine, db Database) (out []byte, rc int, err error) {
	ctx := context.Background()
	if c.Call == "route" {
		head := fmt.Sprintf(`{"now":1,"method":"POST","path":%q,"config":{}}`, c.Path)
		return e.Route(ctx, []byte(head+"\n"+c.Body))
	}
	if err := db.Begin(); err != nil {
		t.Fatal(err)
	}
	out, rc, err = e.Handle(ctx, db, engine.Call{Now: c.Now, Entropy: Seed, Event: c.event()})
	if err != nil || rc != 0 {
		if err := db.Rollback(); err != nil {
			t.Fatal(err)
		}
		return out, rc, err
	}
	if err := db.Commit(); err != nil {
		t.Fatal(err)
	}
	return out, rc, nil
}

func (c Case) event() []byte {
	b, err := json.Marshal(actor.Event{V: actor.EnvelopeVersion, ID: c.Name, Type: actor.EventInteraction, Attempt: 1, Now: c.Now,
		Entropy: hex.EncodeToString(Seed[:]), Owner: "owner", Sockets: []string{}, Actor: "application", Data: c.Data,
		Config: actor.ConfigRef{Version: 1, Hash: "h", Full: &actor.Config{}}})
	if err != nil {
		panic(err)
	}
	for range c.Pad {
		b = append(b, ' ')
	}
	return b
}

func same(t *testing.T, what string, got, want []byte) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal(got, &g); err != nil {
		t.Fatalf("%s %.300s: %v", what, got, err)
	}
	if err := json.Unmarshal(want, &w); err != nil {
		t.Fatal(err)
	}
	gb, _ := json.Marshal(g)
	wb, _ := json.Marshal(w)
	if string(gb) != string(wb) {
		t.Fatalf("%s = %s, want %s", what, gb, wb)
	}
}
