package render

import (
	"fmt"
	"strings"
)

const ephemeral = 1 << 6 // message flag (developer documentation: Message Flags)

// text is a message of text alone that pings nobody.
func text(content string) Message {
	return Message{
		Content: whole(content), Embeds: []Embed{}, Components: []Row{},
		AllowedMentions: AllowedMentions{Parse: []string{}},
	}
}

// whole fits a text into one message; a block that the cut, or the text, leaves open is closed.
func whole(s string) string {
	s = clip(s, MaxContent)
	if strings.Count(s, fence)%2 == 0 {
		return s
	}
	s = clip(s, MaxContent-len(fence)-1)
	if strings.Count(s, fence)%2 == 0 {
		return s // the cut took the fence away
	}
	return s + "\n" + fence
}

// Note is a message of its own in a channel or thread. A text that is too long ends in an ellipsis.
func Note(s string) Message { return text(orNoResponse(s)) }

// Ephemeral is an answer that only who asked can see.
func Ephemeral(s string) Message {
	m := text(orNoResponse(s))
	m.Flags = ephemeral
	return m
}

func orNoResponse(s string) string {
	if strings.TrimFunc(s, blank) == "" {
		return NoResponse
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

func row(buttons ...Component) []Row {
	kept := []Component{}
	for _, b := range buttons {
		if b.CustomID != "" {
			b.Type, b.Label = 2, clip(b.Label, maxLabel)
			kept = append(kept, b)
		}
	}
	if len(kept) == 0 {
		return []Row{}
	}
	return []Row{{Type: 1, Components: kept}}
}

// maxSteps is how many steps a run card shows, the newest; more would bury the buttons.
const maxSteps = 12

// RunCard is the anchor while its turn runs.
func RunCard(r Run) Message {
	head := "**Working**"
	if r.Phase != "" {
		head += " · " + escape(oneLine(r.Phase, 120))
		if r.PhaseIn != "" {
			head += " in <#" + r.PhaseIn + ">"
		}
	}
	head += " · job " + inline(r.Job, 40)
	if r.Started > 0 {
		head += " · started " + relative(r.Started)
	}
	foot := runFoot(r)
	room := MaxContent - units(head) - units(foot) - 40
	m := text(strings.TrimSuffix(head+"\n"+steps(r.Steps, r.Earlier, room)+foot, "\n"))
	m.Components = row(Component{Style: Danger, Label: "Stop", CustomID: r.StopID})
	return m
}

// steps are the newest steps that fit, oldest first, a line each.
func steps(list []Step, earlier, room int) string {
	var lines []string
	from := len(list)
	for from > 0 && len(lines) < maxSteps {
		line := list[from-1].line()
		if room -= units(line) + 1; room < 0 {
			break
		}
		lines = append([]string{line}, lines...)
		from--
	}
	if earlier += from; earlier > 0 {
		lines = append([]string{"-# " + count(int64(earlier), "earlier step")}, lines...)
	}
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

var stepMarks = map[string]string{
	StepWaiting: "⏳", StepRunning: "▶️", StepOK: "✅", StepError: "❌", StepDenied: "⛔",
	StepInterrupted: "⚡", StepCancelled: "🚫", StepQueued: "▫️",
}

// stepWords say what a mark means where the mark alone could be misread.
var stepWords = map[string]string{
	StepWaiting: "waiting for approval", StepError: "failed", StepDenied: "denied",
	StepInterrupted: "interrupted", StepCancelled: "cancelled", StepQueued: "queued",
}

func (s Step) line() string {
	mark := stepMarks[s.State]
	if mark == "" {
		mark = "▫️"
	}
	parts := []string{mark + " " + escape(oneLine(s.Tool, 40))}
	if s.Detail != "" {
		parts[0] += " " + inline(s.Detail, 90)
	}
	if s.Millis >= 100 {
		parts = append(parts, duration(s.Millis))
	}
	if s.Note != "" {
		parts = append(parts, escape(oneLine(s.Note, 100)))
	} else if word := stepWords[s.State]; word != "" {
		parts = append(parts, word)
	}
	return strings.Join(parts, " · ")
}

func runFoot(r Run) string {
	var parts []string
	if r.Tokens > 0 {
		parts = append(parts, tokens(r.Tokens))
	}
	if r.MicroDollars > 0 {
		parts = append(parts, money(r.MicroDollars))
	}
	if r.Joined > 0 {
		parts = append(parts, "+"+count(int64(r.Joined), "message"))
	}
	if r.Restarts > 0 {
		parts = append(parts, "survived "+count(int64(r.Restarts), "restart"))
	}
	if r.UserNote != "" {
		parts = append(parts, escape(oneLine(r.UserNote, 200)))
	}
	foot := ""
	if r.Notice != "" {
		foot = "⚠️ " + escape(oneLine(r.Notice, 300)) + "\n"
	}
	if len(parts) > 0 {
		foot += "-# " + strings.Join(parts, " · ")
	}
	return foot
}

// footRoom is what an answer's first message keeps free for the footer, in units. It does not depend on what the footer
// says, which may grow after the others were sent: where the text is cut never changes.
const footRoom = 320

// Answer is a turn that has ended: the first message is the anchor's last edit, with the footer; the others
// continue a long text, in order.
func Answer(f Final) []Message {
	foot := clip("\n-# "+answerFoot(f), footRoom)
	var out []Message
	for i, p := range pieces(Normalize(f.Text), MaxContent-footRoom) {
		content := p.open + p.body + p.end
		if i == 0 {
			content = strings.TrimSuffix(content, "\n") + foot
		}
		out = append(out, text(content))
	}
	out[0].Components = row(Component{Style: Secondary, Label: "Details", CustomID: f.DetailsID})
	return out
}

// answerFoot is the small print, as 3 tools · 42 s · 12.4k tokens · $0.04 · conversation 42.
func answerFoot(f Final) string {
	var parts []string
	if f.Tools > 0 {
		parts = append(parts, count(int64(f.Tools), "tool"))
	}
	if f.Millis > 0 {
		parts = append(parts, duration(f.Millis))
	}
	if f.Tokens > 0 {
		parts = append(parts, tokens(f.Tokens))
	}
	if f.MicroDollars > 0 {
		parts = append(parts, money(f.MicroDollars))
	}
	parts = append(parts, fmt.Sprintf("conversation %d", f.Conversation))
	if f.Restarts > 0 {
		parts = append(parts, "survived "+count(int64(f.Restarts), "restart"))
	}
	if f.Notice != "" {
		parts = append(parts, escape(oneLine(f.Notice, 200)))
	}
	return strings.Join(parts, " · ")
}
