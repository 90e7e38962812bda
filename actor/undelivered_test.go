package actor

import (
	"fmt"
	"strings"
	"testing"
)

const theEnd = "THE-END."

// longAnswer makes the model say so many bytes, the last of which are theEnd.
func (w *world) longAnswer(n int) {
	w.model = func(int, string) (int, string) { return 200, say(strings.Repeat("word ", n/5) + theEnd) }
}

func tooOld(e Effect) (int, string, bool) {
	return 400, `{"code":30046,"message":"too old"}`, e.Point == PointEdit && e.Method == "PATCH"
}

// The footer of an answer grows when it is sent anew. Where its text is cut must not depend on that.
func TestF28_AnAnswerThatIsSentAnewIsWhole(t *testing.T) {
	for n := 1500; n <= 2100; n += 20 {
		w := newWorld(t)
		w.longAnswer(n)
		w.discord.fail = tooOld
		w.ask("1300000000000001001", "long")
		w.run(600_000)
		if !strings.Contains(w.discord.all(), theEnd) {
			t.Errorf("of %d bytes the end is lost", n)
		}
	}
}

// inThread answers what is sent to the conversation's thread.
func (w *world) inThread(status int, body string) func(Effect) (int, string, bool) {
	return func(e Effect) (int, string, bool) {
		if e.Method != "POST" || strings.HasSuffix(e.Path, "/threads") {
			return 0, "", false
		}
		_, ok := strings.CutPrefix(e.Path, "/channels/"+w.one(`SELECT id FROM thread`)+"/")
		return status, body, ok
	}
}

func TestF28_TheRestOfAnAnswerIsShownOrMissed(t *testing.T) {
	for _, c := range []struct {
		name, body, says string
		status           int
		whole            bool
	}{
		{"deleted", `{"code":10003,"message":"Unknown Channel"}`, theEnd, 404, true},
		{"locked", `{"code":160005,"message":"Thread is locked"}`, "Job 1 has more to its answer, but ", 403, false},
		{"forbidden", `{"code":50013,"message":"Missing Permissions"}`, "Job 1 has more to its answer, but ", 403, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.longAnswer(5000)
			w.discord.fail = w.inThread(c.status, c.body)
			w.ask("1300000000000001001", "long")
			w.run(600_000)
			w.want("state", w.one(`SELECT state FROM submission`), "done")
			w.want("said", fmt.Sprint(strings.Count(w.discord.all(), c.says)), "1")
			w.want("whole", fmt.Sprint(strings.Contains(w.discord.all(), theEnd)), fmt.Sprint(c.whole))
		})
	}
}

// An edit of the card was lost, so later ones verify that it does not come late. The rest of the answer needs only the first.
func TestF34_TheRestOfAnAnswerDoesNotWaitForVerifyingEdits(t *testing.T) {
	w := newWorld(t)
	w.connect()
	w.runner.hold = true
	w.model = toolThenSay("read", `{"path":"x"}`)
	edits := 0
	w.discord.fail = func(e Effect) (int, string, bool) {
		if e.Method == "PATCH" && strings.HasPrefix(e.Path, "/channels/") && e.Point == "" {
			edits++
			return 502, "", edits == 1
		}
		return 0, "", false
	}
	w.ask("1300000000000001001", "long")
	w.run(20_000)
	w.longAnswer(5000)
	w.finish(w.runner.held[0])
	w.run(verifyAfter / 3)
	if edits == 0 || !strings.Contains(w.discord.all(), theEnd) {
		t.Errorf("%d edits; shown: %.300s", edits, w.discord.all())
	}
}

// Where there is no other channel to say it in, the answer itself says that it is not whole.
func TestF28_AnAnswerSaysThatItIsNotWhole(t *testing.T) {
	w := newWorld(t)
	w.longAnswer(5000)
	w.discord.fail = func(e Effect) (int, string, bool) {
		if strings.HasSuffix(e.Path, "/threads") {
			return 403, `{"code":50013,"message":"Missing Permissions"}`, true
		}
		return 403, `{"code":50013,"message":"Missing Permissions"}`, e.Method == "POST"
	}
	w.ask("1300000000000001001", "long")
	w.run(600_000)
	if shown := w.discord.all(); !strings.Contains(shown, "a part of this could not be posted") {
		t.Errorf("shown: %.300s", shown)
	}
}

// What was accepted in a thread that is then locked, or deleted, is not passed over in silence.
func TestF28_AnAnchorThatItsThreadDoesNotTake(t *testing.T) {
	const thread = "1300000000000005000"
	for _, c := range []struct {
		name, body  string
		stopped     bool
		state, says string
	}{
		{"locked", `{"code":160005,"message":"Thread is locked"}`, false, "unanswered undeliverable", "Job 2 was not begun, but <#" + thread + ">"},
		{"locked, and stopped", `{"code":160005,"message":"Thread is locked"}`, true, "unanswered aborted", "Job 2 has ended, but <#" + thread + ">"},
		{"deleted", `{"code":10003,"message":"Unknown Channel"}`, false, "done ", "I heard you."},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.say(thread, thread, "<@"+appID+"> hello", appID)
			w.run(60_000)
			w.discord.fail = func(e Effect) (int, string, bool) {
				return 404, c.body, strings.HasPrefix(e.Path, "/channels/"+thread)
			}
			w.say("1300000000000005200", thread, "what time is it?")
			if c.stopped {
				w.operator(OpStop, map[string]string{"id": "2"})
			}
			w.run(600_000)
			w.want("state", w.one(`SELECT state || ' ' || reason FROM submission WHERE id = 2`), c.state)
			parent := w.discord.in(channelID)
			if len(parent) != 1 || !strings.Contains(parent[0].body.Content, c.says) {
				t.Errorf("the channel shows %d messages: %s", len(parent), w.discord.all())
			}
		})
	}
}

