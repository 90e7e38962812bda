// Package interactions is the stateless half of the core: it verifies and decodes what arrives at the edge's HTTP
// surface, says which actor it is for, and answers by itself what needs no actor.
package interactions

import (
	"encoding/json"

	"holdfast/actor"
)

// Request is one HTTP request to the edge, without its body. On the wire it is one line of JSON, a newline, and
// the body's bytes as they came.
type Request struct {
	Now     int64             `json:"now"` // unix ms
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Query   map[string]string `json:"query,omitempty"`
	Headers map[string]string `json:"headers,omitempty"` // names in lower case
	Caller  *Caller           `json:"caller,omitempty"`  // nil: no valid key
	Config  actor.Config      `json:"config"`
}

// Caller is who the host found behind a bearer token or a relay signature (spec 9.3).
type Caller struct {
	Kind    string   `json:"kind"`    // "relay", "runner" or "operator"
	Subject string   `json:"subject"` // "relay", "<guild>/<workspace>", or the operator's name
	Roles   []string `json:"roles,omitempty"`
}

// Modes of a Verdict.
const (
	ModeOne     = "one"     // deliver in order, stop at the first answer that is not 2xx, answer with the last one
	ModeGateway = "gateway" // deliver in order, answer {"results":[…]} with each delivery's answer
)

// Verdict is what the front does with a request.
type Verdict struct {
	Reply      *actor.Reply `json:"reply,omitempty"` // answer this and deliver nothing
	Mode       string       `json:"mode,omitempty"`
	Deliver    []Delivery   `json:"deliver,omitempty"`
	DeadlineMS int64        `json:"deadline_ms,omitempty"` // the front answers Late when the actor took longer
	Late       *actor.Reply `json:"late,omitempty"`
	Withdraw   string       `json:"withdraw,omitempty"` // the key to withdraw when Late was answered; "" for none
	Unbound    *actor.Reply `json:"unbound,omitempty"`  // answered when the place belongs to no workspace
}

// Delivery is one event for one actor.
type Delivery struct {
	ID      string             `json:"id,omitempty"` // echoed in a gateway result
	Actor   string             `json:"actor,omitempty"`
	Resolve *actor.ResolveArgs `json:"resolve,omitempty"` // ask directory:<guild> for the workspace; instead of Actor
	Type    string             `json:"type"`
	Data    json.RawMessage    `json:"data"`
}
