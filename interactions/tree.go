package interactions

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"holdfast/actor/errs"
)

// Limits of what is decoded. Discord's own payloads stay below.
const (
	maxDepth  = 64     // nesting of JSON
	maxValues = 60_000 // values and keys of a document: more would cost a call more fuel than its bytes pay for
	maxTyped  = 10_000 // characters that a person can type into one field of Discord's, generously
	maxList   = 1000   // items of a list whose length the platform does not bound
)

// value is a place in a decoded document: it knows its path, for error messages, and every accessor is safe on a
// value that is absent or of another type. The first thing found wrong is kept in the document, so that decoding
// reads straight down and is checked once, at the end.
//
// encoding/json's structs are not used because they match names regardless of case and let the last of two equal
// keys win: a payload would mean different things to different readers.
type value struct {
	doc  *document
	path string
	v    any // nil (absent or null), bool, string, json.Number, []any or map[string]any
}

type document struct {
	err  *errs.Error
	told string // what a person did wrong, to be said to that person; "" for nothing. The payload is in order then
}

// parse decodes one JSON value. Text that is not valid Unicode (a lone surrogate, bad UTF-8) becomes U+FFFD.
func parse(body []byte) (value, *errs.Error) {
	if !json.Valid(body) {
		return value{}, errs.New(errs.Invalid, "The body is not JSON.")
	}
	b := builder{dec: json.NewDecoder(bytes.NewReader(body))}
	b.dec.UseNumber()
	v, err := b.value(0)
	if err != nil {
		return value{}, errs.New(errs.Invalid, "The body cannot be accepted: %v.", err)
	}
	return value{doc: &document{}, v: v}, nil
}

// builder reads a document token by token.
type builder struct {
	dec    *json.Decoder
	values int
}

func (b *builder) token() (json.Token, error) {
	if b.values++; b.values > maxValues {
		return nil, fmt.Errorf("it holds more than %d values", maxValues)
	}
	return b.dec.Token()
}

func (b *builder) value(depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("it is nested deeper than %d levels", maxDepth)
	}
	t, err := b.token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('['):
		return b.list(depth)
	case json.Delim('{'):
		return b.object(depth)
	}
	return t, nil
}

func (b *builder) list(depth int) (any, error) {
	list := []any{}
	for b.dec.More() {
		v, err := b.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := b.dec.Token()
	return list, err
}

func (b *builder) object(depth int) (any, error) {
	object := map[string]any{}
	for b.dec.More() {
		t, err := b.token()
		if err != nil {
			return nil, err
		}
		key, ok := t.(string)
		if _, twice := object[key]; twice || !ok {
			return nil, fmt.Errorf("the key %.40q is there twice", key)
		}
		if object[key], err = b.value(depth + 1); err != nil {
			return nil, err
		}
	}
	_, err := b.dec.Token()
	return object, err
}

// fail keeps the first error of the document.
func (v value) fail(want string) {
	if v.doc.err == nil {
		v.doc.err = errs.New(errs.Invalid, "%s: expected %s.", v.name(), want)
	}
}

func (v value) name() string {
	if v.path == "" {
		return "The body"
	}
	return v.path
}

// present says whether there is something other than null.
func (v value) present() bool { return v.v != nil }

// field is a member of an object. It is absent when v is absent, and an error when v is something else.
func (v value) field(key string) value {
	path := key
	if v.path != "" {
		path = v.path + "." + key
	}
	return value{v.doc, path, v.object()[key]}
}

func (v value) object() map[string]any {
	o, ok := v.v.(map[string]any)
	if !ok && v.present() {
		v.fail("an object")
	}
	return o
}

// list gives the items of an array of at most limit; none when it is absent.
func (v value) list(limit int) []value {
	l, ok := v.v.([]any)
	switch {
	case !ok && v.present():
		v.fail("a list")
	case len(l) > limit:
		v.fail(fmt.Sprintf("at most %d items", limit))
		return nil
	}
	items := make([]value, len(l))
	for i, x := range l {
		items[i] = value{v.doc, fmt.Sprintf("%s[%d]", v.path, i), x}
	}
	return items
}

// text is a string of at most limit characters that must be there.
func (v value) text(limit int) string {
	s, ok := v.v.(string)
	switch {
	case !ok:
		v.fail("text")
	case utf8.RuneCountInString(s) > limit:
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
	s, _ := v.v.(string)
	if !snowflake(s) {
		v.fail("a snowflake (a decimal number in quotes)")
		return ""
	}
	return s
}

// optID is a snowflake that may be absent, or "".
func (v value) optID() string {
	if !v.present() || v.v == "" {
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
	n, ok := v.v.(json.Number)
	i, err := n.Int64()
	if !ok || err != nil || i < 0 || i > limit {
		v.fail(fmt.Sprintf("a whole number from 0 to %d", limit))
		return 0
	}
	return i
}

// flag is a boolean, false when it is absent.
func (v value) flag() bool {
	b, ok := v.v.(bool)
	if !ok && v.present() {
		v.fail("true or false")
	}
	return b
}

// snowflake says whether s is a Discord id: decimal, at most 20 digits, without leading zeros (Discord's OpenAPI
// description, SnowflakeType; the length is that of the greatest uint64).
func snowflake(s string) bool {
	return len(s) <= 20 && digits(s) && s[0] != '0'
}
