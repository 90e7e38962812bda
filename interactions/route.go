// Package interactions is the stateless half of the core: it verifies and decodes what arrives at the edge's HTTP
// surface, says which actor it is for, and answers by itself what needs no actor.
package interactions

import (
	"bytes"
	"encoding/json"
	"strings"

	"holdfast/actor"
	"holdfast/actor/errs"
)

// Request is one HTTP request to the edge, without its body. On the wire it is one line of JSON, a newline, and
// the body's bytes as they came.
//
//easyjson:json
type Request struct {
	Now     int64         `json:"now"` // unix ms
	Method  string        `json:"method"`
	Path    string        `json:"path"`
	Query   actor.Strings `json:"query,omitempty"`
	Headers actor.Strings `json:"headers,omitempty"` // names in lower case
	Caller  *Caller       `json:"caller,omitempty"`  // nil: no valid key
	Signer  string        `json:"signer,omitempty"`  // what Signer gave when the host asked it; "": verify here
	Config  actor.Config  `json:"config"`
}

// Caller is who the host found behind a bearer token or a relay signature (spec 9.3).
//
//easyjson:json
type Caller struct {
	Kind    string   `json:"kind"`    // "relay", "runner" or "operator"
	Subject string   `json:"subject"` // "relay", "<guild>/<workspace>", or the operator's name
	Roles   []string `json:"roles,omitempty"`
}

// Modes of a Verdict.
const (
	ModeOne     = "one"     // deliver in order, stop at the first answer that is not 2xx, answer with the last one that is not quiet
	ModeGateway = "gateway" // deliver in order, answer {"results":[…]} with each delivery's answer
)

// Verdict is what the front does with a request.
//
//easyjson:json
type Verdict struct {
	Reply      *actor.Reply `json:"reply,omitempty"` // answer this and deliver nothing
	Mode       string       `json:"mode,omitempty"`
	Deliver    []Delivery   `json:"deliver,omitempty"`
	DeadlineMS int64        `json:"deadline_ms,omitempty"` // the front answers Late when the actor took longer
	Late       *actor.Reply `json:"late,omitempty"`
	Withdraw   string       `json:"withdraw,omitempty"` // the key to withdraw when Late was answered; "" for none
	Unbound    *actor.Reply `json:"unbound,omitempty"`  // answered when the place belongs to no workspace
	Damaged    *actor.Reply `json:"damaged,omitempty"`  // answered instead of Late when the actor's database is damaged
}

// Delivery is one event for one actor, or an answer that needed none.
//
//easyjson:json
type Delivery struct {
	ID      string             `json:"id,omitempty"` // echoed in a gateway result
	Actor   string             `json:"actor,omitempty"`
	Resolve *actor.ResolveArgs `json:"resolve,omitempty"` // ask directory:<guild> for the workspace; instead of Actor
	Type    string             `json:"type"`
	Data    json.RawMessage    `json:"data,omitempty"`
	Answer  *actor.Reply       `json:"answer,omitempty"` // answered with this, delivered to nobody
	Quiet   bool               `json:"quiet,omitempty"`  // mode "one": its success is not the answer; the one before it is
}

// MaxBody is the longest request body, in bytes, that is looked at (spec 6.1).
const MaxBody = 1 << 20

// Route is Decide on bytes, as the WASM boundary carries it: one line of JSON, a newline, the body. It returns 0 and
// a Verdict, or 1 and an error {"code","message","hint"} when the host's own line is wrong. A request that is
// wrong is no error: its verdict is a 4xx reply.
func Route(in []byte) (out []byte, rc int) {
	line, body, found := bytes.Cut(in, []byte{'\n'})
	if !found {
		return failure(errs.New(errs.Invalid, "The request has no line of its own before the body."))
	}
	var r Request
	if err := actor.Decode(line, &r); err != nil {
		return failure(errs.Wrap(errs.Invalid, err, "The request's line is not the JSON of a Request."))
	}
	v, err := Decide(r, body)
	if err != nil {
		return failure(err)
	}
	out, err = actor.Encode(v)
	if err != nil {
		return failure(errs.Wrap(errs.Internal, err, "The verdict cannot be encoded."))
	}
	return out, 0
}

func failure(err error) ([]byte, int) {
	out, _ := json.Marshal(errs.Public(err)) // three strings
	return out, 1
}

// Decide says what to do with a request. Its error is a defect of ours or of the host; whatever a caller sent wrongly
// is a verdict with a reply.
func Decide(r Request, body []byte) (Verdict, error) {
	switch {
	case r.Path == "/interactions":
		return interaction(r, body)
	case r.Path == "/v1/gateway/events":
		return gateway(r, body)
	case strings.HasPrefix(r.Path, "/v1/"):
		return operator(r, body)
	}
	return refuse(404, errs.New(errs.NotFound, "There is nothing at this path.")), nil
}
