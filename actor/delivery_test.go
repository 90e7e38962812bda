package actor

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"holdfast/actor/render"
)

func TestF04_TheAnchorsConfirmationIsLost(t *testing.T) {
	w := killAt(t, PointAck, true)
	w.connect()
	w.wantOneAnswer()
	w.want("messages", fmt.Sprint(len(w.discord.in(channelID))), "1")
}

func TestF04_ACreateIsSentOnceWhateverHappenedToItsAnswer(t *testing.T) {
	for _, away := range []int64{1_000, 300_000} {
		t.Run(fmt.Sprint(away), func(t *testing.T) {
			w := newWorld(t)
			w.say("1300000000000001013", channelID, "<@"+appID+"> hi", appID)
			w.run(60_000)
			w.say("1300000000000003000", "1300000000000001013", "what else is new?")
			e := w.runUntil(PointAck)
			w.discord.serve(w, e) // stored, and the answer is lost with the host
			w.now += away
			if away > nonceWindow {
				clear(w.discord.nonces) // Discord has forgotten them by now
			}
			w.kill()
			w.run(900_000)
			w.want("answers", fmt.Sprint(len(w.discord.in("1300000000000001013"))), "2")
			w.want("done", w.one(`SELECT count(*) FROM submission WHERE state = 'done'`), "2")
		})
	}
}

func TestF04_ALookUpBeginsBeforeTheLostCreate(t *testing.T) {
	w := newWorld(t)
	const thread = "1300000000000001013"
	w.say(thread, channelID, "<@"+appID+"> hi", appID)
	w.run(60_000)
	w.say("1300000000000003000", thread, "what else is new?")
	w.discord.serve(w, w.runUntil(PointAck)) // stored, and the answer is lost with the host
	w.kill()
	w.effects = nil // so is the repetition
	w.discord.next += 5_000
	w.say(w.discord.id(), thread, "are you there?")
	w.now += 300_000
	clear(w.discord.nonces)
	w.kill()
	w.run(900_000)
	w.want("anchors made", fmt.Sprint(strings.Count(w.discord.all(), "I heard you.")), "3")
	w.want("messages", fmt.Sprint(len(w.discord.in(thread))), "3")
}

func TestF04_TheFirstMessageOfAThreadIsFoundAgain(t *testing.T) {
	for _, stored := range []bool{true, false} {
		w := newWorld(t)
		w.say("1300000000000001013", channelID, "<@"+appID+"> hi", appID)
		e := w.runUntil(PointAck)
		w.discord.messages["1300000000000001014"] = &fakeMessage{id: "1300000000000001014", channel: "1300000000000001013"}
		if stored {
			w.discord.serve(w, e)
		}
		w.now += 300_000
		clear(w.discord.nonces)
		w.kill()
		w.run(900_000)
		w.want("messages", fmt.Sprint(len(w.discord.in("1300000000000001013"))), "2")
		w.want("state", w.one(`SELECT state FROM submission`), "done")
	}
}

// A host that was down for longer than a nonce is remembered, and whose clock was set back meanwhile, believes that no
// time has passed. What it may have sent is read before it is sent again.
func TestF04_F23_ANonceIsNotTrustedToTheClock(t *testing.T) {
	const thread = "1300000000000001013"
	for _, stored := range []bool{true, false} {
		for _, refused := range []string{"", "no permission to read", "nothing shown"} {
			w := newWorld(t)
			w.say(thread, channelID, "<@"+appID+"> hi", appID)
			w.run(60_000)
			w.say("1300000000000003000", thread, "what else is new?")
			if e := w.runUntil(PointAck); stored {
				w.discord.serve(w, e)
			}
			w.discord.fail = func(e Effect) (int, string, bool) {
				switch refused {
				case "no permission to read":
					return 403, `{"code":50001,"message":"Missing Access"}`, e.Method == "GET"
				case "nothing shown":
					return 200, `[]`, e.Method == "GET"
				}
				return 0, "", false
			}
			w.now -= 80_000
			if refused == "" {
				clear(w.discord.nonces)
			}
			w.kill()
			w.run(40_000) // no longer than the answer itself takes
			w.want("messages", fmt.Sprint(len(w.discord.in(thread))), "2")
			w.want("done", w.one(`SELECT count(*) FROM submission WHERE state = 'done'`), "2")
		}
	}
}

