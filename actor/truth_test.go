package actor

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// What people and the model are told must be so: what was stopped, what waits and why, who may decide.

const askedThread = "1300000000000005000"

func inThatThread() Place {
	return Place{Guild: guildID, Channel: askedThread, Type: 11, Parent: channelID}
}

func TestTheModelKnowsWhatWasStopped(t *testing.T) {
	w := newWorld(t)
	last := ""
	w.model = func(_ int, b string) (int, string) { last = b; return 200, say("ok") }
	w.say(askedThread, askedThread, "<@"+appID+"> drop the users table", appID)
	w.runUntil(PointModel)
	w.must(EventInteraction, Interaction{Key: "1", Kind: KindStop, User: User{ID: maya}, Place: inThatThread()})
	w.run(60_000)
	w.say("1300000000000005200", askedThread, "what time is it?")
	w.run(60_000)
	stopped, asked := strings.Index(last, "This turn ended without an answer: Stopped."), strings.Index(last, "what time is it?")
	if stopped < strings.Index(last, "drop the users table") || asked < stopped {
		t.Errorf("the model reads: %s", last)
	}
}

func TestF26_AProviderThatAsksToWaitADay(t *testing.T) {
	for _, c := range []struct{ seconds, state, says string }{
		{"86400", "unanswered provider", "It asks to wait 1440 minutes"},
		{"300", "placed ", "waiting for the model's provider"},
	} {
		w := newWorld(t)
		w.ask("1300000000000001001", "hello")
		e := w.runUntil(PointModel)
		w.must(EventEffect, Outcome{ID: e.ID, Epoch: e.Epoch, Kind: OutcomeResponse, Status: 429, Headers: Strings{"retry-after": c.seconds}, Body: `{"error":{"message":"slow down"}}`})
		w.run(60_000)
		w.want("state", w.one(`SELECT state || ' ' || reason FROM submission`), c.state)
		if shown := w.discord.in(channelID)[0].body.Content; !strings.Contains(shown, c.says) {
			t.Errorf("after %s s: %s", c.seconds, shown)
		}
	}
}

// approvalBy lets somebody with these roles ask for something that needs an approval, and approve it alone.
func (w *world) approvalBy(u User) (reply string) {
	w.connect()
	w.model = toolThenSay("bash", `{"command":"git push origin main"}`)
	w.must(EventInteraction, Interaction{Key: "1300000000000001001", Kind: KindAsk, Token: "token-x", User: u, Place: Place{Guild: guildID, Channel: channelID}, Prompt: "push"})
	w.discord.originals["token-x"] = &fakeMessage{channel: channelID}
	w.run(5_000)
	w.must(EventInteraction, Interaction{Key: "p", Kind: KindPress, User: u, Place: Place{Guild: guildID, Channel: channelID}, Verb: "a", Target: fmt.Sprintf("%s.%d", w.one(`SELECT value FROM meta WHERE key='incarnation'`), w.approval())})
	return string(w.reply.Body)
}

func TestARoleIsNotAWorkspaceOfOne(t *testing.T) {
	w := newWorld(t)
	w.operator(OpConfig, Settings{Members: []Member{{Role: "1300000000000000777", Roles: []string{"approver"}}}})
	if said := w.approvalBy(User{ID: sam, Name: "sam", Roles: []string{"1300000000000000777"}}); !strings.Contains(said, "somebody else has to approve it") {
		t.Errorf("one of many approved what they asked for: %s", said)
	}
}

func TestAManagerOfTheServerCanApprove(t *testing.T) {
	w := newWorld(t)
	w.operator(OpConfig, Settings{Members: []Member{{User: sam, Roles: []string{"member"}}}})
	w.approvalBy(User{ID: maya, Name: "maya", Permissions: "8"})
	w.want("approval", w.one(`SELECT json_extract(checkpoint, '$.outcome') FROM task WHERE kind = 'approval'`), approvalApproved)
}

// The one who asks is a manager too, and was seen last: the other may still approve.
func TestAnotherManagerOfTheServerCanApprove(t *testing.T) {
	w := newWorld(t)
	w.operator(OpConfig, Settings{Members: []Member{{Role: "1300000000000000777", Roles: []string{"member"}}}})
	place := Place{Guild: guildID, Channel: channelID}
	w.must(EventInteraction, Interaction{Key: "u", Kind: KindUsage, User: User{ID: sam, Name: "sam", Permissions: "8"}, Place: place})
	w.approvalBy(User{ID: maya, Name: "maya", Permissions: "8"})
	w.want("approval", w.one(`SELECT state FROM task WHERE kind = 'approval'`), stateWaiting)
	w.must(EventInteraction, Interaction{Key: "q", Kind: KindPress, User: User{ID: sam, Name: "sam", Permissions: "8"}, Place: place, Verb: "a",
		Target: fmt.Sprintf("%s.%d", w.one(`SELECT value FROM meta WHERE key='incarnation'`), w.approval())})
	w.want("approval", w.one(`SELECT json_extract(checkpoint, '$.outcome') FROM task WHERE kind = 'approval'`), approvalApproved)
}

