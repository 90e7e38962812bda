package actor

import (
	"fmt"
	"slices"

	"holdfast/actor/errs"
	"holdfast/actor/store"
)

// A workspace that was restored from a backup starts in review (spec 3.2). Discord, the project and the runner have
// gone on since the backup was made, so nothing runs by itself: every open input is looked up in Discord, what was
// answered there is settled, and an operator decides about the rest and then releases the workspace. Inputs older
// than the restore that arrive later, as a backfill brings them, are looked up before they are admitted.

// Values of meta "review". Whoever restores a database writes the first one, and raises "incarnation".
const (
	ReviewRestored  = "restored" // the next event begins the review
	reviewOn        = "on"
	reviewReleasing = "releasing" // an operator ended it; what it kept is let go, one after the other
	reviewOver      = "over"      // released; it stays known that there was a restore
)

// Verdicts about one input.
const (
	verdictUnknown   = "unknown"   // Discord is being asked
	verdictAbsent    = "absent"    // nothing in Discord answers it
	verdictBegun     = "begun"     // its card is there and is no answer yet: how far it got is not known
	verdictUnclear   = "unclear"   // Discord cannot tell
	verdictAnswered  = "answered"  // settled
	verdictContinued = "continued" // by an operator
	verdictStopped   = "stopped"   // by an operator, or withdrawn by its author
)

// Decisions of an operator.
const (
	decideContinue = "continue"
	decideStop     = "stop"
)

// epochBits is how many claims of one task an incarnation has room for: epochs that go outside begin at the
// incarnation times 2^20, so that no runner takes a new attempt for one of the time that was rolled back. In unix
// seconds this stays below 2^53 for another 200 years.
const epochBits = 20

// firstEpoch is what the epochs of this incarnation are above; 0 in a workspace that was never restored.
func (w *work) firstEpoch() int64 {
	if w.meta["review"] == "" || mutant("a restore repeats epochs") {
		return 0
	}
	return parseInt(w.meta["incarnation"]) << epochBits
}

// attemptOf is an epoch as people count it.
func attemptOf(epoch int64) int64 { return epoch & (1<<epochBits - 1) }

func (w *work) inReview() bool {
	return slices.Contains([]string{ReviewRestored, reviewOn, reviewReleasing}, w.meta["review"]) && !mutant("a restored workspace runs by itself")
}

// reviewItem is one input under review.
type reviewItem struct {
	ID, Submission int64
	Key            string // Discord's id of the message or interaction
	Event          string // the GatewayEvent of one that is not admitted yet
	Verdict, Found string // Found is the message in Discord that the verdict is about
	Place          string // where else it is looked for
	Epoch, Tries   int64
	Owner          string
}

const reviewColumns = `id, coalesce(submission, 0), key, event, verdict, found, epoch, tries, owner, place`

func scanReview(r store.Row) reviewItem {
	return reviewItem{ID: r.Int(0), Submission: r.Int(1), Key: r.Str(2), Event: r.Str(3), Verdict: r.Str(4), Found: r.Str(5),
		Epoch: r.Int(6), Tries: r.Int(7), Owner: r.Str(8), Place: r.Str(9)}
}

func (w *work) reviewItems(where string, args ...any) []reviewItem {
	var items []reviewItem
	for _, row := range w.tx.Rows(`SELECT `+reviewColumns+` FROM review WHERE `+where+` ORDER BY id`, args...) {
		items = append(items, scanReview(row))
	}
	return items
}

// beginReview is the first event after a restore.
func (w *work) beginReview() {
	w.setMeta("review", reviewOn)
	w.event("workspace.restored", 0, w.meta["incarnation"], "")
	w.tx.Exec(`DELETE FROM review`) // of an earlier restore that this backup was made after
	// Creates that were on their way have probably arrived since; an edit may be repeated.
	w.tx.Exec(`UPDATE delivery SET state = 'unknown', reason = 'the workspace was restored: it may be there', due = NULL, owner = '', token = ''
		WHERE due IS NOT NULL AND (op IN ('create','original','delete') OR op = 'thread' AND message IS NULL)
		AND NOT (kind = 'anchor' AND turn IN (SELECT id FROM turn WHERE ended_wall IS NULL))`)
	w.tx.Exec(`INSERT INTO review(key, submission, verdict, due, created_wall)
		SELECT key, id, 'unknown', ?, ? FROM submission WHERE state IN ('queued','placed') ORDER BY id`, w.now, w.wall)
}

