package render

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Discord's limits, in UTF-16 code units where they are lengths (developer documentation: Message, Embed, Component).
const (
	MaxContent     = 2000
	maxDescription = 4096
	maxFieldValue  = 1024
	maxLabel       = 80
	maxCustomID    = 100
	maxEmbed       = 6000 // all texts of all embeds of a message
)

// NoResponse is what an empty answer says.
const NoResponse = "(No response)"

const (
	maxNewlines = 3   // in a row
	maxBlank    = 400 // white space in a row: Discord refuses a message of white space alone
)

// Normalize makes a model's text fit to be shown: valid UTF-8, trimmed, at most three newlines in a row, at most 400
// characters of white space in a row, NoResponse when nothing is left.
func Normalize(text string) string {
	text = strings.TrimFunc(strings.ToValidUTF8(strings.ReplaceAll(text, "\r\n", "\n"), "\uFFFD"), blank)
	if text == "" {
		return NoResponse
	}
	var b strings.Builder
	newlines, blanks := 0, 0
	for _, r := range text {
		if !blank(r) {
			newlines, blanks = 0, 0
			b.WriteRune(r)
			continue
		}
		blanks++
		if r == '\n' {
			newlines++
		} else if r != ' ' && r != '\t' || newlines < maxNewlines {
			newlines = 0
		}
		if newlines <= maxNewlines && blanks <= maxBlank {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// blank: nothing to see, so that a message of it alone is an empty one.
func blank(r rune) bool {
	if r > ' ' && r < 0x7f {
		return false
	}
	return unicode.IsSpace(r) || r == 0 || r == '\u200b' || r == '\ufeff' || r == '\u2060' || r == '\u3164' || r == '\u2800'
}

// units is the length in UTF-16 code units. A byte that is no UTF-8 counts as one.
func units(s string) int {
	n := 0
	for _, r := range s {
		n += runeUnits(r)
	}
	return n
}

func runeUnits(r rune) int {
	if r >= 0x10000 {
		return 2
	}
	return 1
}

// clip shortens a text to at most n units, the last one then being an ellipsis.
func clip(s string, n int) string {
	if units(s) <= n {
		return s
	}
	if n < 1 {
		return ""
	}
	end, u := 0, 0
	for i, r := range s {
		if u > n-1 {
			break
		}
		if joinsBefore(s, i) {
			u += runeUnits(r)
			continue
		}
		end = i
		u += runeUnits(r)
	}
	return s[:end] + "…"
}

// joinsBefore: a cut at byte i would tear what people see as one character. The rule covers combining marks, emoji
// sequences and flags, and Hangul; it is far smaller than the Unicode tables for grapheme clusters, and where it
// errs a cluster is torn, no byte is lost.
func joinsBefore(s string, i int) bool {
	if i <= 0 || i >= len(s) {
		return false
	}
	if !utf8.RuneStart(s[i]) {
		r, n := utf8.DecodeLastRuneInString(s[:i+1])
		return r != utf8.RuneError || n != 1
	}
	next, _ := utf8.DecodeRuneInString(s[i:])
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	switch {
	case before == '\r' && next == '\n', before == 0x200d:
		return true
	case next < 0x300:
		return false
	case next == 0x200d, next >= 0x1f3fb && next <= 0x1f3ff, next >= 0xe0020 && next <= 0xe007f, next >= 0x1160 && next <= 0x11ff:
		return true
	case regional(next) && regional(before):
		n := 0
		for j := i; j > 0; {
			r, w := utf8.DecodeLastRuneInString(s[:j])
			if !regional(r) {
				break
			}
			n, j = n+1, j-w
		}
		return n%2 == 1
	}
	return unicode.In(next, unicode.Mn, unicode.Me, unicode.Mc)
}

// regional: a regional indicator; two of them are one flag.
func regional(r rune) bool { return r >= 0x1f1e6 && r <= 0x1f1ff }

// oneLine puts a text on one line of at most n units. Of a long text only the beginning is looked at.
func oneLine(s string, n int) string {
	return clip(strings.Join(strings.FieldsFunc(visible(clip(s, 4*n)), unicode.IsSpace), " "), n)
}

// visible spells out what would otherwise hide or reorder text: an approver must see what would run.
func visible(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		if !hidden(r) {
			b.WriteRune(r)
			continue
		}
		digits := ""
		for v := r; v > 0 || len(digits) < 4; v >>= 4 {
			digits = string(hex[v&15]) + digits
		}
		b.WriteString("⟨U+" + digits + "⟩")
	}
	return b.String()
}

// hidden: the character is not seen, looks like a plain space, or changes the order of others.
func hidden(r rune) bool {
	switch {
	case r < 0x7f:
		return r < ' ' && r != '\n' && r != '\t'
	case r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0100 && r <= 0xe01ef: // variation selectors
		return true
	case r == 0x115f, r == 0x1160, r == 0xffa0, r == 0x034f: // fillers and joiners that fonts leave blank
		return true
	}
	return blank(r) || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp, unicode.Zs)
}

// inline is a text as inline code of at most n units.
func inline(s string, n int) string {
	s = strings.ReplaceAll(oneLine(s, n-2), "`", "ˋ")
	if s == "" {
		return "` `"
	}
	return "`" + s + "`"
}

// codeBlock is a text in a fence, at most n units in all. Runs of backticks are broken by a zero-width space. A
// text that is too long keeps its head and its tail and says in between how much is missing.
func codeBlock(s, lang string, n int) string {
	body := breakFences(visible(s))
	if strings.TrimFunc(body, blank) == "" {
		body = "(empty)"
	}
	open, end := "```"+lang+"\n", "\n```"
	room := n - units(open) - units(end)
	if units(body) > room {
		body = headAndTail(body, room)
	}
	return open + body + end
}

func breakFences(s string) string { return strings.ReplaceAll(s, "``", "`\u200b`\u200b") }

func headAndTail(s string, n int) string {
	room := n - 60 // for the remark
	head := clip(s, room*2/3)
	tail, u := len(s), 0
	for tail > 0 {
		r, w := utf8.DecodeLastRuneInString(s[:tail])
		if u += runeUnits(r); u > room/3 {
			break
		}
		tail -= w
	}
	missing := units(s) - units(head) + 1 - units(s[tail:])
	return head + "\n⟨" + Thousands(int64(missing)) + " characters are not shown⟩\n" + s[tail:]
}

// Literal is one line of somebody's text, of at most n units before it is escaped: Discord shows it as it is.
func Literal(s string, n int) string { return escape(oneLine(s, n)) }

// escape takes the meaning from Discord's markup in a text by people.
func escape(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune("\\*_~`|>#[]()<@", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
