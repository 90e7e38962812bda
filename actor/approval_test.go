package actor

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func pushWorld(t *testing.T) *world {
	w := newWorld(t)
	w.connect()
	yes := true
	w.operator(OpConfig, Settings{Policy: json.RawMessage(askPolicy), SelfApprove: &yes})
	w.model = toolThenSay("bash", `{"command":"git push origin main"}`)
	w.ask("1300000000000001001", "push it")
	w.run(5_000)
	w.want("approval", w.one(`SELECT state FROM task WHERE kind = 'approval'`), stateWaiting)
	if run := w.discord.in(channelID)[0].body.Content; !strings.Contains(run, "waiting for approval in <#"+w.one(`SELECT place FROM conversation`)+">") {
		t.Fatalf("the run card does not lead to the approval: %s", run)
	}
	return w
}

func (w *world) approval() int64 {
	return parseInt(w.one(`SELECT id FROM task WHERE kind = 'approval'`))
}

func TestF12_ACardOfAnEarlierProcessStillDecides(t *testing.T) {
	w := pushWorld(t)
	deadline := w.one(`SELECT json_extract(checkpoint, '$.expires') FROM task WHERE kind = 'approval'`)
	w.kill()
	w.connect()
	w.run(5_000)
	w.want("deadline", w.one(`SELECT json_extract(checkpoint, '$.expires') FROM task WHERE kind = 'approval'`), deadline)
	w.want("press", w.press("a", w.approval(), maya), `{"type":6}`)
	w.wantOneAnswer()
	w.want("runs", fmt.Sprint(w.runner.runs["bash"]), "1")
	if !strings.Contains(w.discord.all(), "@"+maya) {
		t.Fatalf("the card does not say who approved: %s", w.discord.all())
	}
}

func TestF13_KilledAfterTheApproval(t *testing.T) {
	w := pushWorld(t)
	w.press("a", w.approval(), maya)
	w.kill()
	w.connect()
	w.wantOneAnswer()
	w.want("runs", fmt.Sprint(w.runner.runs["bash"]), "1")
}

func TestF14_TheDeadlinePassesWhileEverythingIsDown(t *testing.T) {
	w := pushWorld(t)
	w.now += 3_600_000
	w.kill()
	w.connect()
	w.wantOneAnswer()
	w.want("runs", fmt.Sprint(w.runner.runs["bash"]), "0")
	w.want("outcome", w.one(`SELECT json_extract(checkpoint, '$.outcome') FROM task WHERE kind = 'approval'`), approvalExpired)
	if press := w.press("a", w.approval(), maya); !strings.Contains(press, "Already decided: expired") {
		t.Fatalf("a press after the deadline is told: %s", press)
	}
	w.run(60_000)
	w.want("runs", fmt.Sprint(w.runner.runs["bash"]), "0")
}

func TestF15_TheFirstOfTwoPressesDecides(t *testing.T) {
	w := pushWorld(t)
	w.want("first", w.press("d", w.approval(), maya), `{"type":6}`)
	if second := w.press("a", w.approval(), maya); !strings.Contains(second, "Already decided: denied") {
		t.Fatalf("the second press is told: %s", second)
	}
	w.wantOneAnswer()
	w.want("runs", fmt.Sprint(w.runner.runs["bash"]), "0")
}

func TestWhereNobodyMayApproveItIsDeniedAtOnce(t *testing.T) {
	w := newWorld(t)
	w.connect()
	w.operator(OpConfig, Settings{Policy: json.RawMessage(askPolicy)}) // of two members the only approver is who asks
	w.model = toolThenSay("bash", `{"command":"git push origin main"}`)
	w.ask("1300000000000001001", "push it")
	w.wantOneAnswer()
	w.want("approvals", w.one(`SELECT count(*) FROM task WHERE kind = 'approval'`), "0")
	w.want("runs", fmt.Sprint(w.runner.runs["bash"]), "0")
}

func TestOnlyApproversDecide(t *testing.T) {
	w := pushWorld(t)
	if told := w.press("a", w.approval(), sam); !strings.Contains(told, "Only an approver") {
		t.Fatalf("a member is told: %s", told)
	}
	w.want("approval", w.one(`SELECT state FROM task WHERE kind = 'approval'`), stateWaiting)
	w.want("audit", w.one(`SELECT count(*) FROM audit WHERE action = 'approval.refused' AND actor = ?`, sam), "1")
}

