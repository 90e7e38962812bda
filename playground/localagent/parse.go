package localagent

import (
	"regexp"
	"strconv"
	"strings"
)

// intent is one thing that a person wants: a rule's name and what it caught.
type intent struct {
	name string
	args []string
}

// plan is a question taken apart.
type plan struct {
	intents []intent
	unknown []string // what no rule understands
}

// Bounds of a question; what is longer is not English to be matched.
const (
	maxQuestion = 8000
	maxClauses  = 12
)

// parse takes a question apart: sentences, then clauses at "and", "then" and commas where both sides are understood.
// Code blocks, `code` and quoted text are never split.
func parse(question string) plan {
	question = clip(question, maxQuestion)
	m := mask(mention.ReplaceAllString(question, " "))
	var p plan
	for _, s := range sentences(m.text) {
		in, understood := m.understand(s)
		switch {
		case len(p.intents)+len(in) > maxClauses:
		case understood:
			p.intents = append(p.intents, in...)
		default:
			p.unknown = append(p.unknown, strings.Join(strings.Fields(m.unmask(s)), " "))
		}
	}
	p.drop()
	return p
}

// drop takes out greetings beside real wishes, and wishes that are there twice in a row.
func (p *plan) drop() {
	var kept []intent
	for _, in := range p.intents {
		small := in.name == "hello" || in.name == "thanks"
		if small && (len(p.intents) > 1 || len(p.unknown) > 0) {
			continue
		}
		if n := len(kept); n > 0 && kept[n-1].name == in.name && strings.Join(kept[n-1].args, "\x00") == strings.Join(in.args, "\x00") {
			continue
		}
		kept = append(kept, in)
	}
	p.intents = kept
}

var (
	mention   = regexp.MustCompile(`<[@#][!&]?\d+>`)
	protected = regexp.MustCompile("(?s)```[a-zA-Z0-9_+-]*\\n?(.*?)```|`([^`\\n]+)`|\"([^\"\\n]+)\"|“([^”\\n]+)”|(?:^|[\\s(])'([^'\\n]+)'")
	sentence1 = regexp.MustCompile(`\n+|[.?!;]+(?:\s+|$)`)
	joint     = regexp.MustCompile(`(?i),?\s+(?:and then|and also|and|then|after that|also)\s+|,\s+`)
	polite    = regexp.MustCompile(`(?i)^(?:please|pls|hey|hi|hello|ok|okay|so|now|then|also|and|first|next|finally|afterwards|can you|can we|could you|would you|will you|i want you to|i want to|i would like you to|i'd like you to|i'd like to|i need you to|let's|lets|go ahead and|just|quickly|holdfast|bot|tell me|give me|me|us)[,:]?\s+`)
	trailing  = regexp.MustCompile(`(?i)(?:\s+(?:please|for me|for us|thanks|thank you|now|again please|if you can))+$`)
	dots      = regexp.MustCompile(`(^|\s)(\S*/\.{1,3}|\.{1,3})(\s|$)`) // paths that end in dots: "./...", ".."
	slot      = regexp.MustCompile(`⟦(\d+)⟧`)
)

// masked is a text whose protected spans are replaced by slots.
type masked struct {
	text  string
	spans []string
}

func mask(s string) masked {
	var m masked
	slot := func(inner string) string {
		m.spans = append(m.spans, inner)
		return " ⟦" + strconv.Itoa(len(m.spans)-1) + "⟧ "
	}
	s = strings.NewReplacer("⟦", "[", "⟧", "]").Replace(s)
	m.text = protected.ReplaceAllStringFunc(s, func(span string) string {
		inner, lead := "", ""
		for i, g := range protected.FindStringSubmatch(span) {
			if i > 0 && g != "" {
				inner = g
			}
		}
		if span[0] == ' ' || span[0] == '\n' || span[0] == '\t' || span[0] == '(' {
			lead = span[:1]
		}
		return lead + slot(inner)
	})
	m.text = dots.ReplaceAllStringFunc(m.text, func(s string) string {
		g := dots.FindStringSubmatch(s)
		return g[1] + slot(g[2]) + g[3]
	})
	return m
}

// unmask puts the spans back, without their quotes.
func (m masked) unmask(s string) string {
	s = slot.ReplaceAllStringFunc(s, func(x string) string {
		n, err := strconv.Atoi(slot.FindStringSubmatch(x)[1])
		if err != nil || n >= len(m.spans) {
			return x
		}
		return m.unmask(m.spans[n]) // a span holds only spans before it
	})
	return strings.TrimSpace(s)
}

// sentences splits at line ends and at the ends of sentences. A text after a colon at a line's end belongs to it.
func sentences(s string) []string {
	s = regexp.MustCompile(`:[ \t]*\n+`).ReplaceAllString(s, ": ")
	s = regexp.MustCompile(`\n+[ \t]*(⟦\d+⟧)[ \t]*(?:\n|$)`).ReplaceAllString(s, " $1\n") // a block on lines of its own
	var out []string
	for _, p := range sentence1.Split(s, -1) {
		if strings.Trim(p, " \t.,!?") != "" {
			out = append(out, p)
		}
	}
	return out
}

// understand finds the rules of a sentence: of its halves at a joint where both are understood, else of the whole.
func (m masked) understand(s string) ([]intent, bool) {
	joints := joint.FindAllStringIndex(s, maxClauses)
	for _, at := range joints {
		left, ok := m.clause(s[:at[0]])
		if !ok {
			continue
		}
		if right, ok := m.understand(s[at[1]:]); ok {
			return append([]intent{left}, right...), true
		}
	}
	in, ok := m.clause(s)
	if !ok {
		return nil, false
	}
	return []intent{in}, true
}

// clause matches one clause against the rules; the first that fits counts.
func (m masked) clause(s string) (intent, bool) {
	s = strings.Join(strings.Fields(s), " ")
	s = strings.TrimRight(s, "?!,;: ")
	s = strings.TrimRight(s, ".")
	if in, ok := m.match(s); ok { // "hello" is polite and a wish of its own
		return in, true
	}
	for {
		short := polite.ReplaceAllString(s, "")
		if short == s {
			break
		}
		s = short
	}
	s = trailing.ReplaceAllString(s, "")
	return m.match(s)
}

func (m masked) match(s string) (intent, bool) {
	for _, r := range rules {
		g := r.re.FindStringSubmatch(s)
		if g == nil {
			continue
		}
		in := intent{name: r.name}
		for _, a := range g[1:] {
			in.args = append(in.args, m.unmask(a))
		}
		if r.accept != nil && !r.accept(in.args) {
			continue
		}
		return in, true
	}
	return intent{}, false
}
