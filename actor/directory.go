package actor

import (
	"encoding/json"
	"regexp"

	"holdfast/actor/errs"
)

var workspaceName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)

// directoryEvent runs an event of a guild's directory: which channel belongs to which workspace, from when on.
func (w *work) directoryEvent() error {
	switch w.ev.Type {
	case EventStart, EventWake, EventWithdraw:
		return nil
	case EventOperator:
		return with(w.ev.Data, w.directoryOperator)
	}
	return errs.New(errs.Invalid, "a directory knows no event %q", w.ev.Type)
}

func (w *work) directoryOperator(in Operator) error {
	switch in.Op {
	case OpResolve:
		return withArgs(in.Args, w.resolve)
	case OpBind:
		return withArgs(in.Args, w.bind)
	case OpWorkspaces:
		w.workspaces()
		return nil
	}
	return errs.New(errs.Invalid, "a directory knows no op %q", in.Op)
}

// resolve finds the workspace of a place: the binding of the channel or thread itself, of its parent, of its
// category, in that order; of several in time the one that held at the id, or the first later one (spec 2.3).
func (w *work) resolve(in ResolveArgs) error {
	for _, channel := range []string{in.Place.Channel, in.Place.Parent, in.Place.Category} {
		if channel == "" {
			continue
		}
		row, ok := w.tx.Row(`SELECT workspace FROM binding WHERE channel = ?1
			ORDER BY (length(since), since) <= (length(?2), ?2) DESC,
			CASE WHEN (length(since), since) <= (length(?2), ?2) THEN -length(since) ELSE length(since) END,
			CASE WHEN (length(since), since) <= (length(?2), ?2) THEN since END DESC, since LIMIT 1`, channel, in.ID)
		if ok {
			w.answer(200, ResolveReply{Workspace: row.Str(0)})
			return nil
		}
	}
	return errs.New(errs.NotFound, "This channel belongs to no workspace.").WithHint("An admin binds it with PUT …/config and its bindings.")
}

func (w *work) workspaces() {
	names := []string{}
	for _, row := range w.tx.Rows(`SELECT DISTINCT workspace FROM binding ORDER BY workspace`) {
		names = append(names, row.Str(0))
	}
	w.answer(200, WorkspacesReply{Workspaces: names})
}

// bind gives channels to a workspace. A channel's first binding holds for all its messages, also older ones.
func (w *work) bind(in BindArgs) error {
	if !workspaceName.MatchString(in.Workspace) {
		return errs.New(errs.Invalid, "workspace %q; expected up to 32 of a-z, 0-9 and -, not beginning with -", in.Workspace)
	}
	for _, channel := range in.Channels {
		row, bound := w.tx.Row(`SELECT workspace FROM binding WHERE channel = ? ORDER BY length(since) DESC, since DESC LIMIT 1`, channel)
		switch {
		case bound && row.Str(0) == in.Workspace:
			continue
		case bound:
			return errs.New(errs.Conflict, "channel %s is bound to workspace %s", channel, row.Str(0)).WithHint("Moving a channel to another workspace is not available yet.")
		}
		w.tx.Exec(`INSERT INTO binding(channel, since, workspace, created_wall) VALUES (?, '0', ?, ?)`, channel, in.Workspace, w.wall)
	}
	w.answer(200, json.RawMessage(`{}`))
	return nil
}
