package policy

import (
	"slices"
	"strings"
)

// handlers know how a program treats its arguments. Others are judged by their text, each argument as a path.
// A function breaks the cycle of initialisation between the table and what it leads to.
var handlers map[string]func(*shell, *call)

func init() {
	handlers = map[string]func(*shell, *call){
		"eval": evalCode, "trap": trapCode, "source": sourced, ".": sourced,
		"git": gitCommand, "find": findCommand, "cd": changeDir, "pushd": changeDir,
		"echo": noPaths, "printf": printf, "test": bracket, "[": bracket, "expr": noPaths, "tr": noPaths, "seq": noPaths,
		"sleep": noPaths, "kill": noPaths, "basename": noPaths, "dirname": noPaths, "which": noPaths, "type": noPaths, "exit": noPaths, "return": noPaths,
		"set": noPaths, "export": declareAgain, "declare": changesShell, "typeset": changesShell, "local": changesShell, "readonly": changesShell,
		"grep": pattern, "egrep": pattern, "fgrep": pattern, "rg": pattern, "ag": pattern, "jq": jqCommand, "pytest": pytest,
		"sed": sedCommand, "awk": awkCommand, "gawk": awkCommand, "mawk": awkCommand, "nawk": awkCommand,
		"go": goCommand, "dotnet": dotnet, "tee": tee, "make": goals, "mvn": goals, "mvnw": goals,
		"gradle": goals, "gradlew": goals,
	}
	for name := range wrappers {
		handlers[name] = unwrap
	}
	for _, name := range shells {
		handlers[name] = shellCode
	}
	for _, name := range strings.Fields(`python python2 python3 pypy pypy3 node nodejs deno bun perl ruby php lua luajit
		Rscript osascript tclsh wish guile groovy scala julia elixir erl ghci swift pwsh powershell fish csh tcsh`) {
		handlers[name] = interpreter
	}
	for _, name := range strings.Fields(`alias unalias enable hash bind complete compgen compopt mapfile readarray read let unset
		shopt getopts history fc jobs popd dirs umask ulimit coproc`) {
		handlers[name] = changesShell
	}
	for _, name := range strings.Fields(`ssh parallel script unshare chroot nsenter flock watch su runuser systemd-run at batch crontab
		screen tmux expect socat nc ncat netcat strace ltrace gdb lldb valgrind docker podman nerdctl kubectl rsync
		vi vim nvim ed ex emacs nano less more man sqlite3 psql mysql proot fakeroot taskset chrt numactl setpriv capsh
		dbus-run-session xvfb-run entr direnv mise nix nix-shell start-stop-daemon run-parts cpulimit prlimit setarch linux32
		linux64 uv poetry pipenv pdm rye hatch tox nox sg newgrp faketime m4 gnuplot ld.so npx bunx pipx bundle`) {
		handlers[name] = hiding
	}
	for name := range wrappers {
		carriers[name] = true
	}
	for _, name := range append([]string{"eval", "trap", "find", "git", "source"}, shells...) {
		carriers[name] = true
	}
	for name := range guards {
		if handlers[name] == nil {
			handlers[name] = func(_ *shell, c *call) { guard(c) }
		}
	}
}

// carriers are programs that carry a command in their arguments and are unwrapped. The dot is none: among the
// arguments of a program it is the folder, as in "gofmt -l .".
var carriers = map[string]bool{}

// plain programs run no other command, whatever their arguments are; a command's name among the arguments means
// nothing.
var plain = set(`echo printf cat head tail wc ls pwd true false : test [ mkdir touch basename dirname realpath readlink stat file
	grep egrep fgrep cut tr nl tac rev diff cmp comm md5sum sha1sum sha256sum sleep seq date expr which type du df fold column
	jq kill paste uniq cd pushd set exit return cp mv rm ln chmod tree od xxd cksum git rg find sed go sort export command`)

func set(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}

