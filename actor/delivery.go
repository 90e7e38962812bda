package actor

import (
	"encoding/json"
	"fmt"

	"holdfast/actor/store"
)

// Delivery kinds: what is shown.
const (
	deliverAnchor     = "anchor"     // the one message of a turn
	deliverThread     = "thread"     // the thread under a message
	deliverEdit       = "edit"       // the anchor's run card, and at last its answer
	deliverChunk      = "chunk"      // the rest of a long answer
	deliverCard       = "card"       // an approval card
	deliverCardEdit   = "card_edit"  // its later states
	deliverFinal      = "final"      // the answer as a new message, where the anchor can no longer be edited (F28)
	deliverNote       = "note"       // one fixed text
	deliverResume     = "resume"     // the note of /resume in a channel, under which a thread is opened
	deliverUnoriginal = "unoriginal" // removes an @original that could not become the anchor (F24)
	deliverRefusal    = "refusal"    // puts the front's refusal back into an ephemeral @original (F32)
)

// Delivery operations: how.
const (
	opCreate   = "create"   // POST a message by bot token, with a nonce
	opOriginal = "original" // PATCH @original with the interaction's token
	opEdit     = "edit"     // PATCH a message by bot token
	opDelete   = "delete"   // DELETE @original
	opThread   = "thread"   // POST a thread
)

// Times of deliveries, in ms.
const (
	originalDelay    = 500    // from the reply to the first PATCH @original (spec 6.1)
	originalPatience = 15_000 // how long a 404 may be Discord not having seen our reply yet
	deliverTimeout   = 15_000
	deliverLease     = deliverTimeout + 15_000
	editPace         = 1_000  // at most one edit a second
	nonceWindow      = 60_000 // within it the same nonce creates nothing new
	lookupSettle     = deliverTimeout + nonceWindow
	verifyAfter      = deliverTimeout + 30_000 // a final edit is repeated when an earlier one's outcome was unknown (F34)
	maxAttempts      = 300                     // of one delivery; with five minutes between the late ones, about a day
	longestBackoff   = 300_000
)

// delivery is one write to Discord: pending → sending → confirmed(id) | failed(reason) | unknown.
type delivery struct {
	ID                       int64
	Kind, Op                 string
	Conversation, Turn, Task int64
	Channel                  string // "" until the conversation's place is known
	Message                  string // the message to edit, or the one that was created
	Token                    string // of the interaction; erased on use
	Body                     string // a fixed text; "" when it is rendered from rows at its sending
	Part                     int64
	State                    string
	Due                      int64
	Owner                    string
	Epoch, Attempts          int64
	First, Sent              int64 // times of the first and the last attempt; 0: none
	Final, Dirty, Uncertain  bool
	Verifying                bool   // its last state was shown; once more, because an earlier attempt may overtake it
	Verified                 bool   // and that was shown as well
	Floor                    string // the newest message known to be in the channel when it was first sent: a look-up begins there
	Lookup                   string // what it does aside first: one of the asides, or where a look-up has got to; "": nothing
}

// Values of the column uncertain while a verifying edit is under way. There are two, verifyAfter apart: a clock that leaps
// ahead makes one come too early, not both.
const (
	verifying = 2
	verified  = 3 // once: the second one is under way
)

// doubt is the column uncertain.
func (d delivery) doubt() int {
	switch {
	case d.Verifying:
		return verifying
	case d.Uncertain:
		return 1
	}
	return 0
}

const deliveryColumns = `id, kind, op, conversation, turn, task, channel, message, token, body, part, state, due, owner, epoch, attempts, first, sent, final, dirty, uncertain, lookup, floor`

func scanDelivery(r store.Row) delivery {
	return delivery{ID: r.Int(0), Kind: r.Str(1), Op: r.Str(2), Conversation: r.Int(3), Turn: r.Int(4), Task: r.Int(5),
		Channel: r.Str(6), Message: r.Str(7), Token: r.Str(8), Body: r.Str(9), Part: r.Int(10), State: r.Str(11), Due: r.Int(12),
		Owner: r.Str(13), Epoch: r.Int(14), Attempts: r.Int(15), First: r.Int(16), Sent: r.Int(17),
		Final: r.Int(18) != 0, Dirty: r.Int(19) != 0, Uncertain: r.Int(20) != 0, Verifying: r.Int(20) >= verifying, Verified: r.Int(20) == verified, Lookup: r.Str(21), Floor: r.Str(22)}
}

