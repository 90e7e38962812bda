package policy

import (
	"fmt"
	"slices"
	"strings"
)

// call is one simple command that is being judged.
type call struct {
	argv  []word
	paths []word // the arguments that may name files
	floor string // why it is at least an ask; "" when all could be seen

	transparent bool   // what it runs was judged by itself; only rules that name it count
	opaque      string // text that a rule must spell out before it may allow; "" for none
	optioned    bool   // its options could run or write something: a word that may be an option asks
	plain       bool   // surely runs no other command
}

func (c *call) name() string { return c.argv[0].text }

// ask raises the floor.
func (c *call) ask(format string, args ...any) {
	if c.floor == "" {
		c.floor = fmt.Sprintf(format, args...)
	}
}

// run judges a simple command and what it runs.
func (s *shell) run(argv []word) {
	if s.count >= maxCommands || len(argv) > maxWords {
		s.unresolved(clip(argv[0].text, 80), fmt.Sprintf("More than %d commands, or %d words in one.", maxCommands, maxWords))
		return
	}
	name := argv[0]
	switch {
	case !name.lit || strings.ContainsAny(name.text, " \t\n"):
		s.denied(argv, "The command's name is no literal.")
		return
	case strings.Trim(name.text, "-") == "" && len(argv) == 1:
		s.command(Command{Text: name.text, Verdict: Deny, Rule: "no command → deny"}, "There is no command to run.")
		return
	}
	c := &call{argv: append([]word{literal(standard(name.text))}, argv[1:]...), paths: argv[1:]}
	if h := handlers[baseName(name.text)]; h != nil {
		h(s, c)
	}
	if strings.Contains(c.name(), "/") {
		c.transparent = false // a program of that name somewhere else is not that program
	}
	s.dynamic(c)
	s.suspicious(c)
	s.evaluate(c)
	for _, w := range c.paths {
		s.argument(w)
	}
}

// denied records an unresolved command; a rule that denies it by what can be seen still denies.
func (s *shell) denied(argv []word, why string) {
	c := seen(texts(argv))
	m := s.p.bash.find(func(r *rule) bool { return r.verdict == Deny && r.literal > 0 && r.matchesLoosely(c) })
	if m.found {
		s.command(Command{Text: show(argv), Verdict: Deny, Rule: m.String()}, why)
		return
	}
	s.unresolved(show(argv), why)
}

func show(argv []word) string { return strings.Join(texts(argv), " ") }

// standard is the plain name of a program in the system's own folders, which nobody in the sandbox can write.
func standard(name string) string {
	for _, dir := range []string{"/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/"} {
		if rest, ok := strings.CutPrefix(name, dir); ok && rest != "" && !strings.Contains(rest, "/") {
			return rest
		}
	}
	return name
}

// evaluate finds the verdict of the command itself.
func (s *shell) evaluate(c *call) {
	seen := seen(texts(c.argv))
	m := s.p.bash.find(func(r *rule) bool { return r.matches(seen) || r.forbids(seen) })
	out := Command{Text: show(c.argv)}
	reason := ""
	switch {
	case m.found && !(c.transparent && m.prefix == ""):
		out.Verdict, out.Rule = m.verdict, m.String()
		reason = fmt.Sprintf("The rule %q covers %q.", m.pattern, clip(out.Text, 120))
	case c.transparent || idle[c.name()]:
		out.Verdict, out.Rule = Allow, fmt.Sprintf("%q only runs what follows → allow", c.name())
		reason = "It does nothing by itself."
	default:
		out.Verdict, out.Rule = s.p.toolVerdict(shellTool)
		reason = fmt.Sprintf("No rule covers %q; the tool's own verdict holds.", clip(out.Text, 120))
	}
	if out.Verdict == Allow && c.opaque != "" && !(m.found && strings.HasPrefix(m.prefix, c.opaque)) {
		c.ask("%q runs what cannot be seen here.", clip(c.opaque, 80))
	}
	if out.Verdict == Allow && c.floor == "" && s.depends(c, m) {
		c.ask("An argument that only the running shell knows could make a stricter rule apply.")
	}
	if c.floor != "" && out.Verdict == Allow {
		out.Verdict, out.Rule, reason = Ask, "unresolved → ask", c.floor
	}
	s.command(out, reason)
}

// idle commands do nothing at all; they need no rule.
var idle = map[string]bool{
	":": true, "true": true, "false": true, "break": true, "continue": true, "exit": true, "return": true,
}

// depends: a word that is not known could decide whether a stricter rule for the same program applies.
func (s *shell) depends(c *call, m match) bool {
	if !anyOption(c.argv) {
		return false
	}
	for i := range s.p.bash.rules {
		r := &s.p.bash.rules[i]
		words := r.fields
		if r.verdict != Allow && len(words) > 1 && words[0] != "*" && r.pattern != m.pattern && couldApply(words, c.argv) {
			return true
		}
	}
	return false
}

