package rig

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"holdfast/playground"
)

// parseFault reads what stands behind "discord:" (doc.go). clear says that all faults end.
func parseFault(text string) (f playground.Fault, clear bool, err error) {
	words := strings.Fields(text)
	if len(words) == 1 && words[0] == "clear" {
		return f, true, nil
	}
	if len(words) < 2 {
		return f, false, fmt.Errorf("%q, expected a fault", text)
	}
	rest := words[1:]
	switch {
	case words[0] == "drop" || words[0] == "duplicate":
		f.Kind = words[0] + "_event"
		if rest[0] != "event" {
			return f, false, fmt.Errorf("%q, expected \"%s event N\"", text, words[0])
		}
		rest[0] = "next"
	case words[0] == "cut":
		f.Kind = "cut"
	case words[0] == "delay":
		f.Kind = "delay"
		if f.MS, err = strconv.Atoi(rest[0]); err != nil {
			return f, false, fmt.Errorf("%q, expected \"delay MS next N\"", text)
		}
		rest = rest[1:]
	default:
		f.Kind = "status"
		if f.Status, err = strconv.Atoi(words[0]); err != nil || f.Status < 400 || f.Status > 599 {
			return f, false, fmt.Errorf("%q, expected a status, cut, delay, drop, duplicate or clear", words[0])
		}
	}
	if len(rest) < 2 || rest[0] != "next" {
		return f, false, fmt.Errorf("%q, expected how many are next", text)
	}
	if f.Count, err = strconv.Atoi(rest[1]); err != nil || f.Count < 1 {
		return f, false, fmt.Errorf("%q, expected a number of requests", rest[1])
	}
	return f, false, faultWords(&f, rest[2:])
}

// faultWords reads the words that say which requests, and how.
func faultWords(f *playground.Fault, words []string) error {
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		switch word {
		case "after":
			f.When = "after"
			continue
		case "bare":
			f.Bare = true
			continue
		case "global":
			f.Global = true
			continue
		}
		if len(words) == 0 {
			return fmt.Errorf("%q, expected something behind it, or after, bare or global", word)
		}
		value := words[0]
		words = words[1:]
		var err error
		switch word {
		case "retry":
			f.RetryAfter, err = strconv.ParseFloat(value, 64)
		case "code":
			f.Code, err = strconv.Atoi(value)
		case "GET", "POST", "PUT", "PATCH", "DELETE":
			f.Method, f.Path = word, value
		default:
			err = fmt.Errorf("%q, expected after, bare, global, retry, code or a method", word)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fault makes Discord misbehave.
func (p *Play) fault(ctx context.Context, text string) error {
	f, clear, err := parseFault(text)
	if err != nil {
		return err
	}
	if clear {
		return p.stage.control.call(ctx, "DELETE", "/faults", nil, nil)
	}
	return p.stage.control.call(ctx, "POST", "/faults", f, nil)
}
