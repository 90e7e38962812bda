package policy

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds of what is looked into; beyond them the answer is ask. They keep the recursion of parser and walk well
// inside the stack of a WASM engine (measured in V8 with its default stack: 800 nested "$(" pass, 1,600 trap; 3,200
// nested conditionals in arithmetic pass, 6,400 trap), and the decision well inside a row.
const (
	maxProgram  = 64 << 10 // bytes of one program
	maxDeep     = 500      // brackets, operators and keywords, each of which may nest
	maxWide     = 6000     // operators of arithmetic and braces, which nest with less stack
	maxUnwrap   = 8        // programs inside programs
	maxTries    = 64       // commands looked at behind unknown wrappers
	maxCommands = 200      // commands judged and kept
	maxWords    = 1000     // of one command
	maxPath     = 4096     // bytes of a path (PATH_MAX)
	maxText     = 400      // bytes of a command's text in a decision
)

// judgeShell judges a program for bash by every simple command, redirect and assignment in it.
func (p *Policy) judgeShell(args map[string]json.RawMessage) Decision {
	program, _ := text(args, "command")
	dir, _ := text(args, "cwd")
	s := &shell{p: p, dirs: []string{"."}}
	if v, rule := p.toolVerdict(shellTool); v == Deny && len(p.bash.rules) == 0 {
		s.note(v, rule, "The policy denies the tool bash.")
	}
	if dir != "" {
		s.path(literal(dir), false)
		s.dirs = []string{cleanPath(dir)}
	}
	s.program(program)
	if s.count == 0 && s.verdict != Deny {
		s.note(Deny, "no command → deny", "There is no command to run.")
	}
	return s.decision()
}

// shell is the walk through one program and the programs inside it.
type shell struct {
	p *Policy
	tally
	dirs    []string // where the program may be by now
	visited []string // every directory that some cd in it may have entered
	via     string   // the wrapper that the walk is in, as "bash -c"
	depth   int
	repeat  int  // > 0 inside loops and functions: what is seen once may run often
	fetched bool // standard input, or the code itself, may come from a download
	count   int  // simple commands
	numbers map[string]bool
	tries   int // commands tried without being recorded
}

// unresolved records that something could not be seen through: ask (spec 4.1, rule 5).
func (s *shell) unresolved(what, why string) {
	s.command(Command{Text: what, Verdict: Ask, Rule: "unresolved → ask"}, why)
}

// command records one judged command.
func (s *shell) command(c Command, reason string) {
	s.count++
	c.Text = clip(strings.ToValidUTF8(c.Text, "\uFFFD"), maxText)
	c.Via = s.via
	if len(s.commands) < maxCommands {
		s.commands = append(s.commands, c)
	}
	s.note(c.Verdict, c.Rule, reason)
}

// program judges a whole program's text.
func (s *shell) program(src string) {
	if why := tooMuch(src); why != "" {
		s.unresolved(clip(src, 80), why)
		return
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(src), "")
	if err != nil {
		s.unresolved(clip(src, 80), "The program cannot be parsed, so nobody can say what it would do.")
		return
	}
	outer := s.numbers
	s.numbers = numericVariables(file)
	s.stmts(file.Stmts)
	s.numbers = outer
}

// inner judges a program inside the program, as the text after bash -c.
func (s *shell) inner(src, via string) {
	if s.depth >= maxUnwrap {
		s.unresolved(clip(src, 80), "Too many programs inside programs.")
		return
	}
	s.depth++
	s.within(via, func() { s.apart(func() { s.program(src) }) })
	s.depth--
}

func (s *shell) within(via string, f func()) {
	outer := s.via
	s.via = via
	f()
	s.via = outer
}

// apart runs f as in a subshell: a cd in it does not last.
func (s *shell) apart(f func()) {
	before := s.dirs
	f()
	s.dirs = before
}

// tooMuch names what makes a program unfit for a look inside.
func tooMuch(src string) string {
	if len(src) > maxProgram {
		return fmt.Sprintf("The program is longer than %d bytes.", maxProgram)
	}
	if !utf8.ValidString(src) {
		return "The program is no valid UTF-8."
	}
	deep, wide := 0, 0
	for i, c := range []byte(src) {
		switch {
		case c < ' ' && c != '\n' && c != '\t' || c == 0x7f:
			return "The program holds control characters."
		case strings.IndexByte("([`|&;", c) >= 0, c == '{' && i > 0 && src[i-1] == '$':
			deep++
		case strings.IndexByte("!~+-", c) >= 0 && i+1 < len(src) && strings.IndexByte("!~+- (\t\n", src[i+1]) >= 0:
			deep++ // unary operators nest, too
		case strings.IndexByte("{?:=+*/%^", c) >= 0:
			wide++
		}
	}
	for _, w := range strings.FieldsFunc(src, func(r rune) bool { return strings.ContainsRune(" \t\n;", r) }) {
		if syntax.IsKeyword(w) {
			deep++
		}
	}
	if deep > maxDeep || wide > maxWide {
		return "The program is too complex to be seen through."
	}
	return ""
}

