package policy

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Bash evaluates the value of a variable in arithmetic once more, subscripts and their command substitutions
// included: x='a[$(rm f)]'; echo $((x)) runs rm. So only what surely holds a number is harmless there.

// harmless variables always hold numbers.
var harmless = map[string]bool{
	"#": true, "?": true, "$": true, "!": true, "LINENO": true, "RANDOM": true, "SECONDS": true, "UID": true, "EUID": true, "PPID": true,
}

// arithmetic walks an expression; nil is none.
func (s *shell) arithmetic(x syntax.ArithmExpr) {
	switch x := x.(type) {
	case nil:
	case *syntax.Word:
		if x != nil {
			s.operand(x.Parts)
		}
	case *syntax.BinaryArithm:
		if w, ok := x.X.(*syntax.Word); ok && assigns(x.Op) {
			s.assigned(w.Lit())
			if x.Op != syntax.Assgn {
				s.arithmetic(x.X)
			}
			s.arithmetic(x.Y)
			return
		}
		s.arithmetic(x.X)
		s.arithmetic(x.Y)
	case *syntax.UnaryArithm:
		if w, ok := x.X.(*syntax.Word); ok && (x.Op == syntax.Inc || x.Op == syntax.Dec) {
			s.assigned(w.Lit())
		}
		s.arithmetic(x.X)
	case *syntax.ParenArithm:
		s.arithmetic(x.X)
	default:
		s.unresolved(fmt.Sprintf("%T", x), "Arithmetic holds something that is not understood.")
	}
}

func assigns(op syntax.BinAritOperator) bool {
	switch op {
	case syntax.Assgn, syntax.AddAssgn, syntax.SubAssgn, syntax.MulAssgn, syntax.QuoAssgn, syntax.RemAssgn,
		syntax.AndAssgn, syntax.OrAssgn, syntax.XorAssgn, syntax.ShlAssgn, syntax.ShrAssgn:
		return true
	}
	return false
}

// operand is a word inside an expression.
func (s *shell) operand(list []syntax.WordPart) {
	for _, part := range list {
		s.parts([]syntax.WordPart{part})
		switch part := part.(type) {
		case *syntax.Lit:
			if v := part.Value; !isNumber(v) && v != "@" && v != "*" && !s.numeric(v) {
				s.evaluated(v)
			}
		case *syntax.ParamExp:
			if !part.Length && !(plainParam(part) && part.Param != nil && s.numeric(part.Param.Value)) {
				s.evaluated("$…")
			}
		case *syntax.ArithmExp:
		case *syntax.DblQuoted:
			s.operand(part.Parts)
		default:
			s.evaluated("$(…)")
		}
	}
}

func (s *shell) evaluated(what string) {
	s.unresolved("(("+what+"))", "Arithmetic evaluates the value of a variable, which can run commands.")
}

func (s *shell) numeric(name string) bool { return harmless[name] || s.numbers[name] }

// isNumber: digits, a sign, or a base as in 0x1f and 2#101.
func isNumber(v string) bool {
	v = strings.TrimPrefix(v, "-")
	if v == "" || v[0] < '0' || v[0] > '9' {
		return false
	}
	return strings.Trim(strings.ToLower(v), "0123456789abcdefx#") == ""
}

// numericVariables are the names that get nothing but numbers anywhere in the program.
func numericVariables(file *syntax.File) map[string]bool {
	good, bad := map[string]bool{}, map[string]bool{}
	set := func(name *syntax.Lit, ok bool) {
		if name == nil {
			return
		}
		good[name.Value] = true
		bad[name.Value] = bad[name.Value] || !ok
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			set(n.Name, n.Value != nil && n.Index == nil && !n.Append && numericWord(n.Value))
		case *syntax.WordIter:
			ok := len(n.Items) > 0
			for _, w := range n.Items {
				ok = ok && numericWord(w)
			}
			set(n.Name, ok)
		case *syntax.ParamExp:
			if n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) {
				set(n.Param, false)
			}
		case *syntax.BinaryArithm:
			if w, ok := n.X.(*syntax.Word); ok && n.Op == syntax.Assgn && len(w.Parts) == 1 {
				if lit, ok := w.Parts[0].(*syntax.Lit); ok {
					set(lit, true)
				}
			}
		}
		return true
	})
	for name := range bad {
		if bad[name] {
			delete(good, name)
		}
	}
	return good
}

func numericWord(w *syntax.Word) bool {
	if len(w.Parts) != 1 {
		return false
	}
	switch part := w.Parts[0].(type) {
	case *syntax.Lit:
		return isNumber(part.Value) || isRange(part.Value)
	case *syntax.ArithmExp:
		return true
	case *syntax.ParamExp:
		return part.Length
	}
	return false
}

// isRange: {1..20}
func isRange(v string) bool {
	v, ok := strings.CutPrefix(v, "{")
	if !ok || !strings.HasSuffix(v, "}") {
		return false
	}
	from, to, ok := strings.Cut(strings.TrimSuffix(v, "}"), "..")
	return ok && isNumber(from) && isNumber(to)
}
