package actor

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestF36_WhatWasAnsweredSinceTheBackupIsSettled(t *testing.T) {
	for _, c := range []struct{ name, point string }{
		{"before its anchor", PointAck}, {"while the model worked", PointModel}, {"before the final edit", PointEdit},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPast(t)
			p.ask("1300000000000001001", "hello")
			e := p.runUntil(c.point)
			p.backup()
			p.perform(e)
			p.rest()
			messages, calls := p.messages(), p.calls
			p.restore()
			p.rest()
			if c.point != PointEdit { // there the submission was settled already
				p.want("verdict", p.verdicts(), verdictAnswered)
			}
			p.want("state", p.one(`SELECT state FROM submission`), "done")
			p.mustDecide("", decideContinue)
			p.rest()
			p.want("messages", p.messages(), messages)
			p.want("calls", fmt.Sprint(p.calls), fmt.Sprint(calls))
			if shown := p.discord.in(channelID)[0].body; !strings.Contains(shown.Content, "I heard you.") {
				t.Errorf("the answer became %q", shown.Content)
			}
			p.ask("1400000000000001001", "and now?")
			p.rest()
			p.want("afterwards", p.one(`SELECT state FROM submission WHERE id = 2`), "done")
		})
	}
}

func TestF36_NothingRunsBeforeItIsReleased(t *testing.T) {
	p := newPast(t)
	p.ask("1300000000000001001", "hello")
	p.runUntil(PointModel)
	p.backup()
	p.restore()
	p.rest()
	p.want("calls", fmt.Sprint(p.calls), "0")
	p.want("verdict", p.verdicts(), verdictBegun)
	if _, err := p.decide("", decideContinue); err == nil || !strings.Contains(err.Error(), "need a decision") {
		t.Errorf("released with something undecided: %v", err)
	}
	if _, err := p.decide("99", decideContinue); err == nil {
		t.Error("decided about a job that is not there")
	}
	p.mustDecide("1", decideContinue)
	p.rest()
	p.want("calls before the release", fmt.Sprint(p.calls), "0")
	p.mustDecide("", decideContinue)
	p.rest()
	p.want("state", p.one(`SELECT state FROM submission`), "done")
	p.want("messages", p.messages(), "1")
	p.want("calls", fmt.Sprint(p.calls), "1")
	if _, err := p.decide("", decideContinue); err == nil {
		t.Error("released twice")
	}
}

func TestF36_AJobCanBeStopped(t *testing.T) {
	p := newPast(t)
	p.ask("1300000000000001001", "hello")
	p.runUntil(PointModel)
	p.backup()
	p.restore()
	p.rest()
	p.mustDecide("1", decideStop)
	p.mustDecide("", decideContinue)
	p.rest()
	p.want("state", p.one(`SELECT state || ' ' || reason FROM submission`), "unanswered aborted")
	p.want("messages", p.messages(), "1")
	p.want("calls", fmt.Sprint(p.calls), "0")
	if shown := p.discord.in(channelID)[0].body.Content; !strings.Contains(shown, reasonText[reasonAborted]) {
		t.Errorf("shown: %q", shown)
	}
}

func TestF36_WhatIsQueuedWaitsForTheReleaseToo(t *testing.T) {
	p := newPast(t)
	for n := range maxUserTurns + 1 {
		p.ask(fmt.Sprint(1300000000000001001+n), "hello")
	}
	p.backup()
	p.restore()
	p.mustDecide("1", decideStop)
	p.want("turns", p.one(`SELECT count(*) FROM turn`), fmt.Sprint(maxUserTurns))
	p.rest()
	p.mustDecide("", decideContinue)
	p.rest()
	p.want("states", p.one(`SELECT group_concat(state ORDER BY id) FROM submission`), "unanswered,done,done")
}

// A message that still shows a running turn, and an answer behind it: the turn is over, and only a person can say how.
func TestF36_AnAnswerThatWasSentAnew(t *testing.T) {
	const id = "1300000000000001013"
	p := newPast(t)
	p.backup()
	p.discord.fail = func(e Effect) (int, string, bool) {
		if e.Method == "PATCH" && e.Point == PointEdit {
			return 400, `{"code":30046,"message":"too old"}`, true
		}
		return p.look(e)
	}
	p.say(id, channelID, "<@"+appID+"> what changed?", appID)
	p.rest()
	p.discord.fail = p.look
	p.want("messages", fmt.Sprint(len(p.discord.in(id))), "2")
	p.restore()
	p.say(id, channelID, "<@"+appID+"> what changed?", appID)
	p.rest()
	p.want("verdict", p.verdicts(), verdictUnclear)
}

