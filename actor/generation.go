package actor

import (
	"encoding/json"
	"fmt"

	"holdfast/actor/errs"
	"holdfast/actor/model"
)

// Times of a model call, in ms.
const (
	modelTimeout    = 600_000 // from sending to the last byte
	modelLease      = modelTimeout + 60_000
	maxProviderWait = 600_000 // ms that a turn waits because its provider asks to; a longer one is for people to know
	maxModelTries   = 5       // calls answered "try again" before the turn is given up (spec 5.2)
	maxBrokenRuns   = 2       // regenerations after a call whose arguments were no JSON (spec 5.1)
	maxOverflows    = 3       // calls that the provider called too long; each next one has half the transcript
)

// maxAnswer is the longest answer, in bytes, that is recorded; as an entry it may grow by its escapes (store.MaxValue).
const maxAnswer = 1 << 20

// generationState is the checkpoint of a generation.
//
//easyjson:json
type generationState struct {
	Tries  int    `json:"tries"` // failed calls so far
	Broken int    `json:"broken"`
	Model  string `json:"model"` // the configured model of the call in flight

	Sent      int `json:"sent,omitempty"` // tokens of its transcript
	Room      int `json:"room,omitempty"` // tokens that a transcript may have, once the provider called one too long
	Overflows int `json:"overflows,omitempty"`
}

func (w *work) newGeneration(conversation, turn int64, state string) {
	first := generationState{}
	if row, ok := w.tx.Row(`SELECT checkpoint FROM task WHERE turn = ? AND kind = 'generation' ORDER BY id DESC LIMIT 1`, turn); ok {
		first.Room = decode[generationState](row.Str(0)).Room // what the provider took holds for the turn
	}
	w.tx.Exec(`INSERT INTO task(kind, conversation, turn, state, due, checkpoint, created_wall) VALUES ('generation', ?, ?, ?, ?, ?, ?)`,
		conversation, turn, state, w.now+dueOf(state), encode(first), w.wall)
}

// dueOf is how far a new row's due lies ahead: one that waits for another is looked at again in half a minute, in
// case what it waits for forgot to wake it.
func dueOf(state string) int64 {
	if state == stateWaiting {
		return keepAwake
	}
	return 0
}

func (w *work) generationDue(t task) {
	turn, live := w.turn(t.Turn)
	switch {
	case !live:
		w.closeUnclaimed(t.ID, stateCancelled)
	case t.State == stateRunning: // its lease is over: the host never told
		w.orphanGeneration(t)
	case !turn.Acknowledged && !mutant("works in silence"):
		w.delay(t.ID, keepAwake)
	case t.Starts >= maxStarts && !mutant("never parked"):
		w.closeUnclaimed(t.ID, stateParked)
		w.event("task.parked", t.Turn, fmt.Sprint(t.ID), "")
		w.endTurn(turn, reasonInternal, "")
	case turn.Rounds >= maxRounds:
		w.endTurn(turn, reasonLimit, fmt.Sprintf("It made %d rounds of tool calls.", turn.Rounds))
	default:
		w.callModel(t, turn)
	}
}

// callModel claims the generation, reserves what the call may cost and asks for it. Every attempt comes this way, and
// each has to fit into the budgets.
func (w *work) callModel(t task, turn turn) {
	c, ok := w.conversation(t.Conversation)
	if !ok {
		panic(fmt.Sprintf("task %d has no conversation", t.ID))
	}
	name, m, err := w.modelFor(c)
	if err != nil {
		w.endTurn(turn, reasonProvider, err.Error())
		return
	}
	state := decode[generationState](t.Checkpoint)
	request, sent, fits := w.modelRequest(c, turn.ID, m, state.Room)
	if !fits {
		w.tooLong(t, turn, name, m)
		return
	}
	wire, err := model.Encode(m.Format, request)
	if err != nil {
		w.endTurn(turn, reasonInternal, "")
		w.event("generation.unencodable", turn.ID, fmt.Sprint(t.ID), "")
		return
	}
	switch n := len(wire.Body); {
	case n > maxRequest:
		w.tooLong(t, turn, name, m)
		return
	case !w.carries(n):
		w.delay(t.ID, rearm)
		return
	}
	most := mostOf(m, request)
	if why := w.overBudget(turn.Requester, most); why != "" && !mutant("a budget is ignored") {
		w.endTurn(turn, reasonBudget, why)
		w.event("budget.refused", turn.ID, fmt.Sprint(t.ID), name)
		return
	}
	state.Model, state.Sent = name, sent
	if !w.claim(&t, w.ev.Owner, modelLease) {
		return
	}
	w.tx.Exec(`UPDATE task SET checkpoint = ? WHERE id = ?`, encode(state), t.ID)
	w.reserve(t, turn, name, most)
	w.tx.Exec(`UPDATE turn SET notice = ? WHERE id = ?`, m.Notice, turn.ID)
	w.point(PointModel, jobName(turn.ID))
	w.event("generation.claimed", turn.ID, fmt.Sprint(t.ID), name)
	w.do(Effect{
		ID: fmt.Sprintf("t%d", t.ID), Epoch: t.Epoch, Type: EffectHTTP, Lane: fmt.Sprintf("task:%d", t.ID), Point: PointModel,
		Target: "model:" + name, Credential: "model:" + name, Method: "POST", Path: wire.Path, Headers: wire.Headers,
		Body: wire.Body, TimeoutMS: modelTimeout,
	})
}

