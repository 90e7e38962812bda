package policy

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// unseen stands in a word for what only the running shell will know.
const unseen = "…"

// word is one argument as the program will get it, as far as can be seen.
type word struct {
	text   string // unquoted; unseen for what is no literal
	lit    bool   // text is exactly the argument
	split  bool   // an unquoted expansion: may become no word, or several
	glob   bool   // holds an unquoted pattern: becomes file names
	tilde  bool   // begins with an unquoted ~: a home directory
	source *syntax.Word
}

// literal makes a word of text that needs no shell.
func literal(text string) word { return word{text: text, lit: true} }

// maybeOption: the word could turn out to be an option.
func (w word) maybeOption() bool {
	if w.lit {
		return false
	}
	if name, _, ok := strings.Cut(w.text, "="); ok && !w.split && strings.HasPrefix(name, "--") && !strings.Contains(name, unseen) {
		return false // --author="$X": which option it is can be seen
	}
	return w.split || strings.HasPrefix(w.text, unseen) || strings.HasPrefix(w.text, "-") ||
		w.glob && strings.IndexAny(w.text, "*?[") == 0
}

// from is the path that the word names when the program is in dir.
func (w word) from(dir string) string {
	home := strings.HasPrefix(w.text, "~") && (w.tilde || w.lit)
	if dir == "." || home || strings.HasPrefix(w.text, "/") {
		return cleanPath(w.text)
	}
	return cleanPath(dir + "/" + w.text)
}

// texts are the words' texts.
func texts(words []word) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.text
	}
	return out
}

// maxBraces bounds what one word may expand to; more stays unseen.
const maxBraces = 64

// expandWords applies brace expansion and unquoting, as bash does before it looks for a command's name.
func expandWords(in []*syntax.Word) []word {
	var out []word
	for _, w := range in {
		out = append(out, expandWord(w)...)
	}
	return out
}

func expandWord(w *syntax.Word) []word {
	copied := &syntax.Word{Parts: append([]syntax.WordPart(nil), w.Parts...)}
	if !syntax.SplitBraces(copied) {
		return []word{unquote(w, w.Parts)}
	}
	alternatives, ok := braces(copied.Parts)
	if !ok {
		return []word{{text: unseen, split: true, source: w}}
	}
	out := make([]word, len(alternatives))
	for i, parts := range alternatives {
		out[i] = unquote(w, parts)
	}
	return out
}

// braces multiplies out the lists of a word. It gives up on sequences and beyond maxBraces.
func braces(parts []syntax.WordPart) ([][]syntax.WordPart, bool) {
	out := [][]syntax.WordPart{nil}
	for _, part := range parts {
		choices := [][]syntax.WordPart{{part}}
		if b, ok := part.(*syntax.BraceExp); ok {
			if b.Sequence {
				return nil, false
			}
			choices = nil
			for _, elem := range b.Elems {
				sub, ok := braces(elem.Parts)
				if !ok {
					return nil, false
				}
				choices = append(choices, sub...)
			}
		}
		if len(out)*len(choices) > maxBraces {
			return nil, false
		}
		var next [][]syntax.WordPart
		for _, head := range out {
			for _, c := range choices {
				next = append(next, append(append([]syntax.WordPart(nil), head...), c...))
			}
		}
		out = next
	}
	return out, true
}

// unquote removes quotes and escapes of one word.
func unquote(source *syntax.Word, parts []syntax.WordPart) word {
	w := word{lit: true, source: source}
	var b strings.Builder
	for i, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if i == 0 && strings.HasPrefix(part.Value, "~") {
				w.tilde = true
			}
			text, glob := unescape(part.Value)
			b.WriteString(text)
			w.glob = w.glob || glob
		case *syntax.SglQuoted:
			if part.Dollar {
				b.WriteString(ansiC(part.Value))
			} else {
				b.WriteString(part.Value)
			}
		case *syntax.DblQuoted:
			w.quoted(&b, part, i == 0)
		case *syntax.ParamExp:
			w.param(&b, part, i == 0, true)
		default: // substitutions, arithmetic, extended globs
			b.WriteString(unseen)
			w.lit, w.split = false, true
		}
	}
	w.text = b.String()
	w.lit = w.lit && !w.glob
	return w
}

