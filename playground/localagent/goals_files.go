package localagent

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// folder is a path as the tools take it, and as it is shown: "" and "the project" for the project itself.
func folder(a []string) (dir, shown string) {
	if len(a) > 0 {
		dir = strings.TrimSuffix(strings.TrimPrefix(a[0], "./"), "/")
	}
	if dir == "" || dir == "." {
		return "", "the project"
	}
	return dir, code(dir)
}

// list shows what is right in a folder: of the project without an argument.
func list(t *turn, a []string) (string, bool) {
	dir, where := folder(a)
	o, done := t.glob("*", dir)
	switch {
	case !done:
		return "", false
	case o.kind != ok:
		return o.excuse("list the files of " + where), true
	}
	names := entries(paths(o.text), dir)
	if len(names) == 0 {
		return "I found no files in " + where + ".", true
	}
	answer := fmt.Sprintf("%s has %s:%s", capital(where), count(len(names), "entry"), block(strings.Join(names, "\n")))
	if strings.Contains(o.text, " omitted") {
		answer += "\nThe project has more files than the tool lists, so there may be more entries."
	}
	return answer, true
}

// entries are the files and folders right in dir, folders with a slash and the number of their files.
func entries(all []string, dir string) []string {
	var names []string
	inside := map[string]int{}
	for _, p := range all {
		if dir != "" {
			p = strings.TrimPrefix(p, dir+"/")
		}
		name, _, deep := strings.Cut(p, "/")
		if !deep {
			names = append(names, name)
			continue
		}
		if inside[name]++; inside[name] == 1 {
			names = append(names, name+"/")
		}
	}
	for i, n := range names {
		if stem, isDir := strings.CutSuffix(n, "/"); isDir && inside[stem] > 0 {
			names[i] = fmt.Sprintf("%s (%s)", n, count(inside[stem], "file"))
		}
	}
	return names
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func tree(t *turn, a []string) (string, bool) {
	dir, where := folder(a)
	o, done := t.glob("*", dir)
	switch {
	case !done:
		return "", false
	case o.kind != ok:
		return o.excuse("list the files of " + where), true
	case len(paths(o.text)) == 0:
		return "I found no files in " + where + ".", true
	}
	return capital(where) + ":" + block(drawTree(paths(o.text))), true
}

// drawTree indents paths below their folders.
func drawTree(paths []string) string {
	var out strings.Builder
	var open []string // folders of the last path
	for _, p := range paths {
		parts := strings.Split(strings.TrimSuffix(p, "/"), "/")
		same := 0
		for same < len(open) && same < len(parts)-1 && open[same] == parts[same] {
			same++
		}
		for i := same; i < len(parts); i++ {
			out.WriteString(strings.Repeat("  ", i) + parts[i])
			if i < len(parts)-1 || strings.HasSuffix(p, "/") {
				out.WriteString("/")
			}
			out.WriteString("\n")
		}
		open = parts[:len(parts)-1]
		if strings.HasSuffix(p, "/") {
			open = parts
		}
	}
	return out.String()
}

func findFiles(t *turn, a []string) (string, bool) {
	name := a[0]
	switch name {
	case "go", "py", "js", "ts", "md", "json", "txt", "yaml", "toml", "html", "css", "rs", "java", "c", "h", "sh":
		name = "*." + name
	case "test":
		name = "*test*"
	}
	if !strings.ContainsAny(name, "*?[") && !strings.Contains(name, ".") {
		name = "*" + name + "*"
	}
	o, done := t.glob(name, "")
	switch {
	case !done:
		return "", false
	case o.kind != ok:
		return o.excuse("look for " + code(name)), true
	}
	found := paths(o.text)
	if len(found) == 0 {
		return "No file matches " + code(name) + ".", true
	}
	return fmt.Sprintf("%s for %s:%s", capital(count(len(found), "match")), code(name), block(o.text)), true
}

func readFile(t *turn, a []string) (string, bool) {
	o, done := t.read(a[0], 0, 0)
	return shown(o, done, a[0], code(a[0]))
}

func shown(o outcome, done bool, file, title string) (string, bool) {
	switch {
	case !done:
		return "", false
	case o.kind != ok:
		return o.excuse("read " + code(file)), true
	case o.text == "", strings.HasSuffix(o.text, " is empty") && !strings.Contains(o.text, "\n"):
		return code(file) + " is empty.", true
	}
	return title + ":" + fenced(o.text, languageOf(file)), true
}

func languageOf(file string) string {
	switch ext := path.Ext(file); ext {
	case ".go", ".py", ".js", ".ts", ".json", ".rs", ".java", ".c", ".sh", ".css", ".html", ".yaml", ".toml", ".diff":
		return ext[1:]
	}
	return ""
}

func readHead(t *turn, a []string) (string, bool) {
	n := number(a[0], 10)
	o, done := t.read(a[1], 0, n)
	return shown(o, done, a[1], fmt.Sprintf("The first %d lines of %s", n, code(a[1])))
}

var fileLength = regexp.MustCompile(`(?m)^… .*the file has (\d+) lines.*$`)

// readTail reads the file, and once more near its end when it is too long to be shown at once.
func readTail(t *turn, a []string) (string, bool) {
	n := number(a[0], 10)
	o, done := t.read(a[1], 0, 0)
	if done && o.kind == ok {
		if m := fileLength.FindStringSubmatch(o.text); m != nil {
			o, done = t.read(a[1], max(1, number(m[1], 1)-n+1), n)
		}
	}
	if done && o.kind == ok {
		all := strings.Split(o.text, "\n")
		o.text = strings.Join(all[max(0, len(all)-n):], "\n")
	}
	return shown(o, done, a[1], fmt.Sprintf("The last %d lines of %s", n, code(a[1])))
}

// readRange takes (from, to, file) or (file, from, to): the rules have both orders.
func readRange(t *turn, a []string) (string, bool) {
	from, to, file := a[0], a[1], a[2]
	if _, err := strconv.Atoi(from); err != nil {
		file, from, to = a[0], a[1], a[2]
	}
	first := number(from, 1)
	last := max(first, number(to, first))
	o, done := t.read(file, first, min(last-first+1, 2000))
	return shown(o, done, file, fmt.Sprintf("%s, lines %d–%d", code(file), first, last))
}

func number(s string, or int) int {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil || n < 1 {
		return or
	}
	return n
}

func write(t *turn, a []string) (string, bool) {
	file, content := a[0], a[1]
	if content != "" && !strings.HasSuffix(content, "\n") {
		content += "\n"
	}
	o, done := t.call("write", args{"path": file, "content": text(content)})
	switch {
	case !done:
		return "", false
	case o.kind != ok:
		return o.excuse("write " + code(file)), true
	}
	return fmt.Sprintf("I wrote %s (%s).", code(file), count(strings.Count(content, "\n"), "line")), true
}

// text is an argument that is sent even when it is empty.
type text string

// appendLine is for who does not say which line.
func appendLine(t *turn, a []string) (string, bool) {
	return appendTo(t, []string{"A line that the local agent added, since it was not told which.", a[0]})
}

// readmeName is what people call a README without its ending.
func readmeName(file string) string {
	if strings.EqualFold(file, "readme") {
		return "README.md"
	}
	return file
}

func appendTo(t *turn, a []string) (string, bool) {
	content, file := a[0], readmeName(a[1])
	if looksLikePath(a[:1]) && !looksLikePath(a[1:]) && !strings.Contains(content, " ") {
		content, file = a[1], a[0]
	}
	line := "printf '%s\\n' " + quote(content) + " >> " + operand(file)
	o, done := t.bash(line)
	switch {
	case !done:
		return "", false
	case o.kind != ok:
		return o.excuse("append to " + code(file)), true
	}
	return "I appended " + count(len(lines(content)), "line") + " to " + code(file) + ".", true
}

// replace takes (old, new, file) or (file, old, new): the rules have both orders.
func replace(t *turn, a []string) (string, bool) { return edit(t, a, false) }

func replaceAll(t *turn, a []string) (string, bool) { return edit(t, a, true) }

func edit(t *turn, a []string, all bool) (string, bool) {
	from, to, file := a[0], a[1], a[2]
	if !looksLikePath(a[2:]) && looksLikePath(a[:1]) {
		file, from, to = a[0], a[1], a[2]
	}
	o, done := t.call("edit", args{"path": file, "old": from, "new": text(to), "all": all})
	switch {
	case !done:
		return "", false
	case o.kind != ok:
		return o.excuse("edit " + code(file)), true
	}
	return fmt.Sprintf("I replaced %s with %s in %s.%s", code(from), code(to), code(file), fenced(around(o.text), languageOf(file))), true
}

// around is what the result of an edit shows of the file, without the line that counts bytes and what is left out.
func around(s string) string {
	var out []string
	for _, l := range lines(s) {
		if numbered.MatchString(l) {
			out = append(out, l)
		}
	}
	return strings.Join(out, "\n")
}
