package localagent

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"holdfast/actor/model"
)

// world answers tool calls: "tool args" → result. A result that begins with "Error: " is an error, as the actor
// sends denials, failures and interruptions.
type world map[string]string

// dialogue plays a conversation through the wire format, as the core does.
type dialogue struct {
	t      *testing.T
	server *httptest.Server
	world  world
	req    model.Request
	calls  []string // of the current turn
	rounds int
}

func converse(t *testing.T, w world, tools ...string) *dialogue {
	s := httptest.NewServer(New())
	t.Cleanup(s.Close)
	d := &dialogue{t: t, server: s, world: w, req: model.Request{Model: Name}}
	if tools == nil {
		tools = []string{"read", "glob", "grep", "write", "edit", "bash"}
	}
	for _, name := range tools {
		d.req.Tools = append(d.req.Tools, model.Tool{Name: name, Schema: json.RawMessage(`{"type":"object"}`)})
	}
	return d
}

func (d *dialogue) add(m model.Message) { d.req.Messages = append(d.req.Messages, m) }

// ask says text and goes on until the answer without calls.
func (d *dialogue) ask(text string) string {
	d.t.Helper()
	d.calls, d.rounds = nil, 0
	d.add(model.Message{Role: model.User, Text: text})
	for range maxCalls + 2 {
		if answer, done := d.step(); done {
			return answer
		}
	}
	d.t.Fatalf("no end after %v", d.calls)
	return ""
}

// step takes one answer; its calls get their results from the world.
func (d *dialogue) step() (string, bool) {
	d.t.Helper()
	a := d.next()
	d.add(model.Message{Role: model.Assistant, Text: a.Text, Calls: a.Calls})
	if len(a.Calls) == 0 {
		return a.Text, true
	}
	d.rounds++
	m := model.Message{Role: model.ToolRole}
	for _, c := range a.Calls {
		if c.Broken != "" {
			d.t.Fatalf("broken call %+v", c)
		}
		key := c.Name + " " + string(c.Args)
		d.calls = append(d.calls, key)
		text, known := d.world[key]
		if !known {
			text = "Error: no such file"
		}
		rest, isError := strings.CutPrefix(text, "Error: ")
		m.Results = append(m.Results, model.Result{CallID: c.ID, Text: rest, Error: isError})
	}
	d.add(m)
	return "", false
}

