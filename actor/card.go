package actor

import (
	"crypto/sha256"
	"fmt"
	"math/big"
	"strings"

	"holdfast/actor/policy"
	"holdfast/actor/render"
)

// renderDelivery is what a delivery shows, from the rows as they are now. It is false when there is nothing to show.
func (w *work) renderDelivery(d delivery) (render.Message, bool) {
	switch d.Kind {
	case deliverAnchor, deliverEdit:
		t, live := w.turn(d.Turn)
		if live {
			return render.RunCard(w.runCard(t)), true
		}
		return w.answerParts(t)[0], true
	case deliverFinal:
		t, _ := w.turn(d.Turn)
		m := w.answerParts(t)[0]
		return m, true
	case deliverChunk:
		t, _ := w.turn(d.Turn)
		parts := w.answerParts(t)
		if int(d.Part) >= len(parts) {
			return render.Message{}, false
		}
		return parts[d.Part], true
	case deliverCard:
		t, ok := w.taskByID(d.Task)
		return w.card(t), ok && (t.Due != 0 || d.First != 0) // decided before it was ever sent: nothing to ask any more
	case deliverCardEdit:
		t, ok := w.taskByID(d.Task)
		if !ok {
			return render.Message{}, false
		}
		m := w.card(t)
		m.AllowedMentions = render.AllowedMentions{Parse: []string{}} // an edit never pings
		return m, true
	}
	return render.Note(d.Body), true
}

// customID is <verb>:<guild>/<workspace>:<incarnation>.<id>, without the verb when that is "" and without the id
// when that is 0. The incarnation makes buttons of a restored backup's future void (spec 9.1).
func (w *work) customID(verb string, id int64) string {
	s := fmt.Sprintf("%s:%s/%s:%s.", verb, w.guild, w.name, w.meta["incarnation"])
	if id != 0 {
		s += fmt.Sprint(id)
	}
	return s
}

// anchorID is the custom_id of a button on a turn's anchor: it names the delivery, and so is the anchor's mark.
func (w *work) anchorID(verb string, turn int64) string {
	row, ok := w.tx.Row(`SELECT max(id) FROM delivery WHERE turn = ? AND kind IN ('anchor','final')`, turn)
	if !ok {
		return ""
	}
	return w.customID(verb, 0) + "d" + fmt.Sprint(row.Int(0))
}

