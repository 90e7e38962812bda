package localagent

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
)

// top is the list of the project's top-level files. Folders are not among them: glob lists files.
func top(t *turn) ([]string, outcome, bool) {
	o, done := t.glob("/*", "")
	if !done || o.kind != ok {
		return nil, o, done
	}
	return paths(o.text), o, true
}

// find is the first name that one of the patterns matches in any case, "" when there is none.
func find(names []string, patterns ...string) string {
	for _, p := range patterns {
		for _, n := range names {
			if hit, err := path.Match(p, strings.ToLower(strings.TrimSuffix(n, "/"))); err == nil && hit {
				return n
			}
		}
	}
	return ""
}

// kindOf says what kind of project has these files, "" when that is not clear.
func kindOf(names []string) string {
	for _, k := range []struct{ kind, file string }{
		{"Go", "go.mod"}, {"Rust", "cargo.toml"}, {"TypeScript", "tsconfig.json"}, {"JavaScript", "package.json"}, {"Python", "pyproject.toml"}, {"Python", "setup.py"},
		{"Python", "requirements.txt"}, {"Java", "pom.xml"}, {"Java or Kotlin", "build.gradle*"}, {"Ruby", "gemfile"}, {"PHP", "composer.json"}, {"Elixir", "mix.exs"},
		{"C or C++", "cmakelists.txt"}, {"Go", "*.go"}, {"Python", "*.py"}, {"JavaScript", "*.js"}, {"C", "*.c"}, {"shell", "*.sh"},
	} {
		if find(names, k.file) != "" {
			return k.kind
		}
	}
	return ""
}

// overview says what the README says of the project, and lists the files.
func overview(t *turn, _ []string) (string, bool) {
	names, o, done := top(t)
	if !done {
		return "", false
	}
	if o.kind != ok {
		return o.excuse("look at the project's files"), true
	}
	if len(names) == 0 {
		return "The project has no files yet.", true
	}
	answer := ""
	if file := find(names, "readme.md", "readme", "readme.*"); file == "" {
		answer = "There is no README that would say what this project does."
	} else {
		text, done := t.read(file, 0, 60)
		switch {
		case !done:
			return "", false
		case text.kind != ok:
			answer = text.excuse("read " + code(file))
		default:
			answer = "What " + code(file) + " says: " + summary(withoutNumbers(text.text))
		}
	}
	if kind := kindOf(names); kind != "" {
		answer += "\nBy its files it is a " + kind + " project"
	} else {
		answer += "\nIts files"
	}
	shown := names
	if len(shown) > 12 {
		shown = shown[:12]
	}
	answer += ": " + code(strings.Join(shown, " "))
	if len(names) > 12 {
		answer += fmt.Sprintf(" and %d more", len(names)-12)
	}
	return answer + ".", true
}

// summary is a README's title and first paragraphs, at most some 600 bytes.
func summary(s string) string {
	title, paragraph := "", ""
	for _, block := range strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n\n") {
		if block = strings.Trim(block, "\n"); strings.HasPrefix(block, "    ") || strings.HasPrefix(block, "\t") {
			continue // code
		}
		block = strings.TrimSpace(block)
		if rest, ok := strings.CutPrefix(block, "#"); ok {
			head, more, _ := strings.Cut(strings.TrimLeft(rest, "# "), "\n")
			if title == "" {
				title = strings.TrimSpace(head)
			} else if paragraph != "" {
				break
			}
			block = strings.TrimSpace(more)
		}
		if block == "" || strings.HasPrefix(block, "[![") || strings.HasPrefix(block, "![") || strings.HasPrefix(block, "<") || strings.HasPrefix(block, "```") {
			continue
		}
		paragraph += " " + strings.Join(strings.Fields(block), " ")
		if len(paragraph) > 300 {
			break
		}
	}
	switch {
	case title == "" && paragraph == "":
		return "nothing that I could quote."
	case paragraph == "":
		return "**" + title + "**."
	case title == "":
		return clip(strings.TrimSpace(paragraph), 600)
	}
	return "**" + title + "** – " + clip(strings.TrimSpace(paragraph), 600)
}

// named makes a goal that shows the first top-level file of some names.
func named(t *turn, what string, limit int, patterns ...string) (string, bool) {
	names, o, done := top(t)
	if !done {
		return "", false
	}
	if o.kind != ok {
		return o.excuse("look at the project's files"), true
	}
	file := find(names, patterns...)
	if file == "" {
		return "I found no " + what + " among the project's top-level files.", true
	}
	text, done := t.read(file, 0, limit)
	return shown(text, done, file, code(file))
}

func readme(t *turn, _ []string) (string, bool) {
	return named(t, "README", 0, "readme.md", "readme", "readme.*")
}

func license(t *turn, _ []string) (string, bool) {
	return named(t, "licence", 12, "license*", "licence*", "copying*", "unlicense")
}

func deps(t *turn, _ []string) (string, bool) {
	return named(t, "file that lists dependencies", 0, "go.mod", "package.json", "cargo.toml", "requirements.txt", "pyproject.toml", "pom.xml", "gemfile", "composer.json", "build.gradle*")
}

func howRun(t *turn, _ []string) (string, bool) {
	return named(t, "README or Makefile", 80, "readme.md", "readme", "readme.*", "makefile", "package.json")
}

func language(t *turn, _ []string) (string, bool) {
	names, o, done := top(t)
	switch {
	case !done:
		return "", false
	case o.kind != ok:
		return o.excuse("look at the project's files"), true
	}
	if kind := kindOf(names); kind != "" {
		return "By its top-level files (" + code(clip(strings.Join(names, " "), 200)) + ") this is a " + kind + " project.", true
	}
	return "I cannot tell the language from the top-level files: " + code(clip(strings.Join(names, " "), 300)) + ".", true
}