// The same where the backup knows that message: it still shows a running turn, and is not the last word.
func TestF36_AnAnswerThatWasSentAnewBehindAKnownAnchor(t *testing.T) {
	for _, anew := range []bool{true, false} {
		p := newPast(t)
		p.ask("1300000000000001001", "hello")
		p.perform(p.runUntil(PointAck))
		p.runUntil(PointModel)
		p.backup()
		want := verdictBegun
		if anew {
			want = verdictUnclear
			p.discord.fail = func(e Effect) (int, string, bool) {
				if e.Method == "PATCH" && e.Point == PointEdit {
					return 400, `{"code":30046,"message":"too old"}`, true
				}
				return p.look(e)
			}
			p.rest()
			p.discord.fail = p.look
			p.want("messages", p.messages(), "2")
		}
		p.restore()
		p.rest()
		p.want("verdict", p.verdicts(), want)
	}
}

// What was said in a thread of the rolled back time still belongs to its conversation.
func TestF36_ConversationsGoOnWhereTheyWereRead(t *testing.T) {
	const id = "1300000000000001013"
	for _, answered := range []bool{true, false} {
		p := newPast(t)
		p.backup()
		if answered {
			p.say(id, channelID, "<@"+appID+"> what changed?", appID)
			p.rest()
		}
		p.discord.threads[id] = true // or nobody could have written there
		p.restore()
		p.say(id, channelID, "<@"+appID+"> what changed?", appID)
		p.want("what follows", p.say("1300000000000009500", id, "and then?").Status, StatusCommitted)
		p.rest()
		var last string
		p.model = func(_ int, body string) (int, string) { last = body; return 200, say("Then it did.") }
		p.mustDecide("", decideContinue)
		p.rest()
		p.want("conversations", p.one(`SELECT count(*) FROM conversation`), "1")
		if !strings.Contains(last, "what changed?") || !strings.Contains(last, "and then?") || strings.Contains(last, "I heard you.") != answered {
			t.Errorf("answered %t: the model read %s", answered, last)
		}
		if answered && strings.Contains(last, "-# ") {
			t.Errorf("the model read the small print: %s", last)
		}
	}
}

// What is still asked where a conversation was is answered where it goes on, and looked for there.
func TestF36_AConversationThatWasTakenElsewhere(t *testing.T) {
	const first, other = "1300000000000001013", "1300000000000007000"
	p := newPast(t)
	p.say(first, channelID, "<@"+appID+"> what changed?", appID)
	p.rest()
	p.discord.threads[other] = true
	p.must(EventInteraction, Interaction{Key: "1300000000000007001", Kind: KindResume, User: User{ID: maya}, Conversation: "1",
		Place: Place{Guild: guildID, Channel: other, Type: 11, Parent: channelID}})
	p.rest()
	late := p.discord.id()
	p.want("admitted", p.say(late, first, "<@"+appID+"> and then?", appID).Status, StatusCommitted)
	p.backup()
	p.rest()
	messages, calls := p.messages(), p.calls
	p.want("answered elsewhere", fmt.Sprint(len(p.discord.in(other)) > 0), "true")
	p.restore()
	p.rest()
	p.want("verdict", p.verdicts(), verdictUnclear)
	p.mustDecide("2", decideStop)
	p.mustDecide("", decideContinue)
	p.rest()
	p.want("calls", fmt.Sprint(p.calls), fmt.Sprint(calls))
	if shown := p.discord.all(); strings.Count(shown, "I heard you.") != 2 {
		t.Errorf("%s messages before the restore, now: %s", messages, shown)
	}
}

