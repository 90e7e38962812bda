package actor

import "encoding/json"

// EnvelopeVersion is the version of Event and Result (spec 9.2).
const EnvelopeVersion = 1

// Limits of the envelope (spec 9.2).
const (
	MaxEvent  = 1 << 20 // bytes of one event
	MaxResult = 4 << 20 // bytes of one result
)

// Event is one thing that happened, handed to an actor inside the transaction that its host opened.
//
//easyjson:json
type Event struct {
	V        int             `json:"v"`
	ID       string          `json:"id"` // unique per delivery by the host; the same id again is the same event again
	Type     string          `json:"type"`
	Attempt  int             `json:"attempt"`            // from 1, counted by the host outside the transaction (spec 3.1)
	Now      int64           `json:"now"`                // unix ms, read as the transaction begins
	Entropy  string          `json:"entropy"`            // 32 random bytes in hex, fresh for each event
	Owner    string          `json:"owner"`              // this start of the process or object, 16 random bytes in hex
	Sockets  []string        `json:"sockets"`            // ids of the runner sockets that are open now
	Deadline int64           `json:"deadline,omitempty"` // unix ms; past it the actor refuses and records nothing
	Config   ConfigRef       `json:"config"`
	Actor    string          `json:"actor"`          // "workspace:<guild>/<workspace>", "directory:<guild>" or "application"
	Peek     string          `json:"peek,omitempty"` // why nothing can be committed now: answer what is asked to be read, write nothing
	Data     json.RawMessage `json:"data,omitempty"`
}

// Event types. The comment names the type of Data.
const (
	EventStart         = "start"          // nil: first event of a new owner
	EventInteraction   = "interaction"    // Interaction
	EventWithdraw      = "withdraw"       // Withdraw
	EventGateway       = "gateway"        // GatewayEvent
	EventOperator      = "operator"       // Operator
	EventEffect        = "effect"         // Outcome
	EventEffectPart    = "effect.part"    // OutcomePart
	EventProgress      = "progress"       // Progress
	EventRunnerOpen    = "runner.open"    // RunnerSocket
	EventRunnerMessage = "runner.message" // RunnerMessage
	EventRunnerClose   = "runner.close"   // RunnerSocket
	EventWake          = "wake"           // nil
	EventActor         = "actor"          // ActorMessage
)

// ConfigRef names the host's non-secret configuration. Full is there in a start event and in the repetition of an
// event that was answered "need_config".
//
//easyjson:json
type ConfigRef struct {
	Version int64   `json:"version"`
	Hash    string  `json:"hash"` // hex SHA-256 of the JSON of Full
	Full    *Config `json:"full,omitempty"`
}

// CodeNeedConfig is the error code of an event whose configuration the actor does not have yet. It was rolled back;
// the host repeats it with ConfigRef.Full.
const CodeNeedConfig = "need_config"

// Config is what a core may know of the deployment. There is no secret in it. What it refers to is shared by all who
// read the same bytes: nobody may change it.
type Config struct {
	ApplicationID string           `json:"application_id"`
	PublicKeys    []string         `json:"public_keys"` // hex Ed25519 keys, at most two (spec 6.1)
	AllowedGuilds []string         `json:"allowed_guilds"`
	Models        map[string]Model `json:"models"`
	DefaultModel  string           `json:"default_model"`
}

// Model is one entry of the model table. Prices are in micro-dollars per million tokens.
//
//easyjson:json
type Model struct {
	Format    string `json:"format"` // "anthropic" or "openai"
	Model     string `json:"model"`  // the provider's name for it
	Window    int    `json:"window"` // tokens
	MaxOutput int    `json:"max_output"`
	PriceIn   int64  `json:"price_in"`
	PriceOut  int64  `json:"price_out"`
	Notice    string `json:"notice,omitempty"` // shown in each answer's footer, as "local agent: no model configured"
}

// Result is what an event came to. The host commits, sets the alarm in the same commit, sends the reply, then
// performs the effects.
//
//easyjson:json
type Result struct {
	V       int      `json:"v"`
	Reply   *Reply   `json:"reply"`
	Alarm   *int64   `json:"alarm"` // unix ms by the host's clock; nil: none
	Effects []Effect `json:"effects"`
	Trace   []Trace  `json:"trace"`
}

// Reply answers the caller as an HTTP response.
//
//easyjson:json
type Reply struct {
	Status  int             `json:"status"`
	Headers Strings         `json:"headers,omitempty"` // Content-Type is application/json unless said otherwise here
	Body    json.RawMessage `json:"body,omitempty"`
}

// Trace is the name of something that the event committed: for the operator's log and, in test builds, for killing
// the host at exactly this point. Names and ids only, never content.
//
//easyjson:json
type Trace struct {
	Name string `json:"name"` // one of the points below, or domain.action.result
	Ref  string `json:"ref,omitempty"`
}

