package localagent

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// intent is one thing that a person wants: a rule's name and what it caught.
type intent struct {
	name string
	args []string
	open bool // a command without quotes around it: where it ends must be guessed
}

// plan is a question taken apart.
type plan struct {
	intents []intent
	unknown []string // what no rule understands
}

// Bounds of a question; what is longer is not English to be matched.
const (
	maxQuestion  = 8000
	maxClauses   = 12
	maxSentences = 24 // of one line
)

// parse takes a question apart: lines, sentences, then clauses at "and", "then" and commas where both sides are
// understood. Code blocks, `code` and quoted text are never split. An argument that is one quoted text loses its
// quotes; any other, a command above all, stays as the person wrote it, byte for byte.
func parse(question string) plan {
	if len(question) > maxQuestion { // half a command is another command
		return plan{unknown: []string{clip(question, maxQuestion)}}
	}
	m := mask(question)
	m.text = mention.ReplaceAllString(m.text, " ")
	var p plan
	for _, line := range textLines(m.text) {
		p.line(m, line)
	}
	p.drop()
	return p
}

// line takes one line apart.
func (p *plan) line(m masked, rest string) {
	for n := 0; rest != ""; n++ {
		s, after := cutSentence(rest)
		if n == maxSentences {
			s, after = rest, ""
		}
		in, ok := m.understand(s)
		if after != "" && (!ok || last(in).open) {
			s, after, in, ok = m.command(s, after, ok)
		}
		rest = after
		switch {
		case trimmed(s) == "":
		case ok && len(p.intents)+len(in) <= maxClauses:
			p.intents = append(p.intents, in...)
		default:
			p.unknown = append(p.unknown, trimmed(strings.Join(strings.Fields(m.unmask(s)), " ")))
		}
	}
}

// command decides about a sentence that may be the beginning of a command with a sentence's end in it: "run cd x; ls".
// Where it cannot be told nothing is understood, since half a command is another command.
func (m masked) command(s, after string, ok bool) (string, string, []intent, bool) {
	goesOn := !ok || strings.HasSuffix(strings.TrimSpace(s), ";") || prompt(s)
	if ok && !goesOn && m.understandAll(after) {
		in, ok := m.understand(strings.TrimRight(s, ".?! ")) // "run ls. Then read a.txt."
		return s, after, in, ok
	}
	whole, all := m.understand(s + after)
	switch {
	case goesOn && all && last(whole).open && (ok || last(whole).name == "run" || !isShell(s)):
		return s + after, "", whole, true
	case ok:
		return s + after, "", nil, false
	}
	return s, after, nil, false
}

// understandAll says whether every sentence of a line is understood.
func (m masked) understandAll(line string) bool {
	for n := 0; line != ""; n++ {
		var s string
		s, line = cutSentence(line)
		if n == maxSentences {
			return false
		}
		if _, ok := m.understand(s); !ok && trimmed(s) != "" {
			return false
		}
	}
	return true
}

func last(in []intent) intent { return in[len(in)-1] }

func trimmed(s string) string { return strings.Trim(s, " \t.,;?!") }

// prompt: a line that a person copied from a terminal, all of it one command.
func prompt(s string) bool { return strings.HasPrefix(strings.TrimSpace(s), "$ ") }

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
	lineEnd     = regexp.MustCompile(`\n+`)
	sentenceEnd = regexp.MustCompile(`[.?!;]+(?:\s+|$)`)
	joint       = regexp.MustCompile(`(?i),?\s+(?:and then|and also|and|then|after that|also)\s+|,\s+`)
	polite      = regexp.MustCompile(`(?i)^(?:please|pls|hey|hi|hello|ok|okay|so|now|then|also|and|first|next|finally|afterwards|can you|can we|could you|would you|will you|i want you to|i want to|i would like you to|i'd like you to|i'd like to|i need you to|let's|lets|go ahead and|just|quickly|holdfast|bot|tell me|give me|me|us)[,:]?\s+`)
	trailing    = regexp.MustCompile(`(?i)(?:\s+(?:please|for me|for us|thanks|thank you|now|again please|if you can))+$`)
)