func TestF36_DiscordCannotTell(t *testing.T) {
	const id = "1300000000000001013"
	for _, c := range []struct {
		name string
		fail func(Effect) (int, string)
		want string
	}{
		{"forbidden", func(Effect) (int, string) { return 403, `{"code":50001,"message":"Missing Access"}` }, verdictUnclear},
		{"an outage", func(Effect) (int, string) { return 502, "" }, verdictUnknown},
		{"no JSON", func(Effect) (int, string) { return 200, "<html>" }, verdictUnclear},
		{"no thread, something of ours in the channel", func(e Effect) (int, string) {
			if strings.Contains(e.Path, id+"/") {
				return 404, `{"code":10003}`
			}
			return 200, `[{"id":"1300000000000009999","author":{"id":"` + appID + `"},"components":[{"components":[{"custom_id":"i:` + guildID + `/demo:1764470000.d7"}]}]}]`
		}, verdictUnclear},
		{"another bot's card", func(Effect) (int, string) {
			return 200, `[{"id":"1300000000000009999","author":{"id":"5"},"components":[{"components":[{"custom_id":"i:` + guildID + `/demo:1764470000.d7"}]}]}]`
		}, verdictAbsent},
		{"another workspace's card", func(Effect) (int, string) {
			return 200, `[{"id":"1300000000000009999","author":{"id":"` + appID + `"},"components":[{"components":[{"custom_id":"i:` + guildID + `/demo2:1764470000.d7"}]}]}]`
		}, verdictAbsent},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPast(t)
			p.backup()
			p.restore()
			p.say(id, channelID, "<@"+appID+"> one", appID)
			p.discord.fail = func(e Effect) (int, string, bool) {
				status, body := c.fail(e)
				return status, body, true
			}
			p.rest()
			p.want("verdict", p.verdicts(), c.want)
			p.mustDecide(id, decideStop)
			p.discord.fail = p.look
			p.mustDecide("", decideContinue)
			p.rest()
			p.want("messages", p.messages(), "0")
			p.want("submission", p.one(`SELECT state || ' ' || reason FROM submission`), "unanswered aborted")
		})
	}
}

// The runner's journal is of the time that was rolled back: no attempt may be taken for one of then, and what may
// have run does not run again.
func TestF36_NoToolRunsAgainAndNoEpochRepeats(t *testing.T) {
	for _, c := range []struct {
		name, tool string
		reach      func(p *past) // where the backup is made
		runs       string
	}{
		{"the call is on its way", "bash", func(p *past) { p.effects = append([]Effect{p.runUntil(PointIntent)}, p.effects...) }, "1"},
		{"a safe one is", "read", func(p *past) { p.effects = append([]Effect{p.runUntil(PointIntent)}, p.effects...) }, "2"},
		{"the call waits for a runner", "bash", func(p *past) { p.disconnect(); p.run(5_000) }, "1"},
		{"the call is not yet made", "bash", func(p *past) { p.effects = append([]Effect{p.runUntil(PointModel)}, p.effects...) }, "2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPast(t)
			p.connect()
			p.operator(OpConfig, Settings{Policy: json.RawMessage(askPolicy)})
			p.model = toolThenSay(c.tool, `{"command":"make","path":"x"}`)
			p.ask("1300000000000001001", "build it")
			c.reach(p)
			p.backup()
			if p.runner.socket == "" {
				p.connect()
			}
			p.lose()
			p.want("runs in the lost time", fmt.Sprint(p.runner.runs[c.tool]), "1")
			p.restore()
			p.connect()
			p.rest()
			p.want("verdict", p.verdicts(), verdictBegun)
			p.mustDecide("1", decideContinue)
			p.mustDecide("", decideContinue)
			p.rest() // checks that no attempt was sent twice
			p.want("runs", fmt.Sprint(p.runner.runs[c.tool]), c.runs)
			p.want("state", p.one(`SELECT state FROM submission`), "done")
			p.want("messages", p.messages(), "1")
			p.ask("1400000000000001001", "and again")
			p.rest()
			p.want("the next one", p.one(`SELECT state FROM submission WHERE id = 2`), "done")
		})
	}
}

// A safe call that waited for an approval runs again as one that did not: its old card is void, and a new one asks.
func TestF36_ASafeCallThatWaitedForAnApproval(t *testing.T) {
	p := newPast(t)
	p.connect()
	yes := true
	p.operator(OpConfig, Settings{SelfApprove: &yes, ApprovalExpiryMS: maxApprovalExpiry})
	p.model = toolThenSay("read", `{"path":"/etc/hosts"}`)
	p.ask("1300000000000001001", "read hosts")
	p.run(5_000)
	p.want("approval", p.one(`SELECT state FROM task WHERE kind = 'approval'`), stateWaiting)
	p.backup()
	p.restore()
	p.rest()
	p.mustDecide("1", decideContinue)
	p.mustDecide("", decideContinue)
	p.run(5_000)
	p.want("approvals", p.one(`SELECT group_concat(state ORDER BY id) FROM task WHERE kind = 'approval'`), "cancelled,waiting")
	p.want("cards", fmt.Sprint(strings.Count(p.discord.all(), "Approval required")), "1")
}

