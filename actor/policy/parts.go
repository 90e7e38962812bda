package policy

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// This file walks everything of a program that is not itself a command but may hide one: words, parameters,
// arithmetic, tests, redirects and assignments.

func (s *shell) words(list []*syntax.Word) {
	for _, w := range list {
		s.parts(w.Parts)
	}
}

func (s *shell) word(w *syntax.Word) {
	if w != nil {
		s.parts(w.Parts)
	}
}

func (s *shell) parts(list []syntax.WordPart) {
	for _, part := range list {
		switch part := part.(type) {
		case *syntax.Lit, *syntax.SglQuoted, *syntax.ExtGlob:
		case *syntax.DblQuoted:
			s.parts(part.Parts)
		case *syntax.ParamExp:
			s.param(part)
		case *syntax.CmdSubst:
			s.substitution(part)
		case *syntax.ProcSubst:
			s.apart(func() { s.stmts(part.Stmts) })
		case *syntax.ArithmExp:
			s.arithmetic(part.X)
		default:
			s.unresolved(fmt.Sprintf("%T", part), "A word holds something that is not understood.")
		}
	}
}

func (s *shell) substitution(c *syntax.CmdSubst) {
	if c.Backquotes && escapes(c.Stmts) {
		s.unresolved("`…`", "Backslashes inside backquotes are read twice.")
	}
	s.apart(func() { s.stmts(c.Stmts) })
}

