// Package model turns provider-neutral requests into bytes for a model provider, and its answers back.
// It does no I/O: the host sends the bytes and hands over the raw stream.
package model

import "encoding/json"

// Formats.
const (
	Anthropic = "anthropic" // Anthropic Messages
	OpenAI    = "openai"    // OpenAI Chat Completions
)

// Request is one model call.
type Request struct {
	Model     string // the provider's name for the model
	System    string
	Messages  []Message
	Tools     []Tool
	MaxOutput int // tokens
}

// Roles of a Message.
const (
	User      = "user"
	Assistant = "assistant"
	ToolRole  = "tool" // results of the calls of the assistant message before it
)

// Message is one turn of the transcript. Neighbours of the same role are merged by the encoder where a provider
// demands alternation.
type Message struct {
	Role    string
	Text    string
	Calls   []Call   // of an assistant message
	Results []Result // of a tool message, one per call, in the calls' order
	// Opaque are the provider's own blocks (reasoning with its signature), sent back unchanged to the same format.
	Opaque json.RawMessage
}

// Call is a tool call as the model made it.
type Call struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"` // valid JSON object, or nil when Broken
	// Broken is what the model wrote where its arguments were no JSON object. Such a call is never executed.
	Broken string `json:"broken,omitempty"`
}

// Result answers a Call.
type Result struct {
	CallID string
	Text   string
	Error  bool
}

// Tool is offered to the model.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage
}

// Usage is in tokens. Input counts everything read, from a cache or not.
type Usage struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cache_read,omitempty"`
	CacheWrite int64 `json:"cache_write,omitempty"`
}

// Answer is a complete model answer.
type Answer struct {
	Text   string
	Calls  []Call
	Usage  Usage
	Stop   string // the provider's own stop reason
	Opaque json.RawMessage
}

// Failure kinds.
const (
	FailRetry    = "retry"    // 408, 409, 429, 5xx, 529, cut stream, network: worth another try
	FailAuth     = "auth"     // the key is wrong or missing
	FailBilling  = "billing"  // no money or quota
	FailOverflow = "overflow" // the transcript is longer than the model's window
	FailRefused  = "refused"  // the model or a content filter refused
	FailInvalid  = "invalid"  // the provider says that our request is wrong, or its answer makes no sense
	FailLimit    = "limit"    // the answer was cut at its maximal length with nothing usable in it
)

// Failure says why there is no answer.
type Failure struct {
	Kind       string
	Message    string // for people: what the provider said, shortened, without secrets
	RetryAfter int64  // ms; 0: not said
	Usage      Usage  // what the provider had counted before it failed; zero when it did not say
}

func (f *Failure) Error() string { return f.Kind + ": " + f.Message }

// Wire is a request as bytes.
type Wire struct {
	Path    string            // appended to the provider's base URL, as "/v1/messages"
	Headers map[string]string // without credentials
	Body    json.RawMessage
}
