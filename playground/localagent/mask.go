package localagent

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

var (
	mention   = regexp.MustCompile(`<[@#][!&]?\d+>`)
	protected = regexp.MustCompile("(?s)```[a-zA-Z0-9_+-]*\\n?(.*?)```|`([^`\\n]+)`|\"((?:[^\"\\\\\\n]|\\\\.)*)\"|“([^”\\n]+)”|(?:^|[^\\p{L}\\p{N}])'([^'\\n]*)'|\\\\.|[⟦⟧]")
	dots      = regexp.MustCompile(`(^|\s)(\S*/\.{1,3}|\.{1,3})(\s|$)`) // paths that end in dots: "./...", ".."
	slot      = regexp.MustCompile(`⟦(\d+)⟧`)
)

// masked is a text in which slots stand for what is never split: quoted texts, escaped characters, paths like "./...".
type masked struct {
	text  string
	spans []span
}

// span is what a slot stands for.
type span struct {
	raw   string // as written, with its quotes
	inner string // without them
}

func mask(s string) masked {
	var m masked
	m.text = protected.ReplaceAllStringFunc(s, func(found string) string {
		sp, lead := span{raw: found, inner: found}, ""
		g := protected.FindStringSubmatchIndex(found)
		for i := 2; i < len(g); i += 2 {
			if g[i] >= 0 {
				sp.inner = found[g[i]:g[i+1]]
			}
		}
		if i := strings.IndexByte(found, '\''); i > 0 && g[len(g)-1] >= 0 { // the character before a single quote
			lead, sp.raw = found[:i], found[i:]
		}
		if found[0] == '"' {
			sp.inner = strings.ReplaceAll(sp.inner, `\"`, `"`)
		}
		return lead + m.hide(sp)
	})
	m.text = dots.ReplaceAllStringFunc(m.text, func(s string) string {
		g := dots.FindStringSubmatch(s)
		path := m.restore(g[2])
		return g[1] + m.hide(span{path, path}) + g[3]
	})
	return m
}

// hide makes a slot.
func (m *masked) hide(sp span) string {
	m.spans = append(m.spans, sp)
	return "⟦" + strconv.Itoa(len(m.spans)-1) + "⟧"
}

// restore puts the spans back as they were written.
func (m *masked) restore(s string) string {
	return slot.ReplaceAllStringFunc(s, func(x string) string { return m.span(x).raw })
}

func (m *masked) span(slot string) span {
	n, err := strconv.Atoi(strings.Trim(slot, "⟦⟧"))
	if err != nil || n >= len(m.spans) {
		return span{slot, slot}
	}
	return m.spans[n]
}

// unmask puts the spans back: one that is all of s without its quotes, others as they were written.
func (m *masked) unmask(s string) string {
	if s = strings.TrimSpace(s); one(s) {
		return strings.TrimSpace(m.span(s).inner)
	}
	return strings.TrimSpace(m.restore(s))
}

// one says whether s is a single slot.
func one(s string) bool {
	s = strings.TrimSpace(s)
	at := slot.FindStringIndex(s)
	return at != nil && at[0] == 0 && at[1] == len(s)
}

// squeezed is a text with single blanks only, which the rules are matched against, beside what it was.
type squeezed struct {
	text string
	from string
	at   []int // the place in from of each byte of text
}

func squeeze(s string) squeezed {
	q := squeezed{from: s}
	var b strings.Builder
	for i, width := 0, 0; i < len(s); i += width {
		var r rune
		if r, width = utf8.DecodeRuneInString(s[i:]); unicode.IsSpace(r) {
			continue
		}
		if n := len(q.at); n > 0 && q.at[n-1]+1 != i {
			b.WriteByte(' ')
			q.at = append(q.at, q.at[n-1]+1)
		}
		for j := range width {
			q.at = append(q.at, i+j)
		}
		b.WriteString(s[i : i+width])
	}
	q.text = b.String()
	return q
}

// cut is the part of the original text that text[i:j] came from.
func (q squeezed) cut(i, j int) string {
	if i >= j {
		return ""
	}
	return q.from[q.at[i] : q.at[j-1]+1]
}

// isShell says whether bash would read s as whole commands. A command in backquotes with words after it is prose
// about that command.
func isShell(s string) bool {
	if s == "it" || s == "this" || s == "that" || strings.HasPrefix(s, "`") {
		return false
	}
	_, err := syntax.NewParser().Parse(strings.NewReader(s), "")
	return err == nil
}
