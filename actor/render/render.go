// Package render turns committed state into what Discord shows. Every function is pure; none knows of SQL, of
// deliveries or of time beyond what it is given.
package render

import "encoding/json"

// Message is the body of a create or an edit, as Discord's REST API takes it.
type Message struct {
	Content         string          `json:"content"`
	Embeds          []Embed         `json:"embeds"`
	Components      []Row           `json:"components"`
	AllowedMentions AllowedMentions `json:"allowed_mentions"`
	Nonce           string          `json:"nonce,omitempty"`         // creates by bot token only
	EnforceNonce    bool            `json:"enforce_nonce,omitempty"` // with Nonce
	Flags           int             `json:"flags,omitempty"`
}

// AllowedMentions says who may be pinged. The zero value pings nobody once encoded.
type AllowedMentions struct {
	Parse []string `json:"parse"` // never nil when encoded
	Users []string `json:"users,omitempty"`
	Roles []string `json:"roles,omitempty"`
}

// MarshalJSON writes an empty parse list where there is none: Discord takes null for "everybody who is named".
func (a AllowedMentions) MarshalJSON() ([]byte, error) {
	type plain AllowedMentions
	if a.Parse == nil {
		a.Parse = []string{}
	}
	return json.Marshal(plain(a))
}

// Embed is the part of Discord's embed that Holdfast uses.
type Embed struct {
	Title       string  `json:"title,omitempty"`
	Description string  `json:"description,omitempty"`
	Color       int     `json:"color,omitempty"`
	Fields      []Field `json:"fields,omitempty"`
	Footer      *Footer `json:"footer,omitempty"`
}

// Field is a titled paragraph of an embed.
type Field struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Inline bool   `json:"inline,omitempty"`
}

// Footer is the small print of an embed.
type Footer struct {
	Text string `json:"text"`
}

// Row is an action row.
type Row struct {
	Type       int         `json:"type"` // 1
	Components []Component `json:"components"`
}

// Button styles.
const (
	Primary   = 1
	Secondary = 2
	Success   = 3
	Danger    = 4
)

// Component is a button.
type Component struct {
	Type     int    `json:"type"` // 2
	Style    int    `json:"style"`
	Label    string `json:"label"`
	CustomID string `json:"custom_id"`
	Disabled bool   `json:"disabled,omitempty"`
}

// Step states of a run card.
const (
	StepWaiting     = "waiting" // for an approval
	StepRunning     = "running"
	StepOK          = "ok"
	StepError       = "error"
	StepDenied      = "denied"
	StepInterrupted = "interrupted"
	StepCancelled   = "cancelled"
	StepQueued      = "queued"
)

// Step is one tool call on a run card.
type Step struct {
	Tool   string // "bash"
	Detail string // "go test ./…", one line, shortened by the renderer
	State  string
	Millis int64  // 0: not known
	Note   string // one short remark, as "exit 1"
}

// Run is the state of a turn that has not ended.
type Run struct {
	Job      string // "7a4"
	Started  int64  // unix ms, shown by Discord's relative timestamp
	Phase    string // one line: "thinking", "waiting for approval", "waiting for a runner"
	PhaseIn  string // channel id where what the phase waits for is shown, when that is elsewhere
	Steps    []Step // the newest
	Earlier  int    // how many there were before them
	Joined   int    // messages that joined or wait: "+1 message"
	Restarts int
	StopID   string // custom_id of the Stop button, which is also the mark
	Notice   string // one line of warning, or ""
	UserNote string // as "local agent: no model configured"

	Tokens       int64 // so far; 0: not shown
	MicroDollars int64
}

// Final is the state of a turn that has ended.
type Final struct {
	Job          string
	Text         string // the answer, or the user text of the reason when there is none
	Tools        int
	Millis       int64
	Tokens       int64
	MicroDollars int64
	Conversation int64
	Restarts     int
	Notice       string // as "local agent: no model configured"
	DetailsID    string // custom_id of the Details button, which is also the mark
}

// Approval is an approval card in any of its states.
type Approval struct {
	Job       string
	Tool      string
	Requester string   // user id
	Command   string   // what would run, verbatim
	Runs      []string // the simple commands the parser found, as "git push"
	Grants    []string // as "network and push credential for origin, this call only"
	Rule      string
	Approvers []string // as "role <@&1>", "<@2>"
	PingUsers []string // user ids that the card may ping
	PingRoles []string
	Expires   int64 // unix ms
	// State is "" while open, else approved, denied, expired or cancelled.
	State     string
	By        string // user id of the decider
	At        int64
	Reason    string
	ApproveID string // custom_ids
	DenyID    string
	WhyID     string
}