// Two notes with the same words are two messages: one of which the outcome is unknown is not taken for the other.
func TestF04_TheSameWordsTwice(t *testing.T) {
	w := newWorld(t)
	w.say("1300000000000001013", channelID, "<@"+appID+"> hi", appID)
	w.run(60_000)
	w.tx(`INSERT INTO delivery(kind, op, conversation, channel, body, state, due, created_wall)
		VALUES ('note', 'create', 1, '1300000000000001013', 'The same words.', 'pending', 1, 0), ('note', 'create', 1, '1300000000000001013', 'The same words.', 'pending', 1, 0)`)
	lost := 0
	w.discord.fail = func(e Effect) (int, string, bool) {
		if !strings.Contains(string(e.Body), "The same words.") {
			return 0, "", false
		}
		lost++
		return 502, "", lost == 2 // the second is lost on its way
	}
	w.kill() // to be woken for them
	w.run(300_000)
	w.want("notes", fmt.Sprint(strings.Count(w.discord.all(), "The same words.")), "2")
}

func TestF04_ALookUpThatIsRateLimitedIsMadeAgain(t *testing.T) {
	w := newWorld(t)
	const thread = "1300000000000001013"
	w.say(thread, channelID, "<@"+appID+"> hi", appID)
	w.run(60_000)
	w.say("1300000000000003000", thread, "what else is new?")
	w.discord.serve(w, w.runUntil(PointAck)) // stored, and the answer is lost with the host
	w.now += 300_000
	clear(w.discord.nonces)
	limited := 0
	w.discord.fail = func(e Effect) (int, string, bool) {
		if e.Method == "GET" {
			limited++
		}
		return 429, `{"message":"You are being rate limited.","retry_after":2}`, e.Method == "GET" && limited == 1
	}
	w.kill()
	w.run(900_000)
	w.want("messages", fmt.Sprint(len(w.discord.in(thread))), "2")
	w.want("looked", fmt.Sprint(limited), "2")
}

// A listing that cannot be had is not asked for for ever. While the nonce holds, Discord knows the repetition; afterwards
// the outcome stays unknown.
func TestF04_ALookUpThatIsNeverReadEnds(t *testing.T) {
	const thread = "1300000000000001013"
	long := `[{"id":"1300000000000009999","content":"` + strings.Repeat("x", MaxInlineBody) + `","author":{"id":"1"}}]`
	for _, c := range []struct {
		name, listing string
		status        int
		away          int64 // ms
		looks         int   // at most
		states        string
	}{
		{"longer than is kept", long, 200, 1_000, 2, "done,done"},
		{"no JSON", "<html>", 200, 1_000, 2, "done,done"},
		{"longer than is kept, and too late to repeat", long, 200, 300_000, 2, "done,unanswered undeliverable"},
		{"never answered", "", 502, 300_000, maxAttempts, "done,unanswered undeliverable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.say(thread, channelID, "<@"+appID+"> hi", appID)
			w.run(60_000)
			w.say("1300000000000003000", thread, "what else is new?")
			w.discord.serve(w, w.runUntil(PointAck)) // stored, and the answer is lost with the host
			looks := 0
			w.discord.fail = func(e Effect) (int, string, bool) {
				if e.Method == "GET" {
					looks++
				}
				return c.status, c.listing, e.Method == "GET"
			}
			w.now += c.away
			w.kill()
			w.run(3 * 86_400_000)
			w.want("states", w.states(), c.states)
			w.want("messages", fmt.Sprint(len(w.discord.in(thread))), "2")
			w.want("open", w.one(`SELECT count(*) FROM delivery WHERE due IS NOT NULL`), "0")
			if looks < 1 || looks > c.looks {
				t.Errorf("looked %d times, at most %d", looks, c.looks)
			}
		})
	}
}

func TestF04_ARefusedRepetitionLeavesTheFirstUnknown(t *testing.T) {
	w := newWorld(t)
	const thread = "1300000000000001013"
	w.say(thread, channelID, "<@"+appID+"> hi", appID)
	w.run(60_000)
	w.say("1300000000000003000", thread, "what else is new?")
	first := w.runUntil(PointAck)
	w.discord.fail = func(e Effect) (int, string, bool) {
		return 429, `{"message":"You are being rate limited.","retry_after":2}`, e.Point == PointAck
	}
	w.kill()
	w.perform(w.runUntil(PointAck)) // refused
	w.discord.fail = func(Effect) (int, string, bool) { return 0, "", false }
	w.discord.serve(w, first) // arrives late
	w.now += 300_000
	clear(w.discord.nonces)
	w.kill()
	w.run(900_000)
	w.want("messages", fmt.Sprint(len(w.discord.in(thread))), "2")
	w.want("state", w.one(`SELECT state FROM submission WHERE id = 2`), "done")
}