// maxSkew is how far Discord's clock and the restoring host's may be apart, in ms; a relay's may be so too (docs/protocol.md).
const maxSkew = 300_000

// restoredAfter says that a message was written before the workspace was restored: it may have been answered in the
// time that was rolled back. Its id has Discord's time, the incarnation the host's, so what is close counts as before:
// it is looked up, and admitted when nothing answers it.
func (w *work) restoredAfter(message string) bool {
	const discordEpoch = 1420070400000 // ms; the first second of 2015
	return w.meta["review"] != "" && parseInt(message)>>22+discordEpoch < parseInt(w.meta["incarnation"])*1000+maxSkew
}

// mustReview says that a message may not be admitted yet.
func (w *work) mustReview(g GatewayEvent) bool {
	return w.reviewed != g.Message && (w.inReview() || w.restoredAfter(g.Message))
}

// keepForReview records a message that would be admitted, until it is known whether it was answered.
func (w *work) keepForReview(g GatewayEvent) (status, reason string) {
	if _, known := w.submissionByKey(g.Message); known {
		return StatusDuplicate, ""
	}
	verdict, due := verdictAbsent, any(nil)
	if w.restoredAfter(g.Message) {
		verdict, due = verdictUnknown, w.now
	}
	if !w.tx.Changed(`INSERT INTO review(key, event, verdict, due, created_wall) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING id`,
		g.Message, encode(g), verdict, due, w.wall) {
		return StatusDuplicate, ""
	}
	w.event("review.kept", 0, g.Message, "")
	return StatusCommitted, "kept for review"
}

// threadUnderReview says that a thread is the one of a message under review: what is said there belongs to it.
func (w *work) threadUnderReview(thread string) bool {
	if w.meta["review"] == "" {
		return false
	}
	_, ok := w.tx.Row(`SELECT 1 FROM review WHERE key = ? AND verdict IN ('unknown','absent','begun','unclear')`, thread)
	return ok
}

// reviewChanged lets the author change or withdraw a message that is under review, as one that is queued.
func (w *work) reviewChanged(g GatewayEvent) {
	for _, item := range w.reviewItems(`key = ? AND submission IS NULL AND verdict IN ('unknown','absent','begun','unclear')`, g.Message) {
		switch g.Type {
		case "MESSAGE_DELETE":
			w.settleItem(item, verdictStopped, reasonWithdrawn)
		case "MESSAGE_UPDATE":
			kept := decode[GatewayEvent](item.Event)
			kept.Content = g.Content
			w.tx.Exec(`UPDATE review SET event = ? WHERE id = ?`, encode(kept), item.ID)
		}
	}
}

// interactionInReview answers what a person does meanwhile. Nothing is recorded: an interaction's token would be
// worthless by the time of the release.
func (w *work) interactionInReview(in Interaction) error {
	if in.Kind == KindComplete {
		w.callback(callbackChoices, map[string]any{"choices": []choice{}})
		return nil
	}
	w.ephemeral("This workspace was restored from a backup, and its operator is looking through what was open. Nothing was accepted; try again later.")
	return nil
}

// ReviewItem is an input under review as an operator sees it.
type ReviewItem struct {
	ID      string `json:"id"` // the job's, or of a message that is not admitted yet the message's
	Verdict string `json:"verdict"`
	Author  string `json:"author"`
	Text    string `json:"text"` // its first line
	Found   string `json:"found,omitempty"`
	Created int64  `json:"created"` // unix ms
}