// couldApply: up to the first word that is not known, the command's words are those of the pattern.
func couldApply(pattern []string, argv []word) bool {
	for i := 0; i < len(pattern) && i < len(argv) && !argv[i].maybeOption(); i++ {
		if strings.HasPrefix(pattern[i], "-") || strings.HasPrefix(argv[i].text, "-") {
			break // options may stand in any order
		}
		if !glob(pattern[i], argv[i].text) {
			return false
		}
	}
	return true
}

func anyOption(argv []word) bool {
	argv = argv[:grammarOf(texts(argv)).end(texts(argv))]
	return len(argv) > 1 && slices.ContainsFunc(argv[1:], word.maybeOption)
}

// dynamic asks when an argument that is not known may be an option or a subcommand that matters.
func (s *shell) dynamic(c *call) {
	if c.optioned && anyOption(c.argv) {
		c.ask("An argument of %q that only the running shell knows could be an option.", c.name())
	}
}

// suspicious asks when an unknown program gets a command as arguments that a rule forbids or asks about: it may be
// a wrapper that nobody here knows.
func (s *shell) suspicious(c *call) {
	if c.plain || plain[c.name()] || c.transparent {
		return
	}
	argv := texts(c.argv)
	for i := 1; i < len(argv) && i < 32; i++ {
		rest := argv[i:]
		inner := seen(rest)
		m := s.p.bash.find(func(r *rule) bool { return r.prefix != "" && r.forbids(inner) })
		if m.found || carriers[baseName(rest[0])] && !s.wouldAllow(c.argv[i:]) {
			c.ask("%q may be a wrapper around %q.", c.name(), clip(strings.Join(rest, " "), 80))
			return
		}
	}
}

// wouldAllow tries a command without recording it. The number of tries in one decision is bounded.
func (s *shell) wouldAllow(argv []word) bool {
	if s.tries >= maxTries {
		return false
	}
	s.tries++
	try := &shell{p: s.p, dirs: s.dirs, visited: s.visited, depth: s.depth, repeat: s.repeat, numbers: s.numbers, tries: s.tries}
	try.nested("", argv)
	s.tries = try.tries
	return Stricter(try.verdict, Allow) == Allow
}

// argument judges one argument as the file that it may name. Only what is not allowed is recorded.
func (s *shell) argument(w word) {
	text := w.text
	if w.lit && text == "" {
		return
	}
	s.candidate(w, text, true)
	s.attached(w)
	if _, value, ok := strings.Cut(text, "="); ok && value != "" {
		s.candidate(w, value, true)
		s.candidate(w, value[strings.LastIndexByte(value, '=')+1:], true) // -o cache_dir=/x
	}
	if rest, ok := strings.CutPrefix(text, "@"); ok && rest != "" {
		s.candidate(w, rest, true)
	}
	if i := strings.LastIndexByte(text, ':'); i >= 0 && i+1 < len(text) {
		option := strings.HasPrefix(text, "-") && !strings.Contains(text, "://") // --diag:/x
		s.candidate(w, text[i+1:], option || strings.HasPrefix(text, "file:"))
	}
}

// attached judges what may be the value at the end of a word of one dash: behind any of its letters, as sort -uo/x. A
// lone slash is what separates columns.
func (s *shell) attached(w word) {
	text := w.text
	if !strings.HasPrefix(text, "-") || len(text) < 4 || text[1] == '-' {
		return
	}
	for i := 2; i < len(text); i++ {
		if i == 2 || text[i:] != "/" {
			s.candidate(w, text[i:], true)
		}
		if !isLetter(text[i]) {
			return
		}
	}
}

// candidate judges a text that may be a path. external: also when it lies outside the project.
func (s *shell) candidate(w word, text string, external bool) {
	if (strings.HasPrefix(text, "-") || strings.Trim(text, unseen) == "") && !hidden(s.p, text) {
		return
	}
	if len(text) > maxPath {
		return // no file system opens that
	}
	w.text = text
	if !external && outside(cleanPath(text)) {
		return
	}
	s.path(w, false)
}

// hidden: an option's own text matches a rule on paths, as -fprod.env does.
func hidden(p *Policy, text string) bool {
	m := p.path.find(func(r *rule) bool { return r.matchesPath(text) })
	return m.found && m.verdict != Allow
}

// path judges a file in every directory where the program may be by now.
func (s *shell) path(w word, write bool) {
	worst := Path{Verdict: Allow}
	for i, dir := range s.dirs {
		name := w.from(dir)
		j := s.p.JudgePath(name, write)
		if w.glob && j.Verdict == Allow {
			if m := s.p.path.find(func(r *rule) bool { return r.verdict != Allow && r.overlaps(name) }); m.found {
				j.Verdict, j.Rule = Ask, m.String()
			}
		}
		if i == 0 || rank(j.Verdict) > rank(worst.Verdict) {
			worst = j
		}
	}
	worst.Path = clip(w.text, maxText)
	if worst.Verdict == Allow && !write {
		return
	}
	if len(s.paths) < maxCommands {
		s.paths = append(s.paths, worst)
	}
	s.note(worst.Verdict, worst.Rule, pathReason(worst))
}
