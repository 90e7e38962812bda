package actor

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Message types that a person writes: DEFAULT and REPLY.
var personal = []int{0, 19}

// gateway handles a Discord event that the relay forwarded. Its reply is a GatewayResult; whatever is not admitted
// says why, and a refusal is quiet in the channel (spec 1.3).
func (w *work) gateway(g GatewayEvent) error {
	result := GatewayResult{ID: g.ID, Status: StatusIgnored}
	w.reviewChanged(g)
	switch g.Type {
	case "MESSAGE_CREATE":
		result.Status, result.Reason = w.messageCreated(g)
	case "MESSAGE_UPDATE":
		result.Status, result.Reason = w.messageUpdated(g)
	case "MESSAGE_DELETE":
		result.Status, result.Reason = w.messageDeleted(g)
	case "THREAD_DELETE":
		w.threadGone(g.Place.Channel)
		result.Status = StatusCommitted
	case "THREAD_UPDATE":
		result.Status = w.threadUpdated(g)
	default:
		result.Reason = "nothing to do for " + g.Type
	}
	w.answer(200, result)
	return nil
}

// mention matches a user or role mention.
var mention = regexp.MustCompile(`<@[!&]?(\d+)>`)

func (w *work) messageCreated(g GatewayEvent) (status, reason string) {
	c, owned := w.conversationAt(g.Place.Channel)
	owned = owned || w.threadUnderReview(g.Place.Channel)
	called := slices.Contains(g.Mentions, w.cfg.ApplicationID)
	text := w.withoutBot(g.Content)
	switch {
	case g.Bot:
		return StatusIgnored, "not written by a person"
	case !slices.Contains(personal, g.MessageType):
		return StatusIgnored, "a system message"
	case g.Everyone:
		return StatusIgnored, "addressed to everyone"
	case !owned && !called:
		return StatusIgnored, "the bot was not mentioned"
	case !w.may(g.Author, canAsk):
		return StatusIgnored, "the author is not a member"
	case owned && !called && notForUs(text):
		return StatusIgnored, "not meant for the bot"
	case text == "" && len(g.Attachments) == 0:
		return w.emptyMessage(g, c)
	case len(text) > maxPrompt:
		return StatusRejected, "the message is too long"
	case w.mustReview(g):
		return w.keepForReview(g)
	}
	in := input{Key: g.Message, Source: "message", Author: g.Author, Content: text, Attachments: g.Attachments, Place: g.Place, Title: titleOf(mention.ReplaceAllString(text, ""))}
	if !owned && !g.Place.Thread() {
		in.NewThread = g.Message // a thread under a message has the message's id
	}
	switch _, how := w.admit(in); how {
	case admitDuplicate:
		return StatusDuplicate, ""
	case admitFull:
		w.sayFull(c)
		return StatusIgnored, "the conversation's queue is full"
	}
	return StatusCommitted, ""
}

// smallTalk is what people say to each other in a thread without wanting an answer from the bot.
var smallTalk = regexp.MustCompile(`(?i)^(thanks?( you)?|thx|ty|ok(ay)?( lol)?|lol|nice|great|cool|perfect|got it|lgtm|\+1|👍|🎉|❤️)[\s!.…]*$`)

// maxSmallTalk is the longest message that can be small talk, in bytes (spec 5.1).
const maxSmallTalk = 40

// notForUs is the heuristic turn routing in owned threads: a message that mentions somebody else, or small talk.
func notForUs(text string) bool {
	return mention.MatchString(text) || len(text) <= maxSmallTalk && smallTalk.MatchString(text)
}

// emptyMessage answers a bare mention, once.
func (w *work) emptyMessage(g GatewayEvent, c conversation) (status, reason string) {
	if w.mustReview(g) {
		return StatusIgnored, "the workspace was restored"
	}
	if _, known := w.submissionByKey(g.Message); known {
		return StatusDuplicate, ""
	}
	w.tx.Exec(`INSERT INTO submission(key, source, author, author_name, content, attachments, channel, state, reason, created_wall, settled_wall)
		VALUES (?, 'message', ?, ?, '', '[]', ?, 'unanswered', 'empty', ?, ?)`, g.Message, g.Author.ID, g.Author.Name, g.Place.Channel, w.wall, w.wall)
	w.newDelivery(delivery{Kind: deliverNote, Op: opCreate, Conversation: c.ID, Channel: g.Place.Channel, Body: "Tag me with a question!"})
	return StatusCommitted, "empty"
}

// sayFull refuses politely, once a minute, what a full conversation does not take (spec 6.3).
func (w *work) sayFull(c conversation) {
	text := fmt.Sprintf("%d messages wait here already, so I did not take what came after them. Send it again when I have caught up.", maxQueued)
	if _, said := w.tx.Row(`SELECT 1 FROM delivery WHERE id > (SELECT max(id) FROM delivery) - 200 AND kind = 'note' AND conversation = ? AND body = ? AND created_wall > ? LIMIT 1`, c.ID, text, w.wall-60_000); !said {
		w.newDelivery(delivery{Kind: deliverNote, Op: opCreate, Conversation: c.ID, Body: text})
	}
}

// withoutBot takes the bot's own mention out of a text.
func (w *work) withoutBot(text string) string {
	return strings.TrimSpace(strings.NewReplacer("<@"+w.cfg.ApplicationID+">", "", "<@!"+w.cfg.ApplicationID+">", "").Replace(text))
}

// messageUpdated changes a submission while it is queued, and nothing afterwards (spec 1.3).
func (w *work) messageUpdated(g GatewayEvent) (status, reason string) {
	text := w.withoutBot(g.Content)
	if text == "" || len(text) > maxPrompt {
		return StatusIgnored, "no text to change to"
	}
	if w.tx.Changed(`UPDATE submission SET content = ? WHERE key = ? AND state = 'queued' AND content <> ? RETURNING id`, text, g.Message, text) {
		return StatusCommitted, "changed while queued"
	}
	return StatusIgnored, "not queued here"
}

func (w *work) messageDeleted(g GatewayEvent) (status, reason string) {
	s, ok := w.submissionByKey(g.Message)
	if !ok || s.State != "queued" {
		return StatusIgnored, "not queued here"
	}
	w.settleQueued(s, reasonWithdrawn)
	return StatusCommitted, "withdrawn while queued"
}

func (w *work) threadUpdated(g GatewayEvent) string {
	state := "open"
	switch {
	case g.Locked:
		state = "locked"
	case g.Archived:
		state = "archived"
	}
	if w.tx.Changed(`UPDATE thread SET state = ? WHERE id = ? AND state NOT IN ('deleted', ?) RETURNING id`, state, g.Place.Channel, state) {
		return StatusCommitted
	}
	return StatusIgnored
}