func (w *work) deliveryByID(id int64) (delivery, bool) {
	row, ok := w.tx.Row(`SELECT `+deliveryColumns+` FROM delivery WHERE id = ?`, id)
	if !ok {
		return delivery{}, false
	}
	return scanDelivery(row), true
}

func (w *work) mustDelivery(id int64) delivery {
	d, ok := w.deliveryByID(id)
	if !ok {
		panic(fmt.Sprintf("delivery %d vanished inside a transaction", id))
	}
	return d
}

// deliveryOf is a turn's newest delivery of a kind.
func (w *work) deliveryOf(turn int64, kind string) (delivery, bool) {
	row, ok := w.tx.Row(`SELECT `+deliveryColumns+` FROM delivery WHERE turn = ? AND kind = ? ORDER BY id DESC LIMIT 1`, turn, kind)
	if !ok {
		return delivery{}, false
	}
	return scanDelivery(row), true
}

// newDelivery records a write to make, due now unless the caller says later.
func (w *work) newDelivery(d delivery) int64 {
	due := max(d.Due, w.now)
	row, _ := w.tx.Row(`INSERT INTO delivery(kind, op, conversation, turn, task, channel, message, token, body, part, state, due, sent, final, uncertain, created_wall)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'pending', ?, ?, ?, ?, ?) RETURNING id`,
		d.Kind, d.Op, d.Conversation, orNull(d.Turn), orNull(d.Task), textOrNull(d.Channel), textOrNull(d.Message), d.Token, d.Body, d.Part, due, d.Sent, d.Final, d.doubt(), w.wall)
	return row.Int(0)
}

func orNull(id int64) any {
	if id == 0 {
		return nil
	}
	return id
}

func textOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func (w *work) deliveryDue(d delivery) {
	switch d.State {
	case "sending": // its host never told
		w.uncertainDelivery(d, "its outcome never came")
	case "unknown":
		w.resolveUnknown(d)
	default:
		w.sendDelivery(d)
	}
}

// sendDelivery claims a delivery and asks for its request, unless it has to wait or has nothing to say any more.
func (w *work) sendDelivery(d delivery) {
	if d.Channel == "" && d.Op == opCreate {
		if d.Channel = w.placeFor(d); d.Channel == "" {
			w.tx.Exec(`UPDATE delivery SET due = ? WHERE id = ?`, w.now+keepAwake, d.ID)
			return // settlePlace wakes it
		}
		w.tx.Exec(`UPDATE delivery SET channel = ? WHERE id = ?`, d.Channel, d.ID)
	}
	if w.mustWait(d) {
		w.tx.Exec(`UPDATE delivery SET due = ? WHERE id = ?`, w.now+keepAwake, d.ID)
		return
	}
	if until := w.heldUntil(d); until > w.now || !w.mayProbe() {
		w.tx.Exec(`UPDATE delivery SET due = ? WHERE id = ?`, max(until, w.now+circuitAnswer), d.ID)
		return
	}
	if d.Attempts >= maxAttempts {
		w.deliveryFailed(d, "gave up after many attempts")
		return
	}
	e, ok := w.request(d)
	if !ok {
		w.closeDelivery(d.ID, "failed", "superseded")
		return
	}
	if d.Lookup == asideOver {
		w.tx.Exec(`UPDATE delivery SET lookup = '' WHERE id = ?`, d.ID)
	}
	if d.Op == opCreate && d.First == 0 {
		w.tx.Exec(`UPDATE delivery SET floor = ? WHERE id = ?`, w.newestKnown(d.Channel), d.ID)
	}
	if _, live := w.turn(d.Turn); d.Kind == deliverAnchor && !live {
		w.tx.Exec(`UPDATE delivery SET final = 1 WHERE id = ?`, d.ID) // what it shows is the answer already
	}
	w.claimDelivery(&d, deliverLease)
	e.ID, e.Epoch, e.Type, e.Lane, e.Target = fmt.Sprintf("d%d", d.ID), d.Epoch, EffectHTTP, fmt.Sprintf("delivery:%d", d.ID), "discord"
	e.Point, e.TimeoutMS = pointOf(d), deliverTimeout
	w.do(e)
}

// placeFor is where a conversation's message goes: its place, nothing while a delivery is under way that will make
// one, and otherwise the channel it was begun in, where a thread is then opened under it.
func (w *work) placeFor(d delivery) string {
	c, ok := w.conversation(d.Conversation)
	if !ok || c.Place != "" {
		return c.Place
	}
	if _, coming := w.tx.Row(`SELECT 1 FROM delivery WHERE conversation = ? AND id <> ? AND due IS NOT NULL AND kind IN ('thread','resume','anchor') LIMIT 1`, c.ID, d.ID); coming {
		return ""
	}
	return c.Channel
}