func TestAnApprovalCardOfUnknownOutcomeIsNamedOnTheAnchor(t *testing.T) {
	w := newWorld(t)
	w.connect()
	yes := true
	w.operator(OpConfig, Settings{SelfApprove: &yes})
	w.model = toolThenSay("bash", `{"command":"git push origin main"}`)
	w.discord.fail = func(e Effect) (int, string, bool) {
		if strings.Contains(string(e.Body), "Approval required") {
			return 502, "", true
		}
		return 403, `{"code":50001,"message":"Missing Access"}`, e.Method == "GET"
	}
	w.ask("1300000000000001001", "push it")
	w.run(400_000)
	w.want("card", w.one(`SELECT state FROM delivery WHERE kind = 'card'`), "unknown")
	if shown := w.discord.in(channelID)[0].body.Content; !strings.Contains(shown, "decide with the CLI") {
		t.Errorf("shown: %s", shown)
	}
}

func TestAnApprovalCardThatWasMadeAgainIsNotMissed(t *testing.T) {
	w := newWorld(t)
	w.connect()
	yes := true
	w.operator(OpConfig, Settings{SelfApprove: &yes})
	w.model = toolThenSay("bash", `{"command":"git push origin main"}`)
	w.discord.fail = w.inThread(404, `{"code":10003,"message":"Unknown Channel"}`)
	w.ask("1300000000000001001", "push it")
	w.run(60_000)
	w.want("cards", w.one(`SELECT group_concat(state ORDER BY id) FROM delivery WHERE kind = 'card'`), "failed,confirmed")
	if shown := w.discord.all(); strings.Contains(shown, "decide with the CLI") || !strings.Contains(shown, "Approval required") {
		t.Errorf("shown: %s", shown)
	}
}

func TestResumeOpensOneThread(t *testing.T) {
	w := newWorld(t)
	w.ask("1300000000000001001", "hello")
	w.run(60_000)
	w.must(EventGateway, GatewayEvent{ID: "x", Type: "THREAD_DELETE", Place: Place{Guild: guildID, Channel: w.one(`SELECT place FROM conversation`), Type: 11, Parent: channelID}})
	for i := range 2 {
		w.must(EventInteraction, Interaction{Key: fmt.Sprint("r", i), Kind: KindResume, User: User{ID: maya, Name: "maya"}, Place: Place{Guild: guildID, Channel: channelID}, Conversation: "1"})
	}
	w.run(60_000)
	w.want("threads", w.one(`SELECT count(*) FROM thread WHERE state = 'open'`), "1")
}

// A conversation whose new thread cannot be opened is not lost between two places.
func TestResumeThatFailsLeavesTheConversationSomewhere(t *testing.T) {
	w := newWorld(t)
	w.ask("1300000000000001001", "hello")
	w.run(60_000)
	w.must(EventGateway, GatewayEvent{ID: "x", Type: "THREAD_DELETE", Place: Place{Guild: guildID, Channel: w.one(`SELECT place FROM conversation`), Type: 11, Parent: channelID}})
	w.discord.fail = func(e Effect) (int, string, bool) {
		return 403, `{"code":50013,"message":"Missing Permissions"}`, e.Method == "POST"
	}
	w.must(EventInteraction, Interaction{Key: "r", Kind: KindResume, User: User{ID: maya, Name: "maya"}, Place: Place{Guild: guildID, Channel: channelID}, Conversation: "1"})
	w.run(60_000)
	w.want("place", w.one(`SELECT place FROM conversation`), channelID)
}

// An anchor that is refused where its conversation still has no place is not made there again and again.
func TestF28_ARefusedAnchorIsNotMadeAgainInTheSamePlace(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
	}{{403, `{"code":50013,"message":"Missing Permissions"}`}, {404, `{"code":10003,"message":"Unknown Channel"}`}} {
		w := newWorld(t)
		posts := 0
		w.discord.fail = func(e Effect) (int, string, bool) {
			if e.Method == "POST" {
				posts++
			}
			return c.status, c.body, e.Method == "POST" && posts < 100
		}
		for i := range maxUserTurns + 1 { // the last one's anchor is made by bot token
			w.ask(fmt.Sprint(1300000000000001001+i), "hello")
		}
		w.run(3_600_000)
		if posts > 10 {
			t.Errorf("%s: %d requests", c.body, posts)
		}
		w.want("the last one", w.one(`SELECT state || ' ' || reason FROM submission ORDER BY id DESC LIMIT 1`), "unanswered undeliverable")
	}
}
