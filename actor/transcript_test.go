package actor

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdfast/actor/frame"
)

const aThread = "1300000000000005000"

// large makes the runner's results n bytes long.
func (w *world) large(n int) {
	w.runner.tool = func(f frame.Frame) frame.Frame {
		return frame.Frame{Type: frame.TypeResult, Task: f.Task, Epoch: f.Epoch, Status: frame.StatusOK, Summary: strings.Repeat("x", n)}
	}
}

// reads makes the model read n files, then answer; bodies keeps its requests.
func (w *world) reads(n int) (bodies *[]string) {
	bodies = &[]string{}
	w.model = func(i int, body string) (int, string) {
		*bodies = append(*bodies, body)
		if i <= n {
			return 200, call("read", fmt.Sprintf(`{"path":"f%d"}`, i))
		}
		return 200, say("done")
	}
	return bodies
}

// callsThen makes the model make a call with content that is size bytes long n times, then answer.
func (w *world) callsThen(n, size int) (bodies *[]string) {
	bodies = &[]string{}
	content := strings.Repeat("line of a file ", size/15)
	w.model = func(i int, body string) (int, string) {
		*bodies = append(*bodies, body)
		if i > n {
			return 200, say("done")
		}
		args, _ := json.Marshal(map[string]string{"content": content, "path": fmt.Sprintf("f%d.txt", i)})
		return 200, call("read", string(args))
	}
	return bodies
}

func wantAll(t *testing.T, body string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(body, part) {
			t.Fatalf("%q is not in %.3000s", part, body)
		}
	}
}

func TestALongTurnKeepsItsQuestion(t *testing.T) {
	w := newWorld(t)
	w.connect()
	w.tx(`UPDATE meta SET value = json_set(value, '$.models.m.window', 32000) WHERE key = 'config'`)
	w.large(20_000)
	bodies := w.reads(20)
	w.ask("1300000000000001001", "read the files and summarise them")
	w.run(120_000)
	w.want("submission", w.one(`SELECT state || ' ' || reason FROM submission`), "done ")
	last := (*bodies)[20]
	wantAll(t, last, "read the files and summarise them", `f1\"`, `f20\"`, "bytes left out", strings.Repeat("x", 10_000))
	for i, body := range *bodies {
		if tokens := len(body) * 3 / 10; tokens > 32_000 {
			t.Fatalf("request %d has about %d tokens", i+1, tokens)
		}
	}
}

func TestTheBeginningOfALongTurnStaysTheSame(t *testing.T) {
	w := newWorld(t)
	w.connect()
	w.tx(`UPDATE meta SET value = json_set(value, '$.models.m.window', 200000) WHERE key = 'config'`)
	w.large(20_000)
	bodies := w.reads(48)
	w.ask("1300000000000001001", "read them")
	w.run(120_000)
	changed := 0
	for i := range (*bodies)[1:] {
		before, after := messagesOf(t, (*bodies)[i]), messagesOf(t, (*bodies)[i+1])
		if !slices.EqualFunc(before, after[:len(before)], func(a, b json.RawMessage) bool { return string(a) == string(b) }) {
			changed++
		}
	}
	if changed == 0 || changed > 8 {
		t.Fatalf("%d of 48 requests do not continue the one before", changed)
	}
}