func (w *work) claimDelivery(d *delivery, lease int64) {
	row, _ := w.tx.Row(`UPDATE delivery SET state = 'sending', owner = ?1, epoch = epoch + 1, lease_expires = ?2, due = ?2,
		attempts = attempts + 1, first = coalesce(first, ?3), sent = ?3, dirty = 0 WHERE id = ?4 RETURNING epoch`,
		w.ev.Owner, w.now+lease, w.now, d.ID)
	d.Epoch = row.Int(0)
}

// pointOf names the delivery for tests that kill the host right there.
func pointOf(d delivery) string {
	switch {
	case d.Kind == deliverAnchor:
		return PointAck
	case d.Kind == deliverCard:
		return PointCard
	case d.Kind == deliverEdit && d.Final, d.Kind == deliverFinal:
		return PointEdit
	}
	return ""
}

// mustWait keeps the chunks of an answer in their order, behind the final edit; what only verifies that is not waited for.
func (w *work) mustWait(d delivery) bool {
	if d.Kind != deliverChunk {
		return false
	}
	row, _ := w.tx.Row(`SELECT count(*) FROM delivery WHERE turn = ? AND due IS NOT NULL
		AND (kind IN ('edit','final','anchor') AND uncertain < ? OR kind = 'chunk' AND part < ?)`, d.Turn, verifying, d.Part)
	return row.Int(0) > 0
}

// request is what a delivery sends now. It is false when there is nothing left to say.
func (w *work) request(d delivery) (Effect, bool) {
	switch d.Op {
	case opThread:
		return w.threadRequest(d), true
	case opDelete:
		return Effect{Method: "DELETE", Path: w.originalPath(d.Token)}, true
	}
	switch d.Lookup {
	case asideUnarchive:
		return Effect{Method: "PATCH", Path: "/channels/" + d.Channel, Credential: "bot", Body: raw(map[string]bool{"archived": false})}, true
	case asideRead:
		return Effect{Method: "GET", Path: "/channels/" + d.Channel + "/messages/" + d.Message, Credential: "bot"}, true
	}
	m, ok := w.renderDelivery(d)
	if !ok {
		return Effect{}, false
	}
	switch d.Op {
	case opOriginal:
		return Effect{Method: "PATCH", Path: w.originalPath(d.Token), Body: raw(m)}, true
	case opEdit:
		return Effect{Method: "PATCH", Path: "/channels/" + d.Channel + "/messages/" + d.Message, Credential: "bot", Body: raw(m)}, true
	}
	m.Nonce, m.EnforceNonce = w.nonce(d.ID, d.Part), !mutant("nonce not enforced")
	if mutant("no nonce") {
		m.Nonce = ""
	}
	return Effect{Method: "POST", Path: "/channels/" + d.Channel + "/messages", Credential: "bot", Body: raw(m)}, true
}

func (w *work) originalPath(token string) string {
	return "/webhooks/" + w.cfg.ApplicationID + "/" + token + "/messages/@original"
}

// threadRequest opens a thread: under a message, or (Message "") on its own in the channel. Type 11 is a public one;
// 1440 minutes is a day.
func (w *work) threadRequest(d delivery) Effect {
	path, body := "/channels/"+d.Channel+"/threads", map[string]any{"name": titleOf(d.Body), "auto_archive_duration": 1440}
	if d.Message != "" {
		path = "/channels/" + d.Channel + "/messages/" + d.Message + "/threads"
	} else {
		body["type"] = 11
	}
	return Effect{Method: "POST", Path: path, Credential: "bot", Body: raw(body)}
}

func raw(v any) json.RawMessage { return json.RawMessage(encode(v)) }

// closeDelivery ends a delivery. An interaction's token is erased with it.
func (w *work) closeDelivery(id int64, state, reason string) {
	if mutant("a token is kept") {
		w.tx.Exec(`UPDATE delivery SET state = ?, reason = ?, due = NULL, owner = '' WHERE id = ?`, state, reason, id)
		return
	}
	w.tx.Exec(`UPDATE delivery SET state = ?, reason = ?, due = NULL, owner = '', token = '' WHERE id = ?`, state, reason, id)
}

// retryDelivery makes it pending again at due.
func (w *work) retryDelivery(id int64, state string, due int64, reason string) {
	w.tx.Exec(`UPDATE delivery SET state = ?, due = ?, reason = ?, owner = '' WHERE id = ?`, state, due, reason, id)
}
