package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// wrapper describes a program that runs the command after its own options.
type wrapper struct {
	flags    string   // letters of options without a value
	values   string   // letters of options with a value
	long     []string // long options without a value
	longArgs []string // long options with a value
	skip     int      // positional arguments before the command
	itself   bool     // also judged as a command, because what it adds matters (sudo)
}

var wrappers = map[string]wrapper{
	"nohup":   {},
	"setsid":  {flags: "cfw", long: []string{"--ctty", "--fork", "--wait"}},
	"timeout": {flags: "vf", values: "ks", long: []string{"--foreground", "--preserve-status", "--verbose"}, longArgs: []string{"--kill-after", "--signal"}, skip: 1},
	"nice":    {flags: "0123456789", values: "n", longArgs: []string{"--adjustment"}},
	"ionice":  {flags: "t", values: "cn", long: []string{"--ignore"}, longArgs: []string{"--class", "--classdata"}},
	"stdbuf":  {values: "ioe", longArgs: []string{"--input", "--output", "--error"}},
	"time":    {flags: "pv", values: "f", long: []string{"--portability", "--verbose"}, longArgs: []string{"--format"}},
	"command": {flags: "p"},
	"builtin": {},
	"exec":    {flags: "cl", values: "a"},
	"busybox": {}, "toybox": {},
	"sudo": {flags: "AbEHKknPSsi", values: "ughpCrtTUDR", long: []string{"--preserve-env", "--login", "--shell", "--non-interactive", "--background"}, longArgs: []string{"--user", "--group", "--host", "--chdir", "--prompt"}, itself: true},
	"doas": {flags: "nsL", values: "uC", itself: true},
	"env":  {flags: "i0v", values: "uC", long: []string{"--ignore-environment", "--null", "--debug"}, longArgs: []string{"--unset", "--chdir"}},
	"xargs": {flags: "0rtpxo", values: "aInPLdEs", long: []string{"--null", "--no-run-if-empty", "--verbose", "--exit", "--open-tty", "--max-lines", "--eof", "--replace"},
		longArgs: []string{"--arg-file", "--max-args", "--max-procs", "--delimiter", "--max-chars"}},
}

// options skips the wrapper's options and reports where the command begins; false when an option is not known.
func (w wrapper) options(argv []word) (rest []word, options []word, ok bool) {
	i := 1
	for i < len(argv) {
		a := argv[i]
		if a.maybeOption() {
			return nil, nil, false
		}
		if a.text == "--" {
			i++
			break
		}
		if len(a.text) < 2 || a.text[0] != '-' {
			break
		}
		n, known := w.option(a.text)
		if !known {
			return nil, nil, false
		}
		i += n
	}
	i += w.skip
	if i > len(argv) {
		i = len(argv)
	}
	return argv[i:], argv[1:i], true
}

// option says how many words an option takes.
func (w wrapper) option(text string) (n int, known bool) {
	if strings.HasPrefix(text, "--") {
		name, _, joined := strings.Cut(text, "=")
		switch {
		case contains(w.longArgs, name) && !joined:
			return 2, true
		case contains(w.longArgs, name), contains(w.long, name):
			return 1, true
		}
		return 0, false
	}
	for i := 1; i < len(text); i++ {
		switch {
		case strings.IndexByte(w.flags, text[i]) >= 0:
		case strings.IndexByte(w.values, text[i]) >= 0:
			if i+1 == len(text) {
				return 2, true
			}
			return 1, true
		default:
			return 0, false
		}
	}
	return 1, true
}

// unwrap judges the command behind a wrapper.
func unwrap(s *shell, c *call) {
	name := baseName(c.name())
	w := wrappers[name]
	c.paths = nil
	if name == "command" && len(c.argv) > 1 && (c.argv[1].text == "-v" || c.argv[1].text == "-V") {
		c.plain = true
		return
	}
	rest, options, ok := w.options(c.argv)
	if !ok {
		c.ask("An option of %q is not understood.", name)
		return
	}
	c.paths = options
	switch name {
	case "env":
		for _, o := range options {
			if strings.HasPrefix(o.text, "-") && strings.HasSuffix(o.text, "/") {
				c.ask("env leaves the project's folder.") // -C/
			}
		}
		rest = environment(s, rest)
		if len(rest) == 0 {
			return
		}
	case "xargs":
		rest = appended(rest, options)
		if rest == nil {
			c.transparent = true // it echoes
			return
		}
	}
	c.transparent = !w.itself
	if len(rest) > 0 {
		s.nested(name, rest)
	} else if w.itself || name == "busybox" {
		c.ask("%q without a command.", name)
	}
}

// nested judges a command that another one runs.
func (s *shell) nested(via string, argv []word) {
	if s.depth >= maxUnwrap {
		s.unresolved(show(argv), "Too many commands inside commands.")
		return
	}
	s.depth++
	s.within(via, func() { s.apart(func() { s.run(argv) }) })
	s.depth--
}

// environment takes the NAME=value words of env away and checks the names.
func environment(s *shell, rest []word) []word {
	for len(rest) > 0 {
		name, _, ok := strings.Cut(rest[0].text, "=")
		if !ok {
			break
		}
		s.assigned(name)
		rest = rest[1:]
	}
	return rest
}

// appended is the command of xargs with what it will append or put in.
func appended(rest, options []word) []word {
	if len(rest) == 0 {
		return nil
	}
	replace := ""
	for i, o := range options {
		if head, v, ok := strings.Cut(o.text, "I"); ok && strings.HasPrefix(head, "-") && strings.Trim(head[1:], wrappers["xargs"].flags) == "" {
			if replace = v; v == "" && i+1 < len(options) {
				replace = options[i+1].text
			}
		} else if o.text == "--replace" {
			replace = "{}"
		} else if v, ok := strings.CutPrefix(o.text, "--replace="); ok {
			replace = v
		}
	}
	if replace == "" {
		return append(append([]word(nil), rest...), word{text: unseen, split: true})
	}
	return replaced(rest, replace, unseen)
}

// replaced puts what is not known in the place of a marker.
func replaced(argv []word, marker, by string) []word {
	out := make([]word, len(argv))
	for i, w := range argv {
		if strings.Contains(w.text, marker) {
			w.text, w.lit = strings.ReplaceAll(w.text, marker, by), false
		}
		out[i] = w
	}
	return out
}

// fetchers get things from the network.
var fetchers = map[string]bool{
	"curl": true, "wget": true, "fetch": true, "aria2c": true, "http": true, "https": true, "xh": true, "lynx": true,
	"lwp-request": true, "nc": true, "ncat": true, "netcat": true, "socat": true, "scp": true, "ftp": true, "tftp": true,
}

// fetches: something in the node gets a file from the network.
func fetches(node syntax.Node) bool {
	found := false
	if w, ok := node.(*syntax.Word); ok && w == nil {
		return false
	}
	syntax.Walk(node, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok {
			for i, w := range expandWords(c.Args) {
				found = found || i < 6 && fetchers[baseName(w.text)]
			}
		}
		return !found
	})
	return found
}

// fetchAndExecute judges what runs a download. Policies speak of it as the command "fetch | execute".
func (s *shell) fetchAndExecute() {
	c := seen([]string{"fetch", "|", "execute"})
	out := Command{Text: "fetch | execute", Verdict: Ask, Rule: "unresolved → ask"}
	m := s.p.bash.find(func(r *rule) bool { return r.verdict != Allow && r.matches(c) })
	if m.found {
		out.Verdict, out.Rule = m.verdict, m.String()
	}
	s.command(out, "Something from the network would be run unseen.")
}