func messagesOf(t *testing.T, body string) []json.RawMessage {
	t.Helper()
	var request struct {
		Messages []json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal([]byte(body), &request); err != nil {
		t.Fatal(err)
	}
	return request.Messages
}

func TestMoreThanIsReadLeavesOutTheOldestSteps(t *testing.T) {
	w := newWorld(t)
	w.connect()
	bodies := w.callsThen(12, 300_000)
	w.ask("1300000000000001001", "write twelve files")
	w.run(120_000)
	w.want("submission", w.one(`SELECT state || ' ' || reason FROM submission`), "done ")
	wantAll(t, (*bodies)[12], "write twelve files", stepsLeftOut, "f12.txt")
}

func TestArgumentsAreCounted(t *testing.T) {
	w := newWorld(t)
	w.connect()
	w.large(10)
	bodies := w.callsThen(12, 105_000)
	w.ask("1300000000000001001", "write files")
	w.run(120_000)
	w.want("submission", w.one(`SELECT state || ' ' || reason FROM submission`), "done ")
	for i, body := range *bodies {
		if tokens := len(body) * 3 / 10; tokens > 100_000 {
			t.Fatalf("request %d has about %d tokens", i+1, tokens)
		}
	}
	wantAll(t, (*bodies)[12], `\"content\":\"(left out: 106 kB)\"`, "f1.txt", "f12.txt")
}

func TestLongCallsDoNotSpoilTheQuestionsAfterThem(t *testing.T) {
	w := newWorld(t)
	w.connect()
	w.large(10)
	bodies := w.callsThen(3, 150_000)
	w.say(aThread, aThread, "<@"+appID+"> write three files", appID)
	w.run(60_000)
	w.say("1300000000000005200", aThread, "what is in them?")
	w.run(60_000)
	w.want("submissions", w.one(`SELECT group_concat(state || reason, ' ') FROM submission`), "done done")
	last := (*bodies)[len(*bodies)-1]
	wantAll(t, last, "write three files", "f1.txt", "f2.txt", "f3.txt", "what is in them?")
	if len(last) > 20_000 {
		t.Fatalf("%d bytes, with arguments of a turn that is over", len(last))
	}
}

// A turn that does not fit as it was is remembered by its question and its answer.
func TestAFollowUpKnowsQuestionAndAnswer(t *testing.T) {
	for _, c := range []struct{ window, output, results, bytes int }{
		{100_000, 1000, 20, 20_000}, {100_000, 1000, 30, 20_000}, {100_000, 1000, 40, 12_000}, {100_000, 1000, 45, 20_000},
		{8192, 4096, 2, 3_000}, {8192, 4096, 2, 6_000}, {8192, 4096, 2, 12_000}, // the window that Ollama is given
	} {
		t.Run(fmt.Sprintf("%d results of %d bytes in %d tokens", c.results, c.bytes, c.window), func(t *testing.T) {
			w := newWorld(t)
			w.connect()
			w.tx(`UPDATE meta SET value = json_set(value, '$.models.m.window', ?, '$.models.m.max_output', ?) WHERE key = 'config'`, int64(c.window), int64(c.output))
			w.large(c.bytes)
			bodies := w.reads(c.results)
			reading := w.model
			w.model = func(i int, body string) (int, string) {
				if status, stream := reading(i, body); i <= c.results {
					return status, stream
				}
				return 200, say("The bug is in f7.go:12.")
			}
			w.say(aThread, aThread, "<@"+appID+"> find the bug in the parser", appID)
			w.run(600_000)
			w.say("1300000000000090000", aThread, "fix it then, please do")
			w.run(60_000)
			w.want("submissions", w.states(), "done,done")
			wantAll(t, (*bodies)[len(*bodies)-1], "find the bug in the parser", "f7.go:12", "fix it then")
		})
	}
}

// The provider's window is smaller than what is configured: a turn finds out once.
func TestAnOverflowIsLearnedOnce(t *testing.T) {
	w := newWorld(t)
	w.connect()
	w.large(9_000)
	w.reads(20)
	reading, refused := w.model, 0
	w.model = func(i int, body string) (int, string) {
		if len(body) > 30_000 {
			refused++
			return 400, `{"error":{"code":"context_length_exceeded","message":"maximum context length"}}`
		}
		return reading(i-refused, body)
	}
	w.ask("1300000000000001001", "read the files")
	w.run(600_000)
	w.want("state", w.states(), "done")
	w.want("refused as too long", fmt.Sprint(refused), "1")
}

func TestAnOverflowIsTriedAgainWithLess(t *testing.T) {
	w := newWorld(t)
	w.connect()
	w.large(16_000)
	w.reads(10)
	reading := w.model
	w.model = func(i int, body string) (int, string) {
		if len(body) > 60_000 {
			return 400, `{"error":{"code":"context_length_exceeded","message":"maximum context length"}}`
		}
		return reading(strings.Count(body, `"role":"tool"`)+1, body)
	}
	w.say(aThread, aThread, "<@"+appID+"> read ten files", appID)
	w.run(60_000)
	w.say("1300000000000005200", aThread, "and now?")
	w.run(60_000)
	w.want("submissions", w.one(`SELECT group_concat(state || reason, ' ') FROM submission`), "done done")
	if w.one(`SELECT count(*) FROM event WHERE name = 'generation.overflow'`) == "0" {
		t.Fatal("nothing overflowed")
	}
}

func TestAnOverflowForEverEndsTheTurn(t *testing.T) {
	w := newWorld(t)
	w.model = func(int, string) (int, string) {
		return 400, `{"error":{"code":"context_length_exceeded","message":"maximum context length"}}`
	}
	w.ask("1300000000000001001", strings.Repeat("hello there ", 100))
	w.run(60_000)
	w.want("submission", w.one(`SELECT state || ' ' || reason FROM submission`), "unanswered limit")
	if w.calls > maxOverflows+1 {
		t.Fatalf("%d calls", w.calls)
	}
}

func TestAQuestionLongerThanTheWindowSaysWhatToDo(t *testing.T) {
	for what, test := range map[string]struct {
		window, asked int
		want          string
	}{
		"the question": {8000, 31_000, "What was asked in this turn is longer than the model m can read. Begin a new conversation"},
		"the rest":     {200, 10, "What every question needs (the workspace's instructions, the project's notes and the tools) is longer"},
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t)
			w.tx(`UPDATE meta SET value = json_set(value, '$.models.m.window', ?) WHERE key = 'config'`, int64(test.window))
			w.ask("1300000000000001001", strings.Repeat("a", test.asked))
			w.run(60_000)
			w.want("submission", w.one(`SELECT state || ' ' || reason FROM submission`), "unanswered limit")
			w.want("calls", fmt.Sprint(w.calls), "0")
			wantAll(t, w.discord.all(), test.want)
		})
	}
}

