package policy

import (
	"fmt"
	"slices"
	"strings"
)

// rule is one line of a section. In its pattern * stands for any text, also for none and for several words; nothing
// else is special.
type rule struct {
	pattern string
	verdict Verdict
	line    int // 0: not known
}

// literal is how much of the pattern is fixed: the measure of how specific a rule is.
func (r rule) literal() int { return len(r.pattern) - strings.Count(r.pattern, "*") }

// prefix is the fixed text before the first *.
func (r rule) prefix() string {
	before, _, _ := strings.Cut(r.pattern, "*")
	return before
}

// ruleSet is a section, the most specific rule first, among equals the stricter: the order in the file never matters.
type ruleSet struct {
	section string
	rules   []rule
}

func (s *ruleSet) add(r rule) {
	s.rules = append(s.rules, r)
	slices.SortFunc(s.rules, func(a, b rule) int {
		if c := b.literal() - a.literal(); c != 0 {
			return c
		}
		if c := rank(b.verdict) - rank(a.verdict); c != 0 {
			return c
		}
		return strings.Compare(a.pattern, b.pattern)
	})
}

// find is the first rule that matches. The zero match means that there is none.
func (s ruleSet) find(matches func(rule) bool) match {
	for _, r := range s.rules {
		if matches(r) {
			return match{rule: r, section: s.section, found: true}
		}
	}
	return match{}
}

// match is a rule that was found, with the section for its text.
type match struct {
	rule
	section string
	found   bool
}

// String is the rule as people see it: bash "git push*" → ask (policy line 7).
func (m match) String() string {
	text := fmt.Sprintf("%s %q → %s", m.section, m.pattern, m.verdict)
	if m.line > 0 {
		text += fmt.Sprintf(" (policy line %d)", m.line)
	}
	return text
}

// rank orders verdicts by strictness.
func rank(v Verdict) int {
	switch v {
	case Allow:
		return 0
	case Ask:
		return 1
	}
	return 2
}

// Stricter is the stricter of two verdicts; anything that is no verdict counts as deny.
func Stricter(a, b Verdict) Verdict {
	if rank(b) > rank(a) {
		a = b
	}
	if rank(a) == 2 {
		return Deny
	}
	return a
}

// glob reports whether pattern, in which * stands for any text, matches all of s. It takes len(pattern)·len(s) steps
// at worst.
func glob(pattern, s string) bool {
	star, mark := -1, 0
	p, i := 0, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
		case p < len(pattern) && pattern[p] == s[i]:
			p++
			i++
		case star >= 0:
			mark++
			p, i = star+1, mark
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// innerSpace stands for a space inside a word while rules are matched, so that the text of an argument never looks
// like several arguments.
const innerSpace = "\x00"

var spaces = strings.NewReplacer(" ", innerSpace, "\t", innerSpace, "\n", innerSpace)

// joined is an argv as rules see it.
func joined(argv []string) string {
	words := make([]string, len(argv))
	for i, w := range argv {
		words[i] = spaces.Replace(w)
	}
	return strings.Join(words, " ")
}

// matchesCommand is the plain reading of a pattern: over the words joined by spaces; "ls *" also covers plain "ls".
func (r rule) matchesCommand(argv []string) bool {
	text := joined(argv)
	if p := r.prefix(); r.verdict == Allow && strings.HasPrefix(text, p+innerSpace) {
		return false // git "status x" is not git status x
	}
	return glob(r.pattern, text) || strings.HasSuffix(r.pattern, " *") && glob(strings.TrimSuffix(r.pattern, " *"), text)
}

// matchesLoosely is the reading for rules that forbid or ask: "rm -rf *" is also rm -r -f x, rm -fr x, rm x -rf,
// rm --recursive --force x and /opt/bin/RM -rf x. It never widens what a rule allows.
func (r rule) matchesLoosely(argv []string) bool {
	pattern := strings.Fields(r.pattern)
	if len(pattern) == 0 || len(argv) == 0 {
		return false
	}
	wantWords, wantFlags := splitFlags(pattern)
	words, flags := splitFlags(argv)
	for _, f := range wantFlags {
		if !slices.ContainsFunc(flags, func(have string) bool { return glob(f, have) }) {
			return false
		}
	}
	if len(words) == 0 {
		return false
	}
	words[0] = strings.ToLower(baseName(words[0]))
	if n := len(wantWords); n > 1 && wantWords[n-1] == "*" {
		wantWords = wantWords[:n-1]
		return glob(strings.Join(wantWords, " "), joined(words)) || glob(strings.Join(wantWords, " ")+" *", joined(words))
	}
	return glob(strings.Join(wantWords, " "), joined(words))
}

// splitFlags parts words from options. Options of one dash are also there letter by letter, and a few long ones by
// their letter, because -rf, -fr, -r -f and --recursive --force are the same.
func splitFlags(argv []string) (words, flags []string) {
	for i, w := range argv {
		switch {
		case w == "--":
			return append(words, argv[i+1:]...), flags
		case len(w) < 2 || w[0] != '-' || i == 0:
			words = append(words, w)
		case w[1] == '-':
			name, _, _ := strings.Cut(w, "=")
			flags = append(flags, w, name)
			flags = append(flags, shortOf[name]...)
		case isBundle(w):
			for _, c := range w[1:] {
				flags = append(flags, "-"+string(c))
				flags = append(flags, shortOf["-"+string(c)]...)
			}
		default:
			flags = append(flags, w)
		}
	}
	return words, flags
}

var shortOf = map[string][]string{
	"--recursive": {"-r"}, "--force": {"-f"}, "-R": {"-r"}, "--delete": {"-d"},
}

// isBundle: up to four letters; longer words of one dash are names, as find's -delete.
func isBundle(w string) bool {
	if len(w) > 5 {
		return false
	}
	for _, c := range w[1:] {
		if c < 'A' || c > 'Z' && c < 'a' || c > 'z' {
			return false
		}
	}
	return true
}

func baseName(s string) string { return s[strings.LastIndexByte(s, '/')+1:] }