// tool is a command for a kind of project: tests, build, lint or format.
type tool struct{ file, command string }

var (
	testTools   = []tool{{"go.mod", "go test ./..."}, {"cargo.toml", "cargo test"}, {"package.json", "npm test"}, {"pyproject.toml", "python3 -m pytest -q"}, {"pytest.ini", "python3 -m pytest -q"}, {"setup.py", "python3 -m pytest -q"}, {"tox.ini", "python3 -m pytest -q"}, {"test_*.py", "python3 -m pytest -q"}, {"pom.xml", "mvn -q test"}, {"gradlew", "./gradlew test"}, {"mix.exs", "mix test"}, {"gemfile", "bundle exec rake test"}, {"makefile", "make test"}}
	buildTools  = []tool{{"go.mod", "go build ./..."}, {"cargo.toml", "cargo build"}, {"package.json", "npm run build"}, {"pom.xml", "mvn -q compile"}, {"gradlew", "./gradlew build"}, {"makefile", "make"}}
	lintTools   = []tool{{"go.mod", "go vet ./..."}, {"cargo.toml", "cargo clippy"}, {"package.json", "npm run lint"}, {"pyproject.toml", "python3 -m ruff check ."}, {"makefile", "make lint"}}
	formatTools = []tool{{"go.mod", "gofmt -l -w ."}, {"cargo.toml", "cargo fmt"}, {"package.json", "npm run format"}, {"pyproject.toml", "python3 -m ruff format ."}, {"makefile", "make fmt"}}
)

// toolFor finds the command by the top-level files. For package.json the script must be there.
func toolFor(t *turn, tools []tool, what string) (command, answer string, done bool) {
	names, o, done := top(t)
	switch {
	case !done:
		return "", "", false
	case o.kind != ok:
		return "", o.excuse("look for the way to " + what), true
	}
	for _, c := range tools {
		if find(names, c.file) == "" {
			continue
		}
		if c.file == "package.json" {
			has, done := hasScript(t, c.command[strings.LastIndexByte(c.command, ' ')+1:])
			if !done {
				return "", "", false
			}
			if !has {
				continue
			}
		}
		return c.command, "", true
	}
	return "", "I do not see how to " + what + " here: none of the files that I know (" + code("go.mod, package.json, Makefile, pyproject.toml, …") + ") is at the project's top level. Tell me the command, as `run make check`.", true
}

func hasScript(t *turn, name string) (has, done bool) {
	o, done := t.read("package.json", 0, 0)
	if !done || o.kind != ok {
		return false, done
	}
	var p struct{ Scripts map[string]string }
	if json.Unmarshal([]byte(withoutNumbers(o.text)), &p) != nil {
		return strings.Contains(o.text, `"`+name+`":`), true
	}
	return p.Scripts[name] != "", true
}

func runTests(t *turn, _ []string) (string, bool) {
	command, answer, done := toolFor(t, testTools, "run the tests")
	if !done || answer != "" {
		return answer, done
	}
	o, done := t.bash(command)
	if !done {
		return "", false
	}
	switch o.kind {
	case ok:
		if strings.Contains(o.text, "no test files") && !strings.Contains(o.text, "ok ") || strings.Contains(o.text, "no tests ran") {
			return "There are no tests: " + code(command) + " found none." + block(o.text), true
		}
		return "The tests pass (" + code(command) + ")." + block(o.text), true
	case failed:
		answer = "The tests do not pass (" + code(command) + ")."
		if names := failing(o.text); len(names) > 0 {
			answer += " Failing: " + code(clip(strings.Join(names, ", "), 300)) + "."
		}
		return answer + block(o.text), true
	}
	return o.excuse("run the tests (" + code(command) + ")"), true
}

// failing are the names of failed tests, as go test and pytest print them.
func failing(s string) []string {
	var out []string
	for _, l := range lines(s) {
		l = strings.TrimSpace(l)
		for _, mark := range []string{"--- FAIL: ", "FAILED "} {
			if rest, ok := strings.CutPrefix(l, mark); ok {
				out = append(out, strings.Fields(rest + " ?")[0])
			}
		}
	}
	return out
}

func build(t *turn, _ []string) (string, bool) {
	return runTool(t, buildTools, "build it", "It builds")
}

func lint(t *turn, _ []string) (string, bool) {
	return runTool(t, lintTools, "check the code", "The check found nothing")
}

func format(t *turn, _ []string) (string, bool) {
	return runTool(t, formatTools, "format the code", "The code is formatted")
}

func runTool(t *turn, tools []tool, what, good string) (string, bool) {
	command, answer, done := toolFor(t, tools, what)
	if !done || answer != "" {
		return answer, done
	}
	o, done := t.bash(command)
	switch {
	case !done:
		return "", false
	case o.kind != ok:
		return o.excuse(what + " (" + code(command) + ")"), true
	}
	return good + " (" + code(command) + ")." + block(o.text), true
}

func countLines(t *turn, _ []string) (string, bool) {
	const line = "git ls-files -z | xargs -0 wc -l | tail -n 1"
	o, done := t.bash(line)
	switch {
	case !done:
		return "", false
	case o.kind != ok:
		return o.excuse("count the lines"), true
	}
	return "The files that git knows have " + code(strings.TrimSpace(o.text)) + " lines (" + code(line) + ").", true
}
