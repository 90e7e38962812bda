package actor

import (
	"fmt"
	"strconv"

	"holdfast/actor/store"
)

// Limits of a workspace (spec 6.3).
const (
	maxRunningTurns = 4
	maxUserTurns    = 2
	maxQueued       = 20    // submissions of one conversation
	maxPrompt       = 32000 // bytes of one submission's text; Discord's own limit is 6,000 characters of a command
)

// attachments as a submission keeps them.
//
//easyjson:json
type attachments []Attachment

// submission is an admitted input. The same key is the same submission for ever.
type submission struct {
	ID, Conversation   int64
	Key, Source        string
	Author, AuthorName string
	Content, Channel   string
	Attachments        string // JSON of []Attachment
	State, Reason      string // queued → placed → done | unanswered(reason)
	Turn               int64
	Created, SettledAt int64
}

const submissionColumns = `id, conversation, key, source, author, author_name, content, channel, attachments, state, reason, turn, created_wall, settled_wall`

func scanSubmission(r store.Row) submission {
	return submission{ID: r.Int(0), Conversation: r.Int(1), Key: r.Str(2), Source: r.Str(3), Author: r.Str(4), AuthorName: r.Str(5),
		Content: r.Str(6), Channel: r.Str(7), Attachments: r.Str(8), State: r.Str(9), Reason: r.Str(10), Turn: r.Int(11),
		Created: r.Int(12), SettledAt: r.Int(13)}
}

func (w *work) submissionByKey(key string) (submission, bool) {
	row, ok := w.tx.Row(`SELECT `+submissionColumns+` FROM submission WHERE key = ?`, key)
	if !ok {
		return submission{}, false
	}
	return scanSubmission(row), true
}

// Job is the name that people see of a submission: its number in base 32.
func jobName(id int64) string { return strconv.FormatInt(id, 32) }

// jobID reads what jobName wrote; 0 when it is no job's name.
func jobID(name string) int64 {
	id, err := strconv.ParseInt(name, 32, 64)
	if err != nil || id < 1 || id > store.MaxInt {
		return 0
	}
	return id
}

// input is what admit takes: a question, from whom, and where.
type input struct {
	Key, Source string
	Author      User
	Content     string
	Attachments []Attachment
	Place       Place
	Token       string // of an interaction whose @original can become the anchor
	NewThread   string // the thread that must be made for it first, "" for none
	Title       string
}

// Admissions.
const (
	admitStarted   = "started"   // a turn began
	admitJoined    = "joined"    // it joins the conversation's running turn
	admitQueued    = "queued"    // it waits for one of the workspace's turns to end
	admitDuplicate = "duplicate" // the key is known
	admitFull      = "full"      // the conversation's queue is full: not recorded
)

// admit records an input, once for each key, and starts a turn when its conversation is idle. A key that was
// withdrawn or rejected before is a duplicate too: its tombstone stays.
func (w *work) admit(in input) (submission, string) {
	if s, ok := w.submissionByKey(in.Key); ok {
		if !mutant("no dedupe") {
			return s, admitDuplicate
		}
		in.Key += "/" + w.ev.ID
	}
	c, known := w.conversationAt(in.Place.Channel)
	if known && w.queued(c.ID) >= maxQueued {
		return submission{}, admitFull
	}
	if !known {
		c = w.newConversation(in.Title, in.Author, in.Place)
		w.placeNew(&c, in)
	}
	row, _ := w.tx.Row(`INSERT INTO submission(conversation, key, source, author, author_name, content, attachments, channel, state, created_wall)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'queued', ?) RETURNING `+submissionColumns,
		c.ID, in.Key, in.Source, in.Author.ID, in.Author.Name, in.Content, encode(attachments(nonNil(in.Attachments))), in.Place.Channel, w.wall)
	s := scanSubmission(row)
	w.point(PointAdmit, jobName(s.ID))
	w.event("submission.admitted", s.ID, jobName(s.ID), in.Source)
	switch {
	case w.liveTurn(c.ID) != 0:
		w.touchCard(w.liveTurn(c.ID))
		return s, admitJoined
	case !w.roomFor(in.Author.ID):
		return s, admitQueued
	}
	w.beginTurn(c, s, in.Token)
	return s, admitStarted
}

// placeNew says where a new conversation lives: in the thread it was asked in, or in one that is made for it.
func (w *work) placeNew(c *conversation, in input) {
	switch {
	case in.Place.Thread():
		w.attach(c, in.Place.Channel)
		w.settlePlace(c, in.Place.Channel)
	case in.NewThread != "":
		w.attach(c, in.NewThread) // its id is the message's: known before it exists, so what is written there finds us
		w.newDelivery(delivery{Kind: deliverThread, Op: opThread, Conversation: c.ID, Channel: in.Place.Channel, Message: in.NewThread, Body: c.Title})
	}
}

