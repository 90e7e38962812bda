package actor

import (
	"encoding/json"
	"fmt"
	"strings"
)

// lookupPage is Discord's greatest page of messages.
const lookupPage = 100

// Asides: what a delivery asks Discord for before it goes on. A look-up's is the id it has read up to.
const (
	asideUnarchive = "unarchive" // the thread is archived: open it, then edit
	asideRead      = "read"      // a final edit is refused and an earlier one's outcome unknown: read what is shown
	asideOver      = "over"      // a create was not there when it was looked for: its nonce may be sent once more
)

func (w *work) stepAside(d delivery, aside string) {
	w.tx.Exec(`UPDATE delivery SET lookup = ? WHERE id = ?`, aside, d.ID)
	w.retryDelivery(d.ID, "pending", w.now, aside)
}

// asideAnswered goes on after an aside.
func (w *work) asideAnswered(d delivery, a discordAnswer, body []byte) {
	switch d.Lookup {
	case asideUnarchive:
		w.stepAside(d, "")
	case asideRead:
		// The small print may have changed since: a call that was given up is accounted when it ends.
		if shown, ok := w.renderDelivery(d); ok && strings.TrimSpace(withoutSmallPrint(shown.Content)) == strings.TrimSpace(withoutSmallPrint(a.Content)) {
			w.editConfirmed(d)
			return
		}
		w.sendFinalAnew(d, "it cannot be edited any more")
	default:
		w.lookedUp(d, body)
	}
}

// resolveUnknown deals with a request that Discord may have acted upon. What can be repeated is. For a create the channel
// is read for its mark: at once, while its nonce covers what the reading misses, and else when nothing can be under way
// any more (spec 3.5). The nonce alone would do only if no host's clock were ever set back (F23).
func (w *work) resolveUnknown(d delivery) {
	switch {
	case d.Op != opCreate, d.Lookup == asideOver && d.nonceHeld(w.now):
		w.sendDelivery(d)
	case d.nonceHeld(w.now) || w.now >= d.Sent+lookupSettle:
		w.lookUp(d)
	default:
		w.tx.Exec(`UPDATE delivery SET due = ? WHERE id = ?`, d.Sent+lookupSettle, d.ID)
	}
}

// nonceHeld says whether Discord would recognise the repetition of a create at a time, as far as the clock tells.
func (d delivery) nonceHeld(at int64) bool { return at-d.First < nonceWindow-deliverTimeout }

// looking says whether a create is being looked for, and its request asks for a listing.
func (d delivery) looking() bool {
	return d.Op == opCreate && d.Lookup != "" && d.Lookup != asideUnarchive && d.Lookup != asideRead && d.Lookup != asideOver
}

// stateAgain is the state of a delivery whose request was refused for now. A create of which an earlier attempt may
// have arrived must not be sent, once its nonce is forgotten, before it is proven absent.
func (d delivery) stateAgain() string {
	if (d.looking() || d.Op == opCreate && d.Uncertain) && !mutant("a refused look-up sends again") {
		return "unknown"
	}
	return "pending"
}

// lookUp lists the channel's messages from one that was known to be there before the delivery was first sent: from a
// later one it would not show what was made before that.
func (w *work) lookUp(d delivery) {
	if d.Attempts >= maxAttempts {
		w.endUnknown(d, "gave up after many attempts")
		return
	}
	if !d.looking() {
		if mutant("a look-up begins at the newest message") {
			d.Floor = w.newestKnown(d.Channel)
		}
		d.Lookup = before(d.Floor)
		w.tx.Exec(`UPDATE delivery SET lookup = ? WHERE id = ?`, d.Lookup, d.ID)
	}
	w.claimDelivery(&d, deliverLease)
	w.do(Effect{
		ID: fmt.Sprintf("d%d", d.ID), Epoch: d.Epoch, Type: EffectHTTP, Lane: fmt.Sprintf("delivery:%d", d.ID), Target: "discord",
		Method: "GET", Path: fmt.Sprintf("/channels/%s/messages?limit=%d&after=%s", d.Channel, lookupPage, d.Lookup),
		Credential: "bot", TimeoutMS: deliverTimeout,
	})
}

