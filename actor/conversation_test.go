package actor

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestTimeNeverGoesBack(t *testing.T) {
	w := pushWorld(t)
	expires := parseInt(w.one(`SELECT json_extract(checkpoint, '$.expires') FROM task WHERE kind = 'approval'`))
	w.now -= 3_600_000 // the host's clock is set back an hour
	w.must(EventWake, nil)
	if last := parseInt(w.one(`SELECT value FROM meta WHERE key = 'now_max'`)); last < expires-900_000 {
		t.Fatalf("the actor's clock went back to %d", last)
	}
	w.run(1_000_000)
	w.want("outcome", w.one(`SELECT json_extract(checkpoint, '$.outcome') FROM task WHERE kind = 'approval'`), approvalExpired)
}

func TestStopAbortsAndTheQueueGoesOn(t *testing.T) {
	w := newWorld(t)
	w.connect()
	w.operator(OpConfig, Settings{Policy: json.RawMessage(askPolicy)})
	w.model = toolThenSay("bash", `{"command":"sleep 600"}`)
	w.runner.hold = true
	w.ask("1300000000000001001", "sleep")
	w.run(10_000)
	thread := w.one(`SELECT place FROM conversation`)
	w.runner.hold = false
	w.say("1300000000000005000", thread, "this waits until the round has ended")
	w.must(EventInteraction, Interaction{Key: "9", Kind: KindStop, User: User{ID: maya}, Place: Place{Guild: guildID, Channel: thread, Type: 11, Parent: channelID}})
	w.run(60_000)
	w.want("first", w.one(`SELECT state || ' ' || reason FROM submission WHERE id = 1`), "unanswered aborted")
	w.want("second", w.one(`SELECT state FROM submission WHERE id = 2`), "done")
}

func TestResumeAfterTheThreadWasDeleted(t *testing.T) {
	w := newWorld(t)
	w.ask("1300000000000001001", "remember the number 7421")
	w.run(60_000)
	thread := w.one(`SELECT place FROM conversation`)
	w.must(EventGateway, GatewayEvent{ID: "s:1", Type: "THREAD_DELETE", Place: Place{Guild: guildID, Channel: thread, Type: 11, Parent: channelID}})
	other := "1300000000000007777"
	place := Place{Guild: guildID, Channel: other, Type: 11, Parent: channelID}
	w.must(EventInteraction, Interaction{Key: "10", Kind: KindComplete, User: User{ID: maya}, Place: place, Query: "7421"})
	w.want("choices", string(w.reply.Body), `{"type":8,"data":{"choices":[{"name":"1 · remember the number 7421","value":"1"}]}}`)
	w.must(EventInteraction, Interaction{Key: "11", Kind: KindResume, User: User{ID: maya}, Place: place, Conversation: "1"})
	var seen string
	w.model = func(_ int, body string) (int, string) { seen = body; return 200, say("7421") }
	w.say("1300000000000008000", other, "which number was it?")
	w.run(60_000)
	if !strings.Contains(seen, "remember the number 7421") {
		t.Fatalf("the transcript is lost: %s", seen)
	}
	w.want("shown", fmt.Sprint(len(w.discord.in(other))), "1")
}

// In a channel /resume points to the thread that is still there, and opens one where it is gone.
func TestResumeInAChannel(t *testing.T) {
	w := newWorld(t)
	w.ask("1300000000000001001", "remember 7421")
	w.run(60_000)
	thread := w.one(`SELECT place FROM conversation`)
	resume := func(key string) string {
		w.must(EventInteraction, Interaction{Key: key, Kind: KindResume, User: User{ID: maya}, Place: Place{Guild: guildID, Channel: channelID}, Conversation: "1"})
		return string(w.reply.Body)
	}
	if told := resume("11"); !strings.Contains(told, "#"+thread) {
		t.Fatalf("told: %s", told)
	}
	w.must(EventGateway, GatewayEvent{ID: "s:1", Type: "THREAD_DELETE", Place: Place{Guild: guildID, Channel: thread, Type: 11, Parent: channelID}})
	resume("12")
	w.run(60_000)
	if place := w.one(`SELECT place FROM conversation`); place == thread || !w.discord.threads[place] {
		t.Fatalf("the conversation is in %s, the threads are %v", place, w.discord.threads)
	}
}

// An answer longer than an event comes in parts, is decoded as it comes, and is refused when one is missing.
func TestALongAnswerComesInParts(t *testing.T) {
	w := newWorld(t)
	w.ask("1300000000000001001", "tell me everything")
	for _, missing := range []bool{true, false} {
		e := w.runUntil(PointModel)
		stream := say(strings.Repeat("All of it. ", 5))
		for seq, at := 0, 0; at < len(stream); seq, at = seq+1, at+100 {
			if missing && seq == 1 {
				continue
			}
			part := OutcomePart{ID: e.ID, Epoch: e.Epoch, Seq: seq, BodyB64: base64.StdEncoding.EncodeToString([]byte(stream[at:min(at+100, len(stream))]))}
			w.must(EventEffectPart, part)
			w.must(EventEffectPart, part) // once more changes nothing
		}
		w.must(EventEffect, Outcome{ID: e.ID, Epoch: e.Epoch, Kind: OutcomeResponse, Status: 200, Parts: (len(stream) + 99) / 100})
		w.want("ended", fmt.Sprint(w.one(`SELECT ended_wall FROM turn`) != ""), fmt.Sprint(!missing))
	}
	w.run(60_000)
	if !strings.Contains(w.discord.all(), "All of it. All of it.") {
		t.Fatalf("shown: %s", w.discord.all())
	}
	w.want("parts", w.one(`SELECT count(*) FROM part`), "0")
}

