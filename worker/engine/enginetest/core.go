// Package enginetest is a small core that does what its events tell it to, and the conformance suite that every
// Engine passes with it.
//
// The data of an event is a script: {"do":[step, …]}. Each event is also written to a table, which scripts can read.
package enginetest

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"time"

	"holdfast/actor"
	"holdfast/actor/errs"
	"holdfast/actor/store"
)

// Step is one step of a script. The first field that is set says what it does.
type Step struct {
	SQL    string            `json:"sql,omitempty"`  // run with Args; the rows become the reply's body
	Args   []json.RawMessage `json:"args,omitempty"` // numbers, strings, null, or {"blob":size} and {"text":size}
	Reply  *actor.Reply      `json:"reply,omitempty"`
	Alarm  int64             `json:"alarm,omitempty"` // ms after the event's now
	Effect *actor.Effect     `json:"effect,omitempty"`
	Trace  string            `json:"trace,omitempty"`
	Error  *errs.Error       `json:"error,omitempty"`        // rc 1
	Echo   bool              `json:"echo,omitempty"`         // the event, without entropy, is the reply's body
	Before int               `json:"crash_before,omitempty"` // panics in attempts before this one
	Faulty int               `json:"fault_before,omitempty"` // rc 1 for a reason of its own in attempts before this one

	Panic string `json:"panic,omitempty"`
	Loop  bool   `json:"loop,omitempty"`
	Exit  bool   `json:"exit,omitempty"`
	RC    int    `json:"rc,omitempty"`
	Grow  int    `json:"grow,omitempty"`  // MiB to allocate and drop
	Flood int    `json:"flood,omitempty"` // the output becomes this many bytes
	Clock bool   `json:"clock,omitempty"` // the reply's body is the time, in unix ms, and 8 random bytes in hex
}

// Script is the data of an event, or the args of an operator event.
type Script struct {
	Do []Step `json:"do"`
}

const schema = `CREATE TABLE IF NOT EXISTS seen (n INTEGER PRIMARY KEY, type TEXT NOT NULL, id TEXT NOT NULL,
	attempt INTEGER NOT NULL, owner TEXT NOT NULL, data TEXT NOT NULL) STRICT`

// Handle is the test core's handle.
func Handle(conn store.Conn, event []byte) (out []byte, rc int) {
	defer func() {
		if p := recover(); p != nil {
			abort, ok := p.(*store.Abort)
			if !ok {
				panic(p)
			}
			out, rc = fail(errs.New(errs.Unavailable, "%v", abort.Err))
		}
	}()
	var e actor.Event
	if err := json.Unmarshal(event, &e); err != nil {
		return fail(errs.New(errs.Invalid, "event: %v", err))
	}
	tx := store.Tx{Conn: conn}
	tx.Exec(schema)
	if !configured(tx, e) {
		return fail(errs.New(actor.CodeNeedConfig, "the configuration %s is not known", e.Config.Hash))
	}
	data := string(e.Data)
	tx.Exec(`INSERT INTO seen (type, id, attempt, owner, data) VALUES (?, ?, ?, ?, ?)`, e.Type, e.ID, e.Attempt, e.Owner, data)
	return perform(tx, e, script(tx, e))
}

// configured remembers the configuration like the real core does, and says whether it is known.
func configured(tx store.Tx, e actor.Event) bool {
	tx.Exec(`CREATE TABLE IF NOT EXISTS conf (id INTEGER PRIMARY KEY CHECK (id = 1), hash TEXT NOT NULL, on_start TEXT NOT NULL DEFAULT '', on_wake TEXT NOT NULL DEFAULT '', on_effect TEXT NOT NULL DEFAULT '', on_resolve TEXT NOT NULL DEFAULT '') STRICT`)
	if e.Config.Full != nil {
		tx.Exec(`INSERT INTO conf (id, hash) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET hash = excluded.hash`, e.Config.Hash)
		return true
	}
	row, ok := tx.Row(`SELECT hash FROM conf WHERE id = 1`)
	return ok && row.Str(0) == e.Config.Hash
}