func (d *dialogue) next() model.Answer {
	d.t.Helper()
	w, err := model.Encode(model.OpenAI, d.req)
	if err != nil {
		d.t.Fatal(err)
	}
	resp, err := http.Post(d.server.URL+"/v1"+w.Path, "application/json", bytes.NewReader(w.Body))
	if err != nil {
		d.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	a, f := model.Decode(model.OpenAI, resp.StatusCode, nil, body)
	if f != nil {
		d.t.Fatal(f)
	}
	return a
}

const goFiles = "README.md\ngo.mod\nmain.go\nmain_test.go\n"

const readmeText = "     1\t# Greeter\n     2\t\n     3\tGreeter says hello to everybody\n     4\tin many languages.\n     5\t\n     6\t    greeter --help\n     7\t\n     8\t## Use\n     9\t\n    10\tRun it.\n"

const denial = "Error: Not run: a person denied this and said: not on a Friday"

const halfDone = "Error: Interrupted: the runner stopped while this ran. It may have had some or all of its effect; it was not run again. Look before you repeat it."

// The table of whole turns: what is asked, how the world answers, which calls are made in which order, what the
// answer must and must not say.
func TestDialogues(t *testing.T) {
	cases := []struct {
		name, ask string
		world     world
		tools     []string
		calls     []string
		says      []string
		not       []string
	}{
		{name: "what it does, and its tests", ask: "what does this project do, and do its tests pass?",
			world: world{`glob {"pattern":"/*"}`: goFiles, `read {"limit":60,"path":"README.md"}`: readmeText, `bash {"command":"go test ./..."}`: "ok  \tgreeter\t0.01s\n[exit code 0, 1.2 s]"},
			calls: []string{`glob {"pattern":"/*"}`, `read {"limit":60,"path":"README.md"}`, `bash {"command":"go test ./..."}`},
			says:  []string{"**Greeter** – Greeter says hello to everybody in many languages.", "Go project", "The tests pass (`go test ./...`)", "ok  \tgreeter"}, not: []string{"--help", "Run it"}},
		{name: "tests fail", ask: "do the tests pass?",
			world: world{`glob {"pattern":"/*"}`: goFiles, `bash {"command":"go test ./..."}`: "--- FAIL: TestHello (0.00s)\n    main_test.go:9: got hi\nFAIL\n[exit code 1, 0.3 s]\n\nexit status 1"},
			says:  []string{"The tests do not pass", "Failing: `TestHello`", "got hi", "(exit status 1)"}, not: []string{"tests pass ("}},
		{name: "tests denied", ask: "run the tests", world: world{`glob {"pattern":"/*"}`: goFiles, `bash {"command":"go test ./..."}`: denial},
			says: []string{"I was not allowed to run the tests", "not on a Friday"}, not: []string{"pass"}},
		{name: "tests interrupted", ask: "run the tests", world: world{`glob {"pattern":"/*"}`: goFiles, `bash {"command":"go test ./..."}`: halfDone},
			says: []string{"interrupted", "I do not know whether it ran"}, not: []string{"pass"}},
		{name: "tests time out", ask: "run the tests", world: world{`glob {"pattern":"/*"}`: goFiles, `bash {"command":"go test ./..."}`: "Error: === RUN TestSlow\n\nThe tool ran into its time limit and was stopped."},
			says: []string{"stopped before its end", "TestSlow"}, not: []string{"pass"}},
		{name: "no test files", ask: "run the tests", world: world{`glob {"pattern":"/*"}`: goFiles, `bash {"command":"go test ./..."}`: "?   \tgreeter\t[no test files]"},
			says: []string{"There are no tests"}, not: []string{"pass"}},
		{name: "no way to test", ask: "run the tests", world: world{`glob {"pattern":"/*"}`: "a.txt"}, calls: []string{`glob {"pattern":"/*"}`}, says: []string{"I do not see how to run the tests"}},
		{name: "npm without a test script", ask: "run the tests", world: world{`glob {"pattern":"/*"}`: "package.json\nMakefile", `read {"path":"package.json"}`: `{"scripts":{"start":"node ."}}`, `bash {"command":"make test"}`: "fine"},
			calls: []string{`glob {"pattern":"/*"}`, `read {"path":"package.json"}`, `bash {"command":"make test"}`}, says: []string{"The tests pass (`make test`)"}},
		{name: "npm", ask: "run the tests", world: world{`glob {"pattern":"/*"}`: "package.json", `read {"path":"package.json"}`: "1: {\"scripts\":\n2: {\"test\":\"node --test\"}}", `bash {"command":"npm test"}`: "pass 1"},
			says: []string{"The tests pass (`npm test`)"}},
		{name: "pytest", ask: "test", world: world{`glob {"pattern":"/*"}`: "test_a.py\na.py", `bash {"command":"python3 -m pytest -q"}`: "FAILED test_a.py::test_x - assert\nexit status 1"}, says: []string{"Failing: `test_a.py::test_x`"}},
		{name: "bash is not offered", ask: "run the tests", tools: []string{"glob", "read"}, world: world{`glob {"pattern":"/*"}`: goFiles}, calls: []string{`glob {"pattern":"/*"}`},
			says: []string{"I cannot run the tests", "not offered", "apt-get install bubblewrap"}},
		{name: "nothing is offered", ask: "list the files", tools: []string{"other"}, calls: []string{}, says: []string{"I cannot list the files"}},
		{name: "list", ask: "list the files", world: world{`glob {"pattern":"*"}`: goFiles}, says: []string{"The project has 4 entries", "main_test.go"}},
		{name: "list a folder that is not there", ask: "list the files in cmd", calls: []string{`glob {"path":"cmd","pattern":"*"}`}, says: []string{"it failed", "no such file"}},
		{name: "list a folder", ask: "list the files in cmd", world: world{`glob {"path":"cmd","pattern":"*"}`: "cmd/a/main.go\ncmd/a/x.go\ncmd/z.go"}, says: []string{"`cmd` has 2 entries", "a/ (2 files)\nz.go"}},
		{name: "tail of a long file", ask: "show the last 2 lines of a.txt", world: world{`read {"path":"a.txt"}`: "     1\ta\n… 5 lines omitted; the file has 6 lines, read on with offset 2 …", `read {"limit":2,"offset":5,"path":"a.txt"}`: "… 4 lines omitted before …\n     5\te\n     6\tf"},
			says: []string{"The last 2 lines of `a.txt`", "     5\te\n     6\tf"}, not: []string{"\ta\n"}},
		{name: "an empty file", ask: "read a.txt", world: world{`read {"path":"a.txt"}`: "a.txt is empty"}, says: []string{"`a.txt` is empty."}},
		{name: "a killed command", ask: "run `sleep 9`", world: world{`bash {"command":"sleep 9"}`: "Error: [killed: out of memory, 1.0 s]"}, says: []string{"stopped before its end", "out of memory"}},
		{name: "an empty folder", ask: "list the files", world: world{`glob {"pattern":"*"}`: "no files match"}, says: []string{"I found no files"}},
		{name: "an empty project", ask: "what does this project do?", world: world{`glob {"pattern":"/*"}`: "(no output)"}, says: []string{"no files yet"}},
		{name: "tree", ask: "show the tree", world: world{`glob {"pattern":"*"}`: "a/b/c.go\na/d.go\ne.go"}, says: []string{"a/\n  b/\n    c.go\n  d.go\ne.go"}},
		{name: "read", ask: "read main.go", world: world{`read {"path":"main.go"}`: "package main ```"}, says: []string{"````go\npackage main ```\n````"}},
		{name: "a range", ask: "show lines 3-5 of main.go", world: world{`read {"limit":3,"offset":3,"path":"main.go"}`: "x"}, says: []string{"`main.go`, lines 3–5"}},
		{name: "search", ask: "search for f(x) in *.go", world: world{`grep {"glob":"*.go","pattern":"f\\(x\\)"}`: "a.go:3:\ty := f(x)\nb.go:9:f(x)"}, says: []string{"is in 2 lines of 2 files", "`a.go:3` `y := f(x)`"}},
		{name: "search without a hit", ask: "grep foo", world: world{`grep {"pattern":"foo"}`: "no matches"}, says: []string{"I found no `foo`"}},
		{name: "explain", ask: "explain Hello",
			world: world{`grep {"pattern":"` + strings.ReplaceAll(definition("Hello"), `\`, `\\`) + `"}`: "main.go:12:func Hello(name string) string {", `grep {"pattern":"\\bHello\\b"}`: "main.go:11:// Hello greets\nmain.go:12:func Hello(name string) string {\nmain_test.go:7:Hello(\"x\")",
				`read {"limit":40,"offset":4,"path":"main.go"}`: "    10\t\n    11\t// Hello greets by name.\n    12\tfunc Hello(name string) string {\n    13\t\treturn \"Hello, \" + name\n    14\t}\n    15\t\n    16\tfunc other() {\n"},
			says: []string{"defined in `main.go:12`", "Its comment says: Hello greets by name.", "return \"Hello, \" + name\n}\n```", "3 lines in 2 files mention it"}, not: []string{"func other"}},
		{name: "explain what is not there", ask: "explain Nothing", world: world{`grep {"pattern":"` + strings.ReplaceAll(definition("Nothing"), `\`, `\\`) + `"}`: "", `grep {"pattern":"\\bNothing\\b"}`: ""}, says: []string{"I found no `Nothing`", "cannot explain"}},
		{name: "write", ask: "write \"hello\" to notes.txt", world: world{`write {"content":"hello\n","path":"notes.txt"}`: "wrote 6 bytes"}, says: []string{"I wrote `notes.txt` (1 line)"}},
		{name: "write denied", ask: "write \"hello\" to .env", world: world{`write {"content":"hello\n","path":".env"}`: "Error: Denied by policy: path \"*.env\" → deny. "}, says: []string{"I was not allowed to write `.env`", "*.env"}, not: []string{"I wrote"}},
		{name: "write expired", ask: "write \"hello\" to a.txt", world: world{`write {"content":"hello\n","path":"a.txt"}`: "Error: Not run: the approval expired before anybody decided."}, says: []string{"not allowed", "expired before anybody decided"}, not: []string{"I wrote"}},
		{name: "edit and look", ask: "replace foo with bar in a.go, then show the diff", world: world{`edit {"new":"bar","old":"foo","path":"a.go"}`: "ok", `bash {"command":"git --no-pager diff HEAD"}`: "--- a\n+++ b\n-foo\n+bar"},
			calls: []string{`edit {"new":"bar","old":"foo","path":"a.go"}`, `bash {"command":"git --no-pager diff HEAD"}`}, says: []string{"I replaced `foo` with `bar`", "1 line added, 1 line removed", "```diff"}},
		{name: "edit shows the place", ask: "replace foo with bar in a.go", world: world{`edit {"new":"bar","old":"foo","path":"a.go"}`: "edited a.go: 1 replaced, 9 bytes, sha256 00\n… 5 lines omitted before …\n     6\tbar\n"}, says: []string{"in `a.go`.\n```go\n     6\tbar\n```"}, not: []string{"sha256"}},
		{name: "a file read before and after", ask: "read a.go, then replace foo with bar in a.go, then read a.go", world: world{`read {"path":"a.go"}`: "x", `edit {"new":"bar","old":"foo","path":"a.go"}`: "ok"},
			calls: []string{`read {"path":"a.go"}`, `edit {"new":"bar","old":"foo","path":"a.go"}`, `read {"path":"a.go"}`}},
		{name: "one command twice", ask: "run `date +%N`, then run ls and run `date +%N`", world: world{`bash {"command":"date +%N"}`: "7", `bash {"command":"ls"}`: "a"},
			calls: []string{`bash {"command":"date +%N"}`, `bash {"command":"ls"}`, `bash {"command":"date +%N"}`}},
		{name: "commit and push", ask: "commit with message \"it's done\" and push", world: world{`bash {"command":"git status --short --branch"}`: "## fix...origin/fix\n M a.go", `bash {"command":"git add -A && git commit -m 'it'\\''s done'"}`: "[fix 1234] it's done", `bash {"command":"git push origin HEAD"}`: "To origin"},
			calls: []string{`bash {"command":"git status --short --branch"}`, `bash {"command":"git add -A && git commit -m 'it'\\''s done'"}`, `bash {"command":"git push origin HEAD"}`}, says: []string{"I committed 1 file", "I pushed"}},
		{name: "nothing is pushed after a denied commit", ask: "commit and push", world: world{`bash {"command":"git status --short --branch"}`: " M a.go\n?? b.go", `bash {"command":"git add -A && git commit -m 'Update a.go and 1 other file'"}`: denial},
			calls: []string{`bash {"command":"git status --short --branch"}`, `bash {"command":"git add -A && git commit -m 'Update a.go and 1 other file'"}`}, says: []string{"I was not allowed to commit", "I did not push"}, not: []string{"I pushed", "I committed"}},
		{name: "nothing is committed after failing tests", ask: "run the tests and commit", world: world{`glob {"pattern":"/*"}`: goFiles, `bash {"command":"go test ./..."}`: "FAIL\nexit status 1"}, says: []string{"do not pass", "I did not commit"}},
		{name: "push denied", ask: "push", world: world{`bash {"command":"git push origin HEAD"}`: denial}, says: []string{"I was not allowed to push", "not on a Friday"}, not: []string{"I pushed"}},
		{name: "clean tree", ask: "git status", world: world{`bash {"command":"git status --short --branch"}`: "## main"}, says: []string{"Nothing is changed, on branch `main`."}},
		{name: "a command that fails", ask: "run false", world: world{`bash {"command":"false"}`: "Error: [exit code 1, 0.0 s]\n\nexit status 1"}, says: []string{"`false` failed", "exit status 1"}},
		{name: "a command without output", ask: "run `true`", world: world{`bash {"command":"true"}`: "[exit code 0, 0.0 s]"}, says: []string{"printed nothing"}},
		{name: "an option is no operand", ask: "delete -rf", world: world{`bash {"command":"rm ./-rf"}`: ""}, calls: []string{`bash {"command":"rm ./-rf"}`}},
		{name: "not understood", ask: "make me a sandwich", calls: []string{}, says: []string{"I did not understand “make me a sandwich”", "rules", "no language model", "list the files"}},
		{name: "half understood", ask: "list the files. Make me a sandwich.", world: world{`glob {"pattern":"*"}`: goFiles}, says: []string{"4 entries", "I did not understand “Make me a sandwich”"}},
		{name: "help", ask: "help", calls: []string{}, says: []string{"no language model", "Examples:"}},
		{name: "another person", ask: "Maya says:\nread main.go", world: world{`read {"path":"main.go"}`: "package main"}, says: []string{"package main"}, not: []string{"understand"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := converse(t, c.world, c.tools...)
			got := d.ask(c.ask)
			if c.calls != nil && !slices.Equal(d.calls, c.calls) {
				t.Errorf("calls\n got %s\nwant %s", strings.Join(d.calls, "\n     "), strings.Join(c.calls, "\n     "))
			}
			for _, s := range c.says {
				if !strings.Contains(got, s) {
					t.Errorf("the answer lacks %q:\n%s\ncalls: %v", s, got, d.calls)
				}
			}
			for _, s := range c.not {
				if strings.Contains(got, s) {
					t.Errorf("the answer has %q:\n%s", s, got)
				}
			}
		})
	}
}

func TestWhatOnlyLooksRunsSideBySide(t *testing.T) {
	d := converse(t, world{`read {"path":"a.go"}`: "a", `read {"path":"b.go"}`: "b", `glob {"pattern":"*"}`: goFiles})
	got := d.ask("read a.go, read b.go and list the files")
	if d.rounds != 1 || len(d.calls) != 3 {
		t.Errorf("%d rounds, calls %v", d.rounds, d.calls)
	}
	if a, b := strings.Index(got, "`a.go`"), strings.Index(got, "`b.go`"); a < 0 || b < a {
		t.Errorf("answers out of order:\n%s", got)
	}
}

func TestTurnsDoNotMix(t *testing.T) {
	d := converse(t, world{`read {"path":"a.go"}`: "first"})
	d.ask("read a.go")
	d.world[`read {"path":"a.go"}`] = "second"
	if got := d.ask("read a.go"); !strings.Contains(got, "second") || len(d.calls) != 1 {
		t.Errorf("an earlier turn's result was used: %s", got)
	}
	d.world[`read {"path":"a.go"}`] = "third"
	if got := d.ask("again"); !strings.Contains(got, "third") {
		t.Errorf("again: %s", got)
	}
}

// A message that joins the turn adds to it: what was done is not done again.
func TestSteering(t *testing.T) {
	d := converse(t, world{`bash {"command":"echo 1"}`: "one", `read {"path":"a.go"}`: "A"})
	d.add(model.Message{Role: model.User, Text: "run `echo 1`"})
	if _, done := d.step(); done {
		t.Fatal("no call")
	}
	d.add(model.Message{Role: model.User, Text: "[system] a note"})
	got := d.ask("and read a.go")
	if !strings.Contains(got, "one") || !strings.Contains(got, "`a.go`") || !slices.Equal(d.calls, []string{`read {"path":"a.go"}`}) {
		t.Errorf("calls %v, answer:\n%s", d.calls, got)
	}
}

// A turn that a person stopped is over: the next question does not take it up again.
func TestAfterAStop(t *testing.T) {
	d := converse(t, world{`bash {"command":"rm a.go"}`: "Error: This call has no result: the turn ended before it did.", `read {"path":"b.go"}`: "B"})
	d.add(model.Message{Role: model.User, Text: "delete a.go"})
	d.step()
	if got := d.ask("read b.go"); !slices.Equal(d.calls, []string{`read {"path":"b.go"}`}) || strings.Contains(got, "a.go") {
		t.Errorf("calls %v, answer:\n%s", d.calls, got)
	}
}

func TestIDsAreUniqueInAConversation(t *testing.T) {
	d := converse(t, world{`read {"path":"a.go"}`: "A", `read {"path":"b.go"}`: "B"})
	d.ask("read a.go and read b.go")
	d.ask("read a.go")
	seen := map[string]bool{}
	for _, m := range d.req.Messages {
		for _, c := range m.Calls {
			if seen[c.ID] {
				t.Errorf("id %s twice", c.ID)
			}
			seen[c.ID] = true
		}
	}
	if len(seen) != 3 {
		t.Errorf("%d calls", len(seen))
	}
}

func TestAnAnswerHasAnEnd(t *testing.T) {
	many := strings.Repeat("read a.go\nread b.go\n", 50)
	d := converse(t, world{})
	d.ask(many)
	if len(d.calls) > maxCalls {
		t.Errorf("%d calls", len(d.calls))
	}
	long := converse(t, world{`read {"path":"a.go"}`: strings.Repeat("a long line of text ü\n", 10_000)}).ask("read a.go")
	if len(long) > 3*blockBytes || !strings.Contains(long, "bytes left out") {
		t.Errorf("answer of %d bytes", len(long))
	}
}
