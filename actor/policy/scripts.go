package policy

import (
	"slices"
	"strings"
)

// sedCommand looks into sed's script: it may write files (w) and run commands (e).
func sedCommand(_ *shell, c *call) {
	c.plain, c.optioned = true, true
	c.paths = nil
	script := slices.ContainsFunc(texts(c.argv[1:]), func(t string) bool { return t == "-e" || strings.HasPrefix(t, "--expression") }) // then no operand is one
	for i := 1; i < len(c.argv); i++ {
		w := c.argv[i]
		name, value, joined := strings.Cut(w.text, "=")
		switch {
		case w.text == "-e" || w.text == "--expression" || w.text == "-ne" || w.text == "-Ee":
			script = true
			if i++; i < len(c.argv) {
				c.sedScript(c.argv[i])
			}
		case name == "--expression" && joined:
			script = true
			c.sedScript(word{text: value, lit: w.lit})
		case strings.HasPrefix(w.text, "-") && len(w.text) > 1:
			if strings.Trim(w.text[1:], "nErsuzi") != "" && !contains([]string{"--quiet", "--silent", "--regexp-extended", "--separate", "--null-data", "--in-place", "--debug", "--posix"}, w.text) {
				c.ask("The option %q of sed is not understood.", clip(w.text, 40))
			}
		case !script:
			script = true
			c.sedScript(w)
		default:
			c.paths = append(c.paths, w)
		}
	}
}

func (c *call) sedScript(w word) {
	if !w.lit && !(w.glob && !strings.Contains(w.text, unseen)) || !tameSed(w.text) {
		c.ask("The script of sed may write a file or run a command.")
	}
}

// tameSed reports that a script only prints, deletes and substitutes.
func tameSed(s string) bool {
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case strings.IndexByte(" \t\n;{}!,$+~0123456789pdqQ=nNDPhHgGxlz", c) >= 0:
			i++
		case c == '/': // an address
			end := delimited(s, i+1, '/')
			if end < 0 {
				return false
			}
			for i = end + 1; i < len(s) && (s[i] == 'I' || s[i] == 'M'); i++ {
			}
		case c == 's' || c == 'y':
			end, ok := substitution(s, i+1)
			if !ok {
				return false
			}
			i = end
		default:
			return false
		}
	}
	return true
}

// substitution reads the rest of s/…/…/flags.
func substitution(s string, i int) (end int, ok bool) {
	if i >= len(s) || s[i] == '\\' || s[i] == '\n' || s[i] >= 0x80 {
		return 0, false
	}
	mid := delimited(s, i+1, s[i])
	if mid < 0 {
		return 0, false
	}
	end = delimited(s, mid+1, s[i])
	if end < 0 {
		return 0, false
	}
	for end++; end < len(s) && strings.IndexByte("gpiIM0123456789", s[end]) >= 0; end++ {
	}
	return end, end == len(s) || strings.IndexByte(" \t\n;}", s[end]) >= 0
}

// delimited finds the next delimiter that is not escaped. Brackets are not looked into: sed, too, may end there or
// later, and later would be less of the script; so a bracket before the delimiter gives up.
func delimited(s string, i int, delim byte) int {
	for bracket := false; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case s[i] == '[':
			bracket = true
		case s[i] == ']':
			bracket = false
		case s[i] == delim && bracket:
			return -1
		case s[i] == delim:
			return i
		}
	}
	return -1
}

// awkCommand looks into awk's program: it may run commands, write files and read others.
func awkCommand(_ *shell, c *call) {
	c.plain, c.optioned = true, true
	c.paths = nil
	program := false
	for i := 1; i < len(c.argv); i++ {
		w := c.argv[i]
		switch {
		case (w.text == "-F" || w.text == "-v") && i+1 < len(c.argv):
			i++
		case strings.HasPrefix(w.text, "-F") || strings.HasPrefix(w.text, "-v") || w.text == "--":
		case strings.HasPrefix(w.text, "-") && len(w.text) > 1 && !program:
			c.ask("The option %q of awk is not understood.", clip(w.text, 40))
		case !program:
			program = true
			if !w.lit || strings.ContainsAny(w.text, "|>@") || strings.Contains(w.text, "system") || strings.Contains(w.text, "getline") || strings.ContainsAny(w.text, "<") || strings.Contains(w.text, "ARG") {
				c.ask("The program of awk may run commands or use files.")
			}
		default:
			c.paths = append(c.paths, w)
		}
	}
}