func TestF24_OriginalIsUnknownForAWhileOrForGood(t *testing.T) {
	for _, c := range []struct {
		times, status int
		body          string
		fallback      bool
	}{{2, 404, `{"code":10015}`, false}, {1000, 404, `{"code":10015}`, true}, {1000, 401, `{"code":50027}`, true}} {
		t.Run(fmt.Sprint(c.times, c.status), func(t *testing.T) {
			w := newWorld(t)
			failed := 0
			w.discord.fail = func(e Effect) (int, string, bool) {
				if e.Method == "PATCH" && strings.HasPrefix(e.Path, "/webhooks/") && failed < c.times {
					failed++
					return c.status, c.body, true
				}
				return 0, "", false
			}
			w.ask("1300000000000001001", "hello")
			w.run(120_000)
			w.want("state", w.one(`SELECT state FROM submission`), "done")
			shown := w.discord.in(channelID)
			if len(shown) != 1 || !strings.Contains(shown[0].body.Content, "I heard you.") {
				t.Fatalf("%d messages: %s", len(shown), w.discord.all())
			}
			w.want("fallback", w.one(`SELECT count(*) FROM delivery WHERE kind = 'unoriginal' AND state = 'confirmed'`), map[bool]string{true: "1", false: "0"}[c.fallback])
		})
	}
}

// Stopped before its first message was confirmed, which is then lost: that it was stopped is said all the same.
func TestF24_OriginalOfAStoppedTurnIsLost(t *testing.T) {
	w := newWorld(t)
	w.ask("1300000000000001001", "hello")
	w.discord.originals = map[string]*fakeMessage{}
	w.run(3_000)
	w.operator(OpStop, map[string]string{"id": "1"})
	w.run(600_000)
	w.want("state", w.states(), "unanswered aborted")
	shown := w.discord.in(channelID)
	if len(shown) != 1 || !strings.Contains(shown[0].body.Content, "Stopped.") {
		t.Errorf("%d messages: %s", len(shown), w.discord.all())
	}
}

func TestF28_TheAnchorIsDeletedOrTooOldToEdit(t *testing.T) {
	for code := range map[int]bool{codeUnknownMessage: true, codeTooOldToEdit: true} {
		w := newWorld(t)
		w.discord.fail = func(e Effect) (int, string, bool) {
			return 400, fmt.Sprintf(`{"code":%d}`, code), e.Point == PointEdit && e.Method == "PATCH"
		}
		w.ask("1300000000000001001", "hello")
		w.run(120_000)
		if n := strings.Count(w.discord.all(), "I heard you."); n != 1 {
			t.Fatalf("code %d: %d answers are shown: %s", code, n, w.discord.all())
		}
	}
}

// The answer's edit is lost, then its thread is archived and may not be opened: what the message shows decides whether
// the answer becomes a new one.
func TestF28_AnArchivedThreadThatStaysShutShowsTheAnswerOnce(t *testing.T) {
	for name, c := range map[string]struct {
		made  bool // the lost edit
		final string
	}{"the edit was made": {true, "0"}, "it was not": {false, "1"}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			edits, opened := 0, 0
			w.discord.fail = func(e Effect) (int, string, bool) {
				switch {
				case e.Method != "PATCH" || e.Point != PointEdit:
					return 0, "", false
				case !strings.Contains(e.Path, "/messages/"):
					opened++
					return 403, `{"code":50013,"message":"Missing Permissions"}`, true
				}
				if edits++; edits > 1 {
					w.one(`UPDATE turn SET tokens = tokens + 1000`) // a call that was given up has ended: the small print changes
					return 400, `{"code":50083,"message":"Thread is archived"}`, true
				}
				return 0, "", !c.made || w.loses(e)
			}
			w.ask("1300000000000001001", "hello")
			w.run(900_000)
			w.want("edits, and requests to open the thread", fmt.Sprint(edits, opened), "2 1")
			w.want("answers", fmt.Sprint(strings.Count(w.discord.all(), "I heard you.")), "1")
			w.want("new messages", w.one(`SELECT count(*) FROM delivery WHERE kind = 'final'`), c.final)
			w.want("open", w.one(`SELECT count(*) FROM delivery WHERE due IS NOT NULL`), "0")
		})
	}
}

