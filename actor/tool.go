package actor

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"holdfast/actor/frame"
	"holdfast/actor/model"
	"holdfast/actor/policy"
)

// Times of a tool, in ms.
const (
	toolLease      = 60_000    // a started tool may be silent this long; the runner renews at a third of it
	toolTimeout    = 600_000   // a tool may run this long
	runnerPatience = 600_000   // how long a task waits for a runner, or for the one that had it (F33, spec 3.6)
	approvalHolds  = 3_600_000 // an approved call that could not start by then asks again (spec 4.1)
)

// maxArgs are the longest arguments, in bytes as they travel, that a frame to the runner takes beside its other fields.
const maxArgs = frame.MaxFrame - 16<<10

// toolState is the checkpoint of a tool.
//
//easyjson:json
type toolState struct {
	Socket   string `json:"socket,omitempty"`   // the connection the task was sent on
	Started  bool   `json:"started,omitempty"`  // the runner's journal has it
	Since    int64  `json:"since,omitempty"`    // when it began to wait for a runner
	Policy   int64  `json:"policy,omitempty"`   // the policy's version of its verdict
	Approved int64  `json:"approved,omitempty"` // when a person approved it
	Status   string `json:"status,omitempty"`   // of the result
	Exit     *int   `json:"exit,omitempty"`
	Blob     string `json:"blob,omitempty"`
}

// argsHash covers exactly what would run; an approval holds for it alone.
func argsHash(tool, args string) string {
	sum := sha256.Sum256([]byte(tool + "\x00" + args))
	return hex.EncodeToString(sum[:])
}

// newTool commits one call of the model with its verdict.
func (w *work) newTool(generation task, turn turn, call model.Call) {
	args := encode(call.Args) // as the frame will carry them: what is hashed is what the runner gets
	size := len(args)
	if size > maxArgs {
		args = string(omittedArgs(size))
	}
	tool, known := w.runner().tool(call.Name)
	d, version := w.judge(call.Name, args)
	row, _ := w.tx.Row(`INSERT INTO task(kind, conversation, turn, parent, round, state, due, tool, call_id, args, args_hash, safe, decision, checkpoint, created_wall)
		VALUES ('tool', ?, ?, ?, ?, 'ready', ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING `+taskColumns,
		turn.Conversation, turn.ID, generation.ID, turn.Rounds, w.now+keepAwake, call.Name, call.ID, args, argsHash(call.Name, args),
		known && tool.Safe, encode(d), encode(toolState{Policy: version}), w.wall)
	t := scanTask(row)
	w.event("tool.intended", turn.ID, fmt.Sprint(t.ID), call.Name+" "+string(d.Verdict))
	switch {
	case call.Broken != "":
		w.failTool(t, stateFailed, "The arguments were no JSON object and nothing was run: "+headAndTail(call.Broken, 300))
	case size > maxArgs:
		w.failTool(t, stateFailed, fmt.Sprintf("Nothing was run: the arguments have %s as they are sent, and a call takes at most %d kB. "+
			"Write it in pieces, each with a call of its own.", kilobytes(size), maxArgs/1000))
	case !known:
		w.failTool(t, stateFailed, fmt.Sprintf("There is no tool %q here. The tools are: %s.", call.Name, strings.Join(w.runner().names(), ", ")))
	case d.Verdict == policy.Deny:
		w.failTool(t, stateFailed, "Denied by policy: "+d.Rule+". "+d.Reason)
	}
}

func (w *work) judge(tool, args string) (policy.Decision, int64) {
	return w.policy().Judge(policy.Call{Tool: tool, Args: json.RawMessage(args)}), w.settings().PolicyVersion
}

// failTool ends an unclaimed call with an error result.
func (w *work) failTool(t task, state, text string) {
	if w.closeUnclaimed(t.ID, state) {
		w.appendResult(t, text, true, false)
	}
}

func (w *work) appendResult(t task, text string, isError, interrupted bool) {
	kind := entryToolResult
	if interrupted {
		kind = entryInterrupted
	}
	w.append(t.Conversation, t.Turn, t.ID, kind, resultEntry{CallID: t.CallID, Text: text, Error: isError})
}

// advanceRound starts what may start now, and when every call of the round has ended it places what was said
// meanwhile and asks for the next generation, in this same commit.
func (w *work) advanceRound(turn turn) {
	open := w.openTools(turn.ID)
	if mutant("placed inside a round") {
		c, _ := w.conversation(turn.Conversation)
		w.place(c, turn.ID)
	}
	if len(open) == 0 {
		if c, ok := w.conversation(turn.Conversation); ok {
			w.place(c, turn.ID)
		}
		w.newGeneration(turn.Conversation, turn.ID, stateReady)
		return
	}
	for _, t := range open {
		if t.State == stateReady {
			w.nudge(t.ID, stateReady)
		}
		if !allSafe(open) {
			return // in order: the first open one alone
		}
	}
}

func (w *work) openTools(turn int64) []task {
	var open []task
	for _, row := range w.tx.Rows(`SELECT `+taskColumns+` FROM task WHERE turn = ? AND kind = 'tool' AND due IS NOT NULL ORDER BY id`, turn) {
		open = append(open, scanTask(row))
	}
	return open
}

