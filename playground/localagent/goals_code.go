package localagent

import (
	"fmt"
	"regexp"
	"strings"
)

// maxHits is how many found lines an answer shows.
const maxHits = 15

// search takes a pattern and, when the question named one, a place; the rules have both orders.
func search(t *turn, a []string) (string, bool) {
	pattern, place := a[0], ""
	if len(a) > 1 {
		place = a[1]
		if looksLikePath(a[:1]) && !looksLikePath(a[1:]) {
			pattern, place = a[1], a[0]
		}
	}
	dir, include := place, ""
	if strings.ContainsAny(place, "*?") {
		dir, include = "", place
	}
	o, done := t.grep(regexp.QuoteMeta(pattern), strings.TrimSuffix(dir, "/"), include)
	where := ""
	if place != "" {
		where = " in " + code(place)
	}
	switch {
	case !done:
		return "", false
	case o.kind != ok:
		return o.excuse("search for " + code(pattern)), true
	}
	found := hits(o.text)
	if len(found) == 0 {
		if len(lines(o.text)) > 1 { // a form that we do not know: shown as it is
			return "I searched for " + code(pattern) + where + ":" + block(o.text), true
		}
		return "I found no " + code(pattern) + where + ".", true
	}
	return fmt.Sprintf("%s is in %s of %s%s:%s", code(pattern), count(len(found), "line"), count(files(found), "file"), where, listHits(found)), true
}

func files(found []hit) int {
	seen := map[string]bool{}
	for _, h := range found {
		seen[h.path] = true
	}
	return len(seen)
}

func listHits(found []hit) string {
	var out strings.Builder
	for i, h := range found {
		if i == maxHits {
			fmt.Fprintf(&out, "\n… and %d more", len(found)-i)
			break
		}
		fmt.Fprintf(&out, "\n- `%s:%d` %s", strings.ReplaceAll(h.path, "`", "'"), h.line, code(clip(h.text, 120)))
	}
	return out.String()
}

// bare is the last part of a name: "Parse" of "parser.Parse()".
func bare(name string) string {
	name = strings.TrimSuffix(name, "()")
	return strings.TrimLeft(name[strings.LastIndexAny(name, ".:")+1:], "$")
}

// definition finds lines that declare a name, in the common languages.
func definition(name string) string {
	return `\b(func|type|var|const|class|def|fn|struct|enum|trait|interface|function|let|impl|mod|module)\s+(\([^)]*\)\s*)?` + regexp.QuoteMeta(name) + `\b`
}

func define(t *turn, a []string) (string, bool) {
	name := bare(a[0])
	o, done := t.grep(definition(name), "", "")
	switch {
	case !done:
		return "", false
	case o.kind != ok:
		return o.excuse("search for the definition of " + code(name)), true
	}
	found := hits(o.text)
	if len(found) == 0 {
		return "I found no definition of " + code(name) + " by its usual forms (`func`, `type`, `class`, `def`, …).", true
	}
	return code(name) + " is defined here:" + listHits(found), true
}

func uses(t *turn, a []string) (string, bool) {
	name := bare(a[0])
	o, done := t.grep(`\b`+regexp.QuoteMeta(name)+`\b`, "", "")
	switch {
	case !done:
		return "", false
	case o.kind != ok:
		return o.excuse("search for uses of " + code(name)), true
	}
	var found []hit
	declares := regexp.MustCompile(definition(name))
	for _, h := range hits(o.text) {
		if !declares.MatchString(h.text) {
			found = append(found, h)
		}
	}
	if len(found) == 0 {
		return "I found no use of " + code(name) + " beside its definition.", true
	}
	return fmt.Sprintf("%s is used in %s of %s:%s", code(name), count(len(found), "line"), count(files(found), "file"), listHits(found)), true
}

