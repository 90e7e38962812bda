package actor

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"holdfast/actor/frame"
)

const askPolicy = `{"tool":{"*":"deny","read":"allow","bash":"allow"},"bash":{"*":"allow","git push*":"ask","rm *":"deny"}}`

// toolThenSay makes the model call a tool first and then answer with what it saw.
func toolThenSay(tool, args string) func(int, string) (int, string) {
	return func(_ int, body string) (int, string) {
		if strings.Contains(body, `"role":"tool"`) {
			return 200, say("Done with the tool.")
		}
		return 200, call(tool, args)
	}
}

func TestAskIsAnsweredOnceInItsAnchor(t *testing.T) {
	w := newWorld(t)
	w.ask("1300000000000001001", "hello there")
	w.want("reply", string(w.reply.Body), `{"type":5}`)
	w.run(60_000)
	w.want("state", w.one(`SELECT state FROM submission`), "done")
	shown := w.discord.in(channelID)
	if len(shown) != 1 || !strings.Contains(shown[0].body.Content, "I heard you.") {
		t.Fatalf("the channel shows %d messages: %s", len(shown), w.discord.all())
	}
	if !w.discord.threads[shown[0].id] {
		t.Fatal("no thread was opened under the answer")
	}
	w.want("tokens", w.one(`SELECT tokens FROM turn`), "110")
	w.want("cost", w.one(`SELECT micros FROM turn`), "120")
	w.want("erased token", w.one(`SELECT count(*) FROM delivery WHERE token <> ''`), "0")
}

func TestToolsRunAndTheirResultsReachTheModel(t *testing.T) {
	w := newWorld(t)
	w.connect()
	w.operator(OpConfig, Settings{Policy: json.RawMessage(askPolicy)})
	var last string
	w.model = func(n int, body string) (int, string) {
		last = body
		return toolThenSay("bash", `{"command":"go test ./..."}`)(n, body)
	}
	w.ask("1300000000000001001", "do the tests pass?")
	w.run(60_000)
	w.want("runs", fmt.Sprint(w.runner.runs["bash"]), "1")
	if !strings.Contains(last, "ran {") {
		t.Fatalf("the model never saw the result: %s", last)
	}
	w.want("journal", fmt.Sprint(len(w.runner.journal)), "0")
	w.want("state", w.one(`SELECT state FROM submission`), "done")
}

// The runner hashes the argument bytes that it gets; what JSON escapes on its way must not make that another hash.
func TestTheHashCoversTheArgumentsAsTheyTravel(t *testing.T) {
	w := newWorld(t)
	w.connect()
	w.operator(OpConfig, Settings{Policy: json.RawMessage(askPolicy)})
	w.model = toolThenSay("bash", `{ "command" : "make && echo <done> \u00fc" }`)
	w.ask("1300000000000001001", "build it")
	e := w.runUntil(PointIntent)
	var f frame.Frame
	if err := json.Unmarshal(e.Message, &f); err != nil {
		t.Fatal(err)
	}
	w.want("hash", f.ArgsHash, argsHash("bash", string(f.Args)))
}

func TestMentionOpensAThreadAndItsMessagesJoinOrBeginTurns(t *testing.T) {
	w := newWorld(t)
	r := w.say("1300000000000001013", channelID, "<@"+appID+"> what changed?", appID)
	w.want("status", r.Status, StatusCommitted)
	w.run(60_000)
	thread := w.discord.in("1300000000000001013")
	if len(thread) != 1 || !strings.Contains(thread[0].body.Content, "I heard you.") {
		t.Fatalf("the thread shows: %s", w.discord.all())
	}
	for _, c := range []struct{ text, status, reason string }{
		{"thanks!", StatusIgnored, "not meant for the bot"},
		{"<@42> look at this", StatusIgnored, "not meant for the bot"},
		{"and since yesterday?", StatusCommitted, ""},
	} {
		r := w.say(fmt.Sprint("13000000000000020", len(c.text)), "1300000000000001013", c.text)
		w.want(c.text, r.Status+r.Reason, c.status+c.reason)
		w.run(60_000)
	}
	w.want("answers", fmt.Sprint(len(w.discord.in("1300000000000001013"))), "2")
}

