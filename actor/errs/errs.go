// Package errs is the one error type of Holdfast: a code that a program can act upon, a sentence for a person,
// and a hint that says what to do.
package errs

import (
	"errors"
	"fmt"
)

// Code says what kind of failure it is (spec 8.4). Callers branch on codes, never on messages.
type Code string

// The codes, with the HTTP status that the edge gives each.
const (
	Invalid      Code = "invalid"      // 400: the input is wrong and will stay wrong
	Unauthorized Code = "unauthorized" // 401 or 403: who asks may not
	NotFound     Code = "not_found"    // 404
	Conflict     Code = "conflict"     // 409: the record is not in a state that allows it
	Stale        Code = "stale"        // 409: a claim, a version or a card that no longer holds
	Unavailable  Code = "unavailable"  // 503: try again, nothing was lost
	Internal     Code = "internal"     // 500: a fault of ours
)

// Error is a failure with a code. Message and Hint are shown to people; Err is for operators only.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	Err     error  `json:"-"`
}

func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Message, e.Err)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Message)
}

// Unwrap gives the cause, for errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.Err }

// New makes an error with a code and a sentence for people.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Wrap gives err a code and a sentence. It returns nil for a nil err.
func Wrap(code Code, err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Err: err}
}

// WithHint returns a copy of e that says what to do.
func (e *Error) WithHint(format string, args ...any) *Error {
	c := *e
	c.Hint = fmt.Sprintf(format, args...)
	return &c
}

// CodeOf is the code of err, Internal for anything that is not an *Error, and "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return Internal
}

// Public is what a person may see of err: an *Error as it is, anything else as "Internal error.".
func Public(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Code: Internal, Message: "Internal error.", Hint: "The operator's log has the details.", Err: err}
}

// Status is the HTTP status of a code.
func (c Code) Status() int {
	switch c {
	case Invalid:
		return 400
	case Unauthorized:
		return 403
	case NotFound:
		return 404
	case Conflict, Stale:
		return 409
	case Unavailable:
		return 503
	}
	return 500
}
