package tools

import (
	"path"
	"regexp"
	"strings"
)

// ignoreFile is the rules of one .gitignore (gitignore(5)).
type ignoreFile struct {
	dir   string // its folder, "." for the top
	rules []ignoreRule
}

type ignoreRule struct {
	match   *regexp.Regexp // against the path below dir, or the last element when the pattern has no slash
	whole   bool           // match is about the path
	negated bool
	folders bool // only folders
}

// parseIgnore reads rules; a line that makes no pattern is left out, as git does.
func parseIgnore(dir, text string) ignoreFile {
	f := ignoreFile{dir: dir}
	for line := range strings.SplitSeq(text, "\n") {
		line = trimPattern(strings.TrimSuffix(line, "\r"))
		if line == "" || line[0] == '#' {
			continue
		}
		var r ignoreRule
		if rest, ok := strings.CutPrefix(line, "!"); ok {
			r.negated, line = true, rest
		}
		if rest, ok := strings.CutSuffix(line, "/"); ok {
			r.folders, line = true, rest
		}
		r.whole = strings.Contains(line, "/")
		line = strings.TrimPrefix(line, "/")
		re, err := regexp.Compile(globExpr(line))
		if line == "" || err != nil {
			continue
		}
		r.match = re
		f.rules = append(f.rules, r)
	}
	return f
}

// trimPattern drops spaces at the end that no backslash protects.
func trimPattern(s string) string {
	for strings.HasSuffix(s, " ") && !strings.HasSuffix(s, `\ `) {
		s = s[:len(s)-1]
	}
	return s
}

// verdict says whether the file decides about a path, and how: its last matching rule counts.
func (f ignoreFile) verdict(rel string, folder bool) (ignored, decided bool) {
	below := rel
	if f.dir != "." {
		below = strings.TrimPrefix(rel, f.dir+"/")
	}
	for i := len(f.rules) - 1; i >= 0; i-- {
		r := f.rules[i]
		subject := below
		if !r.whole {
			subject = path.Base(below)
		}
		if (folder || !r.folders) && r.match.MatchString(subject) {
			return !r.negated, true
		}
	}
	return false, false
}

// ignored asks the files from the deepest up.
func ignored(files []ignoreFile, rel string, folder bool) bool {
	for i := len(files) - 1; i >= 0; i-- {
		if yes, decided := files[i].verdict(rel, folder); decided {
			return yes
		}
	}
	return false
}

// globExpr translates a pattern of gitignore into a regular expression over a whole path.
func globExpr(p string) string {
	var b strings.Builder
	b.WriteString(`\A(?s:`)
	for i := 0; i < len(p); {
		n := globPart(&b, p, i)
		i += n
	}
	b.WriteString(`)\z`)
	return b.String()
}

// globPart translates what begins at p[i] and says how long it is.
func globPart(b *strings.Builder, p string, i int) int {
	rest, start := p[i:], i == 0 || p[i-1] == '/'
	stars := len(rest) - len(strings.TrimLeft(rest, "*"))
	switch {
	case start && stars >= 2 && strings.HasPrefix(rest[stars:], "/"):
		b.WriteString(`(?:.*/)?`)
		return stars + 1
	case start && stars >= 2 && rest[stars:] == "":
		b.WriteString(`.+`)
		return stars
	case stars > 0:
		b.WriteString(`[^/]*`)
		return stars
	case rest[0] == '?':
		b.WriteString(`[^/]`)
		return 1
	case rest[0] == '[':
		return globClass(b, rest)
	case rest[0] == '\\' && len(rest) > 1:
		b.WriteString(regexp.QuoteMeta(rest[1:2]))
		return 2
	}
	b.WriteString(regexp.QuoteMeta(rest[:1]))
	return 1
}

// globClass translates [abc], [a-z] and [!abc]; one without an end matches nothing.
func globClass(b *strings.Builder, s string) int {
	end := 1
	if end < len(s) && (s[end] == '!' || s[end] == '^') {
		end++
	}
	if end < len(s) && s[end] == ']' {
		end++
	}
	for end < len(s) && s[end] != ']' {
		if s[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(s) {
		b.WriteString(`[^\x00-\x{10FFFF}]`)
		return len(s)
	}
	body := s[1:end]
	b.WriteByte('[')
	if body[0] == '!' || body[0] == '^' {
		b.WriteString("^/")
		body = body[1:]
	} else { // a class never matches a slash
		body = strings.ReplaceAll(body, "/", "")
		b.WriteString(`\x00`) // so that it is not empty; no path has a NUL
	}
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case c == '\\' && i+1 < len(body):
			i++
			b.WriteString(classByte(body[i]))
		case c == '-' && i > 0 && i+1 < len(body):
			b.WriteByte('-')
		default:
			b.WriteString(classByte(c))
		}
	}
	b.WriteByte(']')
	return end + 1
}

func classByte(c byte) string {
	if strings.IndexByte(`\]^-[&~`, c) >= 0 {
		return `\` + string(c)
	}
	return string(c)
}
