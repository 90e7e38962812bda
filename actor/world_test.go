package actor

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"holdfast/actor/frame"
	"holdfast/worker/host/sqlite"
)

// world is one workspace with a Discord, a model and a runner around it, all in one goroutine on one clock. Tests
// step it, break it and look at what Discord shows.
type world struct {
	t        *testing.T
	db       *sqlite.DB
	now      int64
	owner    int
	seq      int
	cfg      Config
	alarm    *int64
	effects  []Effect // asked for and not performed
	reply    *Reply
	discord  *fakeDiscord
	runner   *fakeRunner
	model    func(call int, body string) (status int, stream string)
	calls    int
	trace    []string
	told     []string        // what was said to other actors
	dropNext map[string]bool // effect points whose outcome gets lost
	poison   poison          // on what the core traps, nil: nothing

	measure func(event string, steps int) // is told what each event costs the database, nil: nobody
}

const (
	maya, sam = "1300000000000000011", "1300000000000000012"
	guildID   = "1300000000000000100"
	channelID = "1300000000000000200"
	appID     = "1300000000000000001"
)

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldOn(t, openDB(t))
}

func newWorldOn(t *testing.T, db *sqlite.DB) *world {
	t.Helper()
	w := &world{t: t, db: db, now: 1764470000000, owner: 1, dropNext: map[string]bool{},
		cfg:     Config{ApplicationID: appID, Models: map[string]Model{"m": {Format: "openai", Model: "m", Window: 100000, MaxOutput: 1000, PriceIn: 1_000_000, PriceOut: 2_000_000}}, DefaultModel: "m"},
		discord: newFakeDiscord()}
	w.model = func(_ int, body string) (int, string) { return 200, say("I heard you.") }
	w.event(EventStart, nil)
	w.operator(OpConfig, Settings{Members: []Member{{User: maya, Roles: []string{"admin"}}, {User: sam, Roles: []string{"member"}}}})
	return w
}

