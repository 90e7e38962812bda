package localagent

import (
	"fmt"
	"strings"
)

// goal works for one intent: it returns its answer, or false while calls are pending. Changes says that it calls
// tools that may change something.
type goal struct {
	changes bool
	run     func(t *turn, args []string) (string, bool)
}

// goals by the names of the rules. Filled in init: some goals look at others.
var goals map[string]goal

func init() {
	look := func(run func(*turn, []string) (string, bool)) goal { return goal{run: run} }
	change := func(run func(*turn, []string) (string, bool)) goal { return goal{changes: true, run: run} }
	goals = map[string]goal{
		"help": says(identity + "\n" + examplesText), "identity": says(identity), "again": says("There is nothing before this that I could do again."),
		"hello":  says("Hello! " + identity + " Say `help` to see what I understand."),
		"thanks": says("You are welcome."),

		"overview": look(overview), "deps": look(deps), "language": look(language), "howrun": look(howRun), "license": look(license),
		"readme": look(readme), "todos": look(todos), "tests": change(runTests), "build": change(build), "lint": change(lint), "format": change(format), "lines": change(countLines),

		"list": look(list), "listin": look(list), "tree": look(tree), "files": look(findFiles), "outline": look(outline), "read": look(readFile), "head": look(readHead),
		"tail": look(readTail), "range": look(readRange), "search": look(search), "searchin": look(search), "define": look(define), "uses": look(uses),
		"explain": look(explain), "explainfile": look(explainFile),

		"write": change(write), "writeinto": change(func(t *turn, a []string) (string, bool) { return write(t, []string{a[1], a[0]}) }),
		"empty": change(func(t *turn, a []string) (string, bool) { return write(t, []string{a[0], ""}) }), "append": change(appendTo), "appendline": change(appendLine),
		"replace": change(replace), "replaceall": change(replaceAll), "mkdir": change(command("create the folder %s", "mkdir -p %s")),
		"delete": change(command("delete %s", "rm %s")), "move": change(command("move %s to %s", "mv %s %s")), "copy": change(command("copy %s to %s", "cp -r %s %s")),

		"run": change(runCommand), "runbare": change(runCommand), "sleep": change(func(t *turn, a []string) (string, bool) { return runCommand(t, []string{"sleep " + a[0]}) }),

		"status": change(gitStatus), "diff": change(gitDiff), "log": change(gitLog), "logfile": change(gitLogFile), "blame": change(gitBlame), "branch": change(gitBranch),
		"newbranch": change(command("create the branch %s", "git switch -c %s")), "switch": change(command("switch to %s", "git switch %s")),
		"commit": change(commit), "push": change(push), "pull": change(command("pull", "git pull --ff-only")), "fetch": change(command("fetch", "git fetch")),
		"revert": change(command("undo the changes of %s", "git checkout -- %s")),
	}
}

const identity = "I am the built-in local agent: I follow rules and am no language model. I understand a few dozen requests in plain English; for more, an operator configures a model."

const examplesText = "Examples:\n" +
	"- `what does this project do, and do its tests pass?`\n" +
	"- `list the files`, `show the tree`, `read main.go`, `show lines 10-20 of main.go`\n" +
	"- `search for TODO in *.go`, `where is Parse defined?`, `who calls Parse?`, `explain Parse`\n" +
	"- `run go vet ./...`, `run the tests`, `build it`, `format the code`\n" +
	"- `write \"hello\" to notes.txt`, `replace \"a\" with \"b\" in notes.txt`, `append \"x\" to notes.txt`, `delete notes.txt`\n" +
	"- `git status`, `show the diff`, `show the last 5 commits`, `commit with message \"Fix it\" and push`"

func examples() string { return examplesText }

func says(text string) goal {
	return goal{run: func(*turn, []string) (string, bool) { return text, true }}
}

// command makes a goal of one shell command with the intent's arguments as its operands.
func command(what, shell string) func(*turn, []string) (string, bool) {
	return func(t *turn, a []string) (string, bool) {
		n := strings.Count(shell, "%s")
		shown, quoted := make([]any, n), make([]any, n)
		for i := range n {
			shown[i], quoted[i] = code(a[i]), operand(a[i])
		}
		line := fmt.Sprintf(shell, quoted...)
		o, done := t.bash(line)
		if !done {
			return "", false
		}
		if o.kind != ok {
			return o.excuse(fmt.Sprintf(what, shown...)), true
		}
		return "Done: " + code(line) + "." + block(o.text), true
	}
}

func runCommand(t *turn, a []string) (string, bool) {
	line := strings.TrimSpace(a[0])
	o, done := t.bash(line)
	switch {
	case !done:
		return "", false
	case o.kind == ok && o.text == "":
		return code(line) + " ended well and printed nothing.", true
	case o.kind == ok:
		return code(line) + ":" + block(o.text), true
	case o.kind == failed:
		return code(line) + " failed:" + block(o.text), true
	}
	return o.excuse("run " + code(line)), true
}