// Where a number is asked for, people paste a thread's id: there is no such row, and that is all.
func TestANumberThatNoRowCanHaveIsNoFailure(t *testing.T) {
	w := newWorld(t)
	w.ask("1300000000000001001", "hello")
	w.run(60_000)
	place, incarnation := Place{Guild: guildID, Channel: channelID}, w.one(`SELECT value FROM meta WHERE key = 'incarnation'`)
	for _, n := range []string{"9007199254740993", "1300000000000005000", "99999999999999999999999", "-1300000000000005000"} {
		for name, in := range map[string]Interaction{
			"can be resumed here":   {Kind: KindResume, Conversation: n},
			"no such turn":          {Kind: KindPress, Verb: "s", Target: incarnation + ".d" + n},
			"no such approval here": {Kind: KindPress, Verb: "a", Target: incarnation + "." + n},
		} {
			in.Key, in.User, in.Place = name+n, User{ID: maya, Name: "maya"}, place
			w.must(EventInteraction, in)
			if said := string(w.reply.Body); !strings.Contains(said, name) {
				t.Errorf("%s %s: %s", in.Kind, n, said)
			}
		}
	}
	for op, args := range map[string]string{OpJob: `{"id":"vvvvvvvvvvv"}`, OpApprove: `{"id":"1","task":9007199254740993}`, OpDeny: `{"id":"1","task":-9007199254740993}`} {
		err := w.event(EventOperator, Operator{Op: op, Principal: Principal{Name: "op", Roles: []string{"admin"}}, Args: json.RawMessage(args)})
		if err == nil || !strings.Contains(err.Error(), `"code":"not_found"`) {
			t.Errorf("%s %s: %v", op, args, err)
		}
	}
	w.operator(OpEvents, json.RawMessage(`{"after":9007199254740993}`))
}

func TestTheCardForgetsAMessageThatWasDeleted(t *testing.T) {
	w := newWorld(t)
	w.connect()
	w.runner.hold = true
	w.model = toolThenSay("read", `{"path":"a"}`)
	w.say(askedThread, askedThread, "<@"+appID+"> hello", appID)
	w.run(5_000)
	w.say("1300000000000005200", askedThread, "and do this as well?")
	w.run(5_000)
	shown := func() string { return w.discord.in(askedThread)[0].body.Content }
	if !strings.Contains(shown(), "+1 message") {
		t.Fatalf("shown: %s", shown())
	}
	w.must(EventGateway, GatewayEvent{ID: "d", Type: "MESSAGE_DELETE", Message: "1300000000000005200", Place: inThatThread()})
	w.run(5_000)
	if strings.Contains(shown(), "+1 message") {
		t.Errorf("shown: %s", shown())
	}
}

func TestTheCardCountsAllStepsAndDetailsAreTheLatest(t *testing.T) {
	w := newWorld(t)
	w.connect()
	w.model = func(i int, _ string) (int, string) {
		w.runner.hold = i == 40
		if i <= 40 {
			return 200, call("read", fmt.Sprintf(`{"path":"f%d"}`, i))
		}
		return 200, say("ok")
	}
	w.ask("1300000000000001001", "hello")
	w.run(60_000)
	if shown := w.discord.in(channelID)[0].body.Content; !strings.Contains(shown, "28 earlier steps") {
		t.Errorf("shown: %s", shown)
	}
	w.must(EventInteraction, Interaction{Key: "i", Kind: KindPress, User: User{ID: maya}, Place: Place{Guild: guildID, Channel: channelID}, Verb: "i", Target: w.one(`SELECT value FROM meta WHERE key='incarnation'`) + ".d" + w.one(`SELECT id FROM delivery WHERE kind='anchor'`)})
	if said := string(w.reply.Body); !strings.Contains(said, "`f40`") || !strings.Contains(said, "`f21`") || strings.Contains(said, "`f20`") {
		t.Errorf("details: %s", said)
	}
}

func TestATitleIsNoMarkdown(t *testing.T) {
	w := newWorld(t)
	w.ask("1300000000000001001", "[free nitro](https://evil.example)")
	w.run(60_000)
	place := inThatThread()
	w.must(EventInteraction, Interaction{Key: "r", Kind: KindResume, User: User{ID: maya, Name: "maya"}, Place: place, Conversation: "1"})
	if said := string(w.reply.Body); !strings.Contains(said, `\\[free nitro\\]\\(https`) {
		t.Errorf("said: %s", said)
	}
}