func TestF01_NothingIsRecordedWhenTheDeadlineHasPassed(t *testing.T) {
	w := newWorld(t)
	raw, _ := json.Marshal(Interaction{Key: "1300000000000001001", Kind: KindAsk, User: User{ID: maya}, Place: Place{Guild: guildID, Channel: channelID}, Prompt: "late"})
	err := w.handle(Event{V: 1, ID: "late", Type: EventInteraction, Attempt: 1, Now: w.now, Entropy: "00", Owner: "owner-1", Deadline: w.now - 1,
		Config: ConfigRef{Hash: "h"}, Actor: "workspace:" + guildID + "/demo", Data: raw})
	if err == nil || !strings.Contains(err.Error(), "unavailable") {
		t.Fatalf("got %v, want unavailable", err)
	}
	w.want("submissions", w.one(`SELECT count(*) FROM submission`), "0")
}

func TestF02_TheSameMessageIsOneSubmission(t *testing.T) {
	w := newWorld(t)
	for i := range 5 {
		r := w.say("1300000000000001013", channelID, "<@"+appID+"> hi", appID)
		if want := map[bool]string{true: StatusCommitted, false: StatusDuplicate}[i == 0]; r.Status != want {
			t.Fatalf("delivery %d: %s, want %s", i, r.Status, want)
		}
		w.run(3_000)
	}
	w.run(60_000)
	w.want("submissions", w.one(`SELECT count(*) FROM submission`), "1")
	w.want("calls", fmt.Sprint(w.calls), "1")
}

// killAt kills the host when the effect with the point comes up, before or after it was performed, and lets the
// rest happen under a new owner.
func killAt(t *testing.T, point string, performed bool) *world {
	w := newWorld(t)
	w.connect()
	w.operator(OpConfig, Settings{Policy: json.RawMessage(askPolicy)})
	w.model = toolThenSay("bash", `{"command":"make"}`)
	w.ask("1300000000000001001", "build it")
	e := w.runUntil(point)
	if performed && e.Target == "discord" {
		w.discord.serve(w, e)
	}
	if performed && e.Type == EffectRunnerSend {
		w.runner.hold = true
		w.perform(e)
		w.runner.hold = false
	}
	w.kill()
	w.now += 2_000
	return w
}

func (w *world) wantOneAnswer() {
	w.t.Helper()
	w.run(900_000)
	w.want("state", w.one(`SELECT state FROM submission`), "done")
	n := strings.Count(w.discord.all(), "Done with the tool.")
	if n != 1 {
		w.t.Fatalf("%d answers are shown, want 1: %s", n, w.discord.all())
	}
	w.want("open rows", w.one(`SELECT count(*) FROM task WHERE due IS NOT NULL`), "0")
}

func TestF03_KilledBeforeTheAnchorIsSent(t *testing.T) {
	w := killAt(t, PointAck, false)
	w.connect()
	w.wantOneAnswer()
	w.want("runs", fmt.Sprint(w.runner.runs["bash"]), "1")
}

// A message's anchor is a create: within its window the nonce keeps it single, afterwards the mark finds it.
// What people write after the lost create must not move the look-up's beginning behind it.
// Also the very first message of a thread, where nothing of ours is known to be: the thread's own first message is.
// A look-up that is refused for now is made again: the create itself is not sent before it is proven absent.
// The refusal of a repeated create says nothing about the first one, which may still arrive.
func TestF05_KilledDuringTheModelCall(t *testing.T) {
	w := newWorld(t)
	w.ask("1300000000000001001", "hello")
	e := w.runUntil(PointModel)
	w.kill()
	w.run(60_000)
	w.want("state", w.one(`SELECT state FROM submission`), "done")
	w.want("calls accounted", w.one(`SELECT count(*) FROM usage WHERE state = 'settled'`), "2")
	w.want("restarts", w.one(`SELECT restarts FROM turn`), "1")
	before := w.discord.all()
	w.must(EventEffect, Outcome{ID: e.ID, Epoch: e.Epoch, Kind: OutcomeResponse, Status: 200, Body: say("A late answer.")})
	w.run(60_000)
	w.want("shown", w.discord.all(), before)
}

