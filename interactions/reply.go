package interactions

import (
	"encoding/json"

	"holdfast/actor"
	"holdfast/actor/errs"
)

// Interaction callback types and the flag that shows a message to one person alone (Discord, "Interaction Callback
// Type", "Message Flags").
const (
	callbackPong    = 1
	callbackMessage = 4
	callbackChoices = 8
	callbackModal   = 9

	flagEphemeral = 64
)

// callback is the answer to an interaction.
type callback struct {
	Type int `json:"type"`
	Data any `json:"data,omitempty"`
}

// jsonReply is a reply with v as its body. v is one of this package's own types, which always encode.
func jsonReply(status int, v any) *actor.Reply {
	b, err := json.Marshal(v)
	if err != nil {
		return &actor.Reply{Status: 500}
	}
	return &actor.Reply{Status: status, Body: b}
}

// whisper answers an interaction with a message that only its author sees.
func whisper(text string) *actor.Reply {
	type data struct {
		Content  string          `json:"content"`
		Flags    int             `json:"flags"`
		Mentions json.RawMessage `json:"allowed_mentions"`
	}
	return jsonReply(200, callback{callbackMessage, data{text, flagEphemeral, json.RawMessage(`{"parse":[]}`)}})
}

// noChoices answers an autocomplete with nothing to choose from.
func noChoices() *actor.Reply {
	type data struct {
		Choices []string `json:"choices"`
	}
	return jsonReply(200, callback{callbackChoices, data{[]string{}}})
}

// ErrorReply is the reply {"error":{"code","message","hint"}} that every path but /interactions has for a failure
// (spec 9.4).
func ErrorReply(status int, e *errs.Error) *actor.Reply {
	type body struct {
		Error *errs.Error `json:"error"`
	}
	return jsonReply(status, body{e})
}

func refuse(status int, e *errs.Error) Verdict { return Verdict{Reply: ErrorReply(status, e)} }

// malformed answers a request whose body is wrong and will stay wrong.
func malformed(e *errs.Error) Verdict { return refuse(400, e) }

func say(text string) Verdict { return Verdict{Reply: whisper(text)} }

// wrongMethod answers a method that the path does not know.
func wrongMethod(allow string) Verdict {
	v := refuse(405, errs.New(errs.Invalid, "This path does not take that method.").WithHint("It takes %s.", allow))
	v.Reply.Headers = map[string]string{"Allow": allow}
	return v
}