func (s *shell) stmts(list []*syntax.Stmt) {
	for _, st := range list {
		before := s.dirs
		s.stmt(st)
		s.dirs = union(before, s.dirs, s.visited)
	}
}

func (s *shell) stmt(st *syntax.Stmt) {
	if st == nil {
		return
	}
	fetched := s.fetched
	for _, r := range st.Redirs {
		s.redirect(r)
	}
	if st.Background {
		s.apart(func() { s.compound(st.Cmd) })
	} else {
		s.compound(st.Cmd)
	}
	s.fetched = fetched
}

// compound walks a command of any kind. Kinds that it does not know are unresolved, never skipped.
func (s *shell) compound(cmd syntax.Command) {
	switch c := cmd.(type) {
	case nil:
	case *syntax.CallExpr:
		s.call(c)
	case *syntax.BinaryCmd:
		s.binary(c)
	case *syntax.Subshell:
		s.apart(func() { s.stmts(c.Stmts) })
	case *syntax.Block:
		s.stmts(c.Stmts)
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			s.stmts(c.Cond)
			s.stmts(c.Then)
		}
	case *syntax.WhileClause:
		s.repeated(func() { s.stmts(c.Cond); s.stmts(c.Do) })
	case *syntax.ForClause:
		s.loop(c)
	case *syntax.CaseClause:
		s.caseClause(c)
	case *syntax.FuncDecl:
		s.repeated(func() { s.stmt(c.Body) })
	case *syntax.TimeClause:
		s.stmt(c.Stmt)
	case *syntax.CoprocClause:
		if c.Name != nil {
			s.parts(c.Name.Parts)
			s.unresolved("coproc", "A coprocess with a name is read differently by shells.")
		}
		s.apart(func() { s.stmt(c.Stmt) })
	case *syntax.DeclClause:
		s.harmless(c.Variant.Value)
		s.declare(c)
	case *syntax.ArithmCmd:
		s.harmless("((…))")
		s.arithmetic(c.X)
	case *syntax.LetClause:
		s.harmless("let")
		for _, x := range c.Exprs {
			s.arithmetic(x)
		}
	case *syntax.TestClause:
		s.harmless("[[…]]")
		s.test(c.X)
	default:
		s.unresolved(fmt.Sprintf("%T", cmd), "The program holds something that is not understood.")
	}
}

func (s *shell) repeated(f func()) {
	s.repeat++
	f()
	s.repeat--
}

func (s *shell) binary(c *syntax.BinaryCmd) {
	switch c.Op {
	case syntax.Pipe, syntax.PipeAll:
		s.pipeline(c)
	case syntax.OrStmt:
		before := s.dirs
		s.stmt(c.X)
		s.dirs = union(before, s.dirs, s.visited)
		s.stmt(c.Y)
	default: // &&: the right side runs where the left side went
		s.stmt(c.X)
		s.stmt(c.Y)
	}
}

// pipeline walks the stages from left to right; what follows a download may be fed with it.
func (s *shell) pipeline(c *syntax.BinaryCmd) {
	stages := []*syntax.Stmt{c.Y}
	left := c.X
	for {
		b, ok := left.Cmd.(*syntax.BinaryCmd)
		if !ok || b.Op != syntax.Pipe && b.Op != syntax.PipeAll || len(left.Redirs) > 0 {
			break
		}
		stages, left = append(stages, b.Y), b.X
	}
	stages = append(stages, left)
	fetched := s.fetched
	for i := len(stages) - 1; i >= 0; i-- {
		s.apart(func() { s.stmt(stages[i]) })
		s.fetched = s.fetched || i > 0 && fetches(stages[i])
	}
	s.fetched = fetched
}

// harmless records a builtin that only computes, so that a program of nothing else is not an empty one.
func (s *shell) harmless(text string) {
	s.command(Command{Text: text, Verdict: Allow, Rule: text + " only computes → allow"}, "It does nothing by itself.")
}

func (s *shell) loop(c *syntax.ForClause) {
	switch l := c.Loop.(type) {
	case *syntax.WordIter:
		s.assigned(l.Name.Value)
		s.words(l.Items)
	case *syntax.CStyleLoop:
		for _, x := range []syntax.ArithmExpr{l.Init, l.Cond, l.Post} {
			s.arithmetic(x)
		}
	}
	s.repeated(func() { s.stmts(c.Do) })
}

func (s *shell) caseClause(c *syntax.CaseClause) {
	s.parts(c.Word.Parts)
	for _, item := range c.Items {
		s.words(item.Patterns)
		s.stmts(item.Stmts)
	}
}

// call is a simple command: its assignments, what hides in its words, and then what it runs.
func (s *shell) call(c *syntax.CallExpr) {
	for _, a := range c.Assigns {
		s.assign(a)
	}
	s.words(c.Args)
	if argv := expandWords(c.Args); len(argv) > 0 {
		s.run(argv)
	}
}

// union joins sets of directories; more than 16 are cut, but never the first ones.
func union(sets ...[]string) []string {
	var out []string
	for _, set := range sets {
		for _, d := range set {
			if len(out) < 16 && !contains(out, d) {
				out = append(out, d)
			}
		}
	}
	return out
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
