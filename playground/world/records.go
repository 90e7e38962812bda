// Package world is the state of the local Discord and the rules of the platform over it: who may do what to which
// channel, thread, message and interaction, and which error Discord gives otherwise. It knows nothing of HTTP.
//
// Every change is in the journal before it is acknowledged, so the process may be killed at any moment.
package world

import "encoding/json"

// Meta is what the world is about. It is written with every change, because every id comes out of it.
type Meta struct {
	Application  string `json:"application"` // also the bot's user id
	Token        string `json:"token"`       // the bot's; its first part is base64 of Application
	Seed         string `json:"seed"`        // Ed25519 seed of the application, hex
	ControlToken string `json:"control_token"`
	Guild        string `json:"guild"`
	GuildName    string `json:"guild_name"`
	Owner        string `json:"owner"`   // user id of the guild's owner
	Home         string `json:"home"`    // channel that the page opens with
	Session      string `json:"session"` // of the Gateway
	Seq          int64  `json:"seq"`     // of the last Gateway event
	Last         uint64 `json:"last"`    // the newest id minted
	Clock        int64  `json:"clock"`   // unix ms; time does not run before it, whatever the machine says
}

// User is a person or the bot.
type User struct {
	ID    string   `json:"id"`
	Name  string   `json:"name"`  // username, also the handle in the control API
	Label string   `json:"label"` // display name
	Roles []string `json:"roles"` // ids
	Bot   bool     `json:"bot,omitempty"`
	Color string   `json:"color"` // of the avatar, "#rrggbb"
	Note  string   `json:"note"`  // one line for the user switcher
}

// Role is a role of the guild.
type Role struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Permissions uint64 `json:"permissions"`
	Color       int    `json:"color"`
	Position    int    `json:"position"`
}

// Channel types.
const (
	TypeText     = 0
	TypeCategory = 4
	TypePublic   = 11
	TypePrivate  = 12
)

// Channel is a text channel, a category, or a thread.
type Channel struct {
	ID       string `json:"id"`
	Type     int    `json:"type"`
	Name     string `json:"name"`
	Topic    string `json:"topic,omitempty"`
	Parent   string `json:"parent,omitempty"` // category, or a thread's channel
	Position int    `json:"position"`
	LastMsg  string `json:"last_message,omitempty"`

	// of a thread
	Owner    string `json:"owner,omitempty"`
	Archived bool   `json:"archived,omitempty"`
	Locked   bool   `json:"locked,omitempty"`
	AutoHide int    `json:"auto_archive,omitempty"` // minutes
	Created  int64  `json:"created,omitempty"`      // unix ms
	Touched  int64  `json:"touched,omitempty"`      // unix ms of the last change of Archived
	Sent     int    `json:"sent,omitempty"`         // messages ever sent in it
	Slow     int    `json:"slow,omitempty"`
}

// Thread says whether the channel is one.
func (c *Channel) Thread() bool { return c.Type >= 10 && c.Type <= 12 }

// Message flags (Discord's message resource).
const (
	FlagSuppressEmbeds = 1 << 2
	FlagHasThread      = 1 << 5
	FlagEphemeral      = 1 << 6
	FlagLoading        = 1 << 7
	FlagSilent         = 1 << 12
	FlagComponentsV2   = 1 << 15
)

// Message types.
const (
	MsgDefault       = 0
	MsgThreadCreated = 18
	MsgReply         = 19
	MsgCommand       = 20
	MsgThreadStarter = 21
)

// Message is a message as stored. Embeds and components are kept as they were sent, without nulls.
type Message struct {
	ID          string            `json:"id"`
	Channel     string            `json:"channel"`
	Author      string            `json:"author"`
	Type        int               `json:"type"`
	Content     string            `json:"content"`
	Embeds      []json.RawMessage `json:"embeds,omitempty"`
	Components  []json.RawMessage `json:"components,omitempty"`
	Attachments []Attachment      `json:"attachments,omitempty"`
	Flags       int               `json:"flags,omitempty"`
	Nonce       json.RawMessage   `json:"nonce,omitempty"`
	At          int64             `json:"at"`               // unix ms
	Edited      int64             `json:"edited,omitempty"` // unix ms
	LateEdits   []int64           `json:"late_edits,omitempty"`
	Users       []string          `json:"users,omitempty"` // that it mentions and may ping
	Roles       []string          `json:"mention_roles,omitempty"`
	Everyone    bool              `json:"everyone,omitempty"`
	Position    int               `json:"position,omitempty"`
	Reference   *Reference        `json:"reference,omitempty"`
	Interaction string            `json:"interaction,omitempty"` // id of the interaction that it answers
	For         string            `json:"for,omitempty"`         // ephemeral: the one user who sees it
	Failure     string            `json:"failure,omitempty"`     // set on the note that an application did not respond
}

// Reference names the message that another one replies to or opens with.
type Reference struct {
	Message string `json:"message,omitempty"`
	Channel string `json:"channel"`
}

// Attachment describes a file; the bytes are beside the journal.
type Attachment struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Type        string `json:"type"`
	Size        int    `json:"size"`
	Description string `json:"description,omitempty"`
	Ephemeral   bool   `json:"ephemeral,omitempty"`
}

// Interaction types.
const (
	Ping         = 1
	Command      = 2
	Component    = 3
	Autocomplete = 4
	ModalSubmit  = 5
)

// States of an interaction.
const (
	Pending = "pending"
	Acked   = "acked"
	Failed  = "failed"
)

// Interaction is one press, command, query or submitted form.
type Interaction struct {
	ID       string          `json:"id"`
	Token    string          `json:"token"`
	Type     int             `json:"type"`
	User     string          `json:"user"`
	Channel  string          `json:"channel"`
	Name     string          `json:"name,omitempty"`    // of the command, without slash
	Message  string          `json:"message,omitempty"` // that the component is on
	At       int64           `json:"at"`
	State    string          `json:"state"`
	Answer   int             `json:"answer,omitempty"`   // callback type
	Original string          `json:"original,omitempty"` // message that @original means
	Modal    json.RawMessage `json:"modal,omitempty"`    // of an answer of type 9
	Choices  json.RawMessage `json:"choices,omitempty"`  // of an answer of type 8
	Why      string          `json:"why,omitempty"`      // it failed
	Trigger  string          `json:"trigger,omitempty"`  // of a modal submit: the interaction that opened the form
}

// AppCommand is a registered application command. Body is its response shape without the ids.
type AppCommand struct {
	ID      string          `json:"id"`
	Guild   string          `json:"guild,omitempty"` // "" for a global one
	Name    string          `json:"name"`
	Type    int             `json:"type"`
	Version string          `json:"version"`
	Body    json.RawMessage `json:"body"`
}

// Event is a Gateway dispatch that is not yet known to have been taken.
type Event struct {
	N       int64           `json:"n"`
	ID      string          `json:"id"` // the message's id, or session:seq
	Type    string          `json:"type"`
	Channel string          `json:"channel"`
	Place   json.RawMessage `json:"place"` // what the relay adds: id, type, parent_id, category_id
	Data    json.RawMessage `json:"data"`
}
