package actor

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"holdfast/actor/frame"
	"holdfast/actor/store"
)

// poison says on which statements the core traps, as a defect would make it that some input triggers.
type poison func(sql string, args []any) bool

// trapping is a database on which the core traps.
type trapping struct {
	store.Conn
	on poison
}

type trapped struct{}

func (c trapping) Do(sql string, args []store.Value) ([]store.Row, error) {
	if c.on != nil && c.on(sql, args) {
		panic(trapped{})
	}
	return c.Conn.Do(sql, args)
}

// attempts runs an event as a host does: one that traps is rolled back and tried again, at most until the fourth time.
func (w *world) attempts(ev Event) (out []byte, rc int) {
	w.t.Helper()
	for ; ev.Attempt <= 4; ev.Attempt++ {
		raw, err := json.Marshal(ev)
		if err != nil {
			w.t.Fatal(err)
		}
		if out, rc, ok := w.attempt(raw); ok {
			return out, rc
		}
	}
	return []byte("it trapped four times"), 1
}

func (w *world) attempt(raw []byte) (out []byte, rc int, ok bool) {
	w.t.Helper()
	if err := w.db.Begin(); err != nil {
		w.t.Fatal(err)
	}
	end := w.db.Rollback
	defer func() {
		r := recover()
		if _, planted := r.(trapped); r != nil && !planted {
			panic(r)
		}
		if err := end(); err != nil {
			w.t.Fatal(err)
		}
	}()
	if out, rc = Handle(trapping{w.db, w.poison}, raw); rc == 0 {
		end = w.db.Commit
	}
	return out, rc, true
}

// poisonWord in a question makes the core trap when it is recorded or placed.
const poisonWord = "POISON"

func recorded(sql string, args []any) bool {
	return strings.HasPrefix(sql, "INSERT INTO submission") && strings.Contains(fmt.Sprint(args...), poisonWord)
}

func placed(sql string, args []any) bool {
	return strings.HasPrefix(sql, "INSERT INTO entry") && strings.Contains(fmt.Sprint(args...), poisonWord)
}

func (w *world) states() string {
	w.t.Helper()
	return w.one(`SELECT group_concat(trim(state || ' ' || reason), ',' ORDER BY id) FROM submission`)
}

// A message that came after the backup and makes the core fail holds up neither the release nor what else was kept.
func TestF36_F35_ARestoredInputThatFailsEachTimeEndsAndTheOthersGoOn(t *testing.T) {
	const bad, good, late = "1300000000000001013", "1300000000000001014", "1300000000000001015"
	p := newPast(t)
	p.ask("1300000000000001001", "hello")
	p.runUntil(PointModel)
	p.backup()
	p.restore()
	p.say(bad, channelID, "<@"+appID+"> "+poisonWord, appID)
	p.say(good, channelID, "<@"+appID+"> what changed?", appID)
	p.rest()
	p.mustDecide("1", decideContinue)
	p.poison = recorded
	p.want("released", p.mustDecide("", decideContinue).Mode, reviewReleasing)
	p.want("released again", p.mustDecide("", decideContinue).Mode, reviewReleasing)
	p.say(late, channelID, "<@"+appID+"> and meanwhile?", appID)
	p.rest()
	p.want("mode", p.one(`SELECT value FROM meta WHERE key = 'review'`), reviewOver)
	p.want("the bad one", p.one(`SELECT state || ' ' || reason || ' ' || author_name FROM submission WHERE key = ?`, bad), "unanswered internal maya")
	p.want("its name", p.one(`SELECT count(*) FROM event WHERE name = 'review.parked'`), "1")
	p.want("its author is told", p.one(`SELECT state || ' ' || channel FROM delivery WHERE kind = 'note'`), "confirmed "+channelID)
	p.want("the turn", p.one(`SELECT state FROM submission WHERE id = 1`), "done")
	p.want("the good one", p.one(`SELECT state FROM submission WHERE key = ?`, good), "done")
	p.want("what came meanwhile", p.one(`SELECT state FROM submission WHERE key = ?`, late), "done")
	p.want("again", p.say(bad, channelID, "<@"+appID+"> "+poisonWord, appID).Status, StatusDuplicate)
}

