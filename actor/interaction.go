package actor

import (
	"encoding/json"
	"fmt"
	"strings"

	"holdfast/actor/errs"
	"holdfast/actor/render"
)

// Interaction callback types (Discord's documentation, "Interaction callback type").
const (
	callbackMessage      = 4
	callbackDeferred     = 5
	callbackDeferredEdit = 6
	callbackChoices      = 8
	maxChoices           = 25
	maxChoiceName        = 100
)

//easyjson:json
type callback struct {
	Type int             `json:"type"`
	Data json.RawMessage `json:"data,omitempty"`
}

func (w *work) callback(kind int, data any) {
	c := callback{Type: kind}
	if data != nil {
		c.Data = raw(data)
	}
	w.answer(200, c)
}

func (w *work) ephemeral(format string, args ...any) {
	w.callback(callbackMessage, render.Ephemeral(fmt.Sprintf(format, args...)))
}

// refuse tells a person why not; anything that is no coded error is a defect and leaves as one.
func (w *work) refuse(err error) error {
	if errs.CodeOf(err) == errs.Internal {
		return err
	}
	w.ephemeral("%s", errs.Public(err).Message)
	return nil
}

func (w *work) interaction(in Interaction) error {
	if w.inReview() {
		return w.interactionInReview(in)
	}
	switch in.Kind {
	case KindAsk:
		return w.ask(in)
	case KindStop:
		return w.stopCommand(in)
	case KindResume:
		return w.resume(in)
	case KindComplete:
		return w.complete(in)
	case KindPress, KindReason:
		return w.pressed(in)
	case KindUsage:
		return w.usageCommand(in)
	case KindWorkspace:
		return w.workspaceCommand(in)
	}
	return errs.New(errs.Invalid, "no interaction is of kind %q", in.Kind)
}

// ask admits a question. The answer is a deferral, which Discord shows as "thinking" and which becomes the anchor;
// a question that joins a running turn is answered at once and has no anchor of its own (spec 3.3).
func (w *work) ask(in Interaction) error {
	if !w.may(in.User, canAsk) {
		w.ephemeral("You are not a member of this workspace. An admin can add you.")
		return nil
	}
	prompt := strings.TrimSpace(in.Prompt)
	if prompt == "" || len(prompt) > maxPrompt {
		w.ephemeral("Ask a question of up to %d characters.", maxPrompt)
		return nil
	}
	if in.Model != "" {
		if _, ok := w.cfg.Models[in.Model]; !ok {
			w.ephemeral("No model %q is configured here.", in.Model)
			return nil
		}
	}
	s, how := w.admit(input{Key: in.Key, Source: "interaction", Author: in.User, Content: prompt, Attachments: in.Attachments,
		Place: in.Place, Token: in.Token, Title: titleOf(prompt)})
	switch how {
	case admitFull:
		w.ephemeral("This conversation has %d messages waiting already. Try again when it has caught up.", maxQueued)
	case admitJoined:
		w.callback(callbackMessage, render.Note(fmt.Sprintf("Added to the running turn (job %s).", jobName(s.ID))))
	case admitQueued:
		w.useModel(s, in.Model)
		w.callback(callbackMessage, render.Note(fmt.Sprintf("Queued as job %s: it starts when one of the running turns ends, also one that waits for an approval. Its answer will be a new message.", jobName(s.ID))))
	case admitDuplicate:
		if s.Reason == reasonWithdrawn {
			w.ephemeral("%s", reasonText[reasonWithdrawn])
			return nil
		}
		w.callback(callbackDeferred, nil)
	default:
		w.useModel(s, in.Model)
		w.callback(callbackDeferred, nil)
	}
	return nil
}

// useModel makes the model that an /ask names the conversation's from now on. One that joins a running turn changes
// nothing: the turn goes on as it began.
func (w *work) useModel(s submission, name string) {
	if name != "" {
		w.tx.Exec(`UPDATE conversation SET model = ? WHERE id = ?`, name, s.Conversation)
	}
}

