package policy

import (
	"cmp"
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

	// What matching needs, worked out once.
	literal int      // how much of the pattern is fixed: the measure of how specific the rule is
	prefix  string   // the fixed text before the first *
	lower   string   // the pattern in lower case
	fields  []string // the pattern's words

	// The loose reading of rules that ask or deny.
	words   []string   // the words without options, joined; one of them must match
	options [][]string // the options, each with its spellings; all of them must be there
}

func newRule(pattern string, v Verdict, line int) rule {
	r := rule{pattern: pattern, verdict: v, line: line, literal: len(pattern) - strings.Count(pattern, "*")}
	r.prefix, _, _ = strings.Cut(pattern, "*")
	r.lower = strings.ToLower(pattern)
	r.fields = strings.Fields(pattern)
	if v != Allow {
		r.words, r.options = loosePattern(r.fields)
	}
	return r
}

// ruleSet is a section. Once sorted the most specific rule is first, among equals the stricter: the order in the
// file never matters.
type ruleSet struct {
	section string
	rules   []rule
}

func (s *ruleSet) sort() {
	slices.SortFunc(s.rules, func(a, b rule) int {
		return cmp.Or(b.literal-a.literal, rank(b.verdict)-rank(a.verdict), strings.Compare(a.pattern, b.pattern))
	})
}

// find is the first rule that matches. The zero match means that there is none.
func (s *ruleSet) find(matches func(*rule) bool) match {
	for i := range s.rules {
		if matches(&s.rules[i]) {
			return match{rule: &s.rules[i], section: s.section, found: true}
		}
	}
	return match{rule: &rule{}}
}

// match is a rule that was found, with the section for its text.
type match struct {
	*rule
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
			if p++; p == len(pattern) {
				return true
			}
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

// command is an argv made ready for matching.
type command struct {
	text  string   // the words joined
	words string   // the words without options joined, the program's name without its folder and in lower case
	flags []string // the options
}

func seen(argv []string) command {
	c := command{text: joined(argv)}
	words, flags := splitFlags(argv)
	if len(words) > 0 {
		words[0] = strings.ToLower(baseName(words[0]))
	}
	c.words, c.flags = joined(words), flags
	return c
}

// matches is the plain reading of a pattern: over the words joined by spaces; "ls *" also covers plain "ls".
func (r *rule) matches(c command) bool {
	if r.verdict == Allow && strings.HasPrefix(c.text, r.prefix) && strings.HasPrefix(c.text[len(r.prefix):], innerSpace) {
		return false // git "status x" is not git status x
	}
	return allButRest(r.pattern, c.text)
}

// allButRest: the pattern matches, or would if its last " *" were not there.
func allButRest(pattern, text string) bool {
	if bare, ok := strings.CutSuffix(pattern, " *"); ok && glob(bare, text) {
		return true
	}
	return glob(pattern, text)
}

// matchesLoosely is the reading for rules that forbid or ask: "rm -rf *" is also rm -r -f x, rm -fvvvr x, rm x -rf,
// rm --recursive --forc x and /opt/bin/RM -rf x. It never widens what a rule allows.
func (r *rule) matchesLoosely(c command) bool {
	if r.verdict == Allow || c.words == "" {
		return false
	}
	for _, spellings := range r.options {
		if !slices.ContainsFunc(c.flags, func(have string) bool { return spells(spellings, have) }) {
			return false
		}
	}
	return slices.ContainsFunc(r.words, func(words string) bool { return allButRest(words, c.words) })
}

// forbids: a rule that is stricter than allow, in either reading.
func (r *rule) forbids(c command) bool {
	return r.verdict != Allow && (r.matches(c) || r.matchesLoosely(c))
}

func baseName(s string) string { return s[strings.LastIndexByte(s, '/')+1:] }
