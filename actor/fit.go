package actor

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mailru/easyjson/jlexer"
	"github.com/mailru/easyjson/jwriter"

	"holdfast/actor/model"
)

// Bounds of what is sent in one request.
const (
	transcriptTokens = 115_000   // of a transcript: some 384 KB of English
	resultBytes      = 16_000    // of one tool result: head and tail
	settledArgs      = 2_000     // bytes of one call's arguments in a turn that is over
	maxRequest       = 3_000_000 // bytes on the wire; a result of the core holds it and more (MaxResult)
)

const (
	messagesLeftOut = "[earlier messages of this conversation are left out]\n"
	stepsLeftOut    = "Earlier steps of this turn are left out: they are too long to be sent again."
)

// level is how much is sent of what the model has seen before.
type level struct{ args, result int } // bytes of a call's arguments and of its result; 0: only that it was

// levels are in the order in which they are tried.
var levels = []level{{args: settledArgs, result: 4000}, {args: settledArgs, result: 1000}, {args: 300}}

// outputOf is the longest answer to ask for, in tokens. It never takes more than half of the window.
func outputOf(m Model) int {
	out := m.MaxOutput
	if out <= 0 {
		out = defaultMaxOutput
	}
	if m.Window > 0 {
		out = min(out, m.Window/2)
	}
	return out
}

// roomFor is how many tokens the window leaves for a transcript, beside the rest of the request and its answer. It may
// be negative. The estimate is on the high side, so that no more of the window has to be kept free.
func roomFor(m Model, r model.Request) int {
	if m.Window <= 0 {
		return transcriptTokens
	}
	return min(transcriptTokens, m.Window-r.MaxOutput-model.EstimateTokens(r))
}

// fit makes a transcript of at most room tokens. What people said in the running turn is always in it; what does not fit
// is left out in this order: turns before it, whole; long arguments and results of its older rounds, oldest first, then of
// its newest; its oldest rounds. It says whether even that was not enough. Whole says that steps begin with the conversation.
func fit(steps []step, turn int64, whole bool, room int) (fitted []step, tokens int, ok bool) {
	first := slices.IndexFunc(steps, func(s step) bool { return s.user && s.turn == turn })
	if first < 0 {
		first = len(steps)
	}
	settled, live := steps[:first], steps[first:]
	free := room - sum(live)
	if free < 0 {
		live = squeeze(live, room)
		settled, whole, free = nil, whole && len(settled) == 0, 0
	}
	kept := newestTurns(settled, free)
	fitted = append(slices.Clone(kept), live...)
	if (len(kept) < len(settled) || !whole) && len(fitted) > 0 {
		fitted[0].said.Text = messagesLeftOut + fitted[0].said.Text
	}
	tokens = sum(fitted)
	return fitted, tokens, tokens <= room
}

func sum(steps []step) (tokens int) {
	for _, s := range steps {
		tokens += s.tokens
	}
	return tokens
}

// newestTurns are the last turns of steps that fit into free tokens. The one that does not fit as it is may fit without
// its results.
func newestTurns(steps []step, free int) []step {
	from := len(steps)
	for from > 0 {
		start := turnBefore(steps, from)
		if start < 0 {
			break // it began before what was read
		}
		tokens, short := sum(steps[start:from]), false
		for i := start; i < from && tokens > free; i++ {
			tokens -= steps[i].shorten(levels[len(levels)-1])
			short = true
		}
		if tokens > free {
			break
		}
		free -= tokens
		from = start
		if short {
			break
		}
	}
	return steps[from:]
}

// turnBefore is where the turn begins that ends before steps[end]: with the first message of a person in it. Something
// about an older turn may stand in between.
func turnBefore(steps []step, end int) int {
	start := -1
	for i := end - 1; i >= 0; i-- {
		switch {
		case !steps[i].user:
		case start >= 0 && steps[i].turn != steps[start].turn:
			return start
		default:
			start = i
		}
	}
	return start
}

// squeeze shortens the running turn until it fits into room tokens, or cannot be any shorter. More than necessary is
// shortened, a quarter of the room at a time: the providers' caches hold as long as the beginning stays the same.
func squeeze(live []step, room int) []step {
	used := sum(live)
	part := max(room/4, 1)
	goal := used - (used-room+part-1)/part*part
	newest := max(len(live)-1, 0)
	for newest > 0 && len(live[newest].results) == 0 {
		newest--
	}
	for _, l := range levels {
		for i := 0; i < newest && used > goal; i++ {
			used -= live[i].shorten(l)
		}
	}
	for _, l := range levels {
		if used > room && newest < len(live) {
			used -= live[newest].shorten(l)
		}
	}
	return leaveOut(live, newest, used-room)
}

// leaveOut takes the oldest rounds before the newest out, until tokens are saved, and says so in their place.
func leaveOut(live []step, newest, tokens int) []step {
	said := false
	for i := 0; i < newest && tokens > 0; i++ {
		if live[i].user {
			continue
		}
		tokens -= live[i].tokens
		live[i] = step{}
		if !said {
			live[i].said = systemMessage(stepsLeftOut)
			live[i].count()
			tokens += live[i].tokens
			said = true
		}
	}
	return slices.DeleteFunc(live, func(s step) bool { return s.tokens == 0 })
}

// shorten cuts the arguments and results of a round down to l. It says how many tokens that saves.
func (s *step) shorten(l level) int {
	before := s.tokens
	s.shortenArgs(l.args)
	for i, text := range s.texts {
		s.results[i].Text = shortResult(text, l.result)
	}
	if len(s.results) > 0 {
		s.count()
	}
	return before - s.tokens
}

func (s *step) shortenArgs(most int) {
	for i, c := range s.said.Calls {
		s.said.Calls[i].Args = shortArgs(c.Args, most)
	}
}

func shortResult(text string, most int) string {
	if most > 0 {
		return headAndTail(text, most)
	}
	if short := "(left out: " + kilobytes(len(text)) + ")"; len(short) < len(text) {
		return short
	}
	return text
}

// shortArgs are arguments of at most most bytes, still a JSON object: each long value gives way to its size, so that the
// model sees which file it wrote and not what; or all of them do.
func shortArgs(args json.RawMessage, most int) json.RawMessage {
	if len(args) <= most {
		return args
	}
	in, out := jlexer.Lexer{Data: args}, jwriter.Writer{NoEscapeHTML: true}
	out.RawByte('{')
	in.Delim('{')
	for first := true; !in.IsDelim('}') && out.Size() < most; first = false {
		if !first {
			out.RawByte(',')
		}
		out.String(in.String())
		out.RawByte(':')
		in.WantColon()
		value := in.Raw()
		if len(value) > most/4 {
			value = []byte(`"(left out: ` + kilobytes(len(value)) + `)"`)
		}
		out.Raw(value, nil)
		in.WantComma()
	}
	out.RawByte('}')
	short, err := out.BuildBytes()
	if err != nil || !in.Ok() || len(short) > most {
		return omittedArgs(len(args))
	}
	return short
}

func omittedArgs(bytes int) json.RawMessage {
	return json.RawMessage(`{"omitted":"` + kilobytes(bytes) + `"}`)
}

// kilobytes rounds up.
func kilobytes(n int) string { return fmt.Sprintf("%d kB", (n+999)/1000) }