func allSafe(tasks []task) bool {
	for _, t := range tasks {
		if !t.Safe {
			return false
		}
	}
	return true
}

// roundGoesOn follows the end of one call.
func (w *work) roundGoesOn(turnID int64) {
	if turn, live := w.turn(turnID); live {
		w.advanceRound(turn)
		w.touchCard(turn.ID)
	}
}

// toolDue starts a call whose turn it is, or looks after one that runs.
func (w *work) toolDue(t task) {
	turn, live := w.turn(t.Turn)
	switch {
	case !live:
		w.closeUnclaimed(t.ID, stateCancelled)
	case t.State == stateRunning:
		w.leaseOver(t)
	case t.State == stateWaiting: // for its approval, whose own due decides
		w.delay(t.ID, keepAwake)
	case !w.isNext(t):
		w.delay(t.ID, keepAwake)
	default:
		w.startTool(t, turn)
	}
}

// isNext says whether the calls before this one in its round have ended, or may run beside it.
func (w *work) isNext(t task) bool {
	open := w.openTools(t.Turn)
	return allSafe(open) || open[0].ID == t.ID
}

// startTool judges the call once more when the policy changed, asks where it says ask, and else sends it.
func (w *work) startTool(t task, turn turn) {
	d, cp := decode[policy.Decision](t.Decision), decode[toolState](t.Checkpoint)
	if t.Approved != "" && w.now-cp.Approved > approvalHolds {
		t.Approved = ""
	}
	if cp.Policy != w.settings().PolicyVersion {
		fresh, version := w.judge(t.Tool, t.Args)
		d = stricter(d, fresh)
		cp.Policy = version
		t.Decision, t.Checkpoint = encode(d), encode(cp)
		w.tx.Exec(`UPDATE task SET decision = ?, checkpoint = ? WHERE id = ?`, t.Decision, t.Checkpoint, t.ID)
	}
	switch {
	case d.Verdict == policy.Deny:
		w.failTool(t, stateFailed, "Denied by policy: "+d.Rule+". "+d.Reason)
		w.roundGoesOn(t.Turn)
	case d.Verdict == policy.Ask && t.Approved != t.ArgsHash && !mutant("nobody is asked"):
		w.askApproval(t, turn, d)
	default:
		w.sendTool(t, turn, d)
	}
}

// stricter keeps the verdict that permits less (spec 4.1, rule 7).
func stricter(a, b policy.Decision) policy.Decision {
	rank := map[policy.Verdict]int{policy.Allow: 0, policy.Ask: 1, policy.Deny: 2}
	if rank[b.Verdict] >= rank[a.Verdict] {
		return b
	}
	return a
}

// sendTool claims the call for the connected runner's journal and sends it there. Without a runner it waits.
func (w *work) sendTool(t task, turn turn, d policy.Decision) {
	cp := decode[toolState](t.Checkpoint)
	r := w.runner()
	if !r.connected(w.ev.Sockets) {
		w.waitForRunner(t, turn, cp)
		return
	}
	if !w.carries(len(t.Args)) {
		w.delay(t.ID, rearm)
		return
	}
	if !w.claim(&t, r.Journal, toolLease) {
		return
	}
	cp.Socket, cp.Started, cp.Since = r.Socket, false, 0
	w.tx.Exec(`UPDATE task SET checkpoint = ? WHERE id = ?`, encode(cp), t.ID)
	w.event("tool.claimed", turn.ID, fmt.Sprint(t.ID), t.Tool)
	w.send(r.Socket, PointIntent, frame.Frame{
		Type: frame.TypeTask, Task: t.ID, Epoch: t.Epoch, Tool: t.Tool, Args: json.RawMessage(t.Args), ArgsHash: t.ArgsHash,
		Approved: t.Approved, PolicyVersion: cp.Policy, TimeoutMS: toolTimeout, Grants: grantsOf(t, d),
		Worktree: fmt.Sprintf("c%d", t.Conversation),
	})
	w.touchCard(turn.ID)
}

// grantsOf are the needs that a person approved; what policy allows by itself gets none (spec 4.2).
func grantsOf(t task, d policy.Decision) []frame.Grant {
	if t.Approved == "" {
		return nil
	}
	var grants []frame.Grant
	for _, g := range d.Grants {
		grants = append(grants, frame.Grant{Kind: g.Kind, Target: g.Target})
	}
	return grants
}

// waitForRunner keeps a call until a runner says hello, for ten minutes (F33).
func (w *work) waitForRunner(t task, turn turn, cp toolState) {
	if cp.Since == 0 {
		cp.Since = w.now
		w.tx.Exec(`UPDATE task SET checkpoint = ? WHERE id = ?`, encode(cp), t.ID)
		w.event("tool.waits_for_runner", turn.ID, fmt.Sprint(t.ID), "")
		w.touchCard(turn.ID)
	}
	if w.now-cp.Since >= runnerPatience {
		w.endTurn(turn, reasonNoRunner, "")
		return
	}
	w.delay(t.ID, min(keepAwake, cp.Since+runnerPatience-w.now))
}