// An anchor that the backup does not know is found by the interaction that it answers and taken over; one that was
// never there is made.
func TestF36_AnAnchorIsAdoptedOrMade(t *testing.T) {
	for _, sent := range []bool{true, false} {
		p := newPast(t)
		p.ask("1300000000000001001", "hello")
		e := p.runUntil(PointAck)
		p.backup()
		want := verdictAbsent
		if sent {
			p.perform(e)
			p.runUntil(PointModel)
			want = verdictBegun
		}
		p.restore()
		p.rest()
		p.want("verdict", p.verdicts(), want)
		if sent {
			p.mustDecide("1", decideContinue)
		}
		p.mustDecide("", decideContinue)
		p.rest()
		p.want("messages", p.messages(), "1")
		p.want("state", p.one(`SELECT state FROM submission`), "done")
		if shown := p.discord.in(channelID)[0].body.Content; !strings.Contains(shown, "I heard you.") {
			t.Errorf("sent %t: shown %q", sent, shown)
		}
	}
}

// What was about to be created when the backup was made has been since: it is not created again.
func TestF36_NoPartOfAnAnswerComesTwice(t *testing.T) {
	p := newPast(t)
	p.model = func(int, string) (int, string) {
		return 200, say(strings.Repeat("A long answer of many lines.\n", 150))
	}
	p.ask("1300000000000001001", "hello")
	e := p.runUntil(PointEdit)
	p.want("chunks to come", p.one(`SELECT count(*) > 0 FROM delivery WHERE kind = 'chunk' AND due IS NOT NULL`), "1")
	p.backup()
	p.perform(e)
	p.rest()
	messages := p.messages()
	p.restore()
	p.mustDecide("", decideContinue)
	p.rest()
	p.want("messages", p.messages(), messages)
}

func TestF36_PeopleAreToldAndOldButtonsAreVoid(t *testing.T) {
	p := newPast(t)
	old := p.one(`SELECT value FROM meta WHERE key = 'incarnation'`)
	p.backup()
	p.restore()
	p.ask("1400000000000001001", "hello?")
	if !strings.Contains(string(p.reply.Body), "restored from a backup") {
		t.Errorf("reply: %s", p.reply.Body)
	}
	p.want("submissions", p.one(`SELECT count(*) FROM submission`), "0")
	if status := p.operator(OpStatus, nil); !strings.Contains(status, `"review":{"on":true,"open":0}`) {
		t.Errorf("status: %s", status)
	}
	p.mustDecide("", decideContinue)
	p.must(EventInteraction, Interaction{Key: "x", Kind: KindPress, User: User{ID: maya}, Place: Place{Guild: guildID, Channel: channelID}, Verb: "a", Target: old + ".1"})
	if !strings.Contains(string(p.reply.Body), "void") {
		t.Errorf("an old button: %s", p.reply.Body)
	}
}

func TestPeekReadsAndWritesNothing(t *testing.T) {
	w := newWorld(t)
	w.ask("1300000000000001001", "hello")
	const why = "The disk is full; nothing was recorded."
	before := w.one(`SELECT group_concat(key || value) FROM meta`) + w.one(`SELECT count(*) FROM event`)
	ask := func(op string) ([]byte, int) {
		args, _ := json.Marshal(reviewArgs{})
		data, _ := json.Marshal(Operator{Op: op, Principal: Principal{Name: "op", Roles: []string{"admin"}}, Args: args})
		raw, _ := json.Marshal(Event{V: 1, ID: "p", Type: EventOperator, Attempt: 1, Now: w.now + 60_000, Entropy: "00", Owner: "owner-9",
			Config: ConfigRef{Hash: "h", Full: &w.cfg}, Actor: "workspace:" + guildID + "/demo", Data: data, Peek: why})
		if err := w.db.BeginRead(); err != nil {
			t.Fatal(err)
		}
		defer w.db.EndRead()
		return Handle(w.db, raw)
	}
	for _, op := range []string{OpStatus, OpJobs, OpEvents, OpRecords, OpReview} {
		if out, rc := ask(op); rc != 0 || op == OpStatus && !strings.Contains(string(out), why) {
			t.Errorf("%s: %d %s", op, rc, out)
		}
	}
	for _, op := range []string{OpConfig, OpStop, OpApprove} {
		if out, rc := ask(op); rc != 1 || !strings.Contains(string(out), why) {
			t.Errorf("%s: %d %s, want the reason", op, rc, out)
		}
	}
	if after := w.one(`SELECT group_concat(key || value) FROM meta`) + w.one(`SELECT count(*) FROM event`); after != before {
		t.Errorf("something was written: %s, was %s", after, before)
	}
}
