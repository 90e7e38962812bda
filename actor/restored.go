package actor

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// reviewDue asks Discord about the inputs whose time has come, and lets those go that are released. Like pump, a later
// attempt does less, and the fourth gives the input up. It says whether there were any.
func (w *work) reviewDue() bool {
	limit := maxPerWake
	if w.ev.Attempt > 1 {
		limit = 1
	}
	if w.meta["review"] == "" || w.ev.Attempt > 1 && w.ev.Type != EventWake {
		return false
	}
	items := w.reviewItems(`due IS NOT NULL AND due <= ?`, w.now)
	for _, item := range items[:min(limit, len(items))] {
		switch {
		case w.ev.Attempt >= 4:
			w.parkItem(item)
		case item.Owner == letGo:
			w.goOn(item)
		default:
			w.askDiscord(item)
		}
	}
	if w.meta["review"] == reviewReleasing {
		w.endRelease()
	}
	return len(items) > 0
}

// reviewAlarm puts the inputs that are being looked up into the actor's alarm; in review nothing else wakes it.
func (w *work) reviewAlarm(alarm *int64) *int64 {
	if w.meta["review"] == "" {
		return alarm
	}
	if w.inReview() {
		alarm = nil
	}
	row, _ := w.tx.Row(`SELECT min(due) FROM review WHERE due IS NOT NULL`)
	if row.Null(0) {
		return alarm
	}
	at := max(row.Int(0), w.now) - parseInt(w.meta["offset"])
	if alarm == nil || at < *alarm {
		return &at
	}
	return alarm
}

func (w *work) askDiscord(item reviewItem) {
	path := w.reviewPath(item)
	row, _ := w.tx.Row(`UPDATE review SET owner = ?, epoch = epoch + 1, tries = tries + 1, due = ? WHERE id = ? RETURNING epoch`,
		w.ev.Owner, w.now+deliverLease, item.ID)
	w.do(Effect{ID: fmt.Sprintf("r%d", item.ID), Epoch: row.Int(0), Type: EffectHTTP, Lane: fmt.Sprintf("review:%d", item.ID), Target: "discord",
		Method: "GET", Path: path, Credential: "bot", TimeoutMS: deliverTimeout})
}

// reviewPath is where an answer would be: the anchor itself where it is known, then what follows it if it shows a turn
// that still ran; else what follows the input in its thread or channel.
func (w *work) reviewPath(item reviewItem) string {
	anchor, ok := w.anchorUnderReview(item)
	switch {
	case item.Found != "":
		return fmt.Sprintf("/channels/%s/messages?limit=%d&after=%s", w.placeBehind(item), lookupPage, item.Found)
	case ok && anchor.Message != "" && anchor.State == "confirmed":
		return "/channels/" + anchor.Channel + "/messages/" + anchor.Message
	}
	return fmt.Sprintf("/channels/%s/messages?limit=%d&after=%s", w.reviewPlace(item), lookupPage, item.Key)
}

// placeBehind is where an answer was sent that the anchor could not take: the conversation's place, or the thread that an
// anchor in a channel has.
func (w *work) placeBehind(item reviewItem) string {
	if item.Place != "" {
		return item.Place
	}
	return cmp.Or(w.conversationPlace(item), item.Found)
}

func (w *work) anchorUnderReview(item reviewItem) (delivery, bool) {
	row, ok := w.tx.Row(`SELECT coalesce(turn, 0) FROM submission WHERE id = ?`, item.Submission)
	if !ok || row.Int(0) == 0 {
		return delivery{}, false
	}
	return w.deliveryOf(row.Int(0), deliverAnchor)
}

// reviewPlace is the thread or channel that shows the answer. A message in a channel is answered in its own thread,
// which has its id.
func (w *work) reviewPlace(item reviewItem) string {
	if item.Place != "" {
		return item.Place
	}
	if item.Submission == 0 {
		g := decode[GatewayEvent](item.Event)
		if _, owned := w.conversationAt(g.Place.Channel); !owned && !g.Place.Thread() {
			return g.Message
		}
	} else if _, opened := w.tx.Row(`SELECT 1 FROM thread WHERE id = ?`, item.Key); opened {
		return item.Key
	}
	return w.postedIn(item)
}