// tooLong ends a turn of which not even the least that must be sent fits into one request.
func (w *work) tooLong(t task, turn turn, name string, m Model) {
	what := "What was asked in this turn"
	if request := (model.Request{System: w.systemPrompt(), Tools: w.offeredTools(), MaxOutput: outputOf(m)}); roomFor(m, request) < m.Window/4 {
		what = "What every question needs (the workspace's instructions, the project's notes and the tools)"
	}
	w.endTurn(turn, reasonLimit, what+fmt.Sprintf(" is longer than the model %s can read. ", name)+
		"Begin a new conversation and ask for less at once, or let an admin choose a model with a larger window.")
	w.event("generation.too_long", turn.ID, fmt.Sprint(t.ID), name)
}

// carries says whether this event's result has room for an effect of n bytes more. The first always goes: it is bounded
// far below MaxResult. The others go with the wakes that follow.
func (w *work) carries(n int) bool {
	sent := 0
	for _, e := range w.effects {
		sent += len(e.Body) + len(e.Message)
	}
	return sent == 0 || sent+n <= maxRequest
}

// modelFor is the model of a conversation: its own, the workspace's, the deployment's.
func (w *work) modelFor(c conversation) (string, Model, error) {
	for _, name := range []string{c.Model, w.settings().Model, w.cfg.DefaultModel} {
		if name == "" {
			continue
		}
		if m, ok := w.cfg.Models[name]; ok {
			return name, m, nil
		}
	}
	return "", Model{}, errs.New(errs.Invalid, "No model is configured. The operator sets one in holdfast.toml under [model.<name>].")
}

// generationOutcome takes a model's answer. One of an attempt that no longer holds its claim is accounted and
// changes nothing else (F05).
func (w *work) generationOutcome(t task, o Outcome) {
	state := decode[generationState](t.Checkpoint)
	answer, failure := w.modelAnswer(t, o)
	w.settleUsage(t, o, answer, failure)
	if !w.renew(t.ID, w.ev.Owner, o.Epoch, modelLease) {
		w.event("generation.stale", t.Turn, fmt.Sprint(t.ID), fmt.Sprint(o.Epoch))
		return
	}
	turn, live := w.turn(t.Turn)
	switch {
	case !live:
		w.settle(t.ID, stateCancelled, w.ev.Owner, o.Epoch)
	case failure == nil && sizeOf(answer) > maxAnswer:
		w.modelFailed(t, turn, state, o.Epoch, &model.Failure{Kind: model.FailLimit, Message: "The model's answer was longer than can be kept: " + kilobytes(sizeOf(answer)) + "."})
	case o.Kind == OutcomeHeld:
		w.giveBack(t.ID, w.ev.Owner, o.Epoch, w.now+heldWait, state)
	case failure != nil:
		w.modelFailed(t, turn, state, o.Epoch, failure)
	default:
		w.modelAnswered(t, turn, state, o.Epoch, answer)
	}
}