func openDB(t *testing.T) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(":memory:")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// handleIn runs one event in a transaction, as a host does.
func handleIn(t *testing.T, db *sqlite.DB, raw []byte) (out []byte, rc int) {
	t.Helper()
	if err := db.Begin(); err != nil {
		t.Fatal(err)
	}
	out, rc = Handle(db, raw)
	end := db.Rollback
	if rc == 0 {
		end = db.Commit
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	return out, rc
}

// event hands one event to the actor and collects its effects. It returns the error of a rolled back one.
func (w *world) event(kind string, data any) error {
	w.t.Helper()
	w.seq++
	raw, _ := json.Marshal(data)
	ev := Event{V: 1, ID: fmt.Sprint(w.seq), Type: kind, Attempt: 1, Now: w.now, Entropy: fmt.Sprintf("%064d", w.seq), Owner: fmt.Sprintf("owner-%d", w.owner),
		Config: ConfigRef{Version: 1, Hash: "h"}, Actor: "workspace:" + guildID + "/demo", Data: raw}
	if w.runner != nil && w.runner.socket != "" {
		ev.Sockets = []string{w.runner.socket}
	}
	if kind == EventStart {
		ev.Config.Full = &w.cfg
	}
	return w.handle(ev)
}

func (w *world) handle(ev Event) error {
	w.t.Helper()
	w.db.Steps()
	out, rc := w.attempts(ev)
	if w.measure != nil {
		w.measure(ev.Type, w.db.Steps())
	}
	if rc != 0 {
		return fmt.Errorf("%s", out)
	}
	var r Result
	if err := json.Unmarshal(out, &r); err != nil {
		w.t.Fatal(err)
	}
	w.alarm, w.reply = r.Alarm, r.Reply
	w.effects = append(w.effects, r.Effects...)
	for _, tr := range r.Trace {
		w.trace = append(w.trace, tr.Name)
	}
	w.checkInvariants()
	return nil
}

func (w *world) must(kind string, data any) {
	w.t.Helper()
	if err := w.event(kind, data); err != nil {
		w.t.Fatalf("%s: %v", kind, err)
	}
}

func (w *world) operator(op string, args any) string {
	w.t.Helper()
	raw, _ := json.Marshal(args)
	w.must(EventOperator, Operator{Op: op, Principal: Principal{Name: "op", Roles: []string{"admin"}}, Args: raw})
	return string(w.reply.Body)
}

// checkInvariants holds after every event (spec 3.7).
func (w *world) checkInvariants() {
	w.t.Helper()
	if w.one(`SELECT value FROM meta WHERE key = 'review'`) == reviewOn {
		return // nothing runs by itself
	}
	rows, err := w.db.Do(`SELECT min(due) FROM (SELECT due FROM task WHERE due IS NOT NULL UNION ALL SELECT due FROM delivery WHERE due IS NOT NULL)`, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	if !rows[0].Null(0) && w.alarm == nil {
		w.t.Fatal("an open row is due and there is no alarm")
	}
	if !rows[0].Null(0) && *w.alarm > max(rows[0].Int(0), w.now) {
		w.t.Fatalf("the alarm is %d ms later than the earliest due", *w.alarm-rows[0].Int(0))
	}
	w.checkTotals()
}

// perform does one effect and feeds its outcome back.
func (w *world) perform(e Effect) {
	w.t.Helper()
	switch e.Type {
	case EffectRunnerSend:
		w.runnerGets(e)
		return
	case EffectActor:
		w.told = append(w.told, string(e.Data))
		return
	case EffectRunnerClose:
		if w.runner != nil && w.runner.socket == e.Socket {
			w.disconnect()
		}
		return
	}
	o := Outcome{ID: e.ID, Epoch: e.Epoch, Kind: OutcomeResponse, Headers: map[string]string{}}
	if strings.HasPrefix(e.Target, "model:") {
		w.calls++
		o.Status, o.Body = w.model(w.calls, string(e.Body))
	} else {
		o.Status, o.Body = w.discord.serve(w, e)
	}
	if w.dropNext[e.Point] {
		delete(w.dropNext, e.Point)
		o = Outcome{ID: e.ID, Epoch: e.Epoch, Kind: OutcomeTimeout}
	}
	if o.Status == 0 && o.Kind == OutcomeResponse {
		o.Kind = OutcomeNetwork
	}
	w.must(EventEffect, w.inParts(o))
}

// inParts hands over what is too long for one event, as a host does.
func (w *world) inParts(o Outcome) Outcome {
	w.t.Helper()
	for ; len(o.Body) > MaxInlineBody; o.Parts++ {
		w.must(EventEffectPart, OutcomePart{ID: o.ID, Epoch: o.Epoch, Seq: o.Parts, BodyB64: base64.StdEncoding.EncodeToString([]byte(o.Body[:MaxInlineBody]))})
		o.Body = o.Body[MaxInlineBody:]
	}
	return o
}

// run performs effects and alarms until nothing is left to do within limit ms of simulated time.
func (w *world) run(limit int64) {
	w.t.Helper()
	end := w.now + limit
	for range 10_000 {
		if len(w.effects) > 0 {
			e := w.effects[0]
			w.effects = w.effects[1:]
			w.now += 5
			w.perform(e)
			continue
		}
		if w.alarm == nil || *w.alarm > end {
			w.now = end
			return
		}
		w.now = max(w.now+1, *w.alarm)
		w.must(EventWake, nil)
	}
	w.t.Fatal("the workspace does not come to rest")
}

// runUntil performs effects until one with the point comes up, which is left unperformed and returned.
func (w *world) runUntil(point string) Effect {
	w.t.Helper()
	for range 10_000 {
		if len(w.effects) > 0 {
			e := w.effects[0]
			w.effects = w.effects[1:]
			if e.Point == point {
				return e
			}
			w.perform(e)
			continue
		}
		if w.alarm == nil {
			w.t.Fatalf("came to rest before %s", point)
		}
		w.now = max(w.now+1, *w.alarm)
		w.must(EventWake, nil)
	}
	w.t.Fatalf("never came to %s", point)
	return Effect{}
}

// kill drops the host: its effects are gone, the next event comes from a new owner.
func (w *world) kill() {
	w.t.Helper()
	w.effects, w.alarm = nil, nil
	w.owner++
	if w.runner != nil {
		w.runner.socket = ""
	}
	w.must(EventStart, nil)
}

func (w *world) ask(key, prompt string) {
	w.t.Helper()
	w.must(EventInteraction, Interaction{Key: key, Kind: KindAsk, Token: "token-" + key, User: User{ID: maya, Name: "maya"},
		Place: Place{Guild: guildID, Channel: channelID}, Prompt: prompt})
	w.discord.originals["token-"+key] = &fakeMessage{channel: channelID}
}

func (w *world) say(id, channel, text string, mentions ...string) GatewayResult {
	w.t.Helper()
	place := Place{Guild: guildID, Channel: channel}
	if channel != channelID {
		place.Type, place.Parent = 11, channelID
	}
	w.must(EventGateway, GatewayEvent{ID: id, Type: "MESSAGE_CREATE", Source: "live", Place: place, Message: id, Author: User{ID: maya, Name: "maya"}, Content: text, Mentions: mentions})
	var r GatewayResult
	if err := json.Unmarshal(w.reply.Body, &r); err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *world) press(verb string, task int64, user string) string {
	w.t.Helper()
	rows, _ := w.db.Do(`SELECT value FROM meta WHERE key = 'incarnation'`, nil)
	w.must(EventInteraction, Interaction{Key: fmt.Sprint("press-", w.seq), Kind: KindPress, User: User{ID: user, Name: user}, Place: Place{Guild: guildID, Channel: channelID},
		Verb: verb, Target: fmt.Sprintf("%s.%d", rows[0].Str(0), task)})
	return string(w.reply.Body)
}

func (w *world) one(sql string, args ...any) string {
	w.t.Helper()
	rows, err := w.db.Do(sql, args)
	if err != nil {
		w.t.Fatal(err)
	}
	if len(rows) == 0 || rows[0].Null(0) {
		return ""
	}
	return fmt.Sprint(rows[0][0])
}

// tx changes the database behind the actor's back.
func (w *world) tx(sql string, args ...any) {
	w.t.Helper()
	if _, err := w.db.Do(sql, args); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) want(what, got, want string) {
	w.t.Helper()
	if got != want {
		w.t.Fatalf("%s: got %q, want %q", what, got, want)
	}
}

// say and call are model streams in the OpenAI format.
func say(text string) string {
	body, _ := json.Marshal(text)
	return fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":%s},\"finish_reason\":null}]}\n\n"+
		"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"+
		"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":10,\"total_tokens\":110}}\n\ndata: [DONE]\n\n", body)
}

func call(tool, args string) string {
	quoted, _ := json.Marshal(args)
	return fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":%q,\"arguments\":%s}}]},\"finish_reason\":null}]}\n\n"+
		"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n", tool, quoted)
}

