package localagent

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func shownPlan(p plan) string {
	var out []string
	for _, in := range p.intents {
		var args []string
		for _, a := range in.args {
			if a != "" {
				args = append(args, a)
			}
		}
		out = append(out, in.name+"("+strings.Join(args, "|")+")")
	}
	for _, u := range p.unknown {
		out = append(out, "?("+u+")")
	}
	return strings.Join(out, " ")
}

// One line of the table: what a person writes, and the goals that it becomes.
func TestParse(t *testing.T) {
	cases := []struct{ text, want string }{
		// talk
		{"help", "help()"}, {"What can you do?", "help()"}, {"who are you?", "identity()"}, {"hi", "hello()"}, {"Hello!", "hello()"},
		{"thanks!", "thanks()"}, {"again please", "again()"}, {"<@123> hello", "hello()"}, {"hey, list the files", "list()"}, {"wait 20 seconds", "sleep(20)"},
		// the project
		{"what does this project do, and do its tests pass?", "overview() tests()"},
		{"What does this project do? Do its tests pass?", "overview() tests()"},
		{"Please tell me what this project does", "?(Please tell me what this project does)"},
		{"explain this project", "overview()"}, {"what is this repo about?", "overview()"}, {"summarize the codebase", "overview()"},
		{"run the tests", "tests()"}, {"can you run the tests for me please?", "tests()"}, {"do the tests pass", "tests()"}, {"are the tests green?", "tests()"}, {"check that the tests pass", "tests()"},
		{"build it", "build()"}, {"does it compile?", "build()"}, {"run go vet", "lint()"}, {"lint the code", "lint()"}, {"format the code", "format()"},
		{"which dependencies does it have?", "deps()"}, {"show the dependencies", "deps()"}, {"what language is it written in?", "language()"}, {"how do I run this?", "howrun()"},
		{"which license does it have?", "license()"}, {"show me the readme", "readme()"}, {"how many lines of code are there?", "lines()"}, {"list all todos", "todos()"}, {"find the TODOs in the project", "todos()"},
		// looking
		{"ls", "list()"}, {"list the files", "list()"}, {"what files are there?", "list()"}, {"list files in cmd/app", "listin(cmd/app)"}, {"what is in the directory internal", "listin(internal)"},
		{"show the tree", "tree()"}, {"show the structure of actor", "tree(actor)"},
		{"read main.go", "read(main.go)"}, {"show me the file go.mod", "read(go.mod)"}, {"cat README.md", "read(README.md)"}, {"what's in main.go?", "read(main.go)"}, {"open `my file.txt`", "read(my file.txt)"},
		{"show the first 20 lines of main.go", "head(20|main.go)"}, {"tail 5 main.go", "tail(5|main.go)"}, {"show lines 10-20 of main.go", "range(10|20|main.go)"}, {"read main.go:7", "range(main.go|7)"}, {"open main.go, lines 3 to 9", "range(main.go|3|9)"},
		{"search for foo bar", "search(foo bar)"}, {"grep \"a, and b\"", "search(a, and b)"}, {"search for TODO in *.go", "searchin(TODO|*.go)"}, {"find foo in main.go", "searchin(foo|main.go)"}, {"which files mention Parse?", "search(Parse)"},
		{"find files named config", "files(config)"}, {"find all go files", "files(go)"}, {"where is the file main.go?", "files(main.go)"}, {"show all *.md files", "files(*.md)"},
		{"where is Parse defined?", "define(Parse)"}, {"find the definition of Server.Close", "define(Server.Close)"}, {"where is Parse?", "define(Parse)"}, {"who calls Parse()?", "uses(Parse())"}, {"where is Parse used", "uses(Parse)"}, {"show all usages of Parse", "uses(Parse)"},
		{"explain Parse", "explain(Parse)"}, {"what does the function Parse do?", "explain(Parse)"}, {"how does Parse work?", "explain(Parse)"}, {"what is a Claim?", "explain(Claim)"}, {"explain main.go", "explainfile(main.go)"}, {"what does main.go do?", "explainfile(main.go)"},
		{"show the functions in main.go", "outline(main.go)"}, {"outline main.go", "outline(main.go)"},
		// commands
		{"run `go test ./... && echo done`", "run(go test ./... && echo done)"}, {"run ls -la", "run(ls -la)"}, {"execute the command: make check", "run(make check)"}, {"$ echo hi, there", "run(echo hi, there)"}, {"`ls -la`", "run(ls -la)"},
		{"git rebase main", "runbare(git rebase main)"}, {"go vet ./...", "runbare(go vet ./...)"}, {"run:\n```sh\nls\npwd\n```", "run(ls\npwd)"},
		// changes
		{"write \"hello, and bye\" to notes.txt", "writeinto(hello, and bye|notes.txt)"}, {"create a file notes.txt with the content hello world", "write(notes.txt|hello world)"}, {"create notes.txt with:\n```\na\nb\n```", "write(notes.txt|a\nb)"},
		{"create an empty file a/b.txt", "empty(a/b.txt)"}, {"append \"x\" to notes.txt", "append(x|notes.txt)"}, {"add a line to the README, commit it and push", "appendline(README) commit() push()"}, {"add a line \"Ships.\" to the README", "append(Ships.|README)"}, {"add a comment to main.go", "appendline(main.go)"}, {"replace \"a b\" with \"c\" in notes.txt", "replace(a b|c|notes.txt)"}, {"change foo to bar in main.go", "replace(foo|bar|main.go)"},
		{"replace all foo with bar in main.go", "replaceall(foo|bar|main.go)"}, {"in main.go, replace `x` with `y`", "replace(main.go|x|y)"}, {"delete notes.txt", "delete(notes.txt)"}, {"rename a.txt to b.txt", "move(a.txt|b.txt)"}, {"create the folder docs", "mkdir(docs)"}, {"copy a.txt to b.txt", "copy(a.txt|b.txt)"},
		// git
		{"git status", "status()"}, {"what changed?", "status()"}, {"are there uncommitted changes?", "status()"}, {"show the diff", "diff()"}, {"what did you change?", "diff()"}, {"show the diff of main.go", "diff(main.go)"},
		{"show the last 5 commits", "log(5)"}, {"git log", "log()"}, {"show me recent commits", "log()"}, {"who last changed main.go?", "logfile(main.go)"}, {"who wrote main.go?", "blame(main.go)"}, {"which branch are we on?", "branch()"},
		{"create a new branch fix/auth", "newbranch(fix/auth)"}, {"switch to branch main", "switch(main)"}, {"commit", "commit()"}, {"commit the changes with message \"Fix it, and more\"", "commit(Fix it, and more)"}, {"git commit -m 'Fix it'", "commit(Fix it)"}, {"commit with message Fix the parser", "commit(Fix the parser)"},
		{"push", "push()"}, {"push it to origin main", "push(origin|main)"}, {"git push origin fix/auth", "push(origin|fix/auth)"}, {"pull", "pull()"}, {"undo the changes in main.go", "revert(main.go)"},
		// several at once
		{"run the tests, commit and push", "tests() commit() push()"},
		{"commit with message \"Fix\" and push", "commit(Fix) push()"},
		{"Write `x` to a.txt, then show me the diff and the tests", "?(Write `x` to a.txt, then show me the diff and the tests)"},
		{"replace foo with bar in main.go, then run the tests and show the diff", "replace(foo|bar|main.go) tests() diff()"},
		{"hi! read main.go please. thanks", "read(main.go)"},
		{"search for foo and bar", "search(foo and bar)"},
		// not understood
		{"what is the meaning of life?", "?(what is the meaning of life)"}, {"refactor everything to be nicer", "?(refactor everything to be nicer)"}, {"make it faster", "?(make it faster)"}, {"go away", "?(go away)"},
		{"read main.go. Then sing a song.", "read(main.go) ?(Then sing a song)"}, {"", ""}, {"?!", ""},
	}
	for _, c := range cases {
		if got := shownPlan(parse(c.text)); got != c.want {
			t.Errorf("%q\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}

// A command reaches bash as it was written, or not at all.
func TestCommandsAreExact(t *testing.T) {
	exact := []string{
		`printf '%s|' 'a b' c`, `printf "%s|" "a b" c`, `echo "a" 'b' "c d"`, `git commit -am "Fix it" --amend`, `grep -rn "func main" .`, `echo "x"y`, `echo x"y z"`,
		`git log --format='%h, and %s' -n 3`, `echo '' b`, `echo "" "a, b"`, `echo a\  b`, `echo \"a b\" c`, `echo "a \"b c\" d" e`, `echo   two   blanks`,
		`cd cmd; ls`, `cd cmd; ls; pwd`, `for f in *.go; do echo "$f"; done`, `for f in a b; do echo $f, ls; done`, `if [ -f go.mod ]; then echo yes; fi`,
		`awk '{print $1; print $2}' f`, `sed -e's/a; b/x/' f`, `sed -e's/a and push/x/' f`, `sleep 20 && echo done`, `ls *.t?`, `echo hi!`, `echo done.`, `ls | wc -l; `,
		"echo `date` x", `echo $(date) "$HOME"`, `echo ⟦0⟧ "⟦1⟧"`, `find . -name '*.go' -exec grep -l x {} +`, `test -f a.txt && echo "yes, it is"`, `echo don\'t`, "echo a\\\n  b",
		`curl "http://x/?a=1&b=2"`, `go test -run 'TestA|TestB' ./...`, `ls ..`, `X="a b" env`,
	}
	for _, c := range exact {
		for _, before := range []string{"run ", "$ ", "execute the command: ", "please run ", "<@123> run "} {
			if strings.HasPrefix(before, "please") && strings.ContainsAny(c[len(c)-1:], "?!.; ") {
				continue // the end of a polite sentence
			}
			if got, want := shownPlan(parse(before+c)), "run("+strings.TrimSpace(c)+")"; got != want {
				t.Errorf("%s%s\n got %s", before, c, got)
			}
		}
	}
	for text, want := range map[string]string{
		// the whole argument in quotes
		"run `go vet ./...`": "run(go vet ./...)", `run "go test"`: "run(go test)", `run 'echo "a b"'`: `run(echo "a b")`, `run "echo \"a b\""`: `run(echo "a b")`,
		"run this command:\n```\necho 'a b'\n```": "run(echo 'a b')", "run `ls` please": "run(ls)", "do `ls`": "run(ls)", "run `a`; read b.txt": "run(a) read(b.txt)",
		"run `cd x; ls`, then read main.go": "run(cd x; ls) read(main.go)",
		// other arguments
		`write "hello" to notes.txt`: "writeinto(hello|notes.txt)", `write He said "hi" to notes.txt`: `writeinto(He said "hi"|notes.txt)`, `write "" to a.txt`: "writeinto(a.txt)",
		`commit with message Fix "the" parser`: `commit(Fix "the" parser)`, "search for `a b`": "search(a b)", "read  `my file.txt`": "read(my file.txt)",
		// a command's end in a sentence
		"run ls. Then read a.txt.": "run(ls) read(a.txt)", "Run ls.": "run(ls)", "can you run ls?": "run(ls)", "run ls, then read a.txt": "run(ls) read(a.txt)",
		"read a.txt, run cd x; ls": "read(a.txt) run(cd x; ls)",
		// where it cannot be told, nothing runs
		"run rm -r build. Delete nothing else.": "?(run rm -r build. Delete nothing else)", "run `go vet` and tell me what it says": "?(run `go vet` and tell me what it says)",
		"run echo 'a": "?(run echo 'a)", "run it": "?(run it)", "do what I said": "?(do what I said)", "run ls; echo 'a": "?(run ls; echo 'a)",
		"run " + strings.Repeat("x", maxQuestion): "?(run " + strings.Repeat("x", maxQuestion-4) + "…)",
	} {
		if got := shownPlan(parse(text)); got != want {
			t.Errorf("%q\n got %s\nwant %s", text, got, want)
		}
	}
}

func TestEveryRuleHasAGoal(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range rules {
		seen[r.name] = true
		if goals[r.name].run == nil {
			t.Errorf("no goal %s", r.name)
		}
	}
	for name := range goals {
		if !seen[name] {
			t.Errorf("no rule leads to %s", name)
		}
	}
	if len(seen) < 40 {
		t.Errorf("%d intents", len(seen))
	}
}

// FuzzParse: no question makes the parser fail, lose its bounds, change a command, or leave a slot in an argument.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"run `ls` and ```\nx\n```", "'a' \"b\" “c”", "⟦0⟧", "a, b, c, and d then e", "read main.go:1-2", "commit\xff", "run printf '%s|' 'a  b' c", "run a; b \"c", "$ echo \\ x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p := parse(s)
		if len(p.intents) > maxClauses {
			t.Fatalf("%d intents", len(p.intents))
		}
		for _, in := range p.intents {
			if goals[in.name].run == nil {
				t.Fatalf("no goal %s", in.name)
			}
			if in.open && !strings.Contains(s, in.args[0]) {
				t.Fatalf("the command %q is not what was written", in.args[0])
			}
			if !strings.ContainsAny(s, "⟦⟧") && strings.Contains(fmt.Sprint(in.args), "⟦") || utf8.ValidString(s) && !utf8.ValidString(fmt.Sprint(in.args)) {
				t.Fatalf("args %q", in.args)
			}
		}
	})
}
