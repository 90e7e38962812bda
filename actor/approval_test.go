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