// A stopped call that its host never answered settles at its reservation too, when the next owner starts.
func TestF27_AStoppedCallOfADeadHostIsSettled(t *testing.T) {
	w := newWorld(t)
	w.ask("1300000000000001001", "hello")
	w.runUntil(PointModel)
	if err := w.event(EventOperator, Operator{Op: OpStop, Principal: Principal{Name: "ops", Roles: []string{"approve"}}, Args: json.RawMessage(`{"id":"1"}`)}); err != nil {
		t.Fatal(err)
	}
	w.want("in flight", w.one(`SELECT count(*) FROM usage WHERE state = 'reserved'`), "1")
	w.kill()
	w.run(60_000)
	w.want("reserved", w.one(`SELECT count(*) FROM usage WHERE state = 'reserved'`), "0")
	w.want("state", w.one(`SELECT state || ' ' || reason FROM submission`), "unanswered aborted")
}

func TestF06_KilledBeforeTheRunnerStartedTheTool(t *testing.T) {
	w := killAt(t, PointIntent, false)
	w.connect() // its journal does not name the task: it never started
	w.wantOneAnswer()
	w.want("runs", fmt.Sprint(w.runner.runs["bash"]), "1")
}

func TestF07_ASafeToolRunsAgainAtMostThreeTimes(t *testing.T) {
	w := newWorld(t)
	w.connect()
	w.model = toolThenSay("read", `{"path":"README.md"}`)
	w.ask("1300000000000001001", "read it")
	for range 3 {
		w.runner.hold = true
		w.run(10_000)
		w.disconnect()
		for id, e := range w.runner.journal {
			e.State = frame.StateStarted // the runner died in the middle
			w.runner.journal[id] = e
		}
		w.now += 1_000
		w.connect()
	}
	w.run(60_000)
	w.want("runs", fmt.Sprint(w.runner.runs["read"]), "3")
	w.want("task", w.one(`SELECT state FROM task WHERE kind = 'tool'`), stateParked)
	w.want("state", w.one(`SELECT state FROM submission`), "done")
}

func TestF08_AnUnsafeToolIsNeverRerun(t *testing.T) {
	w := killAt(t, PointIntent, true)
	for id, e := range w.runner.journal {
		e.State = frame.StateStarted
		w.runner.journal[id] = e
	}
	w.connect()
	w.wantOneAnswer()
	w.want("runs", fmt.Sprint(w.runner.runs["bash"]), "1")
	w.want("task", w.one(`SELECT state FROM task WHERE kind = 'tool'`), stateInterrupted)
	w.want("entry", w.one(`SELECT count(*) FROM entry WHERE kind = 'interrupted'`), "1")
}

func TestF09_AResultIsAcceptedOnceAndAlwaysAcknowledged(t *testing.T) {
	w := killAt(t, PointIntent, true)
	f := w.runner.held[0]
	w.runner.journal[f.Task] = frame.JournalEntry{Task: f.Task, Epoch: f.Epoch, State: frame.StateFinished}
	w.connect()
	for range 3 {
		w.frame(w.runner.tool(f))
	}
	w.wantOneAnswer()
	w.want("results", w.one(`SELECT count(*) FROM entry WHERE kind = 'tool_result'`), "1")
	w.want("journal", fmt.Sprint(len(w.runner.journal)), "0")
	w.want("runs", fmt.Sprint(w.runner.runs["bash"]), "1")
}

func TestF10_KilledAfterTheResult(t *testing.T) {
	w := newWorld(t)
	w.connect()
	w.operator(OpConfig, Settings{Policy: json.RawMessage(askPolicy)})
	w.model = toolThenSay("bash", `{"command":"make"}`)
	w.ask("1300000000000001001", "build it")
	w.runUntil(PointModel)
	w.kill()
	w.connect()
	w.runUntil(PointModel) // killed once before the first call; this is the first one's repetition
	w.kill()
	w.connect()
	w.wantOneAnswer()
	w.want("runs", fmt.Sprint(w.runner.runs["bash"]), "1")
}