// explain shows where a name is defined, its text, and how often it is used. It explains nothing that it does not see.
func explain(t *turn, a []string) (string, bool) {
	name := bare(a[0])
	where, done1 := t.grep(definition(name), "", "")
	all, done2 := t.grep(`\b`+regexp.QuoteMeta(name)+`\b`, "", "")
	if !done1 || !done2 {
		return "", false
	}
	if where.kind != ok {
		return where.excuse("search for " + code(name)), true
	}
	found, everywhere := hits(where.text), hits(all.text)
	if len(found) == 0 {
		if all.kind != ok || len(everywhere) == 0 {
			return "I found no " + code(name) + " in the project, so I cannot explain it.", true
		}
		return fmt.Sprintf("I found no definition of %s, only %s that mention it:%s", code(name), count(len(everywhere), "line"), listHits(everywhere)), true
	}
	at := found[0]
	from := max(1, at.line-8)
	o, done := t.read(at.path, from, 40)
	if !done {
		return "", false
	}
	answer := fmt.Sprintf("%s is defined in `%s:%d`", code(name), at.path, at.line)
	if len(found) > 1 {
		answer += fmt.Sprintf(" (and in %d more places)", len(found)-1)
	}
	if o.kind != ok {
		return answer + ". " + o.excuse("read "+code(at.path)), true
	}
	comment, body := declaration(withoutNumbers(o.text), definition(name))
	answer += "."
	if comment != "" {
		answer += " Its comment says: " + comment
	}
	answer += fenced(body, languageOf(at.path))
	if all.kind == ok {
		answer += fmt.Sprintf("\n%s in %s mention it.", capital(count(len(everywhere), "line")), count(files(everywhere), "file"))
	}
	return answer, true
}

// declaration finds the line that declares something in a piece of a file: the comment right before it, and its text
// up to the line that closes it.
func declaration(piece, pattern string) (comment, body string) {
	all := strings.Split(piece, "\n")
	re := regexp.MustCompile(pattern)
	at := 0
	for at < len(all) && !re.MatchString(all[at]) {
		at++
	}
	if at == len(all) {
		return "", piece
	}
	var said []string
	for i := at - 1; i >= 0; i-- {
		l := strings.TrimSpace(all[i])
		if !strings.HasPrefix(l, "//") && !strings.HasPrefix(l, "#") {
			break
		}
		said = append([]string{strings.TrimSpace(strings.TrimLeft(l, "/#!"))}, said...)
	}
	indent := len(all[at]) - len(strings.TrimLeft(all[at], " \t"))
	end := at + 1
	if strings.HasSuffix(strings.TrimSpace(all[at]), "{") || strings.HasSuffix(strings.TrimSpace(all[at]), ":") || strings.HasSuffix(strings.TrimSpace(all[at]), "(") {
		for end < len(all) {
			l := all[end]
			end++
			if strings.TrimSpace(l) != "" && len(l)-len(strings.TrimLeft(l, " \t")) <= indent {
				if !strings.ContainsAny(strings.TrimSpace(l)[:1], "})]") {
					end--
				}
				break
			}
		}
	}
	return clip(strings.Join(said, " "), 400), strings.TrimRight(strings.Join(all[at:end], "\n"), "\n ")
}

func outline(t *turn, a []string) (string, bool) {
	o, done := t.grep(`^\s*(export |pub |public |private |static |async )*(func|type|class|def|fn|struct|enum|trait|interface|function|impl)\s`, a[0], "")
	switch {
	case !done:
		return "", false
	case o.kind != ok:
		return o.excuse("look into " + code(a[0])), true
	}
	found := hits(o.text)
	if len(found) == 0 {
		return "I found no declarations in " + code(a[0]) + ".", true
	}
	return fmt.Sprintf("%s has %s:%s", code(a[0]), count(len(found), "declaration"), listHits(found)), true
}

// explainFile shows how a file begins and what it declares.
func explainFile(t *turn, a []string) (string, bool) {
	begin, done1 := t.read(a[0], 0, 30)
	declared, done2 := outline(t, a)
	if !done1 || !done2 {
		return "", false
	}
	if begin.kind != ok {
		return begin.excuse("read " + code(a[0])), true
	}
	return code(a[0]) + " begins like this:" + fenced(begin.text, languageOf(a[0])) + "\n" + declared, true
}

func todos(t *turn, _ []string) (string, bool) {
	o, done := t.grep(`\b(TODO|FIXME)\b`, "", "")
	switch {
	case !done:
		return "", false
	case o.kind != ok:
		return o.excuse("search for TODO and FIXME"), true
	}
	found := hits(o.text)
	if len(found) == 0 {
		return "I found no `TODO` and no `FIXME`.", true
	}
	return fmt.Sprintf("%s with `TODO` or `FIXME`:%s", capital(count(len(found), "line")), listHits(found)), true
}