// What fails may be a row that is due, with nothing to let go: the release ends all the same, and the row is parked.
func TestF36_F35_AReleaseThatHasNothingToLetGoEnds(t *testing.T) {
	p := newPast(t)
	p.ask("1300000000000001001", "hello")
	p.rest()
	p.one(`INSERT INTO delivery(kind, op, conversation, channel, message, body, state, due, created_wall) VALUES ('thread', 'thread', 1, '1', '2', 'x', 'pending', 1, 0)`)
	row := parseInt(p.one(`SELECT max(id) FROM delivery`))
	p.backup()
	p.restore()
	p.rest()
	p.poison = func(sql string, args []any) bool {
		return strings.HasPrefix(sql, "SELECT "+deliveryColumns) && len(args) == 1 && args[0] == row
	}
	p.mustDecide("", decideContinue)
	p.rest()
	p.want("mode", p.one(`SELECT value FROM meta WHERE key = 'review'`), reviewOver)
	p.want("the row", p.one(`SELECT state || ' ' || reason FROM delivery WHERE id = ?`, row), "failed parked")
}

// After the release it is a look-up's outcome, or an operator's decision, that would admit it.
func TestF36_F35_AnOutcomeOrADecisionThatAdmitsAPoisonedInputIsNotStuck(t *testing.T) {
	const bad = "1300000000000001013"
	for _, decided := range []bool{false, true} {
		p := newPast(t)
		p.backup()
		p.restore()
		p.mustDecide("", decideContinue)
		p.poison = recorded
		if decided {
			p.discord.fail = func(Effect) (int, string, bool) { return 403, `{"code":50001}`, true }
		}
		p.say(bad, channelID, "<@"+appID+"> "+poisonWord, appID)
		p.rest()
		p.discord.fail = p.look
		if decided {
			p.want("verdict", p.verdicts(), verdictUnclear)
			p.mustDecide(bad, decideContinue)
			p.rest()
		}
		p.want("the bad one", p.states(), "unanswered internal")
		p.want("verdict", p.verdicts(), verdictStopped)
	}
}

// Discord's answer itself may be what the core fails on: then the operator decides.
func TestF36_F35_AnAnswerAboutAnInputThatFailsEachTimeLeavesItToTheOperator(t *testing.T) {
	const id = "1300000000000001013"
	p := newPast(t)
	p.backup()
	p.restore()
	p.poison = func(sql string, _ []any) bool {
		return strings.Contains(sql, "DELETE FROM part") // each outcome's last statement
	}
	p.say(id, channelID, "<@"+appID+"> one", appID)
	for range 3 {
		p.now += deliverLease + 1
		if len(p.effects) > 0 {
			e := p.effects[0]
			p.effects = p.effects[1:]
			p.perform(e)
		}
	}
	p.want("verdict", p.verdicts(), verdictUnclear)
	p.poison = nil
	p.mustDecide(id, decideStop)
	p.mustDecide("", decideContinue)
	p.want("mode", p.one(`SELECT value FROM meta WHERE key = 'review'`), reviewOver)
}

// A turn of the backup that cannot be taken up again ends, and says so in its own message.
func TestF36_F35_ATurnThatCannotGoOnEnds(t *testing.T) {
	for _, sent := range []bool{true, false} {
		p := newPast(t)
		p.ask("1300000000000001001", "hello")
		e := p.runUntil(PointAck)
		p.backup()
		if sent {
			p.perform(e)
			p.runUntil(PointModel)
		}
		p.restore()
		p.rest()
		if sent {
			p.mustDecide("1", decideContinue)
		}
		p.poison = func(sql string, _ []any) bool {
			return strings.Contains(sql, "SELECT "+taskColumns+" FROM task WHERE turn = ? AND kind = 'tool'")
		}
		p.mustDecide("", decideContinue)
		p.rest()
		p.want("state", p.states(), "unanswered internal")
		p.want("messages", p.messages(), "1")
		if shown := p.discord.in(channelID)[0].body.Content; !strings.Contains(shown, reasonText[reasonInternal]) {
			t.Errorf("sent %t: shown %q", sent, shown)
		}
	}
}

