package actor

import (
	"fmt"
	"strings"

	"holdfast/actor/errs"
	"holdfast/actor/policy"
	"holdfast/actor/render"
)

const defaultApprovalExpiry = 15 * 60_000 // ms (spec 1.5)

// Approval outcomes (spec 4.2).
const (
	approvalOpen      = ""
	approvalApproved  = "approved"
	approvalDenied    = "denied"
	approvalExpired   = "expired"
	approvalCancelled = "cancelled"
)

// approvalState is the checkpoint of an approval: a child task of the call, which owns the wait.
//
//easyjson:json
type approvalState struct {
	Hash        string `json:"hash"` // of exactly what would run
	Expires     int64  `json:"expires"`
	ExpiresWall int64  `json:"expires_wall"`
	Requester   string `json:"requester"`
	Outcome     string `json:"outcome"`
	By          string `json:"by,omitempty"`
	At          int64  `json:"at,omitempty"` // wall
	Reason      string `json:"reason,omitempty"`
}

// askApproval makes the call wait for a person, and posts the card. Where nobody could ever press it is denied.
func (w *work) askApproval(t task, turn turn, d policy.Decision) {
	if !w.hasApprover(turn.ID) {
		w.failTool(t, stateFailed, "Denied: this needs an approval and nobody in the workspace may give it. "+d.Rule)
		w.roundGoesOn(t.Turn)
		return
	}
	expiry := w.settings().ApprovalExpiryMS
	if expiry <= 0 {
		expiry = defaultApprovalExpiry
	}
	state := approvalState{Hash: t.ArgsHash, Expires: w.now + expiry, ExpiresWall: w.wall + expiry, Requester: turn.Requester}
	w.tx.Exec(`UPDATE task SET state = 'waiting', due = ? WHERE id = ? AND state = 'ready'`, state.Expires+rearm, t.ID)
	row, _ := w.tx.Row(`INSERT INTO task(kind, conversation, turn, parent, round, state, due, tool, args, args_hash, decision, checkpoint, created_wall)
		VALUES ('approval', ?, ?, ?, ?, 'waiting', ?, ?, ?, ?, ?, ?, ?) RETURNING id`,
		t.Conversation, t.Turn, t.ID, t.Round, state.Expires, t.Tool, t.Args, t.ArgsHash, encode(d), encode(state), w.wall)
	id := row.Int(0)
	w.newDelivery(delivery{Kind: deliverCard, Op: opCreate, Conversation: t.Conversation, Turn: t.Turn, Task: id})
	w.event("approval.asked", t.Turn, fmt.Sprint(id), t.Tool)
	w.touchCard(t.Turn)
}

// approvalDue is the deadline: it denies (F14).
func (w *work) approvalDue(t task) {
	state := decode[approvalState](t.Checkpoint)
	if w.now < state.Expires {
		w.tx.Exec(`UPDATE task SET due = ? WHERE id = ?`, state.Expires, t.ID)
		return
	}
	w.decide(t, approvalExpired, "", "")
}