// Whoever spoke in a turn asked for what it does, also when somebody else began it.
func TestWhoJoinedATurnMayNotApproveIt(t *testing.T) {
	w := newWorld(t)
	w.connect()
	no := false
	w.operator(OpConfig, Settings{Policy: json.RawMessage(askPolicy), SelfApprove: &no,
		Members: []Member{{User: maya, Roles: []string{"admin"}}, {User: sam, Roles: []string{"approver"}}, {User: "1300000000000000014", Roles: []string{"approver"}}}})
	rounds := 0
	w.model = func(int, string) (int, string) {
		if rounds++; rounds == 1 {
			return 200, call("bash", `{"command":"sleep 5"}`)
		}
		if rounds == 2 {
			return 200, call("bash", `{"command":"git push origin main"}`)
		}
		return 200, say("Pushed.")
	}
	w.runner.hold = true
	w.ask("1300000000000001001", "wait")
	w.run(5_000)
	thread := w.one(`SELECT place FROM conversation`)
	w.must(EventGateway, GatewayEvent{ID: "1300000000000005000", Type: "MESSAGE_CREATE", Place: Place{Guild: guildID, Channel: thread, Type: 11, Parent: channelID},
		Message: "1300000000000005000", Author: User{ID: sam, Name: "sam"}, Content: "and push it"})
	w.runner.hold = false
	w.finish(w.runner.held[0])
	w.run(5_000)
	for _, who := range []string{maya, sam} {
		if told := w.press("a", w.approval(), who); !strings.Contains(told, "You asked for this") {
			t.Fatalf("%s is told: %s", who, told)
		}
	}
	w.want("a third", w.press("a", w.approval(), "1300000000000000014"), `{"type":6}`)
}

// The card of an open approval follows its conversation when the thread is deleted.
func TestTheCardFollowsOutOfADeletedThread(t *testing.T) {
	w := pushWorld(t)
	thread := w.one(`SELECT place FROM conversation`)
	w.must(EventGateway, GatewayEvent{ID: "s:1", Type: "THREAD_DELETE", Place: Place{Guild: guildID, Channel: thread, Type: 11, Parent: channelID}})
	w.run(5_000)
	shown := w.discord.in(channelID)
	if last := shown[len(shown)-1].body; len(shown) != 2 || !strings.Contains(last.Content, "git push") {
		t.Fatalf("the channel shows: %s", w.discord.all())
	}
	w.want("press", w.press("a", w.approval(), maya), `{"type":6}`)
	w.wantOneAnswer()
}

func TestDetailsAreForMembers(t *testing.T) {
	w := newWorld(t)
	w.ask("1300000000000001001", "hello")
	w.run(60_000)
	details := func(user string) string {
		w.must(EventInteraction, Interaction{Key: "p-" + user, Kind: KindPress, User: User{ID: user}, Place: Place{Guild: guildID, Channel: channelID},
			Verb: "i", Target: w.one(`SELECT value FROM meta WHERE key = 'incarnation'`) + ".d1"})
		return string(w.reply.Body)
	}
	if got := details(sam); !strings.Contains(got, "Job 1") {
		t.Errorf("a member is told: %s", got)
	}
	if got := details("1300000000000000099"); strings.Contains(got, "Job 1") {
		t.Errorf("a stranger is told: %s", got)
	}
}

func TestMembersAreChecked(t *testing.T) {
	for _, m := range []Member{{User: maya}, {User: "x y", Roles: []string{"admin"}}, {Roles: []string{"admin"}}, {User: maya, Roles: []string{"king"}}} {
		w := newWorld(t)
		args, _ := json.Marshal(Settings{Members: []Member{m}})
		if err := w.event(EventOperator, Operator{Op: OpConfig, Args: args}); err == nil || !strings.Contains(err.Error(), `"invalid"`) {
			t.Errorf("%+v: got %v, want invalid", m, err)
		}
	}
}

// An operator names a job and an approval: they must belong together, or a slip decides about something else.
func TestAnApprovalIsDecidedUnderItsOwnJobOnly(t *testing.T) {
	w := pushWorld(t)
	w.ask("1300000000000001002", "another job")
	decide := func(job string) error {
		return w.event(EventOperator, Operator{Op: OpApprove, Principal: Principal{Name: "ops", Roles: []string{"approve"}},
			Args: json.RawMessage(fmt.Sprintf(`{"id":%q,"task":%d}`, job, w.approval()))})
	}
	if err := decide("2"); err == nil || !strings.Contains(err.Error(), "no approval") {
		t.Fatalf("under another job: %v", err)
	}
	w.want("approval", w.one(`SELECT state FROM task WHERE kind = 'approval'`), stateWaiting)
	if err := decide("1"); err != nil {
		t.Fatal(err)
	}
}