// postedIn is the channel or thread that the input itself is in.
func (w *work) postedIn(item reviewItem) string {
	if item.Submission == 0 {
		return decode[GatewayEvent](item.Event).Place.Channel
	}
	row, _ := w.tx.Row(`SELECT channel FROM submission WHERE id = ?`, item.Submission)
	return row.Str(0)
}

// shownMessage is what tells an answer from anything else in a channel.
type shownMessage struct {
	listedMessage
	Metadata struct {
		ID string `json:"id"` // of the interaction that the message answers
	} `json:"interaction_metadata"`
}

// askedItems is the input that Discord is being asked about, if that attempt still counts.
func (w *work) askedItems(id, epoch int64) []reviewItem {
	return w.reviewItems(`id = ? AND verdict = 'unknown' AND epoch = ? AND owner = ?`, id, epoch, w.ev.Owner)
}

// reviewOutcome takes Discord's answer.
func (w *work) reviewOutcome(id int64, o Outcome) {
	items := w.askedItems(id, o.Epoch)
	if len(items) == 0 {
		return
	}
	item := items[0]
	var a discordAnswer
	_ = json.Unmarshal(outcomeBody(o), &a) // a listing is an answer without a code
	switch {
	case o.Kind == OutcomeResponse && o.Status == 200:
		w.reviewAnswered(item, outcomeBody(o))
	case o.Kind == OutcomeResponse && a.Code == codeUnknownChannel && item.Found != "" && item.Place == "":
		anchor, _ := w.anchorUnderReview(item) // without a thread it was sent where the anchor is
		w.tx.Exec(`UPDATE review SET place = ?, owner = '', due = ? WHERE id = ?`, anchor.Channel, w.now, item.ID)
	case o.Kind == OutcomeResponse && a.Code == codeUnknownChannel && w.reviewPlace(item) == item.Key:
		// There is no thread under it. Where none could be opened, the answer is in the channel.
		w.tx.Exec(`UPDATE review SET place = ?, owner = '', due = ? WHERE id = ?`, w.postedIn(item), w.now, item.ID)
	case o.Kind == OutcomeRefused || o.Kind == OutcomeResponse && o.Status >= 400 && o.Status < 500 && o.Status != 429:
		w.judged(item, verdictUnclear, shownMessage{})
	default: // an outage says nothing about the input: it is asked for until it is over, or an operator decides
		w.tx.Exec(`UPDATE review SET owner = '', due = ? WHERE id = ?`, w.now+max(w.backoff(int(item.Tries)), retryWait(o, a)), item.ID)
	}
}

// retryWait is what a 429 asks for.
func retryWait(o Outcome, a discordAnswer) int64 {
	if o.Status != 429 {
		return 0
	}
	return retryAfter(o, a)
}

// reviewAnswered reads the anchor, or the messages behind the input, the oldest first.
func (w *work) reviewAnswered(item reviewItem, body []byte) {
	if one := (shownMessage{}); json.Unmarshal(body, &one) == nil && one.ID != "" {
		w.anchorRead(item, one)
		return
	}
	var page []shownMessage
	switch {
	case json.Unmarshal(body, &page) != nil:
		w.judged(item, verdictUnclear, shownMessage{})
		return
	case item.Found != "":
		w.readBehind(item, page)
		return
	}
	slices.SortFunc(page, func(a, b shownMessage) int { return int(min(max(parseInt(a.ID)-parseInt(b.ID), -1), 1)) })
	ours, named, ended := shownMessage{}, shownMessage{}, false
	for _, m := range page {
		verdict := w.shownVerdict(m)
		if m.Author.ID != w.cfg.ApplicationID || verdict == verdictAbsent {
			continue
		}
		if ours.ID != "" && verdict == verdictAnswered {
			ended = true // an answer behind it: its turn is over, whatever it shows
		}
		if ours.ID == "" && m.Metadata.ID == "" && !w.anotherTurns(item, m.ID) {
			ours = m
		}
		if m.Metadata.ID == item.Key {
			named = m
		}
	}
	switch {
	case named.ID != "":
		w.judged(item, w.shownVerdict(named), named)
	case ours.ID != "" && (w.isInteraction(item) || item.Place != "" || ended && w.shownVerdict(ours) == verdictBegun):
		w.judged(item, verdictUnclear, shownMessage{}) // it may be another question's
	case ours.ID != "":
		w.judged(item, w.shownVerdict(ours), ours)
	case len(page) >= lookupPage:
		w.judged(item, verdictUnclear, shownMessage{}) // an answer may lie behind so much talk
	default:
		w.notShownHere(item)
	}
}

