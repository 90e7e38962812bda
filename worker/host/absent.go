package host

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"

	"holdfast/actor"
	"holdfast/actor/errs"
)

var errAbsent = errs.New(errs.NotFound, "There is no such workspace.").WithHint("An admin makes one with PUT …/config.")

// asksNobody says that an operator asks an actor that was never made. Such a question makes none: who may read could
// otherwise fill the disk with names.
func (r *resident) asksNobody(it *item) bool {
	if r.db != nil || it.kind != actor.EventOperator || makes(it.data) {
		return false
	}
	_, err := os.Stat(r.path())
	return errors.Is(err, fs.ErrNotExist)
}

// makes says whether an operator's event is one of those that an actor begins with.
func makes(data []byte) bool {
	var in actor.Operator
	return json.Unmarshal(data, &in) == nil && (in.Op == actor.OpConfig || in.Op == actor.OpBind)
}
