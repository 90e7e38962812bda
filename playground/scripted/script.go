package scripted

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"holdfast/actor/model"
	"holdfast/playground/chat"
)

// script is what a question asks for.
type script struct{ steps []step }

// step is an action with what comes before it.
type step struct {
	action action
	slow   time.Duration
	flaky  []flakyLine
}

type action struct{ verb, rest string }

type flakyLine struct {
	key   string
	times int
	code  string
}

// parse reads the lines that begin with "!". Modifiers at the end stand before the closing answer.
func parse(question string) script {
	var s script
	var next step
	for line := range strings.Lines(question) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "!") {
			continue
		}
		verb, rest, _ := strings.Cut(line, " ")
		rest = strings.TrimSpace(rest)
		switch verb {
		case "!slow":
			ms, _ := strconv.Atoi(rest)
			next.slow += time.Duration(max(0, ms)) * time.Millisecond
		case "!flaky":
			next.flaky = append(next.flaky, flaky(rest))
		default:
			next.action = action{verb, rest}
			s.steps = append(s.steps, next)
			next = step{}
		}
	}
	s.steps = append(s.steps, next)
	return s
}

func flaky(rest string) flakyLine {
	f := strings.Fields(rest)
	for len(f) < 3 {
		f = append(f, []string{"key", "1", "500"}[len(f)])
	}
	n, _ := strconv.Atoi(f[1])
	return flakyLine{key: f[0], times: n, code: f[2]}
}

// at is the step of the n-th call, counted from 0. Behind the last there is only the closing answer.
func (s script) at(n int) step {
	if n < len(s.steps) {
		return s.steps[n]
	}
	return step{}
}

// toolCalls reads "NAME {json}", and more of them behind "&&" as one round.
func toolCalls(rest string, id func(int) string) ([]model.Call, error) {
	var calls []model.Call
	for rest != "" {
		name, args, _ := strings.Cut(rest, " ")
		args = strings.TrimSpace(args)
		raw := json.RawMessage("{}")
		if strings.HasPrefix(args, "{") {
			d := json.NewDecoder(strings.NewReader(args))
			if err := d.Decode(&raw); err != nil {
				return nil, fmt.Errorf("arguments of %s: %w", name, err)
			}
			args = strings.TrimSpace(args[d.InputOffset():])
		}
		calls = append(calls, model.Call{ID: id(len(calls)), Name: name, Args: raw})
		more, ok := strings.CutPrefix(args, "&&")
		if args != "" && !ok {
			return nil, fmt.Errorf("%q follows the arguments of %s", args, name)
		}
		rest = strings.TrimSpace(more)
	}
	if len(calls) == 0 {
		return nil, fmt.Errorf("!tool without a name")
	}
	return calls, nil
}

// headBytes is how much of a tool result the closing answer shows.
const headBytes = 400

// closing is the answer when nothing is left to do: the head of the last result since the question, or an echo.
func closing(q chat.Request) string {
	question, _ := q.Question()
	for i := len(q.Messages) - 1; i >= 0; i-- {
		m := q.Messages[i]
		if m.Role == model.User && m.Text == question {
			break
		}
		if m.Role == model.ToolRole && len(m.Results) > 0 {
			return head(m.Results[len(m.Results)-1].Text)
		}
	}
	return head(question)
}

func head(s string) string {
	if len(s) > headBytes {
		s = strings.ToValidUTF8(s[:headBytes], "") + "…"
	}
	return s
}