func TestF11_KilledAfterTheAnswerBeforeItsEdit(t *testing.T) {
	w := killAt(t, PointEdit, false)
	w.connect()
	calls := w.calls
	w.wantOneAnswer()
	w.want("calls", fmt.Sprint(w.calls), fmt.Sprint(calls))
}

func TestF17_ATaskThatEndsItsHostEachTimeIsParked(t *testing.T) {
	w := newWorld(t)
	w.ask("1300000000000001001", "hello")
	for range 3 {
		w.runUntil(PointModel)
		w.kill()
	}
	w.run(60_000)
	w.want("task", w.one(`SELECT state FROM task WHERE kind = 'generation'`), stateParked)
	w.want("submission", w.one(`SELECT state || ' ' || reason FROM submission`), "unanswered internal")
	w.ask("1300000000000001002", "and now?")
	w.run(60_000)
	w.want("next", w.one(`SELECT state FROM submission WHERE id = 2`), "done")
}

// The fourth attempt of a wake parks the row that is due, and what waited for it ends: an anchor, a model call.
func TestF17_WhatWaitsForAParkedRowEnds(t *testing.T) {
	for _, c := range []struct{ name, until, row, want string }{
		{"anchor", "", `SELECT state || ' ' || reason || token FROM delivery WHERE kind = 'anchor'`, "failed parked"},
		{"generation", PointModel, `SELECT state FROM task WHERE kind = 'generation'`, "parked"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.model = func(int, string) (int, string) { return 529, "" }
			w.ask("1300000000000001001", "hello")
			if c.until != "" {
				w.perform(w.runUntil(c.until))
			}
			w.now = *w.alarm
			w.one(`UPDATE task SET due = 1 WHERE state = 'ready'`) // the earliest, beside an edit
			ev := Event{V: 1, ID: "w", Type: EventWake, Attempt: 4, Now: w.now, Entropy: "00", Owner: "owner-1", Config: ConfigRef{Hash: "h"}, Actor: "workspace:" + guildID + "/demo"}
			if err := w.handle(ev); err != nil {
				t.Fatal(err)
			}
			w.want("row", w.one(c.row), c.want)
			w.run(900_000)
			w.want("submissions", w.one(`SELECT state FROM submission`), "unanswered")
			w.want("open", w.one(`SELECT count(*) FROM (SELECT due FROM task UNION ALL SELECT due FROM delivery) WHERE due IS NOT NULL`), "0")
		})
	}
}

func TestF26_TheProviderFailsAndRecoversOrDoesNot(t *testing.T) {
	w := newWorld(t)
	w.model = func(n int, _ string) (int, string) {
		if n < 3 {
			return 529, `{"error":{"message":"overloaded"}}`
		}
		return 200, say("Here I am.")
	}
	w.ask("1300000000000001001", "hello")
	w.run(120_000)
	w.want("state", w.one(`SELECT state FROM submission WHERE id = 1`), "done")
	w.model = func(int, string) (int, string) { return 200, strings.TrimSuffix(say("cut"), "data: [DONE]\n\n")[:60] }
	w.ask("1300000000000001002", "again")
	w.run(600_000)
	w.want("cut", w.one(`SELECT state || ' ' || reason FROM submission WHERE id = 2`), "unanswered provider")
	w.want("calls", fmt.Sprint(w.calls), fmt.Sprint(3+maxModelTries))
}

func TestF32_AWithdrawnQuestionRunsNothing(t *testing.T) {
	w := newWorld(t)
	w.must(EventWithdraw, Withdraw{Key: "1300000000000001001"})
	w.ask("1300000000000001001", "too late")
	w.run(60_000)
	w.ask("1300000000000001002", "admitted, then withdrawn")
	w.must(EventWithdraw, Withdraw{Key: "1300000000000001002"})
	w.run(60_000)
	w.ask("1300000000000001003", "the front refused and never told")
	w.discord.originals["token-1300000000000001003"].flags = flagEphemeral
	w.run(60_000)
	w.want("calls", fmt.Sprint(w.calls), "0")
	w.want("withdrawn", w.one(`SELECT count(*) FROM submission WHERE reason = 'withdrawn'`), "3")
}

