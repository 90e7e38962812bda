package actor

import "encoding/json"

// User is who did something, as Discord said it in that very event.
//
//easyjson:json
type User struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Roles       []string `json:"roles,omitempty"`       // role ids in the guild
	Permissions string   `json:"permissions,omitempty"` // decimal bit set, computed by Discord for the channel
}

// Place is where something happened.
//
//easyjson:json
type Place struct {
	Guild    string `json:"guild"`
	Channel  string `json:"channel"`  // the channel or thread itself
	Type     int    `json:"type"`     // Discord's channel type: 0 text, 5 announcement, 10–12 threads, 15 forum
	Parent   string `json:"parent"`   // of a thread, else ""
	Category string `json:"category"` // of the channel (of a thread: of its parent), "" when unknown
}

// Thread says whether the place is a thread.
func (p Place) Thread() bool { return p.Type >= 10 && p.Type <= 12 }

// Attachment is a file that came with an input.
//
//easyjson:json
type Attachment struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Type string `json:"type"`
	Size int64  `json:"size"`
	URL  string `json:"url"`
}

// Interaction kinds.
const (
	KindAsk      = "ask"
	KindResume   = "resume"
	KindStop     = "stop"
	KindComplete = "complete" // autocomplete of /resume
	KindPress    = "press"    // a button
	KindReason   = "reason"   // the modal of "Deny and say why"

	KindUsage     = "usage"
	KindWorkspace = "workspace" // with a subcommand
)

// Interaction is a verified and decoded Discord interaction.
//
//easyjson:json
type Interaction struct {
	Key   string `json:"key"` // the interaction's id
	Kind  string `json:"kind"`
	Token string `json:"token"` // a capability of 15 minutes: stored until used, never shown
	User  User   `json:"user"`
	Place Place  `json:"place"`

	Prompt       string       `json:"prompt,omitempty"`
	Model        string       `json:"model,omitempty"`
	Attachments  []Attachment `json:"attachments,omitempty"`
	Conversation string       `json:"conversation,omitempty"` // /resume: what was chosen or typed
	Query        string       `json:"query,omitempty"`        // autocomplete: what is typed so far

	Sub     string  `json:"sub,omitempty"`     // the subcommand of /workspace
	Options Strings `json:"options,omitempty"` // of a subcommand, by name

	Verb    string `json:"verb,omitempty"` // a button's custom_id, taken apart: "a", "d", "w", "s", …
	Target  string `json:"target,omitempty"`
	Message string `json:"message,omitempty"` // the message the component is on
	Reason  string `json:"reason,omitempty"`
}

// CustomID is <verb>:<guild>/<workspace>:<incarnation>.<id>[:<arg>] (spec 9.1). Target holds "<incarnation>.<id>".

// GatewayEvent is a Discord Gateway event that concerns a workspace, decoded and enriched with its channel.
//
//easyjson:json
type GatewayEvent struct {
	ID     string `json:"id"`   // the message's id, or session:seq
	Type   string `json:"type"` // MESSAGE_CREATE, MESSAGE_UPDATE, MESSAGE_DELETE, THREAD_UPDATE, THREAD_DELETE, …
	Source string `json:"source"`
	Place  Place  `json:"place"`

	Message     string       `json:"message,omitempty"` // message id
	MessageType int          `json:"message_type,omitempty"`
	Author      User         `json:"author"`
	Bot         bool         `json:"bot,omitempty"` // a bot, a webhook or an application wrote it
	Content     string       `json:"content,omitempty"`
	Mentions    []string     `json:"mentions,omitempty"` // user ids
	MentionRole []string     `json:"mention_roles,omitempty"`
	Everyone    bool         `json:"everyone,omitempty"`
	Attachments []Attachment `json:"attachments,omitempty"`
	Archived    bool         `json:"archived,omitempty"`
	Locked      bool         `json:"locked,omitempty"`
}

// Gateway result statuses (spec 9.5). Reply.Body of a gateway event is a GatewayResult.
const (
	StatusCommitted = "committed"
	StatusDuplicate = "duplicate"
	StatusIgnored   = "ignored"
	StatusRejected  = "rejected"
	StatusRetry     = "retry"
)

// GatewayResult says what became of one event; anything but "retry" leaves the relay's spool.
//
//easyjson:json
type GatewayResult struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
}

// Principal is who holds an operator key: a name and roles, recomputed by the host from the bearer (spec 9.3).
//
//easyjson:json
type Principal struct {
	Name  string   `json:"name"`
	Roles []string `json:"roles"` // read, reply, approve, admin
}

// Operator is a command or query of the operator API, or of the front itself (op "resolve").
//
//easyjson:json
type Operator struct {
	Op        string          `json:"op"`
	Principal Principal       `json:"principal"`
	Args      json.RawMessage `json:"args,omitempty"`
}

// Operator ops. The comment gives Args and the body of the reply.
const (
	OpResolve    = "resolve"    // directory: ResolveArgs → ResolveReply, or 404
	OpBind       = "bind"       // directory: BindArgs → {}
	OpWorkspaces = "workspaces" // directory: {} → WorkspacesReply
	OpConfig     = "config"     // workspace: Settings → Settings as they now are
	OpStatus     = "status"     // {} → see docs/protocol.md
	OpJobs       = "jobs"       // {"state":"active|failed|","after":"7a4","limit":50}
	OpJob        = "job"        // {"id":"7a4"}
	OpEvents     = "events"     // {"id":"7a4"|"","after":0,"limit":100}
	OpRecords    = "records"    // {} → what the playground's panel shows
	OpStop       = "stop"       // {"id":"7a4"}
	OpApprove    = "approve"    // {"id":"7a4","task":12}
	OpDeny       = "deny"       // {"id":"7a4","task":12,"reason":""}
	OpUsage      = "usage"      // {"day":"2026-11-30"|""} → Spending
	OpReview     = "review"     // {"id":"7a4"|"<message>"|"","decision":"continue|stop|"} → Review
)

// ResolveArgs asks which workspace a place belongs to. ID decides between bindings of one channel: the message's
// id, or the thread's (spec 2.3).
//
//easyjson:json
type ResolveArgs struct {
	Place Place  `json:"place"`
	ID    string `json:"id"`
}

// WorkspacesReply names the workspaces (without their guild) that a channel was ever bound to, in order.
type WorkspacesReply struct {
	Workspaces []string `json:"workspaces"`
}

// ResolveReply names the workspace (without its guild).
type ResolveReply struct {
	Workspace string `json:"workspace"`
}

// BindArgs binds channels or categories to a workspace, from the snowflake of now on.
type BindArgs struct {
	Workspace string   `json:"workspace"`
	Channels  []string `json:"channels"`
}