// loses makes an edit whose answer does not come back.
func (w *world) loses(e Effect) bool {
	var m render.Message
	_ = json.Unmarshal(e.Body, &m)
	w.discord.edit(e.Path[strings.LastIndexByte(e.Path, '/')+1:], m)
	return true
}

func TestF34_ALateEditIsRepairedByAVerifyingOne(t *testing.T) {
	w := newWorld(t)
	w.connect()
	w.operator(OpConfig, Settings{Policy: json.RawMessage(askPolicy)})
	w.model = toolThenSay("bash", `{"command":"make"}`)
	var overtaken *Effect
	w.discord.fail = func(e Effect) (int, string, bool) {
		if e.Method == "PATCH" && strings.HasPrefix(e.Path, "/channels/") && e.Point == "" && overtaken == nil {
			overtaken = &e
			return 0, "", true // times out here, arrives there later
		}
		return 0, "", false
	}
	w.runner.hold = true
	w.ask("1300000000000001001", "build it")
	w.run(8_000)
	w.finish(w.runner.held[0])
	if overtaken == nil {
		t.Fatal("no run card was edited")
	}
	w.discord.fail = func(Effect) (int, string, bool) { return 0, "", false }
	w.discord.serve(w, *overtaken)
	w.wantOneAnswer()
}

// Also where the anchor that came after its turn's end shows the answer at once: a request before it, which knew nothing
// of the answer, may arrive last.
func TestF34_ALateAnchorIsRepairedByAVerifyingEdit(t *testing.T) {
	w := newWorld(t)
	w.ask("1300000000000001001", "hello")
	late := w.runUntil(PointAck)
	if err := w.event(EventOperator, Operator{Op: OpStop, Principal: Principal{Name: "ops", Roles: []string{"approve"}}, Args: json.RawMessage(`{"id":"1"}`)}); err != nil {
		t.Fatal(err)
	}
	w.must(EventEffect, Outcome{ID: late.ID, Epoch: late.Epoch, Kind: OutcomeTimeout}) // here; it arrives there later
	w.run(20_000)
	if !strings.Contains(w.discord.all(), "Stopped.") {
		t.Fatalf("shown: %s", w.discord.all())
	}
	w.discord.serve(w, late)
	w.run(300_000)
	if shown := w.discord.all(); !strings.Contains(shown, "Stopped.") {
		t.Errorf("the late request stands: %s", shown)
	}
}

func TestF34_ARefusedVerifyingEditShowsNothingTwice(t *testing.T) {
	w := newWorld(t)
	edits := 0
	w.discord.fail = func(e Effect) (int, string, bool) {
		if e.Method == "GET" {
			m := w.discord.messages[e.Path[strings.LastIndexByte(e.Path, '/')+1:]]
			body, _ := json.Marshal(map[string]string{"id": m.id, "channel_id": m.channel, "content": m.body.Content})
			return 200, string(body), true
		}
		if e.Point == PointEdit && e.Method == "PATCH" {
			edits++
		}
		switch edits {
		case 1:
			return 0, "", true // times out
		case 3:
			return 400, `{"code":30046,"message":"too old"}`, true
		}
		return 0, "", false
	}
	w.ask("1300000000000001001", "hello")
	w.run(300_000)
	w.want("edits", fmt.Sprint(edits), "3")
	w.want("answers", fmt.Sprint(strings.Count(w.discord.all(), "I heard you.")), "1")
	w.want("open", w.one(`SELECT count(*) FROM delivery WHERE due IS NOT NULL`), "0")
}

// A final edit of unknown outcome, and Discord forbids for an hour both to repeat it and to read what is shown.
func TestF34_WhatCanNeitherBeEditedNorReadIsNotSaidAgain(t *testing.T) {
	w := newWorld(t)
	var forbidden int64
	w.discord.fail = func(e Effect) (int, string, bool) {
		switch {
		case forbidden == 0 && e.Point == PointEdit:
			forbidden = w.now + 3_600_000
			w.serveAnyway(e)
			return 0, "", true // it is shown, and its answer is lost
		case w.now < forbidden && (e.Method == "GET" || e.Method == "PATCH"):
			return 403, `{"code":50013,"message":"Missing Permissions"}`, true
		}
		return 0, "", false
	}
	w.ask("1300000000000001001", "hello")
	w.run(4_000_000)
	w.want("answers", fmt.Sprint(strings.Count(w.discord.all(), "I heard you.")), "1")
	w.want("open", w.one(`SELECT count(*) FROM delivery WHERE due IS NOT NULL`), "0")
}