// nonce is 25 characters that Discord recognises a repeated create by (spec 3.5).
func (w *work) nonce(id, part int64) string {
	workspace, incarnation := w.name, w.meta["incarnation"]
	if mutant("nonce without the workspace") {
		workspace = ""
	}
	if mutant("nonce without the incarnation") {
		incarnation = ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s|%s/%s|%s|%d|%d", w.cfg.ApplicationID, w.guild, workspace, incarnation, id, part))
	text := new(big.Int).SetBytes(sum[:]).Text(62)
	return (strings.Repeat("0", 25) + text)[len(text):][:25]
}

// runCard is the state of a running turn.
func (w *work) runCard(t turn) render.Run {
	run := render.Run{Job: jobName(t.ID), Started: t.Started, Restarts: int(t.Restarts), StopID: w.anchorID("s", t.ID), UserNote: t.Notice,
		Tokens: t.Tokens, MicroDollars: t.Micros}
	run.Phase, run.Steps = w.steps(t)
	if len(run.Steps) == maxSteps {
		all, _ := w.tx.Row(`SELECT count(*) FROM task WHERE turn = ? AND kind = 'tool'`, t.ID)
		run.Earlier = int(all.Int(0)) - maxSteps
	}
	if run.Phase == waitingForApproval {
		run.PhaseIn = w.elsewhere(t)
	}
	run.Joined = int(w.queued(t.Conversation))
	run.Notice = w.remark(t.ID)
	return run
}

const waitingForApproval = "waiting for approval"

// maxSteps is how many of a turn's latest calls the card lists.
const maxSteps = 15

func (w *work) steps(t turn) (phase string, steps []render.Step) {
	phase = "thinking"
	rows := w.tx.Rows(`SELECT `+taskColumns+` FROM task WHERE turn = ? AND kind = 'tool' ORDER BY id DESC LIMIT ?`, t.ID, maxSteps)
	reverse(rows)
	for _, row := range rows {
		call := scanTask(row)
		step := w.step(call)
		switch step.State {
		case render.StepRunning:
			phase = "running " + call.Tool
		case render.StepWaiting:
			phase = waitingForApproval
		}
		if call.State == stateReady && decode[toolState](call.Checkpoint).Since != 0 {
			phase = "waiting for a runner to connect"
		}
		steps = append(steps, step)
	}
	switch {
	case !t.Acknowledged:
		phase = "starting"
	case phase == "thinking" && w.providerWaits(t.ID):
		phase = "waiting for the model's provider"
	}
	return phase, steps
}

// providerWaits says whether a turn's model call failed and is to be made again later.
func (w *work) providerWaits(turn int64) bool {
	row, ok := w.tx.Row(`SELECT checkpoint FROM task WHERE turn = ? AND kind = 'generation' AND state = 'ready' LIMIT 1`, turn)
	return ok && decode[generationState](row.Str(0)).Tries > 0
}

// elsewhere says where a turn's cards are when that is not where its anchor is: in the thread under it.
func (w *work) elsewhere(t turn) string {
	c, ok := w.conversation(t.Conversation)
	anchor, shown := w.deliveryOf(t.ID, deliverAnchor)
	if !ok || !shown || c.Place == "" || c.Place == anchor.Channel {
		return ""
	}
	return c.Place
}

func (w *work) step(t task) render.Step {
	cp := decode[toolState](t.Checkpoint)
	step := render.Step{Tool: t.Tool, Detail: stepDetail(t), Millis: t.Millis}
	switch t.State {
	case stateReady:
		step.State = render.StepQueued
	case stateRunning:
		step.State = render.StepRunning
	case stateWaiting:
		step.State = render.StepWaiting
	case stateDone:
		step.State = render.StepOK
	case stateCancelled:
		step.State = render.StepCancelled
	case stateInterrupted, stateParked:
		step.State = render.StepInterrupted
	default:
		step.State = render.StepError
		if cp.Status == "" { // it never ran
			step.State = render.StepDenied
		}
	}
	if cp.Exit != nil && *cp.Exit != 0 {
		step.Note = fmt.Sprintf("exit %d", *cp.Exit)
	}
	return step
}

// stepDetail is the one argument that says most.
func stepDetail(t task) string {
	args := decode[map[string]any](t.Args)
	for _, key := range []string{"command", "path", "pattern"} {
		if s, ok := args[key].(string); ok && s != "" {
			return s
		}
	}
	return ""
}

// remark is one line about how a turn's messages fared, for people: "" when all went well.
func (w *work) remark(turn int64) string {
	row, _ := w.tx.Row(`SELECT remark FROM turn WHERE id = ?`, turn)
	return row.Str(0)
}

// addRemark says one thing more about a turn, once.
func (w *work) addRemark(turn int64, text string) {
	w.tx.Exec(`UPDATE turn SET remark = iif(remark = '', ?1, remark || ' · ' || ?1) WHERE id = ?2 AND instr(remark, ?1) = 0`, text, turn)
}

// answerParts is an ended turn as messages: the anchor's last state, then what did not fit.
func (w *work) answerParts(t turn) []render.Message {
	tools, _ := w.tx.Row(`SELECT count(*) FROM task WHERE turn = ? AND kind = 'tool'`, t.ID)
	return render.Answer(render.Final{
		Job: jobName(t.ID), Text: t.Answer, Tools: int(tools.Int(0)), Millis: t.Ended - t.Started, Tokens: t.Tokens, MicroDollars: t.Micros,
		Conversation: t.Conversation, Restarts: int(t.Restarts), Notice: joinNotices(w.remark(t.ID), t.Notice), DetailsID: w.anchorID("i", t.ID),
	})
}

func joinNotices(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + " · " + b
}

// touchCard asks for an edit of the anchor, at most one a second; it shows the newest state whenever it is sent.
func (w *work) touchCard(turn int64) { w.touch(turn, deliverEdit, 0, false) }

// touch asks for an edit of a turn's message of a kind, or of the one of a task.
func (w *work) touch(turn int64, kind string, task int64, final bool) {
	w.tx.Exec(`UPDATE delivery SET final = max(final, ?1),
		due = CASE WHEN state IN ('confirmed','pending') THEN max(?2, sent + ?3) ELSE due END,
		dirty = CASE WHEN state IN ('sending','unknown') THEN 1 ELSE dirty END,
		state = CASE WHEN state = 'confirmed' THEN 'pending' ELSE state END
		WHERE state <> 'failed' AND turn = ?4 AND kind = ?5 AND (?6 = 0 OR task = ?6)`, final, w.now, editPace, turn, kind, task)
}

// deliverAnswer asks for the one final edit, and for the messages that hold what does not fit into it. A turn whose
// anchor is not confirmed yet gets its final edit when it is; one that was withdrawn shows nothing.
func (w *work) deliverAnswer(t turn, reason string) {
	if anchor, ok := w.deliveryOf(t.ID, deliverAnchor); ok && reason == reasonWithdrawn && anchor.State == "pending" {
		w.closeDelivery(anchor.ID, "failed", reasonWithdrawn)
	}
	if reason == reasonWithdrawn || reason == reasonUndeliverable {
		return
	}
	w.touch(t.ID, deliverEdit, 0, true)
	if edit, ok := w.deliveryOf(t.ID, deliverEdit); ok && edit.State == "failed" { // the anchor was lost before the end
		w.sendFinalAnew(edit, "")
	}
	for part := 1; part < len(w.answerParts(t)); part++ {
		w.newDelivery(delivery{Kind: deliverChunk, Op: opCreate, Conversation: t.Conversation, Turn: t.ID, Part: int64(part)})
	}
}

// editConfirmed ends an edit, or begins the next one when the state has moved on meanwhile. After a final edit with
// an unknown one before it, verifying edits follow: a late request may have overtaken it (F34).
func (w *work) editConfirmed(d delivery) {
	_, live := w.turn(d.Turn)
	if d.Final && !live && !d.Dirty {
		w.point(PointEdit, jobName(d.Turn))
		w.event("turn.shown", d.Turn, jobName(d.Turn), "")
		w.wakeChunks(d.Turn)
	}
	w.editSettled(d)
}

func (w *work) editSettled(d delivery) {
	switch {
	case d.Dirty:
		w.retryDelivery(d.ID, "pending", max(w.now, d.Sent+editPace), "")
	case d.Uncertain && !d.Verified && !mutant("no verifying edit") && (d.Final || d.Kind == deliverCardEdit):
		w.tx.Exec(`UPDATE delivery SET uncertain = uncertain + 1 WHERE id = ?`, d.ID)
		w.retryDelivery(d.ID, "pending", w.now+verifyAfter, "verifying")
	default:
		w.closeDelivery(d.ID, "confirmed", "")
	}
}

// sendFinalAnew shows an answer as a new message when its anchor can no longer be edited: too old, deleted or locked
// (F28).
func (w *work) sendFinalAnew(d delivery, why string) {
	if why != "" {
		w.closeDelivery(d.ID, "failed", why)
	}
	w.addRemark(d.Turn, "a new message, because the first one of this turn could not be edited any more")
	w.newDelivery(delivery{Kind: deliverFinal, Op: opCreate, Conversation: d.Conversation, Turn: d.Turn})
}

// cardConfirmed knows the approval's message, and edits it at once when it was decided meanwhile.
func (w *work) cardConfirmed(d delivery, a discordAnswer) {
	w.confirm(d, a.ID)
	w.point(PointCard, fmt.Sprint(d.Task))
	edit := delivery{Kind: deliverCardEdit, Op: opEdit, Conversation: d.Conversation, Turn: d.Turn, Task: d.Task, Channel: d.Channel, Message: a.ID, Sent: d.Sent}
	id := w.newDelivery(edit)
	if t, ok := w.taskByID(d.Task); ok && t.Due != 0 {
		w.closeDelivery(id, "confirmed", "") // shows what it should until it is decided
	}
}

func (w *work) touchApprovalCard(t task) {
	if mutant("a decided card is not edited") {
		return
	}
	w.touch(t.Turn, deliverCardEdit, t.ID, false)
}

// decisionOf is the policy's decision of a call, for /why and the details.
func decisionOf(t task) policy.Decision { return decode[policy.Decision](t.Decision) }