func TestLargeCallsNeverStopTheWorkspace(t *testing.T) {
	w := newWorld(t)
	w.connect()
	w.callsThen(maxRounds+1, 450_000)
	w.ask("1300000000000001001", "write for ever")
	w.run(600_000) // each event must be committed
	w.want("submission", w.one(`SELECT state || ' ' || reason FROM submission`), "unanswered limit")
	w.want("rounds", w.one(`SELECT rounds FROM turn`), fmt.Sprint(maxRounds))
}

func TestManyLargeEffectsComeInSeveralResults(t *testing.T) {
	w := newWorld(t)
	w.connect()
	w.disconnect()
	w.model = func(i int, body string) (int, string) {
		if strings.Contains(body, `"role":"tool"`) {
			return 200, say("done")
		}
		calls := make([]string, 12)
		for n := range calls {
			calls[n] = fmt.Sprintf(`{"index":%d,"id":"c%d","type":"function","function":{"name":"read","arguments":"{}"}}`, n, n)
		}
		return 200, `data: {"choices":[{"index":0,"delta":{"tool_calls":[` + strings.Join(calls, ",") + `]}}]}` + "\n\n" +
			`data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n"
	}
	w.ask("1300000000000001001", "read twelve")
	w.run(5_000)
	w.tx(`UPDATE task SET args = ? WHERE kind = 'tool'`, `{"path":"`+strings.Repeat("y", 450_000)+`"}`) // 5.4 MB in all
	w.connect()
	w.run(60_000)
	w.want("submission", w.one(`SELECT state || ' ' || reason FROM submission`), "done ")
	w.want("runs", fmt.Sprint(w.runner.runs["read"]), "12")
}

func TestAnAnswerTooLongToKeepEndsTheTurn(t *testing.T) {
	w := newWorld(t)
	w.ask("1300000000000001001", "say a lot")
	e := w.runUntil(PointModel)
	w.must(EventEffect, w.inParts(Outcome{ID: e.ID, Epoch: e.Epoch, Kind: OutcomeResponse, Status: 200, Body: say(strings.Repeat("a", maxAnswer+1))}))
	w.run(60_000)
	w.want("submission", w.one(`SELECT state || ' ' || reason FROM submission`), "unanswered limit")
	wantAll(t, w.discord.all(), "longer than can be kept: 1049 kB")
}

func TestACallTooLongForAFrameFailsAtOnce(t *testing.T) {
	w := newWorld(t)
	w.connect()
	var last string
	w.model = func(i int, body string) (int, string) {
		last = body
		return toolThenSay("read", `{"path":"`+strings.Repeat("y", 600_000)+`"}`)(i, body)
	}
	w.ask("1300000000000001001", "hello")
	w.run(60_000)
	w.want("submission", w.one(`SELECT state || ' ' || reason FROM submission`), "done ")
	w.want("task", w.one(`SELECT state || ' ' || starts || ' ' || args FROM task WHERE kind = 'tool'`), `failed 0 {"omitted":"601 kB"}`)
	w.want("runs", fmt.Sprint(w.runner.runs["read"]), "0")
	wantAll(t, last, "a call takes at most 507 kB. Write it in pieces")
}

func TestTheLongestCallFitsIntoAFrame(t *testing.T) {
	w := newWorld(t)
	w.connect()
	w.model = toolThenSay("read", `{"path":"`+strings.Repeat("y", maxArgs-11)+`"}`)
	w.ask("1300000000000001001", "hello")
	e := w.runUntil(PointIntent)
	if n := len(e.Message); n > frame.MaxFrame || n < maxArgs {
		t.Fatalf("a frame of %d bytes, at most %d", n, frame.MaxFrame)
	}
}

func TestF32_WhatWasWithdrawnIsNotSaidToTheModel(t *testing.T) {
	w := newWorld(t)
	bodies := w.reads(0)
	w.say(aThread, aThread, "<@"+appID+"> hello", appID)
	w.run(60_000)
	w.must(EventInteraction, Interaction{Key: "1300000000000005100", Kind: KindAsk, Token: "tk", User: User{ID: maya, Name: "maya"},
		Place: Place{Guild: guildID, Channel: aThread, Type: 11, Parent: channelID}, Prompt: "DELETE EVERYTHING"})
	w.must(EventWithdraw, Withdraw{Key: "1300000000000005100"})
	w.run(60_000)
	w.want("withdrawn", w.one(`SELECT state || ' ' || reason FROM submission WHERE key = '1300000000000005100'`), "unanswered withdrawn")
	w.say("1300000000000005200", aThread, "what time is it?")
	w.run(60_000)
	last := (*bodies)[len(*bodies)-1]
	wantAll(t, last, "hello", "what time is it?")
	if slices.ContainsFunc(*bodies, func(b string) bool { return strings.Contains(b, "DELETE EVERYTHING") }) {
		t.Fatalf("the model reads what was withdrawn: %s", last)
	}
}