// Points of a turn at which a test may kill the host (spec 9.8). A commit carries them in Result.Trace, an effect in
// Effect.Point.
const (
	PointAdmit    = "admit"    // a submission was committed
	PointAck      = "ack"      // the anchor: its request, and the commit of its confirmation
	PointModel    = "model"    // the model call, and the commit of its claim
	PointIntent   = "intent"   // the commit of the assistant's tool calls; the effect is the task frame
	PointStarted  = "started"  // the commit of the runner's started
	PointResult   = "result"   // the commit of a tool's result
	PointDecision = "decision" // the commit of an approval's decision
	PointAnswer   = "answer"   // the commit of the final answer
	PointEdit     = "edit"     // the final edit's request, and the commit of its confirmation
	PointCard     = "card"     // an approval card's request, and the commit of its confirmation
)

// Effect types.
const (
	EffectHTTP        = "http"
	EffectRunnerSend  = "runner.send"
	EffectRunnerClose = "runner.close"
	EffectActor       = "actor"
)

// Effect is something to do after the commit. Effects with an ID have an outcome, which comes back as an event
// with the same ID and Epoch; runner.send and runner.close have none.
//
//easyjson:json
type Effect struct {
	ID    string `json:"id,omitempty"` // the row it was claimed from: "t17" a task, "d9" a delivery, "o3" an outbox row
	Epoch int64  `json:"epoch,omitempty"`
	Type  string `json:"type"`
	Lane  string `json:"lane,omitempty"`
	Point string `json:"point,omitempty"`

	// http
	Target     string          `json:"target,omitempty"` // "discord" or "model:<name>"
	Method     string          `json:"method,omitempty"`
	Path       string          `json:"path,omitempty"` // begins with "/", appended to the target's base URL
	Headers    Strings         `json:"headers,omitempty"`
	Credential string          `json:"credential,omitempty"` // "bot", "model:<name>" or "" for none
	Body       json.RawMessage `json:"body,omitempty"`
	TimeoutMS  int64           `json:"timeout_ms,omitempty"` // from sending to the last byte of the answer

	// runner.send, runner.close
	Socket  string          `json:"socket,omitempty"`
	Message json.RawMessage `json:"message,omitempty"`
	Code    int             `json:"code,omitempty"` // WebSocket close code
	Reason  string          `json:"reason,omitempty"`

	// actor
	Actor string          `json:"actor,omitempty"`
	Data  json.RawMessage `json:"data,omitempty"`
}

// Outcome kinds.
const (
	OutcomeResponse = "response" // an HTTP answer, whatever its status
	OutcomeTimeout  = "timeout"  // TimeoutMS passed; it may have been acted upon
	OutcomeNetwork  = "network"  // the connection broke; it may have been acted upon
	OutcomeRefused  = "refused"  // the host would not: unknown target or credential, answer over 8 MiB
	OutcomeUnsent   = "unsent"   // it could not leave this host
	OutcomeHeld     = "held"     // the host kept it back, because it stops or the shared pace has no room: no attempt was made
)

// Outcome is what became of an effect.
//
//easyjson:json
type Outcome struct {
	ID      string  `json:"id"`
	Epoch   int64   `json:"epoch"`
	Kind    string  `json:"kind"`
	Status  int     `json:"status,omitempty"`
	Headers Strings `json:"headers,omitempty"` // names in lower case
	Body    string  `json:"body,omitempty"`    // when it is valid UTF-8
	BodyB64 string  `json:"body_b64,omitempty"`
	Parts   int     `json:"parts,omitempty"` // over 512 KiB the body came before, as this many OutcomeParts
	Detail  string  `json:"detail,omitempty"`
}

// MaxInlineBody is the longest body, in bytes, that travels inside an Outcome; also the size of an OutcomePart.
const MaxInlineBody = 512 << 10

// MaxBody is the longest answer, in bytes, that a host hands over; beyond it the outcome is "refused".
const MaxBody = 8 << 20

// OutcomePart is a piece of a long answer. Parts come in order, before their Outcome.
//
//easyjson:json
type OutcomePart struct {
	ID      string `json:"id"`
	Epoch   int64  `json:"epoch"`
	Seq     int    `json:"seq"` // from 0
	BodyB64 string `json:"body_b64"`
}

// Progress says that an effect is alive: bytes received so far. At most every 5 s.
//
//easyjson:json
type Progress struct {
	ID    string `json:"id"`
	Epoch int64  `json:"epoch"`
	Bytes int64  `json:"bytes"`
}

// RunnerSocket is a runner's WebSocket that opened or closed.
//
//easyjson:json
type RunnerSocket struct {
	Socket string `json:"socket"`
	Code   int    `json:"code,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// RunnerMessage is one text frame of a runner. Frame is what it sent, or a JSON string when that was not JSON.
//
//easyjson:json
type RunnerMessage struct {
	Socket string          `json:"socket"`
	Frame  json.RawMessage `json:"frame"`
}

// ActorMessage is a message of another actor, delivered at least once.
//
//easyjson:json
type ActorMessage struct {
	ID   string          `json:"id"`
	From string          `json:"from"`
	Data json.RawMessage `json:"data"`
}

// Withdraw says that the front answered an interaction by itself: nothing may come of it.
//
//easyjson:json
type Withdraw struct {
	Key string `json:"key"`
}
