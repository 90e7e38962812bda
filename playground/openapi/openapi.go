// Package openapi checks requests and responses of Discord's REST API against Discord's own OpenAPI description.
//
// The description (openapi.json, MIT, see LICENSE) allows unknown fields, and Discord ignores them; here they are
// violations, marked as such, because a misspelt field otherwise passes every test. Schemas are compiled when an operation is first used, so that neither
// a start nor a small test pays for all of them.
package openapi

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

//go:embed openapi.json
var description []byte

const root = "discord.json"

type obj = map[string]any

// Spec is the description, ready to check with. Its methods may be called from any goroutine.
type Spec struct {
	doc   obj
	paths map[string]*node // method → tree of path segments

	mu       sync.Mutex
	compiler *jsonschema.Compiler
	compiled map[string]*jsonschema.Schema // by JSON pointer
}

// node is a segment of the paths: literal children first, then the one parameter.
type node struct {
	literal map[string]*node
	param   *node
	op      *Operation
}

// Operation is one method on one path.
type Operation struct {
	Method string
	Path   string // the template, as "/channels/{channel_id}"
	spec   *Spec
	op     obj
	item   obj
}

var shared = sync.OnceValues(load)

// Discord returns the embedded description; the first call decodes it.
func Discord() (*Spec, error) { return shared() }

func load() (*Spec, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(description))
	if err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	s := &Spec{doc: doc.(obj), paths: map[string]*node{}, compiled: map[string]*jsonschema.Schema{}}
	correct(s.doc)
	s.compiler = jsonschema.NewCompiler()
	s.compiler.DefaultDraft(jsonschema.Draft2020)
	s.compiler.AssertFormat()
	s.compiler.RegisterFormat(&jsonschema.Format{Name: "int32", Validate: fits(32)})
	s.compiler.RegisterFormat(&jsonschema.Format{Name: "int64", Validate: fits(64)})
	if err := s.compiler.AddResource(root, s.doc); err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	for path, item := range s.doc["paths"].(obj) {
		for method, op := range item.(obj) {
			if op, ok := op.(obj); ok {
				s.plant(&Operation{Method: strings.ToUpper(method), Path: path, spec: s, op: op, item: item.(obj)})
			}
		}
	}
	return s, nil
}

// correct mends what contradicts Discord's documentation: default_member_permissions of a command is a string of
// digits there ("bit set as string"), and every library sends one.
func correct(doc obj) {
	for _, schema := range doc["components"].(obj)["schemas"].(obj) {
		props, _ := schema.(obj)["properties"].(obj)
		p, _ := props["default_member_permissions"].(obj)
		if types, ok := p["type"].([]any); ok {
			p["type"] = append(types[:len(types):len(types)], "string")
			if types[0] == "string" {
				p["type"] = types
			}
		}
	}
}

func fits(bits int) func(any) error {
	return func(v any) error {
		n, ok := v.(json.Number)
		if !ok {
			return nil
		}
		_, err := strconv.ParseInt(n.String(), 10, bits)
		return err
	}
}

func (s *Spec) plant(o *Operation) {
	at := s.paths[o.Method]
	if at == nil {
		at = &node{literal: map[string]*node{}}
		s.paths[o.Method] = at
	}
	for _, seg := range segments(o.Path) {
		next := at.literal[seg]
		if strings.HasPrefix(seg, "{") {
			next = at.param
		}
		if next == nil {
			next = &node{literal: map[string]*node{}}
			if strings.HasPrefix(seg, "{") {
				at.param = next
			} else {
				at.literal[seg] = next
			}
		}
		at = next
	}
	at.op = o
}

func segments(path string) []string { return strings.Split(strings.Trim(path, "/"), "/") }

// Find returns the operation of a method and an escaped path below the API's base.
func (s *Spec) Find(method, path string) (*Operation, bool) {
	at := s.paths[method]
	if at == nil {
		return nil, false
	}
	found := at.find(segments(path))
	return found, found != nil
}

func (n *node) find(segs []string) *Operation {
	if len(segs) == 0 {
		return n.op
	}
	if next := n.literal[segs[0]]; next != nil {
		if op := next.find(segs[1:]); op != nil {
			return op
		}
	}
	if n.param == nil || segs[0] == "" {
		return nil
	}
	return n.param.find(segs[1:])
}

// Request checks the query and the JSON body (nil when there is none).
func (o *Operation) Request(query url.Values, body []byte) []Violation {
	out := o.query(query)
	content, _ := lookup(o.op, "requestBody", "content", "application/json").(obj)
	required, _ := lookup(o.op, "requestBody", "required").(bool)
	switch {
	case len(body) == 0 && required:
		return append(out, Violation{Text: "body: required"})
	case len(body) == 0:
		return out
	case content == nil:
		if string(bytes.TrimSpace(body)) == "{}" {
			return out // several libraries send an empty object where nothing is asked
		}
		return append(out, Violation{Text: "body: the operation takes none"})
	}
	return append(out, o.check(content["schema"], o.pointer("requestBody", "content", "application/json", "schema"), body)...)
}

// Response checks a status and a JSON body and returns the violations in words.
func (o *Operation) Response(status int, body []byte) []string {
	responses, _ := o.op["responses"].(obj)
	keys := []string{strconv.Itoa(status), strconv.Itoa(status/100) + "XX", "default"}
	for _, k := range keys {
		r, ok := responses[k].(obj)
		if !ok {
			continue
		}
		at := o.pointer("responses", k)
		if ref, ok := r["$ref"].(string); ok {
			at = ref
			r, _ = o.spec.deref(r)
		}
		schema := lookup(r, "content", "application/json", "schema")
		if schema == nil {
			if len(body) > 0 {
				return []string{fmt.Sprintf("response %d: a body where none is described", status)}
			}
			return nil
		}
		if len(body) == 0 {
			return []string{fmt.Sprintf("response %d: no body", status)}
		}
		return Texts(o.check(schema, at+"/"+escape("content", "application/json", "schema"), body))
	}
	if status >= 500 {
		return nil
	}
	return []string{fmt.Sprintf("response %d: not described", status)}
}

// Value checks a JSON document against a named component schema and returns the violations in words.
func (s *Spec) Value(component string, body []byte) []string {
	o := &Operation{spec: s}
	return Texts(o.check(lookup(s.doc, "components", "schemas", component), "#/components/schemas/"+component, body))
}

func (o *Operation) pointer(keys ...string) string {
	return "#/" + escape(append([]string{"paths", o.Path, strings.ToLower(o.Method)}, keys...)...)
}

func escape(keys ...string) string {
	esc := strings.NewReplacer("~", "~0", "/", "~1")
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = url.PathEscape(esc.Replace(k))
	}
	return strings.Join(out, "/")
}

func lookup(v any, keys ...string) any {
	for _, k := range keys {
		o, _ := v.(obj)
		v = o[k]
	}
	return v
}
