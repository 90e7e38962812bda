package rig

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// form is one kind of step. Its pattern is what doc.go shows; words in capitals stand for arguments.
type form struct {
	pattern string
	act     func(context.Context, *Play, arguments) error // done once
	look    func(context.Context, *Play, arguments) error // done again until it is nil, or errNever
	stage   bool                                          // about starting and killing: does not start anything itself
	passing func(arguments) bool                          // what is seen is on its way to something else
	check   func(arguments) error                         // of the arguments, when the file is read; nil: none
}

// arguments are the values of a pattern's words in capitals, in order.
type arguments []string

func (a arguments) number(i int) int {
	n, _ := strconv.Atoi(a[i]) // checked when it was parsed
	return n
}

func (a arguments) duration(i int) time.Duration {
	d, _ := time.ParseDuration(a[i]) // checked when it was parsed
	return d
}

// token is a word, or a text in quotes.
type token struct {
	text   string
	quoted bool
}

// lex splits a line into words and quoted texts. A colon at the end of a word is dropped.
func lex(line string) ([]token, error) {
	var tokens []token
	for rest := strings.TrimSpace(line); rest != ""; rest = strings.TrimSpace(rest) {
		if rest[0] == '"' || rest[0] == '`' {
			quoted, err := strconv.QuotedPrefix(rest)
			if err != nil {
				return nil, fmt.Errorf("%q: a quote is not closed", rest)
			}
			text, err := strconv.Unquote(quoted)
			if err != nil {
				return nil, fmt.Errorf("%q: %w", quoted, err)
			}
			tokens = append(tokens, token{text, true})
			rest = rest[len(quoted):]
			continue
		}
		word, after, _ := strings.Cut(rest, " ")
		tokens = append(tokens, token{strings.TrimSuffix(word, ":"), false})
		rest = after
		if word == "model:" || word == "discord:" || word == "race:" {
			return append(tokens, token{strings.TrimSpace(rest), true}), nil
		}
	}
	return tokens, nil
}

// match tries a pattern. An error says that it is this kind of step, with a wrong argument.
func (f *form) match(line string, tokens []token) (arguments, bool, error) {
	words := strings.Fields(strings.ReplaceAll(f.pattern, ":", ""))
	if len(words) != len(tokens) {
		return nil, false, nil
	}
	args := arguments{}
	for i, w := range words {
		if strings.ToUpper(w) != w {
			if tokens[i].quoted || tokens[i].text != w {
				return nil, false, nil
			}
			continue
		}
		if wantsQuotes(w) != tokens[i].quoted {
			return nil, false, nil
		}
		args = append(args, tokens[i].text)
	}
	n := 0
	for _, w := range words {
		if strings.ToUpper(w) == w {
			if err := checkArgument(w, args[n]); err != nil {
				return nil, false, err
			}
			n++
		}
	}
	return args, true, nil
}

func wantsQuotes(w string) bool { return w == "TEXT" || w == "REST" || w == "STEPS" }

// points of docs/protocol.md.
var points = []string{"admit", "ack", "model", "intent", "started", "result", "decision", "card", "answer", "edit"}

var choices = map[string][]string{
	"USER":   {"maya", "sam", "kim"},
	"BUTTON": {"approve", "deny", "stop", "details"},
	"WHEN":   {"before", "after"},
	"WHAT":   {"commit", "effect"},
	"POINT":  points,
	"STATE":  {"pending", "approved", "denied", "expired", "cancelled", "decided"},
}

func checkArgument(kind, value string) error {
	if list := choices[kind]; list != nil && !slices.Contains(list, value) {
		return fmt.Errorf("%q, expected one of %s", value, strings.Join(list, ", "))
	}
	switch kind {
	case "N":
		if n, err := strconv.Atoi(value); err != nil || n < 0 {
			return fmt.Errorf("%q, expected a number", value)
		}
	case "DURATION":
		if d, err := time.ParseDuration(value); err != nil || d <= 0 {
			return fmt.Errorf("%q, expected a duration", value)
		}
	}
	return nil
}
