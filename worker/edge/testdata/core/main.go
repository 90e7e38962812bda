//go:build wasip1

// Command core is a stand-in for worker/core that speaks the same ABI and does as it is told: the shim's tests say in
// each event what to answer. Everything that happens to it is a row of the table seen.
package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"holdfast/actor"
	"holdfast/actor/errs"
	"holdfast/actor/store"
	"holdfast/worker/core/abi"
)

func main() {}

func init() {
	abi.Route, abi.Handle = route, handle
}

// event is what this core reads of an actor.Event. It does not use that type: the test is of the bytes.
type event struct {
	Type    string
	Actor   string
	Attempt int
	Config  struct {
		Hash string
		Full json.RawMessage
	}
	Data json.RawMessage
}

// route answers what the body of the request says: it is the verdict. A path that begins with /do/ is a command, and one
// that ends in /events an event log in which nothing happens.
func route(in []byte) ([]byte, int) {
	head, body, _ := strings.Cut(string(in), "\n")
	var req struct{ Path string }
	if err := json.Unmarshal([]byte(head), &req); err != nil {
		return fail(errs.New(errs.Invalid, "%v", err))
	}
	switch req.Path {
	case "/do/echo", "/interactions":
		b, _ := json.Marshal(map[string]any{"reply": map[string]any{"status": 200, "body": json.RawMessage(head)}})
		return output(b)
	case "/do/fail":
		return fail(errs.New(errs.Invalid, "no such thing").WithHint("ask differently"))
	}
	if strings.HasSuffix(req.Path, "/events") {
		return output([]byte(`{"reply":{"status":200,"body":{"events":[]}}}`))
	}
	misbehave(strings.TrimPrefix(req.Path, "/do/"))
	return output([]byte(body))
}

// handle records the event and then does what an operator event says.
func handle(conn store.Conn, raw []byte) (out []byte, rc int) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *store.Abort:
			out, rc = fail(errs.New(errs.Unavailable, "%v", p.Err))
		default:
			panic(p)
		}
	}()
	var ev event
	if err := json.Unmarshal(raw, &ev); err != nil {
		return fail(errs.New(errs.Invalid, "%v", err))
	}
	tx := store.Tx{Conn: conn}
	tx.Exec(`CREATE TABLE IF NOT EXISTS seen(id INTEGER PRIMARY KEY, event TEXT NOT NULL) STRICT`)
	tx.Exec(`CREATE TABLE IF NOT EXISTS plan(on_type TEXT PRIMARY KEY, result TEXT NOT NULL) STRICT`)
	tx.Exec(`CREATE TABLE IF NOT EXISTS config(hash TEXT PRIMARY KEY) STRICT`)
	if len(ev.Config.Full) > 0 {
		tx.Exec(`INSERT OR IGNORE INTO config(hash) VALUES(?)`, ev.Config.Hash)
	} else if _, ok := tx.Row(`SELECT 1 FROM config WHERE hash = ?`, ev.Config.Hash); !ok {
		return fail(errs.New("need_config", "which configuration?"))
	}
	if makes(ev) {
		return output([]byte(`{"v":1}`))
	}
	tx.Exec(`INSERT INTO seen(event) VALUES(?)`, string(raw))
	if ev.Actor == "application" && (ev.Type == actor.EventStart || ev.Type == actor.EventActor) && !planned(tx, ev.Type) {
		return actor.Handle(conn, raw) // the pace is the real one
	}
	return step(tx, ev)
}

// makes says whether an event is the one that a test begins an actor with. It is not noted.
func makes(ev event) bool {
	var op struct{ Op string }
	return ev.Type == "operator" && json.Unmarshal(ev.Data, &op) == nil && op.Op == "config"
}

func planned(tx store.Tx, on string) bool {
	_, ok := tx.Row(`SELECT 1 FROM plan WHERE on_type = ?`, on)
	return ok
}

func step(tx store.Tx, ev event) ([]byte, int) {
	if ev.Type == "operator" {
		return command(tx, ev)
	}
	if ev.Type == "runner.message" {
		var m struct {
			Socket string
			Frame  json.RawMessage
		}
		_ = json.Unmarshal(ev.Data, &m)
		b, _ := json.Marshal(m.Socket)
		return output(fmt.Appendf(nil, `{"v":1,"effects":[{"type":"runner.send","socket":%s,"message":%s}]}`, b, m.Frame))
	}
	if row, ok := tx.Row(`SELECT result FROM plan WHERE on_type = ?`, ev.Type); ok {
		return output([]byte(row.Str(0)))
	}
	return output([]byte(`{"v":1}`))
}

// command obeys an operator event. Ops: "do" answers the result in args; "plan" keeps one for later events of
// a type, or a later op; "seen" lists all events; "sql" runs a statement; the rest misbehaves.
func command(tx store.Tx, ev event) ([]byte, int) {
	var op struct {
		Op   string
		Args json.RawMessage
	}
	_ = json.Unmarshal(ev.Data, &op)
	switch op.Op {
	case "do":
		return output(op.Args)
	case "plan":
		var p struct {
			On     string
			Result json.RawMessage
		}
		_ = json.Unmarshal(op.Args, &p)
		tx.Exec(`INSERT OR REPLACE INTO plan(on_type, result) VALUES(?, ?)`, p.On, string(p.Result))
		return output([]byte(`{"v":1}`))
	case "seen":
		return reply(list(tx))
	case "sql":
		return reply(runSQL(tx, op.Args))
	case "values":
		return reply(values(tx))
	case "fail":
		return fail(errs.New(errs.Conflict, "as you wished"))
	case "random":
		b := make([]byte, 16)
		_, _ = rand.Read(b)
		return reply(fmt.Sprintf("%x", b))
	case "until":
		var attempt int
		_ = json.Unmarshal(op.Args, &attempt)
		if ev.Attempt < attempt {
			panic("not yet")
		}
		return reply(ev.Attempt)
	}
	if row, ok := tx.Row(`SELECT result FROM plan WHERE on_type = ?`, op.Op); ok {
		return output([]byte(row.Str(0)))
	}
	misbehave(op.Op)
	return reply(op.Op)
}

func misbehave(how string) {
	switch how {
	case "panic":
		panic("as you wished")
	case "exit":
		os.Exit(0)
	case "loop":
		for n := 0; ; n++ {
			sink = n
		}
	case "log":
		abi.Log("test.line.ok")
	case "grow":
		heap = make([]byte, 80<<20)
		for i := 0; i < len(heap); i += 4096 {
			heap[i] = 1
		}
	}
}

var (
	sink int
	heap []byte
)

func list(tx store.Tx) []json.RawMessage {
	all := []json.RawMessage{}
	for _, r := range tx.Rows(`SELECT event FROM seen ORDER BY id`) {
		all = append(all, json.RawMessage(r.Str(0)))
	}
	return all
}