// guards are options that run a program or write a file where nobody expects it. A longer name also stands for its
// abbreviations.
var guards = map[string][]string{
	"rg":    {"--pre", "--hostname-bin"},
	"sort":  {"--compress-program"},
	"tar":   {"--to-command", "--checkpoint-action", "--use-compress-program", "--rsh-command", "--info-script", "--new-volume-script", "-I", "-F"},
	"cargo": {"--config", "-Z"},
	"pip":   {"--python", "--log"},
	"pip3":  {"--python", "--log"},
	"zip":   {"-TT", "--unzip-command"},
	"npm":   {"--script-shell", "--shell", "--node-options", "--userconfig", "--globalconfig", "--use-yarnrc"},
	"pnpm":  {"--script-shell", "--shell", "--node-options", "--userconfig", "--globalconfig", "--use-yarnrc"},
	"yarn":  {"--script-shell", "--shell", "--node-options", "--userconfig", "--globalconfig", "--use-yarnrc"},

	"go": {"-exec", "-toolexec", "-vettool", "-overlay", "-modfile", "-extld", "-http"},
	// --tx runs a program or sends the project to a host, addopts and @file hold any other option.
	"pytest": {"--pastebin", "--basetemp", "--tx", "--px", "--rsyncdir"},
	"mypy":   {"--install-types", "--python-executable"},
	"eslint": {"--init", "--inspect-config", "--mcp"}, // each gets a package and runs it
	"ctest":  {"-D", "-S", "-SP", "-M", "-T", "-A", "--dashboard", "--script", "--script-new-process", "--test-model", "--test-action", "--extra-submit", "--build-and-test"},
	"dotnet": {"-t:", "-target:", "--target:", "/t:", "/target:"},
	"gradle": {"--scan"}, // sends the build's data away
	"git": {"--output", "--ext-diff", "--exec", "--upload-pack", "--receive-pack", "--open-files-in-pager",
		"--extcmd", "--edit"},
	"date":  {"--set", "-s"},
	"tree":  {"-o"},
	"dmesg": {"-C", "-c"},
	"file":  {"-C", "--compile"},
}

// guard asks when a guarded option is there, or could be.
func guard(c *call) {
	c.optioned = true
	names := guards[baseName(c.name())]
	argv := texts(c.argv)
	g := grammarOf(argv)
	for _, text := range argv[1:g.end(argv)] {
		if guarded(g, names, text) {
			c.ask("The option %q of %q can run or write something else.", clip(text, 40), c.name())
		}
	}
}

// guarded: the word is one of the options, or the beginning of a long one, or holds the letter of a short one.
func guarded(g grammar, names []string, text string) bool {
	name, _, _ := strings.Cut(text, "=")
	if slices.ContainsFunc(names, func(n string) bool { return strings.HasSuffix(n, ":") && strings.HasPrefix(text, n) }) {
		return true // -t:Target
	}
	if !strings.HasPrefix(name, "-") || len(name) < 2 || name == "--" {
		return false
	}
	letters := g.letters(text)
	for _, n := range names {
		long := strings.HasPrefix(n, "--")
		switch {
		case name == n, "-"+name == n, name == "-"+n:
			return true
		case long && len(name) > 2 && strings.HasPrefix(n, name):
			return true
		case long && len(name) > 4 && strings.HasPrefix(n[1:], name): // npm also takes one dash
			return true
		case len(n) == 2 && contains(letters, n):
			return true
		}
	}
	return false
}

// valued are options of build tools whose value is the next word. After an option that is not here the next word counts as
// a goal, which asks once too often at worst.
var valued = map[string]map[string]bool{
	"make": set(`-C -f -I -o -W --directory --file --makefile --include-dir --old-file --assume-old --new-file --what-if --assume-new`),
	"mvn": set(`-pl -P -f -s -gs -rf -T -l -t -b --projects --activate-profiles --file --settings --global-settings --resume-from
		--threads --log-file`),
	"gradle": set(`--tests -x --exclude-task -p --project-dir -c --settings-file -b --build-file -I --init-script -g --gradle-user-home
		--console --max-workers --include-build --priority --warning-mode`),
}

// goals judges each goal of a build tool by itself: "mvn test deploy" is "mvn test" and "mvn deploy".
func goals(s *shell, c *call) {
	tool := strings.TrimSuffix(baseName(c.name()), "w") // mvnw and gradlew are the project's own copies
	takes := valued[tool]
	if slices.ContainsFunc(c.argv[1:], func(w word) bool { return guarded(grammar{whole: true}, guards[tool], w.text) }) {
		c.ask("An option of %q sends something away.", c.name())
	}
	var found []word
	for i, w := range c.argv[1:] {
		if !strings.HasPrefix(w.text, "-") && !strings.Contains(w.text, "=") && !takes[c.argv[i].text] {
			found = append(found, w)
		}
	}
	for i, goal := range found {
		if i > 0 {
			s.evaluate(&call{argv: []word{c.argv[0], goal}})
		}
	}
}

func noPaths(_ *shell, c *call) { c.paths, c.plain = nil, true }

func printf(_ *shell, c *call) {
	c.paths, c.plain = nil, true
	if len(c.argv) > 1 && (strings.HasPrefix(c.argv[1].text, "-v") || c.argv[1].maybeOption() && len(c.argv) > 2 && c.argv[1].split) {
		c.ask("printf -v changes a variable.")
	}
}

