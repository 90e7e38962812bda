package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// Violation is one way in which a document does not fit the description.
type Violation struct {
	Text    string   // in words
	Ignored bool     // a field or parameter that is not described: Discord takes no notice of it
	Field   []string // of the body, from the outside in, items of arrays by their number; nil where that says nothing
	Longest int      // the field's text has more characters than this; 0 is another violation
}

// Texts are the violations in words, nil for none.
func Texts(list []Violation) []string {
	var out []string
	for _, v := range list {
		out = append(out, v.Text)
	}
	return out
}

// check validates body against the schema at pointer, and looks for fields that the schema does not know.
func (o *Operation) check(schema any, pointer string, body []byte) []Violation {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body)) // keeps numbers as written: 64-bit bounds hold
	if err != nil {
		return []Violation{{Text: "body: " + err.Error()}}
	}
	compiled, err := o.spec.compile(pointer)
	if err != nil {
		return []Violation{{Text: "description: " + err.Error()}}
	}
	var out []Violation
	var invalid *jsonschema.ValidationError
	if err := compiled.Validate(value); errors.As(err, &invalid) {
		out = leaves(invalid)
	}
	for _, field := range o.spec.unknown(nil, value, []any{schema}) {
		out = append(out, Violation{Text: "body/" + strings.Join(field, "/") + ": unknown field", Ignored: true, Field: field})
	}
	return out
}

// Known is the body without the fields that Discord ignores.
func Known(body []byte, list []Violation) ([]byte, error) {
	if !slices.ContainsFunc(list, func(v Violation) bool { return v.Ignored && v.Field != nil }) {
		return body, nil
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for _, v := range list {
		if v.Ignored && v.Field != nil {
			remove(value, v.Field)
		}
	}
	return json.Marshal(value)
}

func remove(value any, field []string) {
	switch v := value.(type) {
	case obj:
		if len(field) == 1 {
			delete(v, field[0])
			return
		}
		remove(v[field[0]], field[1:])
	case []any:
		if i, err := strconv.Atoi(field[0]); err == nil && i >= 0 && i < len(v) && len(field) > 1 {
			remove(v[i], field[1:])
		}
	}
}

func (s *Spec) compile(pointer string) (*jsonschema.Schema, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.compiled[pointer]; c != nil {
		return c, nil
	}
	c, err := s.compiler.Compile(root + pointer)
	if err != nil {
		return nil, err
	}
	s.compiled[pointer] = c
	return c, nil
}

// leaves are the innermost reasons of a failure, at most eight, the deepest in the document first.
func leaves(e *jsonschema.ValidationError) []Violation {
	var all []*jsonschema.ValidationError
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if len(e.Causes) == 0 {
			all = append(all, e)
		}
		for _, c := range e.Causes {
			walk(c)
		}
	}
	walk(e)
	slices.SortStableFunc(all, func(a, b *jsonschema.ValidationError) int {
		return len(b.InstanceLocation) - len(a.InstanceLocation)
	})
	var out []Violation
	for _, l := range all[:min(len(all), 8)] {
		text := l.Error()
		if i := strings.Index(text, "\n- at"); i >= 0 {
			text = text[i+6:]
		}
		v := Violation{Text: "body: " + strings.TrimSpace(text), Field: l.InstanceLocation}
		if long, ok := l.ErrorKind.(*kind.MaxLength); ok {
			v.Longest = long.Want
		}
		out = append(out, v)
	}
	return out
}

// unknown finds fields below at that no matching alternative of the schemas describes.
func (s *Spec) unknown(at []string, value any, schemas []any) [][]string {
	switch v := value.(type) {
	case []any:
		var items []any
		for _, sc := range s.expand(schemas, nil) {
			if i, ok := sc["items"]; ok {
				items = append(items, i)
			}
		}
		var out [][]string
		for i, x := range v {
			if len(items) > 0 {
				out = append(out, s.unknown(append(at[:len(at):len(at)], strconv.Itoa(i)), x, items)...)
			}
		}
		return out
	case obj:
		return s.unknownFields(at, v, s.expand(schemas, v))
	}
	return nil
}

