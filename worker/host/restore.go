package host

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"holdfast/actor"
	"holdfast/actor/errs"
	"holdfast/actor/store"
	"holdfast/worker/host/alarm"
	"holdfast/worker/host/sqlite"
)

// RestoreOptions say where a backup goes.
type RestoreOptions struct {
	Data string    // directory that is missing or empty
	Key  []byte    // that of the backup, when it is encrypted
	Now  time.Time // becomes the incarnation of what is restored
}

// Restore makes a data directory from a backup. Every database is checked in full, and one whose schema is newer than
// this program is refused. Each workspace gets a new incarnation and starts in review (actor/review.go). After an
// error there is nothing in the directory but its lock, which is held meanwhile: nobody serves what is half there.
func Restore(from io.Reader, o RestoreOptions) (m *Manifest, err error) {
	if err := o.vacant(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Data, 0o700); err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	lock, err := lockDir(o.Data, func() bool { return false })
	if err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	defer func() { err = errors.Join(err, lock.release(true)) }()
	if err := o.vacant(); err != nil { // until now it was anybody's
		return nil, err
	}
	return o.restore(from)
}

// vacant refuses a directory that holds something.
func (o RestoreOptions) vacant() error {
	empty, err := isEmpty(o.Data)
	switch {
	case err != nil:
		return fmt.Errorf("restore: %w", err)
	case !empty:
		return errs.New(errs.Conflict, "%s is not empty; nothing was changed.", o.Data).WithHint("Restore into a new directory.")
	}
	return nil
}

// restore fills the directory, which is empty and ours, or leaves it as it was.
func (o RestoreOptions) restore(from io.Reader) (m *Manifest, err error) {
	temp := filepath.Join(o.Data, restoring)
	if err := os.MkdirAll(filepath.Join(temp, actorsDir), 0o700); err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	defer func() {
		if err != nil {
			for _, name := range []string{restoring, alarmsFile, actorsDir} {
				err = errors.Join(err, os.RemoveAll(filepath.Join(o.Data, name)))
			}
		}
	}()
	r := restore{RestoreOptions: o, temp: temp}
	if m, err = ReadBackup(from, r.unpack); err != nil {
		return nil, err
	}
	if err := r.finish(m); err != nil {
		return nil, err
	}
	return m, nil
}

// restore is one that is under way.
type restore struct {
	RestoreOptions
	temp string
}

// unpack writes one file of the archive. Its name was checked by ReadBackup.
func (r *restore) unpack(name string, body io.Reader) error {
	f, err := os.OpenFile(filepath.Join(r.temp, filepath.FromSlash(name)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	if _, err = io.Copy(f, body); err != nil {
		err = notWhole(err)
	}
	return errors.Join(err, f.Sync(), f.Close())
}

// finish checks everything, begins the new incarnation, and puts it in its place.
func (r *restore) finish(m *Manifest) error {
	if m.Encrypted && r.Key == nil {
		return errs.New(errs.Invalid, "The backup is encrypted.").WithHint("Name the file of its key with --key-file.")
	}
	if !m.Encrypted && r.Key != nil {
		return errs.New(errs.Invalid, "The backup is not encrypted, so there is no key to it.")
	}
	var workspaces []string
	index := false
	for _, f := range m.Files {
		path := filepath.Join(r.temp, filepath.FromSlash(f.Name))
		if f.Name == alarmsFile {
			index = true
			continue
		}
		name := actorOf(filepath.Base(path))
		if err := r.actor(path, name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if strings.HasPrefix(name, workspacePrefix) {
			workspaces = append(workspaces, name)
		}
	}
	if !index {
		return notWhole(errors.New("it has no alarm index"))
	}
	if err := r.alarms(workspaces); err != nil {
		return fmt.Errorf("alarm index: %w", err)
	}
	for _, name := range []string{alarmsFile, actorsDir} {
		if err := os.Rename(filepath.Join(r.temp, name), filepath.Join(r.Data, name)); err != nil {
			return fmt.Errorf("restore: %w", err)
		}
	}
	return errors.Join(os.Remove(r.temp), syncDir(r.Data))
}

// syncDir makes the names in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (r *restore) alarms(workspaces []string) error {
	path := filepath.Join(r.temp, alarmsFile)
	if _, err := checkCopy(path, r.Key); err != nil {
		return r.unsound(err)
	}
	return alarm.Reset(path, sqlite.Options{Key: r.Key}, workspaces)
}

// unsound explains a database that did not pass its check.
func (r *restore) unsound(err error) error {
	if !isCorrupt(err) {
		return err
	}
	hint := "Take another backup."
	if r.Key != nil {
		hint = "Either the key is not the one of this backup, or take another backup."
	}
	return &errs.Error{Code: errs.Invalid, Message: "The database in the backup is damaged.", Hint: hint, Err: err}
}

// actor checks one database and begins its new incarnation.
func (r *restore) actor(path, name string) (err error) {
	schema, err := checkCopy(path, r.Key)
	if err != nil {
		return r.unsound(err)
	}
	if known := schemaOf(name); schema > known {
		return errs.New(errs.Conflict, "Its database has schema %d, and this program knows %d.", schema, known).WithHint("Run a newer holdfast.")
	}
	if schema == 0 {
		return nil // nothing ever happened in it
	}
	db, err := sqlite.OpenWith(path, sqlite.Options{Key: r.Key})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.Begin(); err != nil {
		return err
	}
	if err := r.reincarnate(db, name); err != nil {
		return errors.Join(err, db.Rollback())
	}
	return db.Commit()
}

// schemaOf is the newest schema of a kind of actor that this program knows.
func schemaOf(name string) int64 {
	switch kind, _, _ := strings.Cut(name, ":"); kind {
	case "workspace":
		return int64(len(store.Workspace))
	case "directory":
		return int64(len(store.Directory))
	}
	return int64(len(store.Application))
}

// reincarnate makes sure that the new incarnation is above any that ever was, even when this machine's clock is
// behind.
func (r *restore) reincarnate(db *sqlite.DB, name string) error {
	const set = `INSERT INTO meta(key, value) VALUES (?1, ?2) ON CONFLICT(key) DO UPDATE SET value = excluded.value`
	rows, err := db.Do(`SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'incarnation'`, nil)
	if err != nil {
		return err
	}
	next := r.Now.Unix()
	if len(rows) > 0 {
		next = max(next, rows[0].Int(0)+1)
	}
	if _, err := db.Do(set, []store.Value{"incarnation", fmt.Sprint(next)}); err != nil || !strings.HasPrefix(name, workspacePrefix) {
		return err
	}
	_, err = db.Do(set, []store.Value{"review", actor.ReviewRestored})
	return err
}
