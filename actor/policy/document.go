package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"holdfast/actor/errs"
)

// MaxDocument is the longest policy in bytes.
const MaxDocument = 64 << 10

// Policy is a parsed policy. It is immutable; judge with it from as many places as you like.
type Policy struct {
	tool, bash, path ruleSet
	external         Verdict
	network          Verdict
	unattended       bool
}

// Network is what the policy says of commands that name a network target by themselves; deny when it is silent.
func (p *Policy) Network() Verdict { return p.network }

// Unattended says that nobody is there to ask: every ask is a deny.
func (p *Policy) Unattended() bool { return p.unattended }

// Parse reads a policy document (spec 4.1). Nothing, or null, is the shipped policy. An absent tool section is the
// shipped one; absent bash and path have no rules; external_directory is then ask and network deny. Unknown keys,
// keys given twice and bad verdicts are errors that name the line and what was expected (errs.Invalid).
func Parse(raw []byte) (*Policy, error) {
	if trimmed := bytes.TrimSpace(raw); len(trimmed) == 0 || string(trimmed) == "null" {
		return Default(), nil
	}
	if len(raw) > MaxDocument {
		return nil, errs.New(errs.Invalid, "The policy is longer than %d bytes.", MaxDocument)
	}
	d := &document{raw: raw, dec: json.NewDecoder(bytes.NewReader(raw)), numbered: bytes.Count(raw, []byte("\n")) > 0}
	p := &Policy{external: Ask, network: Deny}
	if err := d.read(p); err != nil {
		return nil, err
	}
	return p, nil
}

// document reads a policy token by token: encoding/json's own decoding would lose line numbers, accept keys twice
// and in any case.
type document struct {
	raw      []byte
	dec      *json.Decoder
	counted  int // bytes whose newlines are in lines
	lines    int
	numbered bool // a document on one line has no line numbers worth showing
}

func (d *document) read(p *Policy) error {
	seen := map[string]bool{}
	err := d.object("the policy", func(key string) error {
		if seen[key] {
			return d.fail("key %q is there twice", key)
		}
		seen[key] = true
		return d.section(p, key)
	})
	if err != nil {
		return err
	}
	if d.dec.More() {
		return d.fail("unexpected text after the policy")
	}
	if !seen["tool"] {
		p.tool = Default().tool
	}
	return nil
}

func (d *document) section(p *Policy, key string) (err error) {
	switch key {
	case "tool":
		p.tool, err = d.rules(key)
	case "bash":
		p.bash, err = d.rules(key)
	case "path":
		p.path, err = d.rules(key)
	case "external_directory":
		p.external, err = d.verdict(key)
	case "network":
		p.network, err = d.verdict(key)
	case "unattended":
		p.unattended, err = d.boolean(key)
	default:
		return d.fail("unknown key %q; expected tool, bash, path, external_directory, network or unattended", key)
	}
	return err
}

func (d *document) rules(section string) (ruleSet, error) {
	set := ruleSet{section: section}
	seen := map[string]bool{}
	err := d.object(section, func(pattern string) error {
		line := d.line()
		v, err := d.verdict(fmt.Sprintf("%s %q", section, pattern))
		switch {
		case err != nil:
			return err
		case strings.TrimSpace(pattern) == "":
			return d.fail("%s: a pattern is empty", section)
		case seen[pattern]:
			return d.fail("%s: pattern %q is there twice", section, pattern)
		}
		seen[pattern] = true
		set.rules = append(set.rules, newRule(pattern, v, line))
		return nil
	})
	set.sort()
	return set, err
}

func (d *document) object(what string, each func(key string) error) error {
	if t, err := d.token(); err != nil {
		return err
	} else if t != json.Delim('{') {
		return d.fail("%s must be an object", what)
	}
	for d.dec.More() {
		t, err := d.token()
		if err != nil {
			return err
		}
		key, ok := t.(string)
		if !ok {
			return d.fail("%s: a key must be a string", what)
		}
		if err := each(key); err != nil {
			return err
		}
	}
	_, err := d.token()
	return err
}

func (d *document) verdict(what string) (Verdict, error) {
	t, err := d.token()
	if err != nil {
		return "", err
	}
	s, _ := t.(string)
	if v := Verdict(s); v == Allow || v == Ask || v == Deny {
		return v, nil
	}
	return "", d.fail("%s must be \"allow\", \"ask\" or \"deny\", not %s", what, shown(t))
}

func (d *document) boolean(what string) (bool, error) {
	t, err := d.token()
	if err != nil {
		return false, err
	}
	b, ok := t.(bool)
	if !ok {
		return false, d.fail("%s must be true or false, not %s", what, shown(t))
	}
	return b, nil
}

func (d *document) token() (json.Token, error) {
	t, err := d.dec.Token()
	if err != nil {
		return nil, errs.Wrap(errs.Invalid, err, "The policy is no valid JSON (line %d).", d.at())
	}
	return t, nil
}

// line is the line of the token read last, or 0 where that says nothing.
func (d *document) line() int {
	if !d.numbered {
		return 0
	}
	return d.at()
}

func (d *document) at() int {
	end := int(d.dec.InputOffset())
	d.lines += bytes.Count(d.raw[d.counted:end], []byte("\n"))
	d.counted = end
	return 1 + d.lines
}

func (d *document) fail(format string, args ...any) error {
	return errs.New(errs.Invalid, "Policy line %d: %s.", d.at(), fmt.Sprintf(format, args...))
}

func shown(t json.Token) string {
	switch t := t.(type) {
	case string:
		return fmt.Sprintf("%q", t)
	case json.Delim:
		return "an object or a list"
	}
	return fmt.Sprint(t)
}
