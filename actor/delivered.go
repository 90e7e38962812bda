package actor

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Discord's error codes that mean something of their own here (developer documentation, "JSON error codes").
const (
	codeUnknownChannel = 10003
	codeUnknownMessage = 10008
	codeUnknownWebhook = 10015
	codeTooOldToEdit   = 30046
	codeTokenExpired   = 50027
	codeThreadArchived = 50083
	codeThreadExists   = 160004
	codeThreadLocked   = 160005
)

const flagEphemeral = 64

// discordAnswer is what matters of a response: a message, a thread, or an error.
type discordAnswer struct {
	ID         string  `json:"id"`
	ChannelID  string  `json:"channel_id"`
	Flags      int     `json:"flags"`
	Code       int     `json:"code"`
	Message    string  `json:"message"`
	Content    string  `json:"content"`
	RetryAfter float64 `json:"retry_after"` // seconds
	Global     bool    `json:"global"`
	Author     struct {
		ID string `json:"id"`
	} `json:"author"`
}

// deliveryOutcome takes what became of a request. Only the attempt that is in flight counts.
func (w *work) deliveryOutcome(d delivery, o Outcome) {
	if (d.State != "sending" || d.Epoch != o.Epoch || d.Owner != w.ev.Owner) && !mutant("a late answer counts") {
		w.event("delivery.stale", d.Turn, fmt.Sprint(d.ID), "")
		return
	}
	var a discordAnswer
	body := outcomeBody(o)
	_ = json.Unmarshal(body, &a) // HTML or nothing is an answer without a code
	switch {
	case d.Lookup != "" && o.Kind == OutcomeResponse && o.Status == 200:
		w.asideAnswered(d, a, body)
	case o.Kind == OutcomeHeld:
		w.tx.Exec(`UPDATE delivery SET attempts = attempts - 1 WHERE id = ?`, d.ID)
		w.retryDelivery(d.ID, d.stateAgain(), w.now+heldWait, "held")
	case o.Kind == OutcomeUnsent:
		w.retryDelivery(d.ID, d.stateAgain(), w.now+w.backoff(int(d.Attempts)), "unsent")
	case o.Kind == OutcomeRefused:
		w.deliveryFailed(d, "refused by the host: "+o.Detail)
	case o.Kind != OutcomeResponse:
		w.uncertainDelivery(d, o.Kind)
	case o.Status >= 200 && o.Status < 300:
		w.deliveryConfirmed(d, a)
	default:
		w.deliveryRejected(d, o, a)
	}
}

// deliveryRejected reads an error answer: wait, look elsewhere, or give up.
func (w *work) deliveryRejected(d delivery, o Outcome, a discordAnswer) {
	switch {
	case o.Status == 429:
		w.limited(d, o, a)
	case o.Status >= 500:
		w.uncertainDelivery(d, fmt.Sprintf("status %d", o.Status))
	case d.Op == opThread && a.Code == codeThreadExists:
		w.deliveryConfirmed(d, discordAnswer{ID: d.Message})
	case d.Op == opOriginal:
		w.originalRejected(d, o, a)
	case d.Op == opDelete:
		w.deleteRejected(d, o, a)
	case o.Status == 401:
		w.unauthorized(d)
	case a.Code == codeThreadArchived && d.Lookup == "":
		w.stepAside(d, asideUnarchive)
	case d.Kind == deliverEdit && d.Final && d.Uncertain && d.Lookup != asideRead && a.Code != codeUnknownMessage && a.Code != codeUnknownChannel:
		w.stepAside(d, asideRead) // also when the thread could not be opened for it: what it shows can still be read
	case d.Lookup == asideRead && o.Status == 403:
		w.forbidden(d) // neither written nor read: it is tried until one of them is allowed again
		w.tx.Exec(`UPDATE delivery SET lookup = '' WHERE id = ?`, d.ID)
		w.retryDelivery(d.ID, "unknown", w.now+w.backoff(int(d.Attempts)), "neither edited nor read")
	case d.looking() && o.Status == 403:
		w.cannotLook(d, "the channel's messages may not be read")
	default:
		if o.Status == 403 {
			w.forbidden(d)
		}
		if a.Code == codeUnknownChannel {
			w.threadGone(d.Channel)
		}
		w.deliveryFailed(d, fmt.Sprintf("status %d, code %d %s", o.Status, a.Code, a.Message))
	}
}

// retryAfter is what Discord asks for, in ms: the body's seconds, else the header's, else ten; at least one, at most
// an hour.
func retryAfter(o Outcome, a discordAnswer) int64 {
	seconds := a.RetryAfter
	if seconds <= 0 {
		seconds, _ = strconv.ParseFloat(o.Headers["retry-after"], 64)
	}
	if seconds <= 0 {
		seconds = 10
	}
	return max(1000, min(int64(seconds*1000)+50, 3_600_000))
}

// deliveryConfirmed is Discord's yes.
func (w *work) deliveryConfirmed(d delivery, a discordAnswer) {
	w.delivered()
	if d.Op == opCreate && (a.ID == "" || a.ChannelID != d.Channel) {
		w.uncertainDelivery(d, "Discord answered with another channel's message")
		return
	}
	switch d.Kind {
	case deliverAnchor:
		w.anchorConfirmed(d, a)
	case deliverThread:
		w.threadOpened(d, a.ID)
	case deliverEdit:
		w.editConfirmed(d)
	case deliverCard:
		w.cardConfirmed(d, a)
	case deliverFinal:
		w.confirm(d, a.ID)
		w.point(PointEdit, jobName(d.Turn))
		w.wakeChunks(d.Turn)
	case deliverChunk:
		w.confirm(d, a.ID)
		w.wakeChunks(d.Turn)
	case deliverCardEdit:
		w.editSettled(d)
	case deliverResume:
		w.resumeNoted(d, a.ID)
	default:
		w.confirm(d, a.ID)
	}
}

func (w *work) confirm(d delivery, message string) {
	if message != "" {
		w.tx.Exec(`UPDATE delivery SET message = ? WHERE id = ?`, message, d.ID)
	}
	w.closeDelivery(d.ID, "confirmed", "")
	w.event("delivery.confirmed", d.Turn, fmt.Sprint(d.ID), d.Kind)
}

func (w *work) wakeChunks(turn int64) {
	w.tx.Exec(`UPDATE delivery SET due = ? WHERE turn = ? AND kind = 'chunk' AND state = 'pending'`, w.now, turn)
}

// uncertainDelivery is a request that Discord may have acted upon. Edits and deletes are repeated; a create is sent
// again with its nonce while that holds, and looked up afterwards (F04, F25).
func (w *work) uncertainDelivery(d delivery, why string) {
	w.tx.Exec(`UPDATE delivery SET uncertain = max(uncertain, 1) WHERE id = ?`, d.ID)
	w.event("delivery.unknown", d.Turn, fmt.Sprint(d.ID), why)
	w.retryDelivery(d.ID, "unknown", w.now+w.backoff(int(d.Attempts)), why)
}