// fakeRunner keeps a journal and runs tools by a function.
type fakeRunner struct {
	socket  string
	journal map[int64]frame.JournalEntry
	runs    map[string]int
	hold    bool // tools start and do not end
	held    []frame.Frame
	tool    func(f frame.Frame) frame.Frame
}

func (w *world) connect() {
	w.t.Helper()
	if w.runner == nil {
		w.runner = &fakeRunner{journal: map[int64]frame.JournalEntry{}, runs: map[string]int{}}
		w.runner.tool = func(f frame.Frame) frame.Frame {
			return frame.Frame{Type: frame.TypeResult, Task: f.Task, Epoch: f.Epoch, Status: frame.StatusOK, Summary: "ran " + string(f.Args)}
		}
	}
	w.seq++
	w.runner.socket = fmt.Sprint("r", w.seq)
	w.must(EventRunnerOpen, RunnerSocket{Socket: w.runner.socket})
	hello := frame.Frame{Type: frame.TypeHello, Runner: "box", JournalID: "j1", Tools: []frame.Tool{
		{Name: "read", Schema: json.RawMessage(`{}`), Safe: true}, {Name: "bash", Schema: json.RawMessage(`{}`)}}}
	for id := int64(0); id < 100; id++ {
		if e, ok := w.runner.journal[id]; ok {
			hello.Journal = append(hello.Journal, e)
		}
	}
	w.frame(hello)
}

func (w *world) frame(f frame.Frame) {
	w.t.Helper()
	raw, _ := json.Marshal(f)
	w.must(EventRunnerMessage, RunnerMessage{Socket: w.runner.socket, Frame: raw})
}

func (w *world) disconnect() {
	w.t.Helper()
	socket := w.runner.socket
	w.runner.socket = ""
	w.must(EventRunnerClose, RunnerSocket{Socket: socket, Code: 1006})
}

func (w *world) runnerGets(e Effect) {
	w.t.Helper()
	if w.runner == nil || w.runner.socket != e.Socket {
		return
	}
	var f frame.Frame
	if err := json.Unmarshal(e.Message, &f); err != nil {
		w.t.Fatal(err)
	}
	switch f.Type {
	case frame.TypeTask:
		w.runner.journal[f.Task] = frame.JournalEntry{Task: f.Task, Epoch: f.Epoch, State: frame.StateRunning}
		w.runner.runs[f.Tool]++
		w.frame(frame.Frame{Type: frame.TypeStarted, Task: f.Task, Epoch: f.Epoch})
		if w.runner.hold {
			w.runner.held = append(w.runner.held, f)
			return
		}
		w.finish(f)
	case frame.TypeAck:
		delete(w.runner.journal, f.Task)
	}
}

func (w *world) finish(f frame.Frame) {
	w.t.Helper()
	w.runner.journal[f.Task] = frame.JournalEntry{Task: f.Task, Epoch: f.Epoch, State: frame.StateFinished}
	w.frame(w.runner.tool(f))
}