// What a full conversation does not take is refused politely, once.
func TestAFullConversationSaysSo(t *testing.T) {
	w := newWorld(t)
	w.say("1300000000000001013", channelID, "<@"+appID+"> begin", appID)
	w.runUntil(PointModel) // the turn runs, and its call does not come back
	for i := range maxQueued + 3 {
		r := w.say(fmt.Sprint(1300000000000002000+i), "1300000000000001013", fmt.Sprintf("message %d", i))
		w.want(r.ID, r.Status, map[bool]string{true: StatusCommitted, false: StatusIgnored}[i < maxQueued])
	}
	w.run(10_000)
	if n := strings.Count(w.discord.all(), "wait here already"); n != 1 {
		t.Fatalf("%d refusals are shown: %s", n, w.discord.all())
	}
}

// One person's limit does not keep another's question waiting.
func TestTheQueueIsFair(t *testing.T) {
	w := newWorld(t)
	for i := range 14 {
		w.ask(fmt.Sprint(1300000000000001001+i), "of maya's")
	}
	place := Place{Guild: guildID, Channel: channelID}
	for i := range 3 {
		key := fmt.Sprint(1300000000000003001 + i)
		w.must(EventInteraction, Interaction{Key: key, Kind: KindAsk, Token: "token-" + key, User: User{ID: sam, Name: "sam"}, Place: place, Prompt: "of sam's"})
		w.discord.originals["token-"+key] = &fakeMessage{channel: channelID}
	}
	running := func() string {
		return w.one(`SELECT count(*) FROM turn WHERE ended_wall IS NULL AND requester = ?`, sam)
	}
	w.want("sam runs", running(), "2")
	w.must(EventOperator, Operator{Op: OpStop, Principal: Principal{Name: "op", Roles: []string{"admin"}}, Args: json.RawMessage(`{"id":"` + jobName(parseInt(w.one(`SELECT min(id) FROM turn WHERE requester = ?`, sam))) + `"}`)})
	w.want("sam runs his next", running(), "2")
}

// A question that the front refused leaves the turn that it shares with others to them.
func TestF32_AWithdrawnQuestionLeavesOthersTheirTurn(t *testing.T) {
	w := newWorld(t)
	for i := range 2 { // maya's two turns run, so what she asks in a third thread is queued
		w.ask(fmt.Sprint(1300000000000001001+i), "busy")
	}
	w.say("1300000000000001013", channelID, "<@"+appID+"> first", appID)
	w.must(EventOperator, Operator{Op: OpStop, Principal: Principal{Name: "op", Roles: []string{"admin"}}, Args: json.RawMessage(`{"id":"1"}`)})
	w.want("joined", w.one(`SELECT count(*) FROM turn WHERE id = 3`), "1")
	w.tx(`INSERT INTO submission(conversation, key, source, author, author_name, content, attachments, channel, state, turn, created_wall)
		VALUES (3, '77', 'interaction', ?, 'sam', 'second', '[]', '1300000000000001013', 'placed', 3, 0)`, sam)
	w.must(EventWithdraw, Withdraw{Key: "77"})
	w.run(60_000)
	w.want("withdrawn", w.one(`SELECT state || ' ' || reason FROM submission WHERE key = '77'`), "unanswered withdrawn")
	w.want("the other's", w.one(`SELECT state FROM submission WHERE id = 3`), "done")
}

// A thread was opened, that outcome was lost, and its message was deleted, so that it could not be opened again. Who
// writes in it is answered in it.
func TestF28_AThreadThatIsThereAfterAll(t *testing.T) {
	w := newWorld(t)
	w.discord.fail = func(e Effect) (int, string, bool) {
		if !strings.HasSuffix(e.Path, "/threads") {
			return 0, "", false
		}
		w.serveAnyway(e)
		return 404, `{"code":10008,"message":"Unknown Message"}`, true
	}
	w.ask("1300000000000001001", "hello")
	w.run(60_000)
	w.discord.fail = func(Effect) (int, string, bool) { return 0, "", false }
	thread := w.discord.in(channelID)[0].id
	w.want("place", w.one(`SELECT place FROM conversation`), channelID)
	w.say("1300000000000001013", thread, "and again?")
	w.run(60_000)
	w.want("answers in the thread", fmt.Sprint(len(w.discord.in(thread))), "1")
	w.want("place", w.one(`SELECT place FROM conversation`), thread)
}
