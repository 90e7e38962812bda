package actor

import (
	"fmt"
	"strings"
	"testing"
)

// A message that came after the backup: answered then, it is never answered again; otherwise once, when released.
func TestF36_MessagesNewerThanTheBackup(t *testing.T) {
	const first, second = "1300000000000001013", "1300000000000001014"
	p := newPast(t)
	p.backup()
	p.say(first, channelID, "<@"+appID+"> what changed?", appID)
	p.rest()
	answers := p.messages()
	p.restore()
	for _, id := range []string{first, second} { // the backfill brings both
		r := p.say(id, channelID, "<@"+appID+"> what changed?", appID)
		p.want("status", r.Status, StatusCommitted)
		p.want("again", p.say(id, channelID, "<@"+appID+"> what changed?", appID).Status, StatusDuplicate)
	}
	p.rest()
	p.want("verdicts", p.verdicts(), "answered absent")
	p.want("messages", p.messages(), answers)
	p.mustDecide("", decideContinue)
	p.rest()
	p.want("the first", fmt.Sprint(len(p.discord.in(first))), "1")
	p.want("the second", fmt.Sprint(len(p.discord.in(second))), "1")
	for _, id := range []string{first, second} {
		p.want("afterwards", p.say(id, channelID, "<@"+appID+"> what changed?", appID).Status, StatusDuplicate)
	}
}

// One that comes after the release, while a turn of its conversation runs, does not stand between that turn's steps.
func TestF36_AnAnsweredMessageDoesNotBreakIntoATurn(t *testing.T) {
	const thread, old = "1300000000000001013", "1300000000000008001"
	p := newPast(t)
	p.connect()
	p.say(thread, channelID, "<@"+appID+"> hi", appID)
	p.rest()
	p.backup()
	p.say(old, thread, "what changed?")
	p.rest()
	p.restore()
	p.rest()
	p.mustDecide("", decideContinue)
	last := ""
	p.model = func(n int, b string) (int, string) { last = b; return toolThenSay("read", `{"path":"x"}`)(n, b) }
	p.runner.hold = true
	p.connect()
	p.say(snowflake(p.now+maxSkew), thread, "and now?")
	p.run(5_000)
	p.say(old, thread, "what changed?") // the backfill brings it late
	p.run(5_000)
	p.want("verdict", p.verdicts(), "answered")
	p.finish(p.runner.held[0])
	p.run(5_000)
	p.want("the turn", p.one(`SELECT state FROM submission WHERE id = 2`), "done")
	if strings.Contains(last, "what changed?") || !strings.Contains(last, "and now?") {
		t.Errorf("the model reads: %s", last)
	}
}

func TestF36_LateMessagesAreLookedUpAfterTheReleaseToo(t *testing.T) {
	const answered, unanswered = "1300000000000001013", "1300000000000001014"
	p := newPast(t)
	p.backup()
	p.say(answered, channelID, "<@"+appID+"> one", appID)
	p.rest()
	p.restore()
	p.mustDecide("", decideContinue)
	for _, id := range []string{answered, unanswered} {
		p.want("status", p.say(id, channelID, "<@"+appID+"> one", appID).Status, StatusCommitted)
	}
	p.rest()
	p.want("verdicts", p.verdicts(), "answered continued")
	p.want("answers", fmt.Sprint(len(p.discord.in(answered)), len(p.discord.in(unanswered))), "1 1")
	restored := parseInt(p.one(`SELECT value FROM meta WHERE key = 'incarnation'`)) * 1000
	for _, c := range []struct {
		name, at string
		verdicts string
	}{
		{"close to the restore, by clocks that differ", snowflake(restored + maxSkew - 1), "answered continued unknown"},
		{"new", snowflake(restored + maxSkew), "answered continued unknown"},
	} {
		p.say(c.at, channelID, "<@"+appID+"> new", appID)
		p.want(c.name, p.verdicts(), c.verdicts)
	}
	p.rest()
	p.want("verdicts", p.verdicts(), "answered continued continued")
	p.want("all but the answered one", p.one(`SELECT count(*) FROM submission WHERE state = 'done'`), "4")
}

func TestF36_AMessageUnderReviewCanBeChangedAndWithdrawn(t *testing.T) {
	const kept, gone = "1300000000000001013", "1300000000000001014"
	p := newPast(t)
	p.backup()
	p.restore()
	for _, id := range []string{kept, gone} {
		p.say(id, channelID, "<@"+appID+"> one", appID)
	}
	place := Place{Guild: guildID, Channel: channelID}
	p.must(EventGateway, GatewayEvent{ID: "s:1", Type: "MESSAGE_DELETE", Place: place, Message: gone})
	p.must(EventGateway, GatewayEvent{ID: "s:2", Type: "MESSAGE_UPDATE", Place: place, Message: kept, Content: "<@" + appID + "> two"})
	p.rest()
	p.mustDecide("", decideContinue)
	p.rest()
	p.want("kept", p.one(`SELECT content || state FROM submission WHERE key = ?`, kept), "twodone")
	p.want("gone", p.one(`SELECT state || ' ' || reason FROM submission WHERE key = ?`, gone), "unanswered withdrawn")
}

// A message that came late stands before another's answer. That answer is not taken for its own.
func TestF36_AnothersAnswerIsNotTakenForOnesOwn(t *testing.T) {
	const thread = "1300000000000001013"
	p := newPast(t)
	p.say(thread, channelID, "<@"+appID+"> hi", appID)
	p.rest()
	p.say("1300000000000002002", thread, "the second")
	p.rest()
	p.say("1300000000000002001", thread, "the first, and late")
	p.runUntil(PointAck)
	p.backup()
	p.restore()
	p.rest()
	p.want("verdict", p.verdicts(), verdictAbsent)
	p.mustDecide("", decideContinue)
	p.rest()
	p.want("answers", fmt.Sprint(len(p.discord.in(thread))), "3")
	p.want("state", p.one(`SELECT state FROM submission ORDER BY id DESC LIMIT 1`), "done")
}
