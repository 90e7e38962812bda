package enginetest

import (
	"bytes"
	"encoding/json"
	"strings"

	"holdfast/actor"
	"holdfast/actor/errs"
	"holdfast/interactions"
)

// Route is the test core's route. The body of POST /t/<actor> is an event's data, or a Verdict where the path is
// /verdict; GET /echo answers the Request; anything else is 404.
func Route(in []byte) ([]byte, int) {
	head, body, ok := bytes.Cut(in, []byte("\n"))
	var req interactions.Request
	if err := json.Unmarshal(head, &req); !ok || err != nil {
		return fail(errs.New(errs.Invalid, "request: %v", err))
	}
	v := interactions.Verdict{Reply: &actor.Reply{Status: 404, Body: json.RawMessage(`{"error":{"code":"not_found"}}`)}}
	switch {
	case req.Path == "/panic":
		panic("route")
	case req.Path == "/refuse":
		return fail(errs.New(errs.Conflict, "no"))
	case req.Path == "/echo":
		v.Reply = &actor.Reply{Status: 200, Headers: map[string]string{"X-Test": "yes"}, Body: head}
	case req.Path == "/verdict":
		if err := json.Unmarshal(body, &v); err != nil {
			return fail(errs.New(errs.Invalid, "verdict: %v", err))
		}
		v.Reply = nil
	case strings.HasPrefix(req.Path, "/t/"):
		if !json.Valid(body) {
			return fail(errs.New(errs.Invalid, "the body is no JSON"))
		}
		v = interactions.Verdict{Mode: interactions.ModeOne, Deliver: []interactions.Delivery{
			{Actor: strings.TrimPrefix(req.Path, "/t/"), Type: actor.EventInteraction, Data: body}}}
	}
	out, err := json.Marshal(v)
	if err != nil {
		return fail(errs.New(errs.Invalid, "verdict: %v", err))
	}
	return out, 0
}