func (w *work) queued(conversation int64) int64 {
	row, _ := w.tx.Row(`SELECT count(*) FROM submission WHERE conversation = ? AND state = 'queued'`, conversation)
	return row.Int(0)
}

// roomFor says whether one more turn may run, for the workspace and for this user.
func (w *work) roomFor(user string) bool {
	row, _ := w.tx.Row(`SELECT count(*), count(*) FILTER (WHERE requester = ?) FROM turn WHERE ended_wall IS NULL`, user)
	return row.Int(0) < maxRunningTurns && row.Int(1) < maxUserTurns || mutant("no limit of turns")
}

// place puts queued submissions of a conversation into its transcript, as part of a turn. A later attempt, which follows
// a failure, places the one that begins the turn alone: the others may be why, and are placed later.
func (w *work) place(c conversation, turn int64) {
	rows := w.tx.Rows(`UPDATE submission SET state = 'placed', turn = ?1 WHERE conversation = ?2 AND state = 'queued' AND (?3 = 1 OR id = ?1) RETURNING `+submissionColumns,
		turn, c.ID, w.ev.Attempt)
	for _, s := range sortedByID(rows) {
		w.append(c.ID, turn, 0, entryUser, userEntry{Submission: s.ID, Author: s.Author, Name: s.AuthorName, Text: textOf(s)})
		w.tx.Exec(`UPDATE conversation SET active_wall = ? WHERE id = ?`, w.wall, c.ID)
	}
}

// sortedByID orders the rows of an UPDATE … RETURNING, whose order SQLite leaves open.
func sortedByID(rows []store.Row) []submission {
	subs := make([]submission, 0, len(rows))
	for _, r := range rows {
		subs = append(subs, scanSubmission(r))
	}
	for i := range subs {
		for j := i; j > 0 && subs[j-1].ID > subs[j].ID; j-- {
			subs[j-1], subs[j] = subs[j], subs[j-1]
		}
	}
	return subs
}

// textOf is what the model reads of a submission: its text and the names of what came with it.
func textOf(s submission) string {
	text := s.Content
	for _, a := range decode[attachments](s.Attachments) {
		text += fmt.Sprintf("\n[attached: %s, %d bytes, %s]", a.Name, a.Size, a.Type)
	}
	return text
}

// withdraw leaves a tombstone: the front has told the person that nothing was accepted (F32).
func (w *work) withdraw(in Withdraw) error {
	s, ok := w.submissionByKey(in.Key)
	if !ok && mutant("withdrawn without a tombstone") {
		return nil
	}
	if !ok {
		w.tx.Exec(`INSERT INTO submission(key, source, author, author_name, content, attachments, channel, state, reason, created_wall, settled_wall)
			VALUES (?, 'interaction', '', '', '', '[]', '', 'unanswered', ?, ?, ?)`, in.Key, reasonWithdrawn, w.wall, w.wall)
		w.event("submission.withdrawn", 0, "", "before it was admitted")
		return nil
	}
	switch t, live := w.turn(s.Turn); {
	case s.State == "queued":
		w.settleQueued(s, reasonWithdrawn)
	case s.State == "placed" && live && !t.Acknowledged:
		w.withdrawPlaced(t, s.ID)
	}
	return nil // after the acknowledgement, or once settled, a withdrawal changes nothing (spec 6.1)
}

// withdrawPlaced takes one question out of a turn that has not begun to work. The turn ends with it, unless others
// wait for the same turn's answer: then only its anchor is made anew, by bot token.
func (w *work) withdrawPlaced(t turn, id int64) {
	others, _ := w.tx.Row(`SELECT count(*) FROM submission WHERE turn = ? AND state = 'placed' AND id <> ?`, t.ID, id)
	if others.Int(0) == 0 {
		w.endTurn(t, reasonWithdrawn, "")
		return
	}
	w.tx.Exec(`UPDATE submission SET state = 'unanswered', reason = ?, settled_wall = ? WHERE id = ? AND state = 'placed'`, reasonWithdrawn, w.wall, id)
	w.event("submission.settled", id, jobName(id), reasonWithdrawn)
	if anchor, ok := w.deliveryOf(t.ID, deliverAnchor); ok && anchor.Op == opOriginal {
		w.closeDelivery(anchor.ID, "failed", reasonWithdrawn)
		w.newDelivery(delivery{Kind: deliverAnchor, Op: opCreate, Conversation: t.Conversation, Turn: t.ID})
	}
}

func (w *work) settleQueued(s submission, reason string) {
	w.tx.Exec(`UPDATE submission SET state = 'unanswered', reason = ?, settled_wall = ? WHERE id = ? AND state = 'queued'`, reason, w.wall, s.ID)
	w.event("submission.settled", s.ID, jobName(s.ID), reason)
	if t := w.liveTurn(s.Conversation); t != 0 {
		w.touchCard(t) // it says how many wait
	}
}