func (w *word) quoted(b *strings.Builder, q *syntax.DblQuoted, first bool) {
	if q.Dollar { // $"…" is looked up in a message catalogue
		b.WriteString(unseen)
		w.lit, w.split = false, true
		return
	}
	for i, part := range q.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			b.WriteString(unescapeQuoted(part.Value))
		case *syntax.ParamExp:
			w.param(b, part, first && i == 0, false)
		default:
			b.WriteString(unseen)
			w.lit = false
		}
	}
}

// param shows $HOME at the start as ~, anything else as unseen. "$@" is several words even in quotes.
func (w *word) param(b *strings.Builder, p *syntax.ParamExp, first, split bool) {
	w.lit = false
	name := ""
	if p.Param != nil {
		name = p.Param.Value
	}
	if first && name == "HOME" && (plainParam(p) || p.Exp != nil) { // ${HOME:-x}, too
		b.WriteString("~")
		w.tilde = true
		return
	}
	b.WriteString(unseen)
	w.split = w.split || split || name == "@" || p.Index != nil || p.Names != 0
}

func plainParam(p *syntax.ParamExp) bool {
	return !p.Excl && !p.Length && p.Index == nil && p.Slice == nil && p.Repl == nil && p.Exp == nil && p.Names == 0
}

// unescape removes backslashes of unquoted text and reports an unescaped pattern character.
func unescape(s string) (string, bool) {
	var b strings.Builder
	glob := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			i++
			if s[i] != '\n' {
				b.WriteByte(s[i])
			}
		case c == '*' || c == '?' || c == '[':
			glob = true
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), glob && s != "[" // a lone [ is a command
}

// unescapeQuoted removes the backslashes that count inside double quotes.
func unescapeQuoted(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\\n", s[i+1]) >= 0 {
			i++
			if s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

var ansiSimple = map[byte]byte{
	'a': '\a', 'b': '\b', 'e': 27, 'E': 27, 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v',
	'\\': '\\', '\'': '\'', '"': '"', '?': '?',
}

// ansiC decodes $'…'; a NUL ends the text, as in bash.
func ansiC(s string) string {
	var b []byte
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b = append(b, s[i])
			continue
		}
		i++
		c := s[i]
		digits := 0
		switch {
		case ansiSimple[c] != 0:
			b = append(b, ansiSimple[c])
			continue
		case c >= '0' && c <= '7':
			n, used := number(s[i:], 3, 8)
			i += used - 1
			if byte(n) == 0 {
				return string(b)
			}
			b = append(b, byte(n))
			continue
		case c == 'c' && i+1 < len(s):
			i++
			if s[i]&0x1f == 0 {
				return string(b)
			}
			b = append(b, s[i]&0x1f)
			continue
		case c == 'x':
			digits = 2
		case c == 'u':
			digits = 4
		case c == 'U':
			digits = 8
		}
		n, used := number(s[i+1:], digits, 16)
		if used == 0 {
			b = append(b, '\\', c)
			continue
		}
		i += used
		switch {
		case n == 0:
			return string(b)
		case c == 'x':
			b = append(b, byte(n))
		default:
			b = utf8.AppendRune(b, rune(n))
		}
	}
	return string(b)
}

// number reads up to max digits of a base.
func number(s string, max, base int) (n uint64, used int) {
	for used < max && used < len(s) {
		if _, err := strconv.ParseUint(s[used:used+1], base, 8); err != nil {
			break
		}
		used++
	}
	n, _ = strconv.ParseUint(s[:used], base, 64)
	return n, used
}