func (w *work) stopCommand(in Interaction) error {
	c, ok := w.conversationAt(in.Place.Channel)
	if !ok {
		w.ephemeral("Use /stop in the thread of the turn, or press its Stop button.")
		return nil
	}
	t, live := w.turn(w.liveTurn(c.ID))
	if !live {
		w.ephemeral("Nothing is running here.")
		return nil
	}
	if err := w.stop(t, in.User); err != nil {
		return w.refuse(err)
	}
	w.ephemeral("Stopped job %s.", jobName(t.ID))
	return nil
}

// stop aborts a running turn; who asked for it and every approver may.
func (w *work) stop(t turn, who User) error {
	if who.ID != t.Requester && !w.may(who, canApprove) {
		return errs.New(errs.Unauthorized, "Only who asked for this, or an approver, can stop it.")
	}
	w.audit(who.ID, "turn.stopped", jobName(t.ID), "")
	w.endTurn(t, reasonAborted, "")
	return nil
}

// pressed is a button, or the modal behind "Deny and say why".
func (w *work) pressed(in Interaction) error {
	incarnation, id, ok := strings.Cut(in.Target, ".")
	if !ok || incarnation != w.meta["incarnation"] {
		w.ephemeral("This card is void: the workspace was restored since it was posted.")
		return nil
	}
	switch in.Verb {
	case "s", "i":
		return w.pressedAnchor(in, id)
	case "a", "d", "w":
		return w.pressedCard(in, rowID(id))
	}
	w.ephemeral("This button is not known here any more.")
	return nil
}

func (w *work) pressedAnchor(in Interaction, id string) error {
	d, ok := w.deliveryByID(rowID(strings.TrimPrefix(id, "d")))
	if !ok || d.Turn == 0 {
		w.ephemeral("There is no such turn here.")
		return nil
	}
	t, live := w.turn(d.Turn)
	switch {
	case in.Verb == "i" && !w.may(in.User, canAsk):
		w.ephemeral("You are not a member of this workspace. An admin can add you.")
	case in.Verb == "i":
		w.ephemeral("%s", w.details(t))
	case !live:
		w.ephemeral("This turn has ended already.")
	default:
		if err := w.stop(t, in.User); err != nil {
			return w.refuse(err)
		}
		w.callback(callbackDeferredEdit, nil)
	}
	return nil
}

func (w *work) pressedCard(in Interaction, id int64) error {
	verb := in.Verb
	if verb == "w" {
		verb = "d"
	}
	state, won, err := w.press(id, verb, in.User, in.Reason)
	switch {
	case err != nil:
		return w.refuse(err)
	case won && (state.Outcome == approvalApproved) == (verb == "a"):
		w.callback(callbackDeferredEdit, nil)
	case won:
		w.ephemeral("Too late: this approval has expired.")
	default:
		w.ephemeral("Already decided: %s%s.", orCancelled(state.Outcome), byWhom(state.By))
	}
	return nil
}

func orCancelled(outcome string) string {
	if outcome == approvalOpen {
		return approvalCancelled
	}
	return outcome
}

func byWhom(user string) string {
	if user == "" {
		return ""
	}
	return " by <@" + user + ">"
}

// details is what the Details button tells: the latest twenty calls with the verdict of each, and how they ended.
func (w *work) details(t turn) string {
	lines := []string{fmt.Sprintf("Job %s · conversation %d · %d rounds · %d tokens", jobName(t.ID), t.Conversation, t.Rounds, t.Tokens)}
	for _, row := range w.tx.Rows(`SELECT `+taskColumns+` FROM task WHERE turn = ?1 AND kind = 'tool' AND id >= coalesce((SELECT id FROM task WHERE turn = ?1 AND kind = 'tool' ORDER BY id DESC LIMIT 1 OFFSET 19), 0) ORDER BY id`, t.ID) {
		call := scanTask(row)
		lines = append(lines, fmt.Sprintf("%s `%s` — %s; %s", call.Tool, strings.ReplaceAll(oneLine(stepDetail(call), 60), "`", "'"), call.State, decisionOf(call).Rule))
	}
	return headAndTail(strings.Join(lines, "\n"), 1900)
}

func oneLine(s string, n int) string {
	r := []rune(strings.Join(strings.Fields(s), " "))
	if len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return string(r)
}
