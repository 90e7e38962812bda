package localagent

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// blockBytes is how much of a result one answer quotes; several fit into a few Discord messages.
const blockBytes = 1500

// clip cuts s to at most n bytes and marks the cut.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// block quotes output in a fence that it cannot close, head and tail when it is long. Nothing is an empty string.
func block(s string) string { return fenced(s, "") }

func fenced(s, language string) string {
	s = strings.Trim(s, "\r\n")
	if strings.TrimSpace(s) == "" {
		return ""
	}
	if len(s) > blockBytes {
		head, tail := s[:blockBytes*2/3], s[len(s)-blockBytes/3:]
		head = head[:strings.LastIndexByte(head, '\n')+1]
		tail = tail[strings.IndexByte(tail, '\n')+1:]
		if head == "" {
			head = clip(s, blockBytes*2/3) + "\n"
		}
		s = strings.ToValidUTF8(fmt.Sprintf("%s… %d bytes left out …\n%s", head, max(0, len(s)-len(head)-len(tail)), tail), "")
	}
	fence := "```"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return "\n" + fence + language + "\n" + s + "\n" + fence
}

// code quotes s inside a line.
func code(s string) string {
	s = strings.ReplaceAll(s, "\n", " ")
	if strings.Contains(s, "`") {
		return "`` " + s + " ``"
	}
	return "`" + s + "`"
}

// lines are the lines of s that are not blank.
func lines(s string) []string {
	var out []string
	for l := range strings.Lines(s) {
		if l = strings.TrimRight(l, "\r\n"); strings.TrimSpace(l) != "" {
			out = append(out, l)
		}
	}
	return out
}

// paths are the lines of a glob result; a sentence such as "no files match" is none.
func paths(s string) []string {
	var out []string
	for _, l := range lines(s) {
		if lower := strings.ToLower(l); strings.HasPrefix(l, "(") || strings.HasPrefix(l, "…") || strings.HasPrefix(lower, "no ") {
			continue
		}
		out = append(out, strings.TrimPrefix(strings.TrimSpace(l), "./"))
	}
	return out
}

var numbered = regexp.MustCompile(`^ *(\d+)(?:\t|: |\| ?|→ ?)`)

// withoutNumbers takes the line numbers off a read result, when every line has one.
func withoutNumbers(s string) string {
	var out []string
	for l := range strings.Lines(s) {
		l = strings.TrimRight(l, "\r\n")
		m := numbered.FindString(l + "\t")
		if m == "" || len(m) > len(l)+1 {
			if strings.TrimSpace(l) == "" || strings.HasPrefix(l, "…") || strings.HasPrefix(l, "(") {
				continue
			}
			return s
		}
		out = append(out, l[min(len(m), len(l)):])
	}
	return strings.Join(out, "\n")
}

// hit is one line of a grep result.
type hit struct {
	path string
	line int
	text string
}

var hitLine = regexp.MustCompile(`^(.+?):(\d+):(.*)$`)

// hits reads "path:line:text" lines; others are not counted.
func hits(s string) []hit {
	var out []hit
	for _, l := range lines(s) {
		if m := hitLine.FindStringSubmatch(l); m != nil {
			n, _ := strconv.Atoi(m[2])
			out = append(out, hit{path: m[1], line: n, text: strings.TrimSpace(m[3])})
		}
	}
	return out
}

// count is "1 file", "3 files".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if stem, ok := strings.CutSuffix(what, "y"); ok {
		return fmt.Sprintf("%d %sies", n, stem)
	}
	if strings.HasSuffix(what, "ch") {
		return fmt.Sprintf("%d %ses", n, what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// quote is s as one word of a shell command.
func quote(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// operand is s as an operand that no command takes for an option.
func operand(s string) string {
	if strings.HasPrefix(s, "-") {
		s = "./" + s
	}
	return quote(s)
}

// compose joins the answers of the goals, and says what was not understood.
func compose(parts, unknown []string) string {
	if len(unknown) > 0 {
		var said []string
		for _, u := range unknown {
			said = append(said, "“"+clip(strings.Join(strings.Fields(u), " "), 120)+"”")
		}
		part := "I did not understand " + strings.Join(said, ", ") + ". "
		if len(parts) == 0 {
			part += identity + "\n" + examples()
		} else {
			part += "Say `help` to see what I understand."
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return identity + "\n" + examples()
	}
	return strings.Join(parts, "\n\n")
}