func (s *Spec) unknownFields(at []string, v obj, schemas []obj) [][]string {
	closed := false
	for _, sc := range schemas {
		_, props := sc["properties"]
		_, extra := sc["additionalProperties"]
		closed = closed || props || extra
	}
	if !closed {
		return nil // nothing is said about fields here
	}
	keys := make([]string, 0, len(v))
	for k := range v {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	var out [][]string
	for _, k := range keys {
		field := append(at[:len(at):len(at)], k)
		var below []any
		for _, sc := range schemas {
			if p, ok := lookup(sc, "properties", k).(obj); ok {
				below = append(below, p)
			} else if extra, ok := sc["additionalProperties"].(obj); ok {
				below = append(below, extra)
			}
		}
		if below == nil {
			out = append(out, field)
			continue
		}
		out = append(out, s.unknown(field, v[k], below)...)
	}
	return out
}

// expand follows references and flattens combinations, leaving out alternatives whose "type" is another one.
func (s *Spec) expand(schemas []any, v obj) []obj {
	var out []obj
	for _, x := range schemas {
		sc, ok := s.deref(x)
		if !ok || s.otherType(sc, v) {
			continue
		}
		out = append(out, sc)
		for _, k := range []string{"allOf", "oneOf", "anyOf"} {
			if list, ok := sc[k].([]any); ok {
				out = append(out, s.expand(list, v)...)
			}
		}
	}
	return out
}

// otherType says that the schema's field "type" admits only values that v does not have.
func (s *Spec) otherType(sc, v obj) bool {
	enum, ok := lookup(sc, "properties", "type", "enum").([]any)
	if !ok || v == nil || v["type"] == nil {
		return false
	}
	for _, e := range enum {
		if fmt.Sprint(e) == fmt.Sprint(v["type"]) {
			return false
		}
	}
	return true
}

func (s *Spec) deref(x any) (obj, bool) {
	sc, ok := x.(obj)
	for ok {
		ref, has := sc["$ref"].(string)
		if !has {
			return sc, true
		}
		sc, ok = lookup(s.doc, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...).(obj)
	}
	return nil, false
}

// query checks names and values of the query.
func (o *Operation) query(q url.Values) []Violation {
	known := map[string]obj{}
	for _, list := range []any{o.item["parameters"], o.op["parameters"]} {
		params, _ := list.([]any)
		for _, p := range params {
			if p, ok := o.spec.deref(p); ok && p["in"] == "query" {
				schema, _ := o.spec.deref(p["schema"])
				known[p["name"].(string)] = schema
			}
		}
	}
	names := make([]string, 0, len(q))
	for name := range q {
		names = append(names, name)
	}
	slices.Sort(names)
	var out []Violation
	for _, name := range names {
		schema, ok := known[name]
		if !ok {
			out = append(out, Violation{Text: "query/" + name + ": unknown parameter", Ignored: true})
			continue
		}
		for _, v := range q[name] {
			if problem := scalar(schema, v); problem != "" {
				out = append(out, Violation{Text: "query/" + name + ": " + problem})
			}
		}
	}
	return out
}

// scalar checks one value of the query: its type, bounds, and the digits of an id.
func scalar(schema obj, v string) string {
	switch schema["type"] {
	case "integer":
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return "not an integer"
		}
		for key, off := range map[string]func(int64) bool{
			"minimum": func(b int64) bool { return n < b }, "maximum": func(b int64) bool { return n > b }} {
			if b, err := strconv.ParseInt(fmt.Sprint(schema[key]), 10, 64); err == nil && off(b) {
				return fmt.Sprintf("%d is beyond its %s of %d", n, key, b)
			}
		}
	case "boolean":
		if !slices.Contains([]string{"true", "True", "1", "false", "False", "0"}, v) {
			return "not a boolean"
		}
	case "string":
		if schema["format"] == "snowflake" && (v == "" || strings.Trim(v, "0123456789") != "") {
			return "not a snowflake"
		}
	}
	return ""
}

// Open says that the operation may be called without a token.
func (o *Operation) Open() bool {
	list, described := o.op["security"].([]any)
	if !described {
		return true
	}
	for _, alternative := range list {
		if a, ok := alternative.(obj); ok && len(a) == 0 {
			return true
		}
	}
	return len(list) == 0
}
