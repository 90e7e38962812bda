package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// loader fills a Config and gathers what is wrong.
type loader struct {
	name     string
	lines    map[string]int // of keys and tables in the file
	env      func(string) string
	problems Problems
	given    map[string]string // where each key's value came from
}

// models makes a Model for each [model.<name>] of the file.
func (l *loader) models(tree map[string]any) map[string]*Model {
	found := map[string]*Model{}
	tables, _ := tree["model"].(map[string]any)
	for name := range tables {
		if !modelName(name) {
			l.problem("model."+name, key{want: "a name of lower-case letters, digits and hyphens", example: "[model.default]"})
			continue
		}
		found[name] = &Model{}
	}
	return found
}

func modelName(s string) bool {
	return s != "" && len(s) <= 32 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// file walks a table of the file. Unknown keys are errors: a misspelt one must not be a silent default.
func (l *loader) file(prefix string, table map[string]any, keys []key) {
	if l.given == nil {
		l.given = map[string]string{}
	}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		full := prefix + name
		i := slices.IndexFunc(keys, func(k key) bool { return k.name == full })
		sub, isTable := table[name].(map[string]any)
		switch {
		case i >= 0:
			l.given[full] = l.at(full)
			if !assign(keys[i].to, table[name]) {
				l.problem(full, keys[i])
			}
		case isTable && hasPrefix(keys, full+"."):
			l.file(full+".", sub, keys)
		case full == "model" && isTable, prefix == "model." && !modelName(name): // told already, or empty
		default:
			l.problem(full, key{want: "no such key" + nearest(full, keys)})
		}
	}
}

func hasPrefix(keys []key, prefix string) bool {
	return slices.ContainsFunc(keys, func(k key) bool { return strings.HasPrefix(k.name, prefix) })
}

// nearest names a known key of the same table that shares the most beginning with an unknown one.
func nearest(name string, keys []key) string {
	best, length := "", strings.LastIndexByte(name, '.')+2 // at least one letter of the key itself
	for _, k := range keys {
		n := 0
		for n < len(name) && n < len(k.name) && name[n] == k.name[n] {
			n++
		}
		if n >= length {
			best, length = k.name, n+1
		}
	}
	if best == "" {
		return ""
	}
	return " (did you mean " + best + "?)"
}

// assign stores v, reporting false for a value of the wrong kind.
func assign(to, v any) bool {
	switch p := to.(type) {
	case *string:
		s, ok := v.(string)
		*p = s
		return ok
	case *int64:
		n, ok := v.(int64)
		*p = n
		return ok && n >= 0
	case *[]string:
		list, ok := v.([]any)
		for _, x := range list {
			s, isText := x.(string)
			ok = ok && isText
			*p = append(*p, s)
		}
		return ok
	case *map[string]int64:
		table, ok := v.(map[string]any)
		for k, x := range table {
			n, isNumber := x.(int64)
			ok = ok && isNumber && n >= 0
			(*p)[k] = n
		}
		return ok
	}
	return false
}

// environment lets a key's twin win over the file; lists are separated by commas, tables are JSON.
func (l *loader) environment(k key) {
	name := EnvName(k.name)
	s := l.env(name)
	if s == "" {
		if _, ok := l.given[k.name]; !ok && k.absent != nil {
			assign(k.to, k.absent)
		}
		return
	}
	l.given[k.name] = name
	var v any = s
	switch p := k.to.(type) {
	case *int64:
		n, err := strconv.ParseInt(s, 10, 64)
		if v = n; err != nil {
			v = s
		}
	case *[]string:
		*p = nil
		list := []any{}
		for x := range strings.SplitSeq(s, ",") {
			list = append(list, strings.TrimSpace(x))
		}
		v = list
	case *map[string]int64:
		*p = map[string]int64{}
		if json.Unmarshal([]byte(s), p) == nil {
			return
		}
	}
	if !assign(k.to, v) {
		l.problem(k.name, k)
	}
}

// EnvName is the environment's twin of a key: "edge.listen" is HOLDFAST_EDGE_LISTEN.
func EnvName(key string) string {
	return "HOLDFAST_" + strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(key))
}

// check validates a value that somebody gave.
func (l *loader) check(k key) {
	if _, ok := l.given[k.name]; !ok || k.valid == nil {
		return
	}
	bad := false
	switch p := k.to.(type) {
	case *string:
		bad = !k.valid(*p)
	case *[]string:
		bad = slices.ContainsFunc(*p, func(s string) bool { return !k.valid(s) })
	}
	if bad {
		l.problem(k.name, k)
	}
}

// whole checks what concerns more than one key.
func (l *loader) whole(c *Config) {
	if len(c.Discord.PublicKeys) > 2 {
		l.problem("discord.public_keys", key{want: "at most two keys: the present and the next one"})
	}
	for _, name := range slices.Sorted(maps.Keys(c.Models)) {
		m := c.Models[name]
		for _, need := range [][2]string{{"format", m.Format}, {"base_url", m.BaseURL}, {"model", m.Model}} {
			if need[1] == "" {
				l.problem("model."+name+"."+need[0], key{want: "a value: a model needs format, base_url and model"})
			}
		}
	}
	if _, ok := c.Models[c.Default]; !ok && len(c.Models) > 0 {
		l.problem("models.default", key{want: fmt.Sprintf("one of %s, not %q", strings.Join(slices.Sorted(maps.Keys(c.Models)), ", "), c.Default)})
	}
}

// problem keeps what is wrong with a key, once.
func (l *loader) problem(name string, k key) {
	where := l.given[name]
	if where == "" {
		where = l.at(name)
	}
	p := Problem{Where: where, Key: name, Want: k.want}
	if strings.TrimSpace(name) == "" || strings.HasSuffix(name, ".") {
		p.Key = strconv.Quote(name) // TOML allows an empty key
	}
	if k.example != "" {
		p.Example = name[strings.LastIndexByte(name, '.')+1:] + " = " + k.example
	}
	if !slices.ContainsFunc(l.problems, func(q Problem) bool { return q.Key == p.Key }) {
		l.problems = append(l.problems, p)
	}
}

// at is the place of a key in the file, or of the table it belongs to.
func (l *loader) at(name string) string {
	if n := l.line(name); n > 0 {
		return fmt.Sprintf("%s:%d", l.name, n)
	}
	return l.name
}

func (l *loader) line(name string) int {
	for name != "" {
		if n, ok := l.lines[name]; ok {
			return n
		}
		name = name[:max(0, strings.LastIndexByte(name, '.'))]
	}
	return 0
}

// lineNumbers finds where each table and key of a TOML document stands. The decoder keeps no positions of keys; this
// reads headers and the beginnings of assignments only, and what it misses is reported without a line.
func lineNumbers(doc string) map[string]int {
	lines, table := map[string]int{}, ""
	n := 0
	for line := range strings.Lines(doc) {
		n++
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			table = bare(strings.Trim(line, "[] \t"))
			lines[table] = n
			continue
		}
		name, _, found := strings.Cut(line, "=")
		if !found || strings.HasPrefix(line, "#") {
			continue
		}
		full := bare(name)
		if table != "" {
			full = table + "." + full
		}
		if _, twice := lines[full]; !twice {
			lines[full] = n
		}
	}
	return lines
}

// bare is a key without quotes and spaces around its parts.
func bare(s string) string {
	parts := strings.Split(s, ".")
	for i, p := range parts {
		parts[i] = strings.Trim(p, " \t\"'")
	}
	return strings.Join(parts, ".")
}