// modelFailed tries again where that helps, else settles the turn with words a person can act upon (F26).
func (w *work) modelFailed(t task, turn turn, state generationState, epoch int64, f *model.Failure) {
	state.Tries++
	if f.RetryAfter > maxProviderWait {
		f.Message += fmt.Sprintf(" It asks to wait %d minutes: ask again then, or take another model.", f.RetryAfter/60_000)
	} else if f.Kind == model.FailRetry && state.Tries < maxModelTries {
		wait := max(f.RetryAfter, w.backoff(state.Tries))
		w.giveBack(t.ID, w.ev.Owner, epoch, w.now+wait, state)
		w.event("generation.retried", turn.ID, fmt.Sprint(t.ID), f.Kind)
		w.touchCard(turn.ID)
		return
	}
	if f.Kind == model.FailOverflow && state.Overflows < maxOverflows {
		state.Overflows++
		state.Room = max(state.Sent/2, 1)
		w.giveBack(t.ID, w.ev.Owner, epoch, w.now, state)
		w.event("generation.overflow", turn.ID, fmt.Sprint(t.ID), fmt.Sprint(state.Sent))
		return
	}
	w.settle(t.ID, stateFailed, w.ev.Owner, epoch)
	reason := reasonProvider
	switch f.Kind {
	case model.FailRefused:
		reason = reasonRefused
	case model.FailLimit, model.FailOverflow:
		reason = reasonLimit
	}
	w.endTurn(turn, reason, f.Message)
}

// modelAnswered commits the answer: the assistant's entry, and either its tool calls, each with its verdict, or the
// end of the turn.
func (w *work) modelAnswered(t task, turn turn, state generationState, epoch int64, a model.Answer) {
	if brokenCalls(a) && state.Broken < maxBrokenRuns {
		state.Broken++
		w.giveBack(t.ID, w.ev.Owner, epoch, w.now+w.backoff(1), state)
		w.event("generation.broken_call", turn.ID, fmt.Sprint(t.ID), "")
		return
	}
	w.settle(t.ID, stateDone, w.ev.Owner, epoch)
	turn.Rounds++
	w.tx.Exec(`UPDATE turn SET rounds = ? WHERE id = ?`, turn.Rounds, turn.ID)
	calls := ownIDs(a.Calls, t.ID)
	w.append(t.Conversation, turn.ID, t.ID, entryAssistant, assistantEntry{
		Text: a.Text, Calls: calls, Opaque: string(a.Opaque), Model: w.cfg.Models[state.Model].Model})
	if len(calls) == 0 {
		w.endTurn(turn, "", a.Text)
		return
	}
	w.point(PointIntent, jobName(turn.ID))
	for _, call := range calls {
		w.newTool(t, turn, call)
	}
	w.advanceRound(turn)
	w.touchCard(turn.ID)
}

// sizeOf is an answer's size in bytes.
func sizeOf(a model.Answer) int {
	n := len(a.Text) + len(a.Opaque)
	for _, c := range a.Calls {
		n += len(c.Args)
	}
	return n
}

func brokenCalls(a model.Answer) bool {
	for _, c := range a.Calls {
		if c.Broken != "" {
			return true
		}
	}
	return false
}

// ownIDs names the calls by their task: a provider may leave ids out, or use the same ones again in each answer.
func ownIDs(calls []model.Call, task int64) []model.Call {
	for i := range calls {
		calls[i].ID = fmt.Sprintf("call_%d_%d", task, i)
		if calls[i].Args == nil {
			calls[i].Args = json.RawMessage(`{}`)
		}
	}
	return calls
}

// orphanGeneration takes back a claim whose holder is gone or fell silent (F05). The crashed call settles at its
// reservation. A task that ends its host again and again is parked when it is due (F17): not here, where a start looks at
// all of them and must not fail on one.
func (w *work) orphanGeneration(t task) {
	w.settleLost(`task = ? AND epoch = ?`, t.ID, t.Epoch)
	w.tx.Exec(`UPDATE task SET state = 'ready', due = ?, owner = '' WHERE id = ? AND epoch = ? AND state = 'running'`, w.now, t.ID, t.Epoch)
	w.event("generation.orphaned", t.Turn, fmt.Sprint(t.ID), "")
}

// backoff grows from 1 s to five minutes with the number of tries, with up to a quarter of jitter from the event's
// entropy.
func (w *work) backoff(tries int) int64 {
	base := min(int64(1000)<<min(max(tries-1, 0), 9), longestBackoff)
	return base + w.random("backoff")%(base/4)
}