// anotherTurns says whether a message is known to belong to a turn, and not to the one that an input is placed in.
func (w *work) anotherTurns(item reviewItem, message string) bool {
	_, ok := w.tx.Row(`SELECT 1 FROM delivery WHERE message = ? AND channel = ? AND turn <> coalesce((SELECT turn FROM submission WHERE id = ?), 0) LIMIT 1`,
		message, w.reviewPlace(item), item.Submission)
	return ok
}

// anchorRead judges by the anchor. One that shows a turn that still ran is not the last word: where it could not be edited
// any more, the answer was sent anew behind it.
func (w *work) anchorRead(item reviewItem, anchor shownMessage) {
	verdict := w.shownVerdict(anchor)
	if verdict != verdictBegun {
		w.judged(item, verdict, anchor)
		return
	}
	w.tx.Exec(`UPDATE review SET found = ?, owner = '', due = ? WHERE id = ?`, anchor.ID, w.now, item.ID)
}

// readBehind looks for an answer behind an anchor whose turn seems to have been under way. Whatever it answers, the turn
// was over then.
func (w *work) readBehind(item reviewItem, page []shownMessage) {
	answered := func(m shownMessage) bool {
		return m.Author.ID == w.cfg.ApplicationID && w.shownVerdict(m) == verdictAnswered
	}
	if len(page) >= lookupPage || slices.ContainsFunc(page, answered) {
		w.judged(item, verdictUnclear, shownMessage{})
		return
	}
	w.judged(item, verdictBegun, shownMessage{listedMessage: listedMessage{ID: item.Found}})
}

// notShownHere goes on to the other place in which an answer may be: a conversation that was taken elsewhere answers there
// what was still asked where it had been.
func (w *work) notShownHere(item reviewItem) {
	if place := w.conversationPlace(item); item.Place == "" && place != "" && place != w.reviewPlace(item) {
		w.tx.Exec(`UPDATE review SET place = ?, owner = '', due = ? WHERE id = ?`, place, w.now, item.ID)
		return
	}
	w.judged(item, verdictAbsent, shownMessage{})
}

// conversationPlace is where the conversation that an input belongs to goes on; "" when it has no place of its own.
func (w *work) conversationPlace(item reviewItem) string {
	if item.Submission != 0 {
		row, _ := w.tx.Row(`SELECT max(place) FROM conversation WHERE id = (SELECT conversation FROM submission WHERE id = ?)`, item.Submission)
		return row.Str(0)
	}
	c, _ := w.conversationAt(w.postedIn(item))
	return c.Place
}

func (w *work) isInteraction(item reviewItem) bool {
	_, ok := w.tx.Row(`SELECT 1 FROM submission WHERE id = ? AND source = 'interaction'`, item.Submission)
	return ok
}

// shownVerdict reads a message of ours by its mark, of whatever incarnation: Details is on an answer, Stop on a card
// that still ran.
func (w *work) shownVerdict(m shownMessage) string {
	mark, components := ":"+w.guild+"/"+w.name+":", string(m.Components)
	switch {
	case strings.Contains(components, `"i`+mark):
		return verdictAnswered
	case strings.Contains(components, `"s`+mark):
		return verdictBegun
	}
	return verdictAbsent
}

// judged ends the asking with a verdict. What was answered is settled; a late message that was not is admitted.
func (w *work) judged(item reviewItem, verdict string, m shownMessage) {
	switch {
	case verdict == verdictAnswered:
		w.settleAnswered(item, m)
	case verdict == verdictAbsent && !w.inReview():
		w.admitLater(item)
	default:
		w.conclude(item.ID, verdict, m.ID)
	}
}