// newestKnown is the newest message that we know to be in a channel. Where we know of none it is the thread's own id,
// since a thread is older than all that is in it and its first message is always there; in a channel it is a minute
// ago, which proves nothing when nothing was written since.
func (w *work) newestKnown(channel string) string {
	row, ok := w.tx.Row(`SELECT id FROM (
		SELECT * FROM (SELECT message AS id FROM delivery WHERE channel = ?1 AND message IS NOT NULL AND state = 'confirmed' AND op IN ('create','original') ORDER BY delivery.id DESC LIMIT 1)
		UNION ALL SELECT * FROM (SELECT key FROM submission WHERE channel = ?1 AND source = 'message' ORDER BY id DESC LIMIT 1))
		ORDER BY length(id) DESC, id DESC LIMIT 1`, channel)
	if ok {
		return row.Str(0)
	}
	if _, thread := w.tx.Row(`SELECT 1 FROM thread WHERE id = ?`, channel); thread {
		return channel
	}
	return snowflake(w.wall - 60_000)
}

// discordEpoch is 2015-01-01 in unix ms; a snowflake's upper 42 bits count from it (developer documentation,
// "Snowflakes").
const discordEpoch = 1420070400000

func snowflake(wall int64) string { return fmt.Sprint((wall - discordEpoch) << 22) }

// before is the snowflake just below id: "after" is exclusive.
func before(id string) string { return fmt.Sprint(parseInt(id) - 1) }

type listedMessage struct {
	ID         string          `json:"id"`
	Content    string          `json:"content"`
	Components json.RawMessage `json:"components"`
	Author     struct {
		ID string `json:"id"`
	} `json:"author"`
}

// lookedUp reads a page: found is adopted, a full page goes on, proven absent is sent again.
func (w *work) lookedUp(d delivery, body []byte) {
	var page []listedMessage
	if json.Unmarshal(body, &page) != nil {
		w.cannotLook(d, "the channel's messages cannot be read")
		return
	}
	newest := parseInt(d.Lookup)
	for _, m := range page {
		newest = max(newest, parseInt(m.ID))
		if m.Author.ID == w.cfg.ApplicationID && w.bearsMark(d, m) {
			w.event("delivery.adopted", d.Turn, fmt.Sprint(d.ID), "")
			w.tx.Exec(`UPDATE delivery SET lookup = '' WHERE id = ?`, d.ID)
			w.deliveryConfirmed(d, discordAnswer{ID: m.ID, ChannelID: d.Channel})
			return
		}
	}
	switch {
	case len(page) < lookupPage && d.nonceHeld(d.Sent):
		w.sendOver(d)
	case len(page) == 0 && d.Lookup == before(d.Floor) && !mutant("an empty listing is trusted"):
		w.endUnknown(d, "the listing shows nothing: there may be no permission to read")
	case len(page) == lookupPage:
		w.tx.Exec(`UPDATE delivery SET lookup = ? WHERE id = ?`, fmt.Sprint(newest), d.ID)
		w.retryDelivery(d.ID, "unknown", w.now+rearm, "looking")
	default:
		w.event("delivery.absent", d.Turn, fmt.Sprint(d.ID), "")
		w.tx.Exec(`UPDATE delivery SET lookup = '', first = NULL, uncertain = 0 WHERE id = ?`, d.ID)
		w.retryDelivery(d.ID, "pending", w.now, "proven absent")
	}
}

// cannotLook is for a channel that is not shown: while the nonce holds that is enough.
func (w *work) cannotLook(d delivery, why string) {
	if d.nonceHeld(d.Sent) {
		w.sendOver(d)
		return
	}
	w.endUnknown(d, why)
}

// sendOver repeats a create that was not there, though it may still be under way, while its nonce holds.
func (w *work) sendOver(d delivery) {
	w.tx.Exec(`UPDATE delivery SET lookup = ? WHERE id = ?`, asideOver, d.ID)
	w.retryDelivery(d.ID, "unknown", w.now, "not there yet")
}

// bearsMark recognises our own message: by the custom_id that names it, or, where it has none, by its text.
func (w *work) bearsMark(d delivery, m listedMessage) bool {
	switch d.Kind {
	case deliverAnchor, deliverFinal:
		return strings.Contains(string(m.Components), w.customID("", 0)+"d"+fmt.Sprint(d.ID)+`"`)
	case deliverCard:
		return strings.Contains(string(m.Components), w.customID("", d.Task)+`"`)
	}
	if _, another := w.tx.Row(`SELECT 1 FROM delivery WHERE channel = ? AND message = ? AND id <> ?`, d.Channel, m.ID, d.ID); another {
		return false // the same words, said before
	}
	shown, ok := w.renderDelivery(d)
	return ok && strings.TrimSpace(shown.Content) == strings.TrimSpace(m.Content)
}