// leaseOver looks after a running call that was silent for its lease. Connected and never started: the socket is
// closed, so that a hello follows. Otherwise the next hello decides, for ten minutes (spec 3.6).
func (w *work) leaseOver(t task) {
	r, cp := w.runner(), decode[toolState](t.Checkpoint)
	switch {
	case w.now-t.LeaseExpires >= runnerPatience:
		w.undecided(t)
	case r.connected(w.ev.Sockets) && r.Socket == cp.Socket:
		w.do(Effect{Type: EffectRunnerClose, Socket: r.Socket, Code: frame.CloseLease, Reason: "a task fell silent: say hello"})
		w.delay(t.ID, keepAwake)
	default:
		w.delay(t.ID, keepAwake)
	}
}

// undecided ends an attempt that nobody can tell about: a safe one runs again, another is called interrupted, never
// rerun (F07, F08). The epoch is spent either way.
func (w *work) undecided(t task) {
	if (t.Safe || mutant("an unsafe tool runs again")) && t.Starts < maxStarts {
		w.rerun(t)
		return
	}
	state, text := stateInterrupted, "Interrupted: the runner stopped while this ran. It may have had some or all of its effect; it was not run again. Look before you repeat it."
	if t.Safe {
		state, text = stateParked, fmt.Sprintf("Given up: the runner stopped %d times while this ran.", t.Starts)
	}
	if !w.tx.Changed(`UPDATE task SET state = ?, due = NULL, ended_wall = ? WHERE id = ? AND state = 'running' AND epoch = ? RETURNING id`,
		state, w.wall, t.ID, t.Epoch) {
		return
	}
	if !mutant("interrupted without a word") {
		w.appendResult(t, text, true, true)
	}
	w.event("tool.interrupted", t.Turn, fmt.Sprint(t.ID), state)
	w.roundGoesOn(t.Turn)
}

// rerun makes a call ready again whose last attempt is proven harmless: it never started, or is safe to repeat.
func (w *work) rerun(t task) {
	w.tx.Exec(`UPDATE task SET state = 'ready', due = ?, owner = '' WHERE id = ? AND state = 'running' AND epoch = ?`, w.now, t.ID, t.Epoch)
	w.event("tool.ready_again", t.Turn, fmt.Sprint(t.ID), "")
}

// toolResult takes what a runner says of a call. One that changes nothing is still acknowledged, else it would be
// kept for ever (F09); one of an attempt already called interrupted is told to the model and shown in the job.
func (w *work) toolResult(f frame.Frame, journal string) {
	if !mutant("a result is not acknowledged") {
		w.ackRunner(f)
	}
	t, ok := w.taskByID(f.Task)
	if !ok || t.Kind != kindTool {
		return
	}
	text := resultText(f)
	cp := decode[toolState](t.Checkpoint)
	cp.Status, cp.Exit, cp.Blob = f.Status, f.Exit, f.Blob
	state := stateDone
	if f.Status != frame.StatusOK {
		state = stateFailed
	}
	open := ` AND state = 'running'`
	if mutant("a result counts twice") {
		open = ``
	}
	if w.tx.Changed(`UPDATE task SET state = ?, due = NULL, ended_wall = ?, ms = ?, checkpoint = ? WHERE id = ?`+open+` AND owner = ? AND epoch = ? RETURNING id`,
		state, w.wall, f.Millis, encode(cp), t.ID, journal, f.Epoch) {
		w.appendResult(t, text, f.Status != frame.StatusOK, false)
		w.point(PointResult, fmt.Sprint(t.ID))
		w.event("tool.ended", t.Turn, fmt.Sprint(t.ID), f.Status)
		w.roundGoesOn(t.Turn)
		return
	}
	if t.State == stateInterrupted && t.Epoch == f.Epoch && t.Owner == journal {
		w.lateResult(t, f, text)
	}
}

func (w *work) lateResult(t task, f frame.Frame, text string) {
	if decode[toolState](t.Checkpoint).Status != "" {
		return // told before
	}
	w.tx.Exec(`UPDATE task SET checkpoint = ? WHERE id = ?`, encode(toolState{Status: f.Status, Exit: f.Exit}), t.ID)
	w.append(t.Conversation, t.Turn, t.ID, entrySystem, systemEntry{
		Text: fmt.Sprintf("The interrupted call of %s did end, with status %s:\n%s", t.Tool, f.Status, headAndTail(text, 4000))})
	w.event("tool.late_result", t.Turn, fmt.Sprint(t.ID), f.Status)
}

func resultText(f frame.Frame) string {
	text := headAndTail(strings.ToValidUTF8(f.Summary, "\uFFFD"), 64_000)
	switch {
	case f.Status == frame.StatusTimeout:
		return joinParagraphs(text, "The tool ran into its time limit and was stopped.")
	case f.Status == frame.StatusKilled:
		return joinParagraphs(text, "The tool was stopped.")
	case f.Exit != nil && *f.Exit != 0:
		return joinParagraphs(text, fmt.Sprintf("exit status %d", *f.Exit))
	case text == "":
		return "(no output)"
	}
	return text
}
