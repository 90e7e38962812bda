package policy

import (
	"fmt"
	"path"
	"strings"
)

// JudgePath judges one file. The core gives it the path as written; the runner gives it the resolved one: relative
// to the project's root when it is inside, beginning with ~ when it is in the home directory, else absolute.
//
// Path rules see the cleaned path. A pattern without a slash also speaks of the last element ("*.env" is any
// .env file anywhere); a rule that asks or denies also covers what lies below, and ignores case.
func (p *Policy) JudgePath(name string, write bool) Path {
	j := Path{Path: name, Write: write, Verdict: Allow, Rule: "no path rule → allow"}
	clean := cleanPath(name)
	if strings.ContainsRune(clean, 0) {
		j.Verdict, j.Rule = Deny, "a path with a NUL byte → deny"
		return j
	}
	if m := p.path.find(func(r *rule) bool { return r.matchesPath(clean) }); m.found {
		j.Verdict, j.Rule = m.verdict, m.String()
	}
	if outside(clean) && !standardStream(clean) && rank(p.external) > rank(j.Verdict) {
		j.Verdict, j.Rule = p.external, fmt.Sprintf("external_directory → %s", p.external)
	}
	return j
}

// DeniedPaths are the patterns of the path section that deny, the most specific first: the runner masks them.
func (p *Policy) DeniedPaths() []string {
	var out []string
	for _, r := range p.path.rules {
		if r.verdict == Deny {
			out = append(out, r.pattern)
		}
	}
	return out
}

func cleanPath(name string) string {
	if strings.HasPrefix(name, "~") {
		home, rest, _ := strings.Cut(name, "/")
		if rest = path.Clean("./" + rest); rest == "." {
			return home
		}
		return home + "/" + rest // ~/../x stays what it is: outside
	}
	return path.Clean(name)
}

// outside: the path cannot be in the project.
func outside(clean string) bool {
	return strings.HasPrefix(clean, "/") || strings.HasPrefix(clean, "~") || clean == ".." || strings.HasPrefix(clean, "../")
}

// standardStream: the null device and the streams that every process has.
func standardStream(clean string) bool {
	switch clean {
	case "/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd/0", "/dev/fd/1", "/dev/fd/2":
		return true
	}
	return false
}

// maxFolders bounds how far up a path is looked at; deeper ones are beyond what file systems take.
const maxFolders = 256

func (r *rule) matchesPath(clean string) bool {
	if namesPath(r.pattern, clean, clean) {
		return true
	}
	if r.verdict == Allow {
		return false
	}
	dir := strings.ToLower(clean)
	for range maxFolders {
		if namesPath(r.lower, dir, dir) || strings.HasSuffix(r.lower, "/*") && namesPath(r.lower, dir+"/", dir) {
			return true
		}
		up := path.Dir(dir)
		if up == dir || up == "." || up == "/" {
			break
		}
		dir = up
	}
	return false
}

func namesPath(pattern, full, clean string) bool {
	pattern = strings.TrimPrefix(pattern, "./")
	return glob(pattern, full) || !strings.Contains(pattern, "/") && glob(pattern, path.Base(clean))
}

// overlaps reports whether some file name could match both the rule and a word with shell patterns in it. A word
// whose last element is nothing but * names a whole directory, as a recursive command does, and is left to the
// sandbox's masks.
func (r *rule) overlaps(word string) bool {
	base := path.Base(word)
	if strings.Trim(base, "*") == "" {
		return false
	}
	pattern := strings.TrimPrefix(r.pattern, "./")
	if (pattern[:1] == "." || strings.HasPrefix(path.Base(pattern), ".")) && strings.IndexAny(base, "*?[") == 0 {
		return false // the shell's patterns match a leading dot only when they spell it out
	}
	if outside(pattern) != outside(word) {
		return false // a relative pattern of the shell finds nothing outside
	}
	return bothMatch(pattern, word) || !strings.Contains(pattern, "/") && bothMatch(pattern, base)
}

// bothMatch: is there a text that pattern (only * is special) and word (*, ? and […] are) both match?
func bothMatch(pattern, word string) bool {
	word = oneOf(word)
	row := make([]bool, len(word)+1) // row[j]: the patterns' rests from i and j have a text in common
	for i := len(pattern); i >= 0; i-- {
		next := row
		row = make([]bool, len(word)+1)
		for j := len(word); j >= 0; j-- {
			switch {
			case i == len(pattern) && j == len(word):
				row[j] = true
			case i < len(pattern) && pattern[i] == '*':
				row[j] = next[j] || j < len(word) && row[j+1]
			case j < len(word) && word[j] == '*':
				row[j] = row[j+1] || i < len(pattern) && next[j]
			case i < len(pattern) && j < len(word) && (word[j] == '?' || word[j] == pattern[i]):
				row[j] = next[j+1]
			}
		}
	}
	return row[0]
}

// oneOf replaces each […] by ?, which is wider.
func oneOf(word string) string {
	var b strings.Builder
	for i := 0; i < len(word); i++ {
		if word[i] == '[' {
			if end := strings.IndexByte(word[i:], ']'); end > 1 {
				b.WriteByte('?')
				i += end
				continue
			}
		}
		b.WriteByte(word[i])
	}
	return b.String()
}

func pathReason(j Path) string {
	if j.Write {
		return fmt.Sprintf("Writing %q: %s.", clip(j.Path, 200), j.Verdict)
	}
	return fmt.Sprintf("The path %q: %s.", clip(j.Path, 200), j.Verdict)
}

// clip shortens a text to at most n bytes, at a rune's border.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}