// What waits in the queue is promoted by the end of another's turn: that turn's outcome must not fail for it.
func TestF35_AQueuedInputThatFailsEachTimeEndsAndHoldsUpNobody(t *testing.T) {
	w := newWorld(t)
	for n := range maxUserTurns + 2 {
		text := "hello"
		if n == maxUserTurns {
			text = poisonWord
		}
		w.ask(fmt.Sprint(1300000000000001001+n), text)
	}
	w.poison = placed
	w.run(3_600_000)
	w.want("states", w.states(), "done,done,unanswered internal,done")
	w.want("calls", fmt.Sprint(w.calls), "3")
	w.want("its author is told", w.one(`SELECT state FROM delivery WHERE kind = 'note'`), "confirmed")
	w.want("the flag", w.one(`SELECT value FROM meta WHERE key = 'queue'`), "")
}

// One that joined a running turn holds up neither the turn nor what was queued with it.
func TestF35_AJoinedInputThatFailsEachTimeLeavesTheTurnAlone(t *testing.T) {
	const thread = "1300000000000001013"
	w := newWorld(t)
	w.connect()
	w.model = toolThenSay("read", `{"path":"x"}`)
	w.say(thread, channelID, "<@"+appID+"> hello", appID)
	w.runUntil(PointModel)
	w.kill() // the call is made again, behind the messages that join
	w.connect()
	w.say("1300000000000009501", thread, "one more")
	w.say("1300000000000009502", thread, poisonWord)
	w.say("1300000000000009503", thread, "and another")
	w.poison = placed
	w.run(3_600_000)
	w.want("states", w.states(), "done,done,unanswered internal,done")
}

// A start looks at every model call of the old owner. It does not fail on the one that is to be parked.
func TestF17_F35_AStartDoesNotFailOnTheTurnThatItParks(t *testing.T) {
	w := newWorld(t)
	w.ask("1300000000000001001", "hello")
	for range maxStarts {
		w.runUntil(PointModel)
		w.poison = func(sql string, _ []any) bool { return strings.HasPrefix(sql, "UPDATE turn SET ended_wall") }
		w.kill()
	}
	w.poison = nil
	w.run(60_000)
	w.want("state", w.states(), "unanswered internal")
	w.want("task", w.one(`SELECT state FROM task`), stateParked)
}

// A result on which the core fails each time does not come again at each connection. Its call ends with its lease.
func TestF35_AResultThatFailsEachTimeIsForgotten(t *testing.T) {
	w := newWorld(t)
	w.connect()
	w.operator(OpConfig, Settings{Policy: json.RawMessage(askPolicy)})
	w.model = toolThenSay("bash", `{"command":"make"}`)
	w.poison = func(sql string, args []any) bool {
		return strings.HasPrefix(sql, "INSERT INTO entry") && strings.Contains(fmt.Sprint(args...), "ran {")
	}
	w.ask("1300000000000001001", "build it")
	w.run(3_600_000)
	w.want("journal", fmt.Sprint(len(w.runner.journal)), "0")
	w.want("runs", fmt.Sprint(w.runner.runs["bash"]), "1")
	w.want("call", w.one(`SELECT state FROM task WHERE kind = 'tool'`), stateInterrupted)
	w.want("state", w.states(), "done")
}

// A journal on which the core fails each time does not keep its runner away.
func TestF35_ARunnerIsAdmittedWhateverItsJournalDoes(t *testing.T) {
	for _, state := range []string{frame.StateFinished, frame.StateStarted} {
		admitted(t, state)
	}
}

func admitted(t *testing.T, state string) {
	w := newWorld(t)
	w.connect()
	w.operator(OpConfig, Settings{Policy: json.RawMessage(askPolicy)})
	w.runner.hold = true
	w.model = toolThenSay("bash", `{"command":"make"}`)
	w.ask("1300000000000001001", "build it")
	w.run(5_000)
	w.runner.journal[2] = frame.JournalEntry{Task: 2, Epoch: 1, State: state}
	w.disconnect()
	w.poison = func(sql string, args []any) bool { return strings.HasPrefix(sql, "UPDATE task SET lease_expires") }
	w.connect()
	w.poison = nil
	w.want("the lease", fmt.Sprint(w.one(`SELECT json_extract(body, '$.socket') FROM document WHERE name = 'runner'`) != ""), "true")
	w.run(5_000)
	w.want("journal", fmt.Sprint(len(w.runner.journal)), "0")
	w.run(3_600_000)
	w.want("call", w.one(`SELECT state FROM task WHERE kind = 'tool'`), stateInterrupted)
	w.want("state", w.states(), "done")
}