// bracket is test and [: -v and -R evaluate subscripts.
func bracket(_ *shell, c *call) {
	c.plain = true
	args := c.argv[1:]
	if n := len(args); n > 0 && args[n-1].text == "]" {
		args = args[:n-1]
	}
	for _, w := range args {
		if w.text == "-v" || w.text == "-R" {
			c.ask("test -v evaluates subscripts.")
		}
	}
	if len(args) == 2 && args[0].maybeOption() {
		c.ask("The operator of test is no literal.")
	}
}

// declareAgain is export where the parser did not see a declaration, as in \export PATH=x.
func declareAgain(s *shell, c *call) {
	c.paths = nil
	for _, w := range c.argv[1:] {
		s.declared(c.name(), w)
	}
}

// changeDir follows cd, so that later paths are seen from there.
func changeDir(s *shell, c *call) {
	c.plain, c.paths = true, nil
	target := word{text: "~", lit: true, tilde: true}
	for _, w := range c.argv[1:] {
		if !w.lit || w.text != "-L" && w.text != "-P" && w.text != "--" {
			target = w
			break
		}
	}
	switch {
	case strings.Contains(target.text, unseen) || target.glob:
		c.ask("Where %q leads cannot be seen.", c.name())
		return
	case target.text == "-":
		return
	case s.repeat > 0 && strings.Contains(target.text, ".."):
		c.ask("%q in a loop or function may climb out of the project.", "cd "+clip(target.text, 80))
	}
	s.path(target, false)
	next := make([]string, len(s.dirs))
	for i, dir := range s.dirs {
		next[i] = target.from(dir)
	}
	s.dirs = union(next)
	s.visited = union(s.visited, next)
}

// tee writes its arguments.
func tee(s *shell, c *call) {
	c.plain, c.paths = true, nil
	for _, w := range c.argv[1:] {
		if !strings.HasPrefix(w.text, "-") {
			s.path(w, true)
		}
		if !w.lit && !w.tilde {
			c.ask("Which file tee writes cannot be seen.")
		}
	}
}

// findCommand judges -exec, -ok and -delete of find.
func findCommand(s *shell, c *call) {
	c.optioned, c.plain = true, true
	argv := c.argv
	c.paths = nil
	var names []word // what the commands will get
	for i := 1; i < len(argv); i++ {
		switch argv[i].text {
		case "-exec", "-execdir", "-ok", "-okdir":
			c.paths = append(c.paths, names...)
			end := i + 1
			for end < len(argv) && argv[end].text != ";" && !(argv[end].text == "+" && argv[end-1].text == "{}") {
				end++
			}
			if end > i+1 {
				s.nested("find "+argv[i].text, replaced(argv[i+1:end], "{}", "./"+unseen))
			}
			i = end
		case "-delete":
			s.nested("find -delete", []word{literal("rm"), {text: "./" + unseen}})
		case "-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-type", "-perm", "-printf", "-lname":
			not := argv[i-1].text == "!" || argv[i-1].text == "-not"
			if i++; i < len(argv) && !not && !(i+1 < len(argv) && argv[i+1].text == "-prune") && s.p.JudgePath(argv[i].text, false).Verdict == Deny {
				names = append(names, argv[i])
			}
		case "-fprint", "-fprint0", "-fls", "-fprintf":
			if i+1 < len(argv) {
				i++
				s.path(argv[i], true)
			}
		default:
			c.paths = append(c.paths, argv[i])
		}
	}
}

// pytest: its ini options and files of arguments may hold what is guarded. A report's place comes after its kind.
func pytest(_ *shell, c *call) {
	guard(c)
	for _, w := range c.argv[1:] {
		if strings.Contains(w.text, "addopts") || strings.HasPrefix(w.text, "@") {
			c.ask("Options of pytest are hidden in %q.", clip(w.text, 40))
		}
		kind, place, ok := strings.Cut(strings.TrimPrefix(w.text, "--cov-report="), ":")
		if ok && contains([]string{"html", "xml", "json", "lcov", "annotate"}, kind) {
			c.paths = append(c.paths, word{text: place, lit: w.lit})
		}
	}
}

// dotnet: a file of arguments may hold what is guarded.
func dotnet(_ *shell, c *call) {
	guard(c)
	for _, w := range c.argv[1:] {
		if strings.HasPrefix(w.text, "@") {
			c.ask("Options of dotnet are hidden in %q.", clip(w.text, 40))
		}
	}
}
