package actor

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"holdfast/actor/model"
)

func question(turn int64, text string) step {
	s := step{turn: turn, user: true, said: model.Message{Role: model.User, Text: text}}
	s.count()
	return s
}

// round is a call with args and its result of n bytes.
func round(turn int64, id, args string, n int) step {
	s := step{turn: turn}
	s.answer(assistantEntry{Calls: []model.Call{{ID: id, Name: "read", Args: json.RawMessage(args)}}},
		map[string]resultEntry{id: {CallID: id, Text: strings.Repeat("r", n)}}, "m")
	s.count()
	return s
}

func answered(turn int64, text string) step {
	s := step{turn: turn}
	s.answer(assistantEntry{Text: text}, nil, "m")
	s.count()
	return s
}

// outline is what of each step is there: the text, or a call's id and the length of its result.
func outline(steps []step) string {
	var parts []string
	for _, s := range steps {
		part := strings.ReplaceAll(s.said.Text, messagesLeftOut, "…")
		if strings.HasPrefix(part, "[system]") {
			part = "note"
		}
		for i, c := range s.said.Calls {
			part += fmt.Sprintf("%s:%d", c.ID, len(s.results[i].Text)/100)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " ")
}

func TestFitLeavesOutTheOldestFirst(t *testing.T) {
	conversation := func() []step {
		return []step{
			question(1, "q1"), round(1, "a", `{}`, 10_000), answered(1, "a1"),
			question(2, "q2"), round(2, "b", `{}`, 10_000), answered(2, "a2"),
			question(3, "q3"), round(3, "c", `{}`, 10_000), question(3, "and"), round(3, "d", `{}`, 10_000), round(3, "e", `{}`, 10_000),
		}
	}
	for _, test := range []struct {
		room  int
		whole bool
		want  string
		ok    bool
	}{
		{20_000, true, "q1 a:100 a1 q2 b:100 a2 q3 c:100 and d:100 e:100", true},
		{20_000, false, "…q1 a:100 a1 q2 b:100 a2 q3 c:100 and d:100 e:100", true},
		{15_000, true, "q1 a:0 a1 q2 b:100 a2 q3 c:100 and d:100 e:100", true},
		{12_180, true, "…q2 b:100 a2 q3 c:100 and d:100 e:100", true},
		{10_000, true, "…q2 b:0 a2 q3 c:100 and d:100 e:100", true},
		{9_150, true, "…q3 c:100 and d:100 e:100", true},
		{9_000, true, "…q3 c:40 and d:40 e:100", true},
		{5_000, true, "…q3 c:10 and d:10 e:100", true},
		{3_200, true, "…q3 c:0 and d:0 e:100", true},
		{1_500, true, "…q3 c:0 and d:0 e:40", true},
		{500, true, "…q3 c:0 and d:0 e:10", true},
		{150, true, "…q3 c:0 and d:0 e:0", true},
		{100, true, "…q3 note and e:0", true},
		{50, true, "…q3 note and e:0", false},
		{-5, true, "…q3 note and e:0", false},
	} {
		fitted, tokens, ok := fit(conversation(), 3, test.whole, test.room)
		if got := outline(fitted); got != test.want || ok != test.ok {
			t.Errorf("room for %d: %q (%d tokens), %v; want %q, %v", test.room, got, tokens, ok, test.want, test.ok)
		}
	}
}

func TestFitOfNothing(t *testing.T) {
	if fitted, _, ok := fit(nil, 3, true, -1); len(fitted) != 0 || ok {
		t.Errorf("%v, %v", fitted, ok)
	}
	if fitted, _, ok := fit([]step{answered(1, "cut"), question(2, "q2"), answered(2, "a2"), question(3, "q3")}, 3, false, 1000); outline(fitted) != "…q2 a2 q3" || !ok {
		t.Errorf("%s, %v", outline(fitted), ok)
	}
}

func TestShortArgs(t *testing.T) {
	long := strings.Repeat("<\"ü", 1000)
	quoted, _ := json.Marshal(long)
	for _, test := range []struct{ args, want string }{
		{`{"path":"a"}`, `{"path":"a"}`},
		{`{"path":"a<b","content":` + string(quoted) + `,"n":1}`, `{"path":"a<b","content":"(left out: 11 kB)","n":1}`},
		{`{"` + strings.Repeat("k", 3000) + `":1}`, `{"omitted":"4 kB"}`},
		{`[` + strings.Repeat("1,", 3000) + `1]`, `{"omitted":"7 kB"}`},
		{strings.Repeat("no JSON", 1000), `{"omitted":"7 kB"}`},
	} {
		if got := string(shortArgs(json.RawMessage(test.args), settledArgs)); got != test.want {
			t.Errorf("%.40s: %.200s; want %s", test.args, got, test.want)
		}
	}
}

// FuzzShortArgs: an object stays an object, with some of its own names, and is no longer than asked for.
func FuzzShortArgs(f *testing.F) {
	f.Add(`{"path":"a","content":"`+strings.Repeat("x", 500)+`"}`, 300)
	f.Add(`{"a":{"b":[1,2,3,"`+strings.Repeat("\\u0000", 100)+`"]},"c":null}`, 300)
	f.Fuzz(func(t *testing.T, args string, most int) {
		most = 100 + max(most, -most, 0)%2000
		if !json.Valid([]byte(args)) || !strings.HasPrefix(args, "{") {
			return
		}
		short := shortArgs(json.RawMessage(args), most)
		var was, is map[string]any
		if err := json.Unmarshal(short, &is); err != nil || len(short) > most {
			t.Fatalf("%d bytes, at most %d: %v in %s", len(short), most, err, short)
		}
		_ = json.Unmarshal([]byte(args), &was)
		for name := range is {
			if _, ok := was[name]; !ok && len(is) > 1 {
				t.Fatalf("%q is not in %q", name, args)
			}
		}
	})
}

// FuzzFit: what people say in the running turn is always there, calls keep their results, and what is said to fit does.
func FuzzFit(f *testing.F) {
	f.Add([]byte{1, 200, 30, 2, 90, 0, 255, 3, 7}, 500)
	f.Fuzz(func(t *testing.T, script []byte, room int) {
		steps := []step{question(1, "first")}
		turn, said := int64(1), 1
		for i, b := range script {
			switch {
			case b == 0:
				turn, said = turn+1, 1
				steps = append(steps, answered(turn-1, "done"), question(turn, "next"))
			case b%16 == 1:
				said++
				steps = append(steps, question(turn, "more"))
			default:
				steps = append(steps, round(turn, fmt.Sprint(i), fmt.Sprintf(`{"v":%q}`, strings.Repeat("v", int(b)*10)), int(b)*100))
			}
		}
		room %= 20_000
		fitted, tokens, ok := fit(steps, turn, true, room)
		asked, sent := 0, 0
		for i, s := range fitted {
			if i == 0 && s.said.Role != model.User {
				t.Fatal("it does not begin with a person")
			}
			if s.user && s.turn == turn {
				asked++
			}
			for _, m := range s.messages() {
				sent += m.Tokens()
			}
			if len(s.results) != len(s.said.Calls) {
				t.Fatal("a call without its result")
			}
		}
		if asked != said || ok != (tokens <= room) || sent > tokens+len(messagesLeftOut) {
			t.Fatalf("%d of %d questions, %d tokens counted as %d, room for %d: %v", asked, said, sent, tokens, room, ok)
		}
	})
}
