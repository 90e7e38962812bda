package interactions

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"holdfast/actor/errs"
)

const (
	maxList  = 1000   // items of a list whose length the platform does not bound
	maxTyped = 10_000 // characters that a person can type into one field of Discord's, generously
)

// value is a place in a decoded document: it knows its path, for error messages, and every accessor is safe on a
// value that is absent or of another type. The first thing found wrong is kept in the document, so that decoding
// reads straight down and is checked once, at the end.
type value struct {
	doc    *document
	nodes  []node
	at     int    // its node; of an absent value, that of the closest value around it
	absent string // path below that value, as ".user.id"; "": the value is there
}

type document struct {
	err  *errs.Error
	told string // what a person did wrong, to be said to that person; "" for nothing. The payload is in order then
}

// fail keeps the first error of the document.
func (v value) fail(want string) {
	if v.doc.err == nil {
		v.doc.err = errs.New(errs.Invalid, "%s: expected %s.", v.name(), want)
	}
}

// name is the path of the value, as data.options[0].name.
func (v value) name() string {
	var path string
	for i := 0; i < v.at; {
		i, path = v.towards(i, path)
	}
	path += v.absent
	if path == "" {
		return "The body"
	}
	if path[0] == '.' {
		path = path[1:]
	}
	return path
}

// towards goes from a value's node to the value in it that holds, or is, v; and adds that step to the path.
func (v value) towards(from int, path string) (int, string) {
	i, n := from+1, 0
	for ; v.nodes[i].end <= v.at; n++ {
		i = v.nodes[i].end
	}
	if v.nodes[i].kind == key {
		return i + 1, path + "." + v.nodes[i].text
	}
	return i, path + "[" + strconv.Itoa(n) + "]"
}

// kind is null for what is absent.
func (v value) kind() kind {
	if v.absent != "" {
		return null
	}
	return v.nodes[v.at].kind
}

// present says whether there is something other than null.
func (v value) present() bool { return v.kind() != null }

// field is a member of an object. It is absent when v is absent, and an error when v is something else.
func (v value) field(name string) value {
	if v.kind() == object {
		for i, end := v.at+1, v.nodes[v.at].end; i < end; i = v.nodes[i].end {
			if v.nodes[i].text == name {
				return value{doc: v.doc, nodes: v.nodes, at: i + 1}
			}
		}
	} else if v.present() {
		v.fail("an object")
	}
	return v.missing("." + name)
}

// keys fails the document when an object has a key that is not among known.
func (v value) keys(known []string) {
	if v.kind() != object {
		return
	}
	for i, end := v.at+1, v.nodes[v.at].end; i < end; i = v.nodes[i].end {
		if name := v.nodes[i].text; !slices.Contains(known, name) {
			v.fail(fmt.Sprintf("no key %.40q, but %s", name, strings.Join(known, ", ")))
			return
		}
	}
}

// missing is a value below v that is absent.
func (v value) missing(path string) value { v.absent += path; return v }

// list gives the items of an array of at most limit; none when it is absent.
func (v value) list(limit int) []value {
	if v.kind() != list {
		if v.present() {
			v.fail("a list")
		}
		return nil
	}
	var items []value
	for i, end := v.at+1, v.nodes[v.at].end; i < end; i = v.nodes[i].end {
		if len(items) == limit {
			v.fail(fmt.Sprintf("at most %d items", limit))
			return nil
		}
		items = append(items, value{doc: v.doc, nodes: v.nodes, at: i})
	}
	return items
}

// text is a string of at most limit characters that must be there.
func (v value) text(limit int) string {
	if v.kind() != text {
		v.fail("text")
		return ""
	}
	s := v.nodes[v.at].text
	if len(s) > limit && utf8.RuneCountInString(s) > limit {
		v.fail(fmt.Sprintf("at most %d characters", limit))
		return ""
	}
	return s
}

// optText is text that may be absent.
func (v value) optText(limit int) string {
	if !v.present() {
		return ""
	}
	return v.text(limit)
}

// typed is what a person typed into the field called name; "" when it is absent.
func (v value) typed(name string, limit int) string {
	s := v.optText(maxTyped)
	if utf8.RuneCountInString(s) > limit {
		v.tell(fmt.Sprintf("The field `%s` takes at most %d characters; these are %d.", name, limit, utf8.RuneCountInString(s)))
		return ""
	}
	return s
}

// tell keeps the first thing that a person did wrong.
func (v value) tell(text string) {
	if v.doc.told == "" {
		v.doc.told = text
	}
}

// id is a snowflake that must be there.
func (v value) id() string {
	if v.kind() != text || !snowflake(v.nodes[v.at].text) {
		v.fail("a snowflake (a decimal number in quotes)")
		return ""
	}
	return v.nodes[v.at].text
}

// optID is a snowflake that may be absent, or "".
func (v value) optID() string {
	if !v.present() || v.kind() == text && v.nodes[v.at].text == "" {
		return ""
	}
	return v.id()
}

// ids is a list of snowflakes.
func (v value) ids() []string {
	var ids []string
	for _, x := range v.list(maxList) {
		ids = append(ids, x.id())
	}
	return ids
}

// integer is a whole number from 0 to limit that must be there.
func (v value) integer(limit int64) int64 {
	if v.kind() == number {
		if i, err := strconv.ParseInt(v.nodes[v.at].text, 10, 64); err == nil && i >= 0 && i <= limit {
			return i
		}
	}
	v.fail(fmt.Sprintf("a whole number from 0 to %d", limit))
	return 0
}

// flag is a boolean, false when it is absent.
func (v value) flag() bool {
	if v.kind() == boolean {
		return v.nodes[v.at].text == "true"
	}
	if v.present() {
		v.fail("true or false")
	}
	return false
}

// snowflake says whether s is a Discord id: decimal, at most 20 digits, without leading zeros (Discord's OpenAPI
// description, SnowflakeType; the length is that of the greatest uint64).
func snowflake(s string) bool {
	return len(s) <= 20 && digits(s) && s[0] != '0'
}