// textLines splits at line ends, but not behind a colon, and not before a block on lines of its own: that belongs to
// what is said before it.
func textLines(s string) []string {
	var out []string
	begin := 0
	for _, at := range lineEnd.FindAllStringIndex(s, -1) {
		next, _, _ := strings.Cut(s[at[1]:], "\n")
		if strings.HasSuffix(strings.TrimRight(s[:at[0]], " \t"), ":") || one(next) {
			continue
		}
		out = append(out, s[begin:at[0]])
		begin = at[1]
	}
	return append(out, s[begin:])
}

// cutSentence cuts a line behind the end of its first sentence.
func cutSentence(line string) (s, after string) {
	if at := sentenceEnd.FindStringIndex(line); at != nil {
		return line[:at[1]], line[at[1]:]
	}
	return line, ""
}

// understand finds the rules of a sentence: of its halves at a joint where both are understood, else of the whole.
func (m masked) understand(s string) ([]intent, bool) {
	joints := maxClauses
	if prompt(s) {
		joints = 0
	}
	in := m.split(s, joints, map[string][]intent{})
	return in, in != nil
}

// split understands a text at its first joints; known is what it found out already. Nothing is nil.
func (m masked) split(s string, joints int, known map[string][]intent) []intent {
	if in, ok := known[s]; ok {
		return in
	}
	known[s] = nil
	for i, at := range joint.FindAllStringIndex(s, joints) {
		left, ok := m.clause(s[:at[0]])
		if !ok {
			continue
		}
		if right := m.split(s[at[1]:], joints-i-1, known); right != nil {
			known[s] = append([]intent{left}, right...)
			return known[s]
		}
	}
	if in, ok := m.clause(s); ok {
		known[s] = []intent{in}
	}
	return known[s]
}

// clause matches one clause against the rules; the first that fits counts.
func (m masked) clause(s string) (intent, bool) {
	q := squeeze(s)
	begin, end := 0, len(strings.TrimRight(strings.TrimRight(q.text, "?!,;: "), "."))
	full := len(q.text) // where a command ends: its last character may be a full stop
	if first, _ := utf8.DecodeRuneInString(q.text); unicode.IsUpper(first) && strings.HasSuffix(q.text, ".") {
		full = end // but not that of "Run ls."
	}
	if in, ok := m.match(q, begin, end, full); ok { // "hello" is polite and a wish of its own
		return in, true
	}
	for at := []int{}; at != nil; at = polite.FindStringIndex(q.text[begin:end]) {
		if len(at) > 0 {
			begin += at[1]
		}
	}
	if begin > 0 {
		full = end
	}
	if at := trailing.FindStringIndex(q.text[begin:end]); at != nil {
		end, full = begin+at[0], begin+at[0]
	}
	return m.match(q, begin, end, full)
}

// match tries the rules on a part of a clause. A command at its end goes on to full.
func (m masked) match(q squeezed, begin, end, full int) (intent, bool) {
	for _, r := range rules {
		g := r.re().FindStringSubmatchIndex(q.text[begin:end])
		if g == nil {
			continue
		}
		in := intent{name: r.name}
		command := r.name == "run" || r.name == "runbare"
		for g = g[2:]; len(g) > 0; g = g[2:] {
			from, to := begin+max(g[0], 0), begin+max(g[1], 0)
			if command && to == end && !one(q.cut(from, to)) {
				to = full
			}
			in.open = command && !one(q.cut(from, to))
			in.args = append(in.args, m.unmask(q.cut(from, to)))
		}
		if r.accept != nil && !r.accept(in.args) || in.open && !isShell(in.args[0]) {
			continue
		}
		return in, true
	}
	return intent{}, false
}