// escapes: some literal in the statements holds a backslash.
func escapes(list []*syntax.Stmt) bool {
	found := false
	for _, st := range list {
		syntax.Walk(st, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Lit:
				found = found || strings.Contains(n.Value, `\`)
			case *syntax.SglQuoted:
				found = found || strings.Contains(n.Value, `\`)
			}
			return !found
		})
	}
	return found
}

func (s *shell) param(p *syntax.ParamExp) {
	if p == nil {
		return
	}
	if p.Excl && p.Names == 0 {
		s.unresolved("${!…}", "An indirect expansion can run commands.")
	}
	if p.NestedParam != nil || p.Flags != nil || p.Width {
		s.unresolved("${…}", "An expansion that is not bash's.")
	}
	s.arithmetic(p.Index)
	if p.Slice != nil {
		s.arithmetic(p.Slice.Offset)
		s.arithmetic(p.Slice.Length)
	}
	if p.Repl != nil {
		s.word(p.Repl.Orig)
		s.word(p.Repl.With)
	}
	if p.Exp == nil {
		return
	}
	s.word(p.Exp.Word)
	switch p.Exp.Op {
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if p.Param != nil {
			s.assigned(p.Param.Value)
		}
	case syntax.OtherParamOps:
		s.unresolved("${…@…}", "A transformation such as @P can run commands.")
	}
}

// redirect judges the file that a redirect opens, and walks here-documents.
func (s *shell) redirect(r *syntax.Redirect) {
	if r.N != nil && strings.HasPrefix(r.N.Value, "{") {
		s.assigned(strings.Trim(r.N.Value, "{}"))
	}
	s.word(r.Word)
	s.word(r.Hdoc)
	s.fetched = s.fetched || fetches(r.Word)
	write := true
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return
	case syntax.DplIn, syntax.DplOut:
		if t := r.Word.Lit(); t == "-" || t != "" && strings.Trim(strings.TrimSuffix(t, "-"), "0123456789") == "" {
			return
		}
	case syntax.RdrIn:
		write = false
	}
	for _, w := range expandWord(r.Word) {
		s.redirectTo(w, write)
	}
}

func (s *shell) redirectTo(w word, write bool) {
	if !w.lit && len(w.source.Parts) == 1 {
		if _, ok := w.source.Parts[0].(*syntax.ProcSubst); ok {
			return // its commands were judged
		}
	}
	switch {
	case strings.HasPrefix(w.text, "/dev/tcp/") || strings.HasPrefix(w.text, "/dev/udp/"):
		j := Path{Path: clip(w.text, maxText), Write: write, Verdict: Stricter(s.p.network, Ask), Rule: fmt.Sprintf("network → %s", s.p.network)}
		s.paths = append(s.paths, j)
		s.note(j.Verdict, j.Rule, "A redirect opens a network connection.")
	case !w.lit && !(w.tilde && !strings.Contains(w.text, unseen)):
		s.note(Ask, "unresolved → ask", "A redirect's target is no literal.")
		fallthrough
	default:
		s.path(w, write)
	}
}

// dangerous variables change which program runs, or what a harmless one does.
var dangerous = map[string]bool{
	"PATH": true, "IFS": true, "ENV": true, "HOME": true, "CDPATH": true, "PS4": true, "PROMPT_COMMAND": true, "SHELL": true,
	"SHELLOPTS": true, "EDITOR": true, "VISUAL": true, "PAGER": true, "BROWSER": true, "LESSOPEN": true,
	"LESSCLOSE": true, "LESS": true, "MANPAGER": true, "GREP_OPTIONS": true, "RIPGREP_CONFIG_PATH": true, "GOFLAGS": true, "GOROOT": true,
	"GOPATH": true, "GOPROXY": true, "GOTOOLDIR": true, "GOTOOLCHAIN": true, "GOENV": true, "GOWORK": true, "GOCACHEPROG": true,
	"GOAUTH": true, "GOPACKAGESDRIVER": true, "GOCACHE": true, "GOMODCACHE": true, "GOBIN": true, "GOTMPDIR": true, "GCCGO": true, "FC": true, "CC": true, "CXX": true, "LD": true, "AR": true,
	"PKG_CONFIG": true, "MAKEFLAGS": true, "MAKEFILES": true, "GNUMAKEFLAGS": true, "RUSTC": true, "RUSTFLAGS": true, "RUSTDOCFLAGS": true, "RUSTC_WRAPPER": true,
	"RUSTC_WORKSPACE_WRAPPER": true, "RUSTDOC": true, "JAVA_HOME": true, "JAVACMD": true, "JAVA_OPTS": true, "M2_HOME": true, "SPEC_OPTS": true,
	"GEM_HOME": true, "GEM_PATH": true, "PHPRC": true, "PHP_INI_SCAN_DIR": true, "LUA_INIT": true, "MYPYPATH": true, "NODE_V8_COVERAGE": true,
	"NODE_OPTIONS": true, "NODE_PATH": true, "JAVA_TOOL_OPTIONS": true, "_JAVA_OPTIONS": true, "JDK_JAVA_OPTIONS": true,
	"TAR_OPTIONS": true, "RSYNC_RSH": true, "AWKPATH": true, "AWKLIBPATH": true, "TZDIR": true, "GCONV_PATH": true,
	"TEST_TMPDIR": false, "PYTEST_ADDOPTS": true, "PYTEST_PLUGINS": true, "RUBYOPT": true, "RUBYLIB": true, "EXECIGNORE": true, "GLOBIGNORE": true,
}

var dangerousPrefixes = []string{
	"LD_", "DYLD_", "BASH", "GIT_", "PYTHON", "PERL", "CARGO_", "CGO_", "SSH_", "RUSTUP_", "CORECLR_", "COMPLUS_", "NPM_CONFIG_",
	"XDG_", "GCC_", "MALLOC_", "ZDOTDIR", "POSIXLY", "UV_", "PIP_", "BUNDLE_", "DOTNET_", "GRADLE_", "MAVEN_",
}

// assigned checks the name of a variable that gets a value.
func (s *shell) assigned(name string) {
	upper := strings.ToUpper(name)
	bad := dangerous[upper] || name == "" || strings.ContainsAny(name, "[$`(")
	for _, p := range dangerousPrefixes {
		bad = bad || strings.HasPrefix(upper, p)
	}
	if bad && name != "PYTHONDONTWRITEBYTECODE" && name != "PYTHONUNBUFFERED" && name != "CGO_ENABLED" {
		s.unresolved(name+"=…", fmt.Sprintf("The variable %q can change what other commands do.", clip(name, 80)))
	}
}

func (s *shell) assign(a *syntax.Assign) {
	if a.Name != nil {
		s.assigned(a.Name.Value)
	}
	s.arithmetic(a.Index)
	s.word(a.Value)
	if a.Array == nil {
		return
	}
	for _, e := range a.Array.Elems {
		s.arithmetic(e.Index)
		s.word(e.Value)
	}
}

// declare is declare, export, local, readonly or typeset. Attributes that make later assignments evaluate or
// redirect their values (-i, -n, …) ask.
func (s *shell) declare(c *syntax.DeclClause) {
	for _, a := range c.Args {
		s.assign(a)
		if a.Name != nil || a.Value == nil {
			continue
		}
		for _, w := range expandWord(a.Value) {
			s.declared(c.Variant.Value, w)
		}
	}
}

func (s *shell) declared(variant string, w word) {
	if w.lit && strings.HasPrefix(w.text, "-") && strings.Trim(w.text[1:], "rxagAfFp") == "" {
		return
	}
	name, _, _ := strings.Cut(w.text, "=")
	if !plainName(name) || !w.lit && strings.Contains(name, unseen) {
		s.unresolved(variant+" "+w.text, "What is declared is no plain name.")
		return
	}
	s.assigned(name)
}

func plainName(s string) bool {
	for i, c := range s {
		if c != '_' && (c < 'A' || c > 'Z' && c < 'a' || c > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// test walks [[ … ]]. Comparisons of numbers evaluate their operands as arithmetic.
func (s *shell) test(x syntax.TestExpr) {
	switch x := x.(type) {
	case nil:
	case *syntax.Word:
		s.word(x)
	case *syntax.ParenTest:
		s.test(x.X)
	case *syntax.UnaryTest:
		s.test(x.X)
		if w, ok := x.X.(*syntax.Word); ok && (x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar) && !plainName(w.Lit()) {
			s.unresolved("[[ -v … ]]", "A subscript in -v can run commands.")
		}
	case *syntax.BinaryTest:
		if x.Op >= syntax.TsEql && x.Op <= syntax.TsGtr {
			for _, side := range []syntax.TestExpr{x.X, x.Y} {
				if w, ok := side.(*syntax.Word); ok {
					s.arithmetic(w)
				} else {
					s.test(side)
				}
			}
			return
		}
		s.test(x.X)
		s.test(x.Y)
	default:
		s.unresolved(fmt.Sprintf("%T", x), "A test holds something that is not understood.")
	}
}
