package interactions

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"holdfast/actor/errs"
)

// Limits of what is decoded. Discord's own payloads stay below.
const (
	maxDepth  = 64     // nesting of JSON
	maxValues = 60_000 // values and keys of a document: more would cost a call more fuel than its bytes pay for
	fewKeys   = 16     // of an object; beyond it a set finds the key that is there twice
)

type kind byte

const (
	null kind = iota
	boolean
	number
	text
	list
	object
	key // of an object's member; its value is the next node
)

// node is a value, or a member's key. Nodes stand in the order of the text, so what a list or an object holds comes
// right behind it.
type node struct {
	kind kind
	text string // what a text or key says; the literal of everything else that is no list or object
	end  int    // index behind the last node that belongs to this one
}

// decoder reads a document in one pass. It is stricter than encoding/json, whose structs match names regardless of case
// and let the last of two equal keys win: a payload would mean different things to different readers. That it accepts no
// other text, and reads the same values, is what FuzzJSON compares.
type decoder struct {
	s     string
	at    int
	nodes []node
}

// parse decodes one JSON value. Text that is not valid Unicode (a lone surrogate, bad UTF-8) becomes U+FFFD.
func parse(body []byte) (value, *errs.Error) {
	d := decoder{s: string(body), nodes: make([]node, 0, len(body)/12+8)}
	err := d.value(0)
	if err == nil && d.next() != 0 {
		err = errSyntax
	}
	switch {
	case err == errSyntax:
		return value{}, errs.New(errs.Invalid, "The body is not JSON.")
	case err != nil:
		return value{}, errs.New(errs.Invalid, "The body cannot be accepted: %v.", err)
	}
	return value{doc: &document{}, nodes: d.nodes}, nil
}

var errSyntax = fmt.Errorf("not JSON")

// next skips white space and gives the byte behind it, which it does not take; 0 at the end.
func (d *decoder) next() byte {
	for ; d.at < len(d.s); d.at++ {
		switch c := d.s[d.at]; c {
		case ' ', '\t', '\n', '\r':
		case 0:
			return 1 // as wrong here as any other control character, but not the end
		default:
			return c
		}
	}
	return 0
}

func (d *decoder) add(n node) error {
	if len(d.nodes) == maxValues {
		return fmt.Errorf("it holds more than %d values", maxValues)
	}
	n.end = len(d.nodes) + 1
	d.nodes = append(d.nodes, n)
	return nil
}

func (d *decoder) value(depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("it is nested deeper than %d levels", maxDepth)
	}
	switch c := d.next(); c {
	case '{':
		return d.object(depth)
	case '[':
		return d.list(depth)
	case '"':
		return d.text(text)
	case 't':
		return d.literal("true", boolean)
	case 'f':
		return d.literal("false", boolean)
	case 'n':
		return d.literal("null", null)
	default:
		return d.number()
	}
}

func (d *decoder) literal(word string, k kind) error {
	if !strings.HasPrefix(d.s[d.at:], word) {
		return errSyntax
	}
	d.at += len(word)
	return d.add(node{kind: k, text: word})
}

// number takes -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)? (RFC 8259, section 6).
func (d *decoder) number() error {
	begin := d.at
	d.one("-")
	if !d.one("0") && !d.digits() {
		return errSyntax
	}
	if d.one(".") && !d.digits() {
		return errSyntax
	}
	if d.one("eE") {
		d.one("+-")
		if !d.digits() {
			return errSyntax
		}
	}
	return d.add(node{kind: number, text: d.s[begin:d.at]})
}

// one takes one byte if it is among set.
func (d *decoder) one(set string) bool {
	if d.at == len(d.s) || strings.IndexByte(set, d.s[d.at]) < 0 {
		return false
	}
	d.at++
	return true
}

// digits takes all that come, and says whether there was one.
func (d *decoder) digits() bool {
	begin := d.at
	for d.at < len(d.s) && '0' <= d.s[d.at] && d.s[d.at] <= '9' {
		d.at++
	}
	return d.at > begin
}

// text takes a string, which may be a key.
func (d *decoder) text(k kind) error {
	begin, plain := d.at, true
	for d.at++; d.at < len(d.s); d.at++ {
		switch c := d.s[d.at]; {
		case c == '"':
			d.at++
			s, ok := unquote(d.s[begin:d.at], plain)
			if !ok {
				return errSyntax
			}
			return d.add(node{kind: k, text: s})
		case c == '\\':
			d.at++ // whatever is escaped does not end the string
			plain = false
		case c < ' ':
			return errSyntax
		}
	}
	return errSyntax
}

// unquote gives what a string between its quotes says. Plain ones have no escapes.
func unquote(quoted string, plain bool) (string, bool) {
	if inner := quoted[1 : len(quoted)-1]; plain && utf8.ValidString(inner) {
		return inner, true
	}
	var s string
	err := json.Unmarshal([]byte(quoted), &s)
	return s, err == nil
}

func (d *decoder) list(depth int) error {
	self := len(d.nodes)
	if err := d.add(node{kind: list}); err != nil {
		return err
	}
	d.at++
	if d.next() == ']' {
		d.at++
		return nil
	}
	for {
		if err := d.value(depth + 1); err != nil {
			return err
		}
		if more, err := d.more(']'); !more {
			d.nodes[self].end = len(d.nodes)
			return err
		}
	}
}

// more takes what follows an item: a comma, or the end.
func (d *decoder) more(end byte) (bool, error) {
	c := d.next()
	d.at++
	switch c {
	case ',':
		return true, nil
	case end:
		return false, nil
	}
	return false, errSyntax
}

func (d *decoder) object(depth int) error {
	self := len(d.nodes)
	if err := d.add(node{kind: object}); err != nil {
		return err
	}
	d.at++
	if d.next() == '}' {
		d.at++
		return nil
	}
	keys := keys{in: d, first: self + 1}
	for {
		if err := d.member(depth, &keys); err != nil {
			return err
		}
		if more, err := d.more('}'); !more {
			d.nodes[self].end = len(d.nodes)
			return err
		}
	}
}

func (d *decoder) member(depth int, keys *keys) error {
	if d.next() != '"' {
		return errSyntax
	}
	at := len(d.nodes)
	if err := d.text(key); err != nil {
		return err
	}
	if keys.twice(at) {
		return fmt.Errorf("the key %.40q is there twice", d.nodes[at].text)
	}
	if d.next() != ':' {
		return errSyntax
	}
	d.at++
	if err := d.value(depth + 1); err != nil {
		return err
	}
	d.nodes[at].end = len(d.nodes)
	return nil
}

// keys are those of one object.
type keys struct {
	in    *decoder
	first int // node of the first one
	n     int
	set   map[string]bool // once there are many
}

// twice says whether an earlier key is the same as the one at this node, which it adds.
func (k *keys) twice(at int) bool {
	name := k.in.nodes[at].text
	if k.n++; k.n <= fewKeys {
		for i := k.first; i < at; i = k.in.nodes[i].end {
			if k.in.nodes[i].text == name {
				return true
			}
		}
		return false
	}
	if k.set == nil {
		k.set = make(map[string]bool)
		for i := k.first; i < at; i = k.in.nodes[i].end {
			k.set[k.in.nodes[i].text] = true
		}
	}
	if k.set[name] {
		return true
	}
	k.set[name] = true
	return false
}
