// Package tools are what a model may use in a project: read, glob, grep, write, edit and bash (spec 4.3).
//
// All but bash work through os.Root, so no path, link or race leads out of the conversation's folder. bash runs in a
// sandbox and is not offered without one.
package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"holdfast/actor/errs"
	"holdfast/actor/frame"
	"holdfast/clock"
	"holdfast/runner/protocol"
	"holdfast/runner/sandbox"
)

// Options say what a Set may use.
type Options struct {
	Sandbox sandbox.Sandbox // nil: bash is not offered
	Denied  []string        // paths that no tool may touch: * is any text, ? any letter; matched against the path in the project and its last element
	Clock   clock.Clock     // nil: the machine's
}

// Set is the tools of one runner. It is safe for concurrent use.
type Set struct {
	box     sandbox.Sandbox
	denied  []string
	clock   clock.Clock
	schemas map[string]*jsonschema.Schema

	mu   sync.Mutex
	read map[string]string // conversation, NUL, path → hash of the file as the model last saw it
}

// Call is one execution of a tool.
type Call struct {
	Name         string // unique among what runs, without a slash
	Tool         string
	Args         json.RawMessage
	Conversation string          // whose reads an edit is checked against
	Dir          string          // where it works: a real path
	Mounts       []sandbox.Mount // what a command sees: Dir and whatever it needs
	Timeout      time.Duration   // the longest it may take; 0 for the tool's own
	Progress     func(bytes int64, line string)
}

// tool runs with arguments that fit its schema. An error becomes an error result with that text.
type tool func(ctx context.Context, w *work, args json.RawMessage) (protocol.Result, error)

// work is what a running tool has.
type work struct {
	set  *Set
	call Call
	root *os.Root
}

// New makes the tools.
func New(o Options) (*Set, error) {
	if o.Clock == nil {
		o.Clock = clock.Real{}
	}
	s := &Set{box: o.Sandbox, denied: o.Denied, clock: o.Clock, schemas: map[string]*jsonschema.Schema{}, read: map[string]string{}}
	for _, d := range definitions {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(d.schema))
		if err != nil {
			return nil, fmt.Errorf("schema of %s: %w", d.name, err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource(d.name+".json", doc); err != nil {
			return nil, fmt.Errorf("schema of %s: %w", d.name, err)
		}
		if s.schemas[d.name], err = c.Compile(d.name + ".json"); err != nil {
			return nil, fmt.Errorf("schema of %s: %w", d.name, err)
		}
	}
	return s, nil
}

// Offer lists the tools that this runner has.
func (s *Set) Offer() []frame.Tool {
	var out []frame.Tool
	for _, d := range definitions {
		t := frame.Tool{Name: d.name, Description: d.description, Schema: json.RawMessage(d.schema), Safe: d.safe}
		if d.name == "bash" {
			if s.box == nil {
				continue
			}
			if s.box.Name() == "none" {
				t.Note = "runs without a sandbox"
			}
		}
		out = append(out, t)
	}
	return out
}

// Run executes a call to its end. It never fails: what went wrong is the result.
func (s *Set) Run(ctx context.Context, c Call) protocol.Result {
	began := s.clock.Now()
	r, err := s.run(ctx, c)
	switch {
	case err == nil:
	case ctx.Err() != nil && r.Status == "":
		r = protocol.Result{Status: frame.StatusKilled, Summary: "stopped before it ended"}
	default:
		r = protocol.Result{Status: frame.StatusError, Summary: describe(err)}
	}
	if r.Status == "" {
		r.Status = frame.StatusOK
	}
	r.Millis = s.clock.Now().Sub(began).Milliseconds()
	return r
}

func (s *Set) run(ctx context.Context, c Call) (protocol.Result, error) {
	var run tool
	for _, d := range definitions {
		if d.name == c.Tool && (d.name != "bash" || s.box != nil) {
			run = d.run
		}
	}
	if run == nil {
		return protocol.Result{}, errs.New(errs.NotFound, "this runner has no tool called %.60q", c.Tool)
	}
	if err := s.validate(c); err != nil {
		return protocol.Result{}, err
	}
	root, err := os.OpenRoot(c.Dir)
	if err != nil {
		return protocol.Result{}, err
	}
	defer root.Close()
	return run(ctx, &work{set: s, call: c, root: root}, c.Args)
}

// validate names each thing that is wrong with the arguments, and ends with the schema.
func (s *Set) validate(c Call) error {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(c.Args))
	if err != nil {
		return errs.New(errs.Invalid, "the arguments of %s are no JSON: %v", c.Tool, err)
	}
	err = s.schemas[c.Tool].Validate(doc)
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return err
	}
	var wrong []string
	printer := message.NewPrinter(language.English)
	var walk func(e *jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		for _, c := range e.Causes {
			walk(c)
		}
		if len(e.Causes) == 0 {
			text := e.ErrorKind.LocalizedString(printer)
			if at := strings.Join(e.InstanceLocation, "."); at != "" {
				text = at + ": " + text
			}
			wrong = append(wrong, text)
		}
	}
	walk(invalid)
	schema, _ := json.Marshal(definitionOf(c.Tool).schemaJSON())
	return errs.New(errs.Invalid, "wrong arguments of %s: %.2000s. Its schema is %s", c.Tool, strings.Join(wrong, "; "), schema)
}

// describe is an error for the model: without the code in front of it, and without the machine's paths around it.
func describe(err error) string {
	var e *errs.Error
	if errors.As(err, &e) {
		text := e.Message
		if e.Hint != "" {
			text += ". " + e.Hint
		}
		return text
	}
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}
