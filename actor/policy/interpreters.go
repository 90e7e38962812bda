package policy

import (
	"fmt"
	"strings"
)

// shells are unwrapped when their program is a literal.
var shells = []string{"sh", "bash", "dash", "ash", "ksh", "zsh"}

// shellCode judges sh -c and what a shell reads from a file or its input.
func shellCode(s *shell, c *call) {
	name := baseName(c.name())
	c.paths = nil
	rest, code, input := shellOptions(c)
	if s.download(c.argv[1:]) || s.fetched && (input || !code && len(rest) == 0) {
		s.fetchAndExecute()
	}
	switch {
	case code:
		s.code(c, rest, name+" -c")
	case input || len(rest) == 0:
		c.ask("%q runs what it reads.", name)
	default:
		c.opaque, c.paths = name, rest // a script
	}
}

// shellOptions reads a shell's options: code after -c, input after -s.
func shellOptions(c *call) (rest []word, code, input bool) {
	i := 1
	for i < len(c.argv) && !code {
		a := c.argv[i]
		if a.maybeOption() || len(a.text) < 2 || a.text[0] != '-' && a.text[0] != '+' {
			break
		}
		i++
		switch {
		case a.text == "--":
			return c.argv[i:], code, input
		case contains([]string{"--norc", "--noprofile", "--posix", "--login"}, a.text):
		case a.text[0] == '-' && a.text[1] == '-' || strings.Trim(a.text[1:], "abcefhiklmnprtuvxBCEHPTDso") != "":
			c.ask("An option of %q is not understood.", c.name())
		default:
			code = a.text[0] == '-' && strings.Contains(a.text, "c")
			input = input || strings.Contains(a.text, "s")
			if strings.HasSuffix(strings.ToLower(a.text), "o") {
				i++ // -o pipefail, -euo pipefail
			}
		}
	}
	return c.argv[min(i, len(c.argv)):], code, input
}

// code judges the program in the first word; the others are its arguments.
func (s *shell) code(c *call, rest []word, via string) {
	for len(rest) > 0 && rest[0].lit && strings.HasPrefix(rest[0].text, "-") {
		if rest[0].text == "--" {
			rest = rest[1:]
			break
		}
		c.ask("Options between %q and its program are not understood.", via)
		rest = rest[1:]
	}
	switch {
	case len(rest) == 0:
		c.ask("%q without a program.", via)
	case !rest[0].lit:
		if s.fetched {
			s.fetchAndExecute()
		}
		c.ask("The program of %q is no literal.", via)
	default:
		c.transparent = true
		c.paths = rest[1:]
		s.inner(rest[0].text, via)
	}
}

// download: one of the words holds a substitution that gets something from the network.
func (s *shell) download(words []word) bool {
	for _, w := range words {
		if w.source != nil && fetches(w.source) {
			return true
		}
	}
	return false
}

// evalCode judges eval: its words joined are a program.
func evalCode(s *shell, c *call) {
	c.paths = nil
	if s.download(c.argv[1:]) {
		s.fetchAndExecute()
	}
	rest := c.argv[1:]
	if len(rest) > 0 && rest[0].lit && rest[0].text == "--" {
		rest = rest[1:]
	}
	parts := make([]string, len(rest))
	for i, w := range rest {
		if !w.lit {
			c.ask("What %q gets is no literal.", "eval")
			return
		}
		parts[i] = w.text
	}
	c.transparent = true
	s.inner(strings.Join(parts, " "), "eval")
}

// trapCode judges the program of trap.
func trapCode(s *shell, c *call) {
	c.paths = nil
	rest := c.argv[1:]
	if len(rest) > 0 && rest[0].lit && rest[0].text == "--" {
		rest = rest[1:]
	}
	if len(rest) == 0 {
		c.plain = true
		return
	}
	switch first := rest[0]; {
	case !first.lit:
		c.ask("What %q gets is no literal.", "trap")
	case first.text == "" || strings.HasPrefix(first.text, "-"):
		c.plain = true
	default:
		c.transparent = true
		s.inner(first.text, "trap")
	}
}

