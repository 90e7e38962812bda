package actor

import (
	"encoding/json"
	"fmt"
	"testing"
)

// history is some months of a team: thousands of turns that are over, with what belongs to them.
func (w *world) history(turns int) {
	w.t.Helper()
	n := fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 1001 UNION ALL SELECT i + 1 FROM n WHERE i < %d) INSERT INTO `, 1000+turns)
	for _, sql := range []string{
		`conversation(id, title, creator, channel, place, created_wall, active_wall) SELECT i, 't', 'u', 'c' || i, 'c' || i, 1, 1 FROM n`,
		`turn(id, conversation, requester, started_wall, ended_wall, acknowledged) SELECT i, i, 'u', 1, 2, 1 FROM n`,
		`submission(id, conversation, key, source, author, author_name, content, attachments, channel, state, turn, created_wall, settled_wall)
			SELECT i, i, 'k' || i, 'message', 'u', 'u', 'x', '[]', 'c' || i, 'done', i, 1, 2 FROM n`,
		`task(id, kind, conversation, turn, state, created_wall) SELECT i, 'tool', i, i, 'done', 1 FROM n`,
		`delivery(id, kind, op, conversation, turn, channel, message, state, created_wall) SELECT i, 'edit', 'edit', i, i, 'c' || i, 'm' || i, 'confirmed', 1 FROM n`,
		`event(id, name, turn, created_wall) SELECT i, 'turn.ended', i, 1 FROM n`,
		`entry(conversation, turn, kind, body, created_wall) SELECT i, i, 'user', '{}', 1 FROM n`,
	} {
		w.tx(n + sql)
	}
}

// everyDay is what people, runners and operators do; it gives the most steps that an event of each kind took.
func (w *world) everyDay() map[string]int {
	most := map[string]int{}
	w.measure = func(event string, steps int) { most[event] = max(most[event], steps) }
	w.connect()
	yes := true
	w.operator(OpConfig, Settings{Policy: json.RawMessage(askPolicy), SelfApprove: &yes})
	w.model = toolThenSay("bash", `{"command":"git push origin"}`)
	w.ask("1300000000000001001", "push it")
	w.run(5_000)
	w.press("a", w.approval(), maya)
	w.disconnect()
	w.connect()
	w.run(60_000)
	w.kill()
	w.connect()
	w.run(5_000)
	thread := w.one(`SELECT place FROM conversation ORDER BY id DESC LIMIT 1`)
	w.say("1400000000000001013", thread, "and now?")
	w.run(60_000)
	w.must(EventGateway, GatewayEvent{ID: "d", Type: "THREAD_DELETE", Place: Place{Guild: guildID, Channel: thread, Type: 11, Parent: channelID}})
	w.say("1400000000000002013", channelID, "<@"+appID+"> hi", appID)
	w.run(60_000)
	for _, op := range []string{OpStatus, OpJobs, OpEvents, OpUsage} {
		w.operator(op, map[string]any{"limit": 5})
	}
	job := jobName(parseInt(w.one(`SELECT max(id) FROM submission`)))
	w.operator(OpJob, map[string]any{"id": job})
	w.operator(OpEvents, map[string]any{"id": job})
	w.measure = nil
	return most
}

// What an event costs does not grow with what is over.
func TestNothingGrowsWithHistory(t *testing.T) {
	young := newWorld(t)
	few := young.everyDay()
	old := newWorld(t)
	old.history(3000)
	for event, steps := range old.everyDay() {
		t.Logf("%-15s %6d steps, %6d with a history", event, few[event], steps)
		if steps > 2*few[event]+3000 {
			t.Errorf("the costliest %s takes %d steps, %d with 3,000 turns behind it", event, few[event], steps)
		}
	}
}
