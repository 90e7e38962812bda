package main

import (
	"errors"
	"fmt"

	"holdfast/actor/errs"
	"holdfast/cmd/holdfast/config"
)

// Exit codes (spec 7.2).
const (
	exitDone = iota
	exitFailed
	exitUsage
	exitNotFound
	exitRefused
	exitUnknown
)

// usageError is a command line that makes no sense.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// unknownOutcome is a command that may have been carried out: the connection ended before the answer.
type unknownOutcome struct{ err error }

func (e unknownOutcome) Error() string {
	return "it is not known whether this was done: " + e.err.Error()
}
func (e unknownOutcome) Unwrap() error { return e.err }

func exitCode(err error) int {
	var problems config.Problems
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, new(unknownOutcome)):
		return exitUnknown
	case errors.As(err, new(usageError)), errors.As(err, &problems):
		return exitUsage
	}
	switch errs.CodeOf(err) {
	case errs.Invalid:
		return exitUsage
	case errs.NotFound:
		return exitNotFound
	case errs.Unauthorized, errs.Conflict, errs.Stale:
		return exitRefused
	}
	return exitFailed
}

// explain is what a person reads: the sentence, what to do, and for an operator the cause.
func explain(err error) string {
	var e *errs.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	text := e.Message
	if e.Err != nil {
		text = fmt.Sprintf("%s (%v)", text, e.Err)
	}
	if e.Hint != "" {
		text += "\n" + e.Hint
	}
	return text
}
