package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"holdfast/actor/errs"
	"holdfast/actor/store"
	"holdfast/worker/host/alarm"
	"holdfast/worker/host/sqlite"
)

// aside is what the name of an alarm index gets behind it, before a number, once it was found to be damaged.
const aside = ".damaged-"

// openIndex opens the alarm index. All that it says can be learnt from the actors themselves: one that is missing is
// made anew, and so is one that does not open, which is kept under another name. Then every actor is woken once.
func (h *Host) openIndex() error {
	names, err := h.actorNames()
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	path := filepath.Join(h.opts.Data, alarmsFile)
	open := func() error {
		h.index, err = alarm.Open(path, h.opts.Clock, sqlite.Options{Key: h.opts.Key}, names...)
		return err
	}
	if err := open(); err != nil {
		if err = h.setAside(path, names, err); err != nil {
			return err
		}
		if err = open(); err != nil {
			return err
		}
	}
	if h.index.Fresh() && len(names) > 0 {
		h.opts.Log.Warn("host.alarms.rebuilt", "actors", len(names), "note", "the alarm index is made anew: each actor is woken once")
	}
	return nil
}

// setAside moves an index out of the way that does not open, with its WAL first: a crash in between leaves either
// for the next start. It returns found when the file itself is not at fault.
func (h *Host) setAside(path string, actors []string, found error) error {
	var e *store.Error
	if errors.As(found, &e) && (e.Code == store.Busy || e.Code == store.Full) {
		return found
	}
	if isCorrupt(found) && len(actors) > 0 && !h.anyOpens(actors) {
		return &errs.Error{Code: errs.Invalid, Err: found,
			Message: "Neither the alarm index nor any other database in " + h.opts.Data + " opens; nothing was changed.",
			Hint:    "Check the key first. If they are all damaged indeed, move " + alarmsFile + " away and start again: each workspace then says that it is damaged."}
	}
	to := path + aside + fmt.Sprint(h.now().UnixMilli())
	for n := 0; exists(to) || exists(to+"-wal"); n++ {
		to = fmt.Sprintf("%s%s%d.%d", path, aside, h.now().UnixMilli(), n)
	}
	for _, part := range []string{"-wal", ""} {
		if err := ignoreMissing(os.Rename(path+part, to+part)); err != nil {
			return errors.Join(found, err)
		}
	}
	h.opts.Log.Error("host.alarms.damaged", "err", found.Error(), "kept", to)
	return syncDir(h.opts.Data)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// anyOpens says whether the key fits any of the actors' databases. They are not touched.
func (h *Host) anyOpens(actors []string) bool {
	for _, name := range actors {
		db, err := sqlite.OpenWith(filepath.Join(h.dir, fileName(name)), sqlite.Options{Key: h.opts.Key, Untouched: true})
		if err == nil {
			return db.Close() == nil
		}
	}
	return false
}

// indexError names what keeps the alarm index from recording an actor's time: nothing is wrong with the actor.
func (h *Host) indexError(err error) *errs.Error {
	if !isCorrupt(err) {
		return openError(err)
	}
	h.opts.Log.Error("host.alarms.damaged", "err", err.Error(), "note", "nothing can be recorded; the next start makes the index anew")
	return errs.New(errs.Unavailable, "The alarm index is damaged; nothing was recorded.").WithHint("Start the edge again: it is then made anew.")
}

// Notes are what an operator should know beside the workspaces: what was set aside, and which databases of no
// workspace are damaged.
func (h *Host) Notes() (notes []string) {
	files, err := os.ReadDir(h.opts.Data)
	if err != nil {
		return []string{"The data directory cannot be read."}
	}
	for _, f := range files {
		if strings.HasPrefix(f.Name(), alarmsFile+aside) && !strings.HasSuffix(f.Name(), "-wal") {
			notes = append(notes, "The alarm index was damaged and made anew; the old one is kept as "+f.Name()+". Delete it when nobody needs it any more.")
		}
	}
	if files, err = os.ReadDir(h.dir); err != nil {
		return append(notes, "The databases' folder cannot be read.")
	}
	for _, f := range files {
		if name := actorOf(strings.TrimSuffix(f.Name(), markEnding)); name != "" && strings.HasSuffix(f.Name(), markEnding) && !strings.HasPrefix(name, workspacePrefix) {
			notes = append(notes, name+": "+errDamaged.Message)
		}
	}
	return notes
}