// script finds what to do: in the data, in an operator's args, or, for the host's own events, in the table conf.
func script(tx store.Tx, e actor.Event) Script {
	var s Script
	raw := e.Data
	switch e.Type {
	case actor.EventOperator:
		var op actor.Operator
		if json.Unmarshal(e.Data, &op) == nil {
			raw = op.Args
		}
		if op.Op == actor.OpResolve {
			row, _ := tx.Row(`SELECT on_resolve FROM conf WHERE id = 1`)
			raw = row.Bytes(0)
		}
	case actor.EventActor:
		var m actor.ActorMessage
		if json.Unmarshal(e.Data, &m) == nil {
			raw = m.Data
		}
	case actor.EventRunnerMessage:
		var m actor.RunnerMessage
		if json.Unmarshal(e.Data, &m) == nil {
			raw = m.Frame
		}
	case actor.EventStart, actor.EventWake, actor.EventEffect:
		row, _ := tx.Row(`SELECT on_start, on_wake, on_effect FROM conf WHERE id = 1`)
		raw = row.Bytes(map[string]int{actor.EventStart: 0, actor.EventWake: 1, actor.EventEffect: 2}[e.Type])
	}
	_ = json.Unmarshal(raw, &s) // data without a script does nothing
	return s
}

func perform(tx store.Tx, e actor.Event, s Script) ([]byte, int) {
	res := actor.Result{V: actor.EnvelopeVersion, Reply: &actor.Reply{Status: 200, Body: json.RawMessage(`{}`)}}
	for _, step := range s.Do {
		switch {
		case step.Before != 0:
			if e.Attempt < step.Before {
				panic("too early an attempt")
			}
		case step.Faulty > 0:
			if e.Attempt < step.Faulty {
				return fail(errs.New(errs.Internal, "a defect"))
			}
		case step.SQL != "":
			res.Reply.Body = encodeRows(tx.Rows(step.SQL, arguments(step.Args)...))
		case step.Reply != nil:
			res.Reply = step.Reply
		case step.Alarm != 0:
			at := e.Now + step.Alarm
			res.Alarm = &at
		case step.Effect != nil:
			res.Effects = append(res.Effects, *step.Effect)
		case step.Trace != "":
			res.Trace = append(res.Trace, actor.Trace{Name: step.Trace})
		case step.Error != nil:
			return fail(step.Error)
		case step.Echo:
			e.Entropy = ""
			res.Reply.Body, _ = json.Marshal(e)
		case step.Clock:
			var b [8]byte
			_, _ = rand.Read(b[:])
			res.Reply.Body = json.RawMessage(fmt.Sprintf(`[%d,"%x"]`, time.Now().UnixMilli(), b))
		default:
			if out, rc, done := misbehave(step); done {
				return out, rc
			}
		}
	}
	return encode(res)
}

func misbehave(step Step) (out []byte, rc int, done bool) {
	switch {
	case step.Panic != "":
		panic(step.Panic)
	case step.Loop:
		for odd := 1; odd != 0; odd += 2 {
		}
	case step.Exit:
		os.Exit(3)
	case step.RC != 0:
		return nil, step.RC, true
	case step.Flood != 0:
		return make([]byte, step.Flood), 0, true
	case step.Grow != 0:
		runtime.KeepAlive(make([]byte, step.Grow<<20))
	}
	return nil, 0, false
}

func arguments(raw []json.RawMessage) []any {
	args := make([]any, len(raw))
	for i, r := range raw {
		var v struct{ Blob, Text int }
		var n int64
		switch {
		case json.Unmarshal(r, &n) == nil && string(r) != "null":
			args[i] = n
		case json.Unmarshal(r, &v) == nil && v.Blob > 0:
			args[i] = make([]byte, v.Blob)
		case json.Unmarshal(r, &v) == nil && v.Text > 0:
			args[i] = string(make([]byte, v.Text))
		default:
			_ = json.Unmarshal(r, &args[i])
		}
	}
	return args
}

func encodeRows(rows []store.Row) json.RawMessage {
	if rows == nil {
		rows = []store.Row{}
	}
	b, err := json.Marshal(rows)
	if err != nil {
		panic(err)
	}
	return b
}

func encode(res actor.Result) ([]byte, int) {
	b, err := json.Marshal(res)
	if err != nil {
		panic(err)
	}
	return b, 0
}

func fail(e *errs.Error) ([]byte, int) {
	b, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	return b, 1
}
