// Package frame holds the frames that a workspace and its runner exchange over their WebSocket (spec 9.6).
//
// Each frame is one JSON text message. Unknown types are ignored, unknown fields kept out of the way; a frame that
// does not parse, or that breaks the protocol, closes the socket with CloseProtocol and a reason.
package frame

import "encoding/json"

// MaxFrame is the longest frame in bytes; longer payloads travel as Chunk frames.
const MaxFrame = 512 << 10

// Close codes of the runner's socket.
const (
	CloseProtocol = 4400 // a frame that breaks the protocol
	CloseRevoked  = 4401 // the runner's token no longer holds
	CloseLease    = 4409 // a task was not started in time: connect again and say hello
)

// Frame types sent by a runner.
const (
	TypeHello    = "hello"
	TypeStarted  = "started"
	TypeProgress = "progress"
	TypeEscalate = "escalate"
	TypeResult   = "result"
	TypeFacts    = "facts"
	TypeRenew    = "renew"
	TypeChunk    = "chunk"
)

// Frame types sent by a workspace.
const (
	TypeWelcome  = "welcome"
	TypeRefused  = "refused"
	TypeTask     = "task"
	TypeCancel   = "cancel"
	TypeAck      = "ack"
	TypeAskFacts = "facts?"
)

// Journal states in a Hello.
const (
	StateStarted  = "started"  // began, and this runner no longer knows how it ended: interrupted
	StateRunning  = "running"  // began and still runs in this very process
	StateFinished = "finished" // its result follows
)

// Result statuses.
const (
	StatusOK      = "ok"
	StatusError   = "error"
	StatusTimeout = "timeout"
	StatusKilled  = "killed"
)

// Frame is the union of all frames; Type says which fields count. One struct keeps both ends honest.
type Frame struct {
	Type string `json:"type"`

	// hello
	Runner    string         `json:"runner,omitempty"`     // a name for people
	JournalID string         `json:"journal_id,omitempty"` // random, made with the journal file
	Version   string         `json:"version,omitempty"`
	Project   string         `json:"project,omitempty"` // a name for people, no path
	Sandbox   string         `json:"sandbox,omitempty"` // "bwrap" or "none"
	Tools     []Tool         `json:"tools,omitempty"`
	Journal   []JournalEntry `json:"journal,omitempty"`

	// every frame about one attempt
	Task  int64 `json:"task,omitempty"`
	Epoch int64 `json:"epoch,omitempty"`

	// progress
	Bytes int64  `json:"bytes,omitempty"`
	Line  string `json:"line,omitempty"`

	// result
	Status  string   `json:"status,omitempty"`
	Summary string   `json:"summary,omitempty"` // what the model sees: head and tail of the output
	Exit    *int     `json:"exit,omitempty"`
	Millis  int64    `json:"ms,omitempty"`   // how long it ran
	Blob    string   `json:"blob,omitempty"` // SHA-256 in hex of a payload sent before as chunks
	Files   []string `json:"files,omitempty"`

	// escalate: instead of started
	Resolved json.RawMessage `json:"resolved,omitempty"`
	Verdict  string          `json:"verdict,omitempty"`

	// facts
	Hash     string `json:"hash,omitempty"` // over the other facts
	AgentsMD string `json:"agents_md,omitempty"`
	Branch   string `json:"branch,omitempty"`
	Head     string `json:"head,omitempty"` // commit, 40 hex digits

	// welcome
	Lease         int64           `json:"lease,omitempty"` // ms for which a started task may stay silent before its claim ends
	Policy        json.RawMessage `json:"policy,omitempty"`
	PolicyVersion int64           `json:"policy_version,omitempty"`

	// refused
	Holder string `json:"holder,omitempty"`

	// task
	ArgsHash  string          `json:"args_hash,omitempty"` // hex SHA-256 of tool, NUL, args
	Tool      string          `json:"tool,omitempty"`
	Args      json.RawMessage `json:"args,omitempty"`
	Approved  string          `json:"approved,omitempty"` // the hash that a person approved, "" when policy allowed it
	TimeoutMS int64           `json:"timeout_ms,omitempty"`
	Grants    []Grant         `json:"grants,omitempty"`
	Worktree  string          `json:"worktree,omitempty"` // conversation's name for its worktree, as "c42"

	// chunk: a payload too long for one frame; the frame that needs it comes after the last one
	Blobs *Chunk `json:"chunk,omitempty"`
}

// Tool is one tool that a runner offers.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`         // JSON Schema of the arguments
	Safe        bool            `json:"safe"`           // replay: safe; running it twice does no harm
	Note        string          `json:"note,omitempty"` // for the card, as "runs without a sandbox"
}

// JournalEntry is one attempt that the runner's journal still holds.
type JournalEntry struct {
	Task  int64  `json:"task"`
	Epoch int64  `json:"epoch"`
	State string `json:"state"`
}

// Grant is what one approved call may have beyond the sandbox (spec 4.2).
type Grant struct {
	Kind   string `json:"kind"`   // "git-push": network and credential for pushing to one remote
	Target string `json:"target"` // the remote's name, as "origin"
}

// Chunk is one numbered piece of a payload.
type Chunk struct {
	Hash  string `json:"hash"` // SHA-256 of the whole, hex
	Seq   int    `json:"seq"`  // from 0
	Total int    `json:"total"`
	Data  string `json:"data"` // base64
}
