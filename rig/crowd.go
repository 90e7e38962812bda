package rig

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"
)

// crowd are people who ask without end, each one question after the other, two at a time for each user: as many as may
// run at once (spec 6.3).
type crowd struct {
	p    *Play
	stop chan struct{}
	gone sync.WaitGroup

	mu        sync.Mutex
	questions []*question
}

// question is one thing that was asked. Its tag is in its answer, and in what its commands write.
type question struct {
	tag      string
	place    string // where it was asked
	thread   string // where it goes on
	id       string // snowflake: what comes of it is newer
	accepted bool   // Discord was told so, or the relay has it
	unsafe   bool   // runs a command
}

// answer is a text that only its answer has.
func (q *question) answer() string { return "answer " + q.tag + "." }

// Times of people.
const (
	lookEvery  = 150 * time.Millisecond
	giveUpAt   = 90 * time.Second // a person who has waited that long asks something else; the end of the run looks again
	afterError = 500 * time.Millisecond
)

func gather(ctx context.Context, p *Play, seed uint64) *crowd {
	c := &crowd{p: p, stop: make(chan struct{})}
	for i, user := range []string{"maya", "maya", "sam", "sam"} {
		dice := rand.New(rand.NewPCG(seed, uint64(i)+1))
		c.gone.Go(func() { c.person(ctx, user, dice) })
	}
	return c
}

// leave ends the asking, waits until everybody has got an answer, and gives what was asked.
func (c *crowd) leave() []*question {
	close(c.stop)
	c.gone.Wait()
	return c.questions
}

func (c *crowd) person(ctx context.Context, user string, dice *rand.Rand) {
	thread := ""
	for {
		select {
		case <-c.stop:
			return
		case <-ctx.Done():
			return
		default:
		}
		q := c.ask(ctx, user, thread, dice)
		if !q.accepted {
			thread = "" // which may be one that was never opened
			happens(ctx, c.stop, afterError)
			continue
		}
		c.await(ctx, q, dice)
		if thread = ""; dice.IntN(3) == 0 {
			thread = q.thread
		}
	}
}

// ask asks by a command or a message: in the thread of an earlier question, or in the channel when that is "".
func (c *crowd) ask(ctx context.Context, user, thread string, dice *rand.Rand) *question {
	q := &question{place: thread, thread: thread}
	if thread == "" {
		q.place = c.p.stage.Info.Channel
	}
	c.mu.Lock()
	c.questions = append(c.questions, q)
	q.tag = fmt.Sprintf("q%04d", len(c.questions))
	c.mu.Unlock()
	text := q.text(dice)
	if dice.IntN(2) == 0 {
		c.command(ctx, user, q, text)
		return q
	}
	if thread == "" {
		text = "<@" + c.p.stage.Info.Application + "> " + text
	}
	var m message
	err := c.p.as(ctx, user, "messages", map[string]any{"channel": q.place, "content": text}, &m)
	if q.accepted, q.id = err == nil, m.ID; thread == "" {
		q.thread = m.ID // a thread has the id of the message that it hangs from
	}
	return q
}

// command asks by /ask. Discord tells whether the edge has taken it.
func (c *crowd) command(ctx context.Context, user string, q *question, text string) {
	var o outcome
	err := c.p.as(ctx, user, "commands", map[string]any{"channel": q.place, "name": "ask", "options": map[string]any{"prompt": text}}, &o)
	if err != nil || o.State != "acked" {
		return
	}
	said := ""
	if o.Message != nil {
		said, q.id = o.Message.text(), o.Message.ID
	}
	if q.accepted = o.Answer == callbackThinking || strings.Contains(said, "Queued as job") || strings.Contains(said, "Added to"); q.thread == "" {
		q.thread = q.id
	}
}

// callbackThinking is the answer that shows "thinking" (Discord's documentation, "Interaction callback type").
const callbackThinking = 5

// text draws what a question makes the model do.
func (q *question) text(dice *rand.Rand) string {
	slow := fmt.Sprintf("!slow %d\n", dice.IntN(100))
	write := fmt.Sprintf("echo %s >> ran; sleep 0.%d", q.tag, 1+dice.IntN(6))
	script := ""
	switch dice.IntN(5) {
	case 0:
		script = `!tool read {"path": "NOTES.md"}` + "\n"
	case 1:
		q.unsafe = true
		script = fmt.Sprintf("!tool bash {\"command\": \"%s\"}\n", write)
	case 2:
		q.unsafe = true // and policy asks first
		script = fmt.Sprintf("!tool bash {\"command\": \"%s; chmod 600 ran\"}\n", write)
	case 3:
		script = slow
	}
	return q.tag + "?\n" + script + slow + "!say " + q.answer()
}

// await looks for the answer, and decides about what it is asked for until then.
func (c *crowd) await(ctx context.Context, q *question, dice *rand.Rand) {
	ctx, cancel := context.WithTimeout(ctx, giveUpAt)
	defer cancel()
	for {
		list, err := c.around(ctx, q)
		if err == nil && q.ended(c.p.answers(list)) {
			return
		}
		for _, m := range list {
			if id := m.find("a"); id != "" {
				if dice.IntN(5) == 0 {
					id = m.find("d")
				}
				_ = c.p.as(ctx, "maya", "components", map[string]any{"message": m.ID, "custom_id": id}, nil) // in vain: once more
			}
		}
		if happens(ctx, ctx.Done(), lookEvery); ctx.Err() != nil {
			return
		}
	}
}

// around is what there is to see where a question was asked and where it goes on. There may be no thread yet.
func (c *crowd) around(ctx context.Context, q *question) ([]message, error) {
	list, err := c.p.seen(ctx, q.thread)
	if gone := new(refusal); errors.As(err, &gone) && gone.Status == 404 {
		err = nil
	}
	if err != nil || q.place == q.thread {
		return list, err
	}
	more, err := c.p.seen(ctx, q.place)
	return append(list, more...), err
}

// ended says whether a question has its answer among these, or the end of a turn that can only be its own.
func (q *question) ended(answers []message) bool {
	for _, m := range answers {
		if strings.Contains(m.text(), q.answer()) {
			return true
		}
		if mine := m.Channel == q.thread || m.ID == q.id; mine && byAge(m.ID, q.id) >= 0 {
			return true
		}
	}
	return false
}

// answers are the bot's messages that show an ended turn.
func (p *Play) answers(list []message) (ended []message) {
	for _, m := range list {
		if m.Author.ID == p.stage.Info.Application && isFinal(m) {
			ended = append(ended, m)
		}
	}
	return ended
}
