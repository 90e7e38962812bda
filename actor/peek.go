package actor

import (
	"fmt"
	"slices"

	"holdfast/actor/errs"
)

// readingOps are what an operator may ask while nothing can be committed: on a full disk, or of a damaged database.
var readingOps = []string{OpStatus, OpJobs, OpJob, OpEvents, OpRecords, OpUsage, OpReview, OpResolve}

// mayPeek refuses to read a schema that this program does not know: migrating it would be a write.
func (w *work) mayPeek(schema int) error {
	if w.ev.Peek == "" || w.meta["schema"] == fmt.Sprint(schema) {
		return nil
	}
	return errs.New(errs.Unavailable, "%s", w.ev.Peek)
}

// peek answers an operator from what is committed, and does nothing else: the host rolls back whatever this does.
func (w *work) peek() error {
	refused := errs.New(errs.Unavailable, "%s", w.ev.Peek)
	if w.ev.Type != EventOperator {
		return refused
	}
	return with(w.ev.Data, func(in Operator) error {
		switch {
		case !slices.Contains(readingOps, in.Op):
			return refused
		case w.name == "":
			return w.directoryOperator(in)
		}
		return w.operator(in)
	})
}