// sourced is source and the dot: a script of which nothing can be seen.
func sourced(s *shell, c *call) {
	if s.download(c.argv[1:]) {
		s.fetchAndExecute()
	}
	c.opaque = c.name() + " "
	if len(c.argv) > 1 && c.argv[1].lit {
		c.opaque += c.argv[1].text
	} else {
		c.ask("What is sourced is no literal.")
	}
}

// interpreter is python, node, perl and their like: -c and -e are programs in a language that is not parsed here, a
// script needs a rule that names the interpreter.
func interpreter(s *shell, c *call) {
	c.optioned = true
	name := c.name()
	if s.download(c.argv[1:]) {
		s.fetchAndExecute()
	}
	for i, a := range c.argv[1:] {
		if !strings.HasPrefix(a.text, "-") || a.text == "-" {
			if a.text == "-" {
				break
			}
			c.opaque = name
			return
		}
		if a.text == "--version" || a.text == "-V" || a.text == "-v" && len(c.argv) == 2 {
			return
		}
		if a.text == "-m" || a.text == "--test" || a.text == "--check" {
			c.opaque = name + " " + a.text
			if i+2 < len(c.argv) {
				c.opaque += " " + c.argv[i+2].text
				s.alike(c, name+" "+a.text, c.argv[i+2:])
			}
			return
		}
		if strings.ContainsAny(strings.TrimLeft(a.text, "-"), "ceEpr") && !strings.HasPrefix(a.text, "--") || a.text == "--eval" || a.text == "--print" {
			c.opaque = name + " " + a.text
			return
		}
	}
	if s.fetched {
		s.fetchAndExecute()
	}
	c.ask("%q runs what it reads.", name)
}

// alike judges a command that is another one under a longer name, as python -m pytest is pytest, by the other one's
// guards and by the rules that ask about or deny it. What allows the shorter name does not allow the longer.
func (s *shell) alike(c *call, via string, argv []word) {
	if len(argv) == 0 || !argv[0].lit {
		return
	}
	inner := &call{argv: argv}
	if h := handlers[baseName(argv[0].text)]; h != nil && s.depth < maxUnwrap {
		s.depth++
		s.within(via, func() { h(s, inner) })
		s.depth--
	}
	if inner.floor != "" {
		c.ask("%s", inner.floor)
	}
	seen := seen(texts(inner.argv))
	m := s.p.bash.find(func(r *rule) bool { return r.matches(seen) || r.forbids(seen) })
	if m.found && m.verdict != Allow && m.prefix != "" {
		s.within(via, func() {
			s.command(Command{Text: show(inner.argv), Verdict: m.verdict, Rule: m.String()}, fmt.Sprintf("The rule %q covers what %q runs.", m.pattern, via))
		})
	}
}

// runners are programs that run the command behind their own first words.
var runners = map[string][]string{
	"npx": nil, "bunx": nil, "bundle": {"exec"}, "uv": {"run"}, "uvx": nil, "poetry": {"run"}, "pipenv": {"run"}, "pdm": {"run"}, "rye": {"run"}, "hatch": {"run"}, "pipx": {"run"},
}

// hiding are programs that run other commands in ways that are not unwrapped: a rule must name the program, the
// pattern * is not enough.
func hiding(s *shell, c *call) {
	c.opaque = c.name()
	before, ok := runners[baseName(c.name())]
	rest := c.argv[1:]
	if !ok || len(rest) <= len(before) || len(before) > 0 && rest[0].text != before[0] {
		return
	}
	rest = rest[len(before):]
	if strings.HasPrefix(rest[0].text, "-") {
		return // options of the runner itself, which a rule must spell out
	}
	s.alike(c, strings.Join(append([]string{c.name()}, before...), " "), rest)
}

// changesShell are builtins after which nothing means what it says.
func changesShell(_ *shell, c *call) {
	c.ask("%q changes what later commands mean.", c.name())
}
