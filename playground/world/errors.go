package world

import "fmt"

// Error is an answer that Discord gives instead of the thing asked for.
type Error struct {
	Status  int    // HTTP
	Code    int    // Discord's JSON error code
	Message string // Discord's text
	// Field and Reason describe a 50035: the path of the field with dots, and the string code under it.
	Field, Reason string
}

func (e *Error) Error() string { return fmt.Sprintf("discord %d: %s", e.Code, e.Message) }

// The errors of the platform that the local Discord knows (facts from Discord's "Opcodes and Status Codes"; the
// HTTP statuses are what public clients report).
var (
	ErrUnauthorized     = &Error{Status: 401, Message: "401: Unauthorized"}
	ErrNotFound         = &Error{Status: 404, Message: "404: Not Found"}
	ErrMethod           = &Error{Status: 405, Message: "405: Method Not Allowed"}
	ErrUnknownChannel   = &Error{Status: 404, Code: 10003, Message: "Unknown Channel"}
	ErrUnknownGuild     = &Error{Status: 404, Code: 10004, Message: "Unknown Guild"}
	ErrUnknownMessage   = &Error{Status: 404, Code: 10008, Message: "Unknown Message"}
	ErrUnknownUser      = &Error{Status: 404, Code: 10013, Message: "Unknown User"}
	ErrUnknownWebhook   = &Error{Status: 404, Code: 10015, Message: "Unknown Webhook"}
	ErrUnknownInteract  = &Error{Status: 404, Code: 10062, Message: "Unknown interaction"}
	ErrUnknownCommand   = &Error{Status: 404, Code: 10063, Message: "Unknown application command"}
	ErrOldEdits         = &Error{Status: 400, Code: 30046, Message: "Maximum number of edits to messages older than 1 hour reached. Try again later."}
	ErrUnauthorizedCode = &Error{Status: 401, Code: 40001, Message: "Unauthorized"}
	ErrTooLarge         = &Error{Status: 413, Code: 40005, Message: "Request entity too large"}
	ErrAlreadyAcked     = &Error{Status: 400, Code: 40060, Message: "Interaction has already been acknowledged."}
	ErrForeignMessage   = &Error{Status: 403, Code: 50005, Message: "Cannot edit a message authored by another user"}
	ErrEmptyMessage     = &Error{Status: 400, Code: 50006, Message: "Cannot send an empty message"}
	ErrNonText          = &Error{Status: 400, Code: 50008, Message: "Cannot send messages in a non-text channel"}
	ErrPermissions      = &Error{Status: 403, Code: 50013, Message: "Missing Permissions"}
	ErrSystemMessage    = &Error{Status: 403, Code: 50021, Message: "Cannot execute action on a system message"}
	ErrChannelType      = &Error{Status: 400, Code: 50024, Message: "Cannot execute action on this channel type"}
	ErrWebhookToken     = &Error{Status: 401, Code: 50027, Message: "Invalid Webhook Token"}
	ErrArchived         = &Error{Status: 400, Code: 50083, Message: "Thread is archived"}
	ErrInvalidJSON      = &Error{Status: 400, Code: 50109, Message: "The request body contains invalid JSON."}
	ErrThreadExists     = &Error{Status: 400, Code: 160004, Message: "A thread has already been created for this message"}
	ErrLocked           = &Error{Status: 403, Code: 160005, Message: "Thread is locked"}
)

// Invalid is a 50035 about one field.
func Invalid(field, reason, message string) *Error {
	return &Error{Status: 400, Code: 50035, Message: "Invalid Form Body", Field: field, Reason: reason + "\x00" + message}
}