func TestF33_WithoutARunnerTheTurnWaitsThenSaysSo(t *testing.T) {
	w := newWorld(t)
	w.connect()
	w.model = toolThenSay("read", `{"path":"a"}`)
	w.disconnect()
	w.ask("1300000000000001001", "read it")
	w.run(60_000)
	if !strings.Contains(w.discord.all(), "waiting for a runner") {
		t.Fatalf("the card does not say what it waits for: %s", w.discord.all())
	}
	w.run(700_000)
	w.want("submission", w.one(`SELECT state || ' ' || reason FROM submission`), "unanswered no_runner")
}

func TestF33_ASecondRunnerIsToldWhoHasTheWorkspace(t *testing.T) {
	w := newWorld(t)
	w.connect()
	holder := w.runner.socket
	w.seq++
	w.must(EventRunnerMessage, RunnerMessage{Socket: "other", Frame: json.RawMessage(`{"type":"hello","runner":"second","journal_id":"j2"}`)})
	if len(w.effects) < 2 || !strings.Contains(string(w.effects[len(w.effects)-2].Message), `"holder":"box"`) {
		t.Fatalf("the second runner gets %v", w.effects)
	}
	w.want("holder", w.one(`SELECT json_extract(body, '$.socket') FROM document WHERE name = 'runner'`), holder)
}

// An answer that was shown stays the only one when the edit that would verify it is refused.
// An anchor that comes after its turn's end shows the answer itself: when the edit behind it is refused, the answer is
// not shown again.
func TestF28_AnAnchorThatShowsTheAnswerIsTheOnlyOne(t *testing.T) {
	w := newWorld(t)
	w.ask("1300000000000001001", "hello")
	if err := w.event(EventOperator, Operator{Op: OpStop, Principal: Principal{Name: "ops", Roles: []string{"approve"}}, Args: json.RawMessage(`{"id":"1"}`)}); err != nil {
		t.Fatal(err)
	}
	w.discord.fail = func(e Effect) (int, string, bool) {
		return 403, `{"code":160005,"message":"locked"}`, e.Method == "PATCH" && strings.HasPrefix(e.Path, "/channels/")
	}
	w.run(300_000)
	w.want("shown", fmt.Sprint(strings.Count(w.discord.all(), "Stopped.")), "1")
	w.want("open", w.one(`SELECT count(*) FROM delivery WHERE due IS NOT NULL`), "0")
}

func TestF35_AnEventThatFailsEachTimeIsRejected(t *testing.T) {
	w := newWorld(t)
	raw, _ := json.Marshal(GatewayEvent{ID: "poison", Type: "MESSAGE_CREATE"})
	if err := w.handle(Event{V: 1, ID: "p", Type: EventGateway, Attempt: 4, Now: w.now, Entropy: "00", Owner: "owner-1", Config: ConfigRef{Hash: "h"},
		Actor: "workspace:" + guildID + "/demo", Data: raw}); err != nil {
		t.Fatal(err)
	}
	if got := string(w.reply.Body); !strings.Contains(got, `"poison","status":"rejected"`) {
		t.Fatalf("got %s", got)
	}
}

// An outcome that makes the core fail each time ends its delivery, and what waits for that.
func TestF35_AnOutcomeThatFailsEachTimeParksItsDelivery(t *testing.T) {
	w := newWorld(t)
	w.ask("1300000000000001001", "hello")
	e := w.runUntil(PointAck)
	for _, o := range []Outcome{{ID: e.ID, Epoch: e.Epoch - 1}, {ID: e.ID, Epoch: e.Epoch}} {
		data, _ := json.Marshal(o)
		w.want("delivery", w.one(`SELECT state FROM delivery WHERE kind = 'anchor'`), "sending") // a stale one parks nothing
		if err := w.handle(Event{V: 1, ID: "p", Type: EventEffect, Attempt: 4, Now: w.now, Entropy: "00", Owner: "owner-1", Config: ConfigRef{Hash: "h"},
			Actor: "workspace:" + guildID + "/demo", Data: data}); err != nil {
			t.Fatal(err)
		}
	}
	w.want("parked", w.one(`SELECT state || ' ' || reason || token FROM delivery WHERE kind = 'anchor'`), "failed parked")
	w.want("submission", w.one(`SELECT state FROM submission`), "unanswered")
}