// decide ends an approval. It is one statement whose WHERE says "still open", so the first decision wins and the
// others are told (F15). A decision after the deadline is the deadline's.
func (w *work) decide(t task, outcome, by, reason string) (approvalState, bool) {
	state := decode[approvalState](t.Checkpoint)
	if w.now >= state.Expires && outcome != approvalCancelled {
		outcome, by, reason = approvalExpired, "", ""
		if mutant("an expiry approves") {
			outcome = approvalApproved
		}
	}
	state.Outcome, state.By, state.At, state.Reason = outcome, by, w.wall, reason
	open := ` AND state = 'waiting'`
	if mutant("two decisions") {
		open = ``
	}
	if !w.tx.Changed(`UPDATE task SET state = ?, due = NULL, ended_wall = ?, checkpoint = ? WHERE id = ?`+open+` RETURNING id`,
		map[bool]string{true: stateDone, false: stateFailed}[outcome == approvalApproved], w.wall, encode(state), t.ID) {
		now := w.mustTask(t.ID)
		return decode[approvalState](now.Checkpoint), false
	}
	w.point(PointDecision, fmt.Sprint(t.ID))
	w.event("approval.decided", t.Turn, fmt.Sprint(t.ID), outcome)
	w.audit(orSystem(by), "approval."+outcome, fmt.Sprintf("task %d", t.Parent), state.Hash)
	call := w.mustTask(t.Parent)
	if outcome == approvalApproved {
		cp := decode[toolState](call.Checkpoint)
		cp.Approved = w.now
		w.tx.Exec(`UPDATE task SET approved = ?, checkpoint = ? WHERE id = ?`, state.Hash, encode(cp), call.ID)
		w.nudge(call.ID, stateReady)
		w.touchCard(t.Turn)
	} else {
		w.failTool(call, stateFailed, refusalText(outcome, reason))
		w.roundGoesOn(t.Turn)
	}
	w.touchApprovalCard(t)
	return state, true
}

func orSystem(by string) string {
	if by == "" {
		return "system"
	}
	return by
}

func refusalText(outcome, reason string) string {
	switch {
	case outcome == approvalExpired:
		return "Not run: the approval expired before anybody decided."
	case reason != "":
		return "Not run: a person denied this and said: " + reason
	}
	return "Not run: a person denied this."
}

// press is Approve or Deny, from a button, a command or the CLI: all go through here.
func (w *work) press(id int64, verb string, who User, reason string) (approvalState, bool, error) {
	t, ok := w.taskByID(id)
	if !ok || t.Kind != kindApproval {
		return approvalState{}, false, errs.New(errs.NotFound, "There is no such approval here.")
	}
	state := decode[approvalState](t.Checkpoint)
	if err := w.mayDecide(who, t.Turn); err != nil {
		w.audit(who.ID, "approval.refused", fmt.Sprintf("task %d", t.Parent), verb)
		return state, false, err
	}
	outcome := approvalDenied
	if verb == "a" {
		outcome = approvalApproved
	}
	state, won := w.decide(t, outcome, who.ID, reason)
	return state, won, nil
}

// card is what an approval shows, in any of its states.
func (w *work) card(t task) render.Message {
	state, d := decode[approvalState](t.Checkpoint), decode[policy.Decision](t.Decision)
	users, roles := w.approvers()
	target := w.customID("", t.ID)
	a := render.Approval{
		Job: jobName(t.Turn), Tool: t.Tool, Requester: state.Requester, Command: commandText(t), Rule: d.Rule,
		PingUsers: users, PingRoles: roles, Expires: state.ExpiresWall, State: state.Outcome, By: state.By, At: state.At, Reason: state.Reason,
		ApproveID: "a" + target, DenyID: "d" + target, WhyID: "w" + target,
	}
	if t.State == stateCancelled || t.State == stateParked {
		a.State = approvalCancelled
	}
	for _, c := range d.Commands {
		a.Runs = append(a.Runs, c.Text)
	}
	for _, g := range d.Grants {
		a.Grants = append(a.Grants, grantText(g))
	}
	for _, u := range users {
		a.Approvers = append(a.Approvers, "<@"+u+">")
	}
	for _, r := range roles {
		a.Approvers = append(a.Approvers, "role <@&"+r+">")
	}
	return render.ApprovalCard(a)
}

func grantText(g policy.Grant) string {
	if g.Kind == "git-push" {
		return "network and push credential for " + g.Target + ", this call only"
	}
	return strings.TrimSpace(g.Kind+" "+g.Target) + ", this call only"
}

// commandText is the call as a person reads it: a shell command as it is, anything else as its arguments.
func commandText(t task) string {
	args := decode[map[string]any](t.Args)
	if command, ok := args["command"].(string); ok && t.Tool == "bash" {
		return command
	}
	return t.Tool + " " + t.Args
}