// Review is the answer to OpReview.
type Review struct {
	Mode  string       `json:"mode"` // "on", "releasing", "over", or "" for a workspace that was never restored
	Items []ReviewItem `json:"items"`
}

// storageText is what the status says of the database.
func storageText(peek string) string {
	if peek == "" {
		return "ok"
	}
	return peek
}

// reviewState is what the status says.
func (w *work) reviewState() map[string]any {
	row, _ := w.tx.Row(`SELECT count(*) FROM review WHERE verdict IN ('unknown','absent','begun','unclear') AND owner <> ?`, letGo)
	return map[string]any{"on": w.inReview(), "open": row.Int(0)}
}

// reviewArgs are the arguments of OpReview. Without a decision it lists; without an id it decides about the workspace.
type reviewArgs struct {
	ID       string `json:"id"`
	Decision string `json:"decision"`
}

func (w *work) reviewOp(who Principal, a reviewArgs) error {
	switch {
	case a.Decision == "":
	case w.ev.Peek != "":
		return errs.New(errs.Unavailable, "%s", w.ev.Peek)
	case a.Decision != decideContinue && a.Decision != decideStop:
		return errs.New(errs.Invalid, `decision %q; expected "continue" or "stop"`, a.Decision)
	case !slices.Contains(who.Roles, "approve") && !slices.Contains(who.Roles, "admin"):
		return errs.New(errs.Unauthorized, "This key may not decide that.").WithHint("It takes a key with the role approve.")
	case a.ID != "":
		if err := w.decideItem(who, a); err != nil {
			return err
		}
	case a.Decision == decideStop:
		return errs.New(errs.Invalid, "Which job? A workspace is released, not stopped.")
	default:
		if err := w.release(who); err != nil {
			return err
		}
	}
	w.answer(200, w.review())
	return nil
}

func (w *work) review() Review {
	r := Review{Mode: w.meta["review"], Items: []ReviewItem{}}
	for _, row := range w.tx.Rows(`SELECT r.key, iif(r.owner = '`+letGo+`', 'continued', r.verdict), r.found, r.event, r.created_wall, s.id, s.author_name, s.content
		FROM review r LEFT JOIN submission s ON s.id = r.submission 
		ORDER BY r.verdict IN ('unknown','absent','begun','unclear') DESC, r.id DESC LIMIT ?`, maxLimit) {
		item := ReviewItem{ID: jobName(row.Int(5)), Verdict: row.Str(1), Found: row.Str(2), Created: row.Int(4), Author: row.Str(6), Text: oneLine(row.Str(7), 80)}
		if row.Null(5) {
			g := decode[GatewayEvent](row.Str(3))
			item.ID, item.Author, item.Text = row.Str(0), g.Author.Name, oneLine(g.Content, 80)
		}
		r.Items = append(r.Items, item)
	}
	return r
}

// decideItem is an operator's word about one input. What continues does so when the workspace is released, and at
// once after that.
func (w *work) decideItem(who Principal, a reviewArgs) error {
	items := w.reviewItems(`verdict IN ('unknown','absent','begun','unclear') AND owner <> ?3 AND (submission IS NULL AND key = ?1 OR submission = ?2)`, a.ID, jobID(a.ID), letGo)
	if len(items) == 0 {
		return errs.New(errs.NotFound, "nothing called %q waits for a decision", a.ID).WithHint("List it with: holdfast review")
	}
	w.audit("operator:"+who.Name, "review."+a.Decision, a.ID, items[0].Verdict)
	if a.Decision == decideStop {
		w.settleItem(items[0], verdictStopped, reasonAborted)
		return nil
	}
	if w.inReview() {
		w.conclude(items[0].ID, verdictContinued, items[0].Found)
		return nil
	}
	w.admitLater(items[0])
	return nil
}

// conclude ends the asking about an input.
func (w *work) conclude(id int64, verdict, found string) {
	w.tx.Exec(`UPDATE review SET verdict = ?, found = ?, due = NULL, owner = '' WHERE id = ?`, verdict, found, id)
	w.event("review."+verdict, 0, fmt.Sprint(id), found)
}
