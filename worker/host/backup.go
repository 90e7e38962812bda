package host

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"holdfast/actor/errs"
	"holdfast/actor/store"
	"holdfast/worker/host/sqlite"
)

// tempDirs hold the copy that is being added to a backup, each of one backup. A start removes what a crash left.
const tempDirs = "backup-*.tmp"

// allMessages is more than may ever go from actor to actor at once.
const allMessages = 1 << 30

// backupStall is how long the client of a backup may take nothing of it before it is given up: messages between actors
// wait as long. A slow line takes something far more often.
const backupStall = 30 * time.Second

// Backup writes a backup of the whole data directory while it is served. Each actor is copied between two of its
// events. Messages from actor to actor wait meanwhile, so the copies fit each other: what one has sent and the other
// not received is still in the sender's rows, and comes again after a restore. The copies are as encrypted as the
// originals, and each is checked before it is added. Damaged databases are left out and named in the manifest.
func (h *Host) Backup(ctx context.Context, w io.Writer) (*Manifest, error) {
	if !h.backing.TryLock() {
		return nil, errs.New(errs.Conflict, "A backup is being made already.")
	}
	defer h.backing.Unlock()
	if err := h.messages.Acquire(ctx, allMessages); err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	defer h.messages.Release(allMessages)
	temp, err := os.MkdirTemp(h.opts.Data, tempDirs)
	if err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	defer os.RemoveAll(temp)
	b := &backup{host: h, ctx: ctx, temp: filepath.Join(temp, "copy.db"), out: archiveWriter{tar: tar.NewWriter(w),
		manifest: Manifest{Format: archiveFormat, Created: h.now().UnixMilli(), Encrypted: h.opts.Key != nil, Files: []ArchiveFile{}, Damaged: []string{}}}}
	if err := b.run(); err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	h.opts.Log.Info("host.backup.made", "files", len(b.out.manifest.Files), "damaged", len(b.out.manifest.Damaged))
	return &b.out.manifest, nil
}

// sweep removes the copies of backups that a crash ended.
func (h *Host) sweep() error {
	left, err := filepath.Glob(filepath.Join(h.opts.Data, tempDirs))
	for _, dir := range left {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return err
}

// backup is one that is being made.
type backup struct {
	host *Host
	ctx  context.Context
	temp string
	out  archiveWriter
}

func (b *backup) run() error {
	if err := b.actors(); err != nil {
		return err
	}
	// The index comes last and is set anew by a restore: an actor's time is in the actor.
	if err := b.host.index.CopyTo(b.temp); err != nil {
		return fmt.Errorf("alarm index: %w", err)
	}
	if err := b.add(alarmsFile, 0); err != nil {
		return err
	}
	return b.out.close()
}

// actors adds all actors, also those that are made meanwhile: the directory's copy may know of one already.
func (b *backup) actors() error {
	added := map[string]bool{}
	for {
		names, err := b.host.actorNames()
		if err != nil {
			return err
		}
		names = slices.DeleteFunc(names, func(name string) bool { return added[name] })
		if len(names) == 0 {
			return nil
		}
		for _, name := range names {
			if err := b.actor(name); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			added[name] = true
		}
	}
}

// actor adds one actor's database.
func (b *backup) actor(name string) error {
	err := b.host.inTurn(b.ctx, name, func(r *resident) error {
		if failure := r.open(); failure != nil {
			return failure
		}
		if r.damage != "" {
			return errDamaged
		}
		return r.db.CopyTo(b.temp)
	})
	schema := int64(0)
	if err == nil {
		if schema, err = checkCopy(b.temp, b.host.opts.Key); isCorrupt(err) {
			found := err
			_ = b.host.inTurn(b.ctx, name, func(r *resident) error { r.broken(found); return nil }) // found again at the latest by the next backup
		}
	}
	switch {
	case errors.Is(err, errDamaged) || isCorrupt(err):
		b.out.manifest.Damaged = append(b.out.manifest.Damaged, name)
		return ignoreMissing(os.Remove(b.temp))
	case err != nil:
		return err
	}
	return b.add(actorsDir+"/"+fileName(name), schema)
}

func (b *backup) add(name string, schema int64) error {
	return errors.Join(b.out.add(name, b.temp, schema), os.Remove(b.temp))
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// checkCopy checks a database that nobody has open, and gives its schema's version.
func checkCopy(path string, key []byte) (schema int64, err error) {
	db, err := sqlite.OpenWith(path, sqlite.Options{Key: key, Copy: true})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.CheckAll(); err != nil {
		return 0, err
	}
	rows, err := db.Do(`SELECT count(*) FROM sqlite_schema WHERE name = 'meta'`, nil)
	if err != nil || rows[0].Int(0) == 0 {
		return 0, err
	}
	if rows, err = db.Do(`SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'schema'`, nil); err != nil || len(rows) == 0 {
		return 0, err
	}
	return rows[0].Int(0), nil
}

// inTurn runs f in an actor's turn, between two of its events, and waits for it.
func (h *Host) inTurn(ctx context.Context, name string, f func(*resident) error) error {
	got := make(chan error, 1)
	if err := h.post(name, &item{direct: func(r *resident) { got <- f(r) }}, true); err != nil {
		return err
	}
	select {
	case err := <-got:
		return err
	case <-h.dead:
		return errDown
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// actorNames lists the actors that have a database, in order.
func (h *Host) actorNames() ([]string, error) {
	files, err := os.ReadDir(h.dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, f := range files {
		if name := actorOf(f.Name()); name != "" {
			names = append(names, name)
		}
	}
	return names, nil
}

// backUp serves POST /v1/backup: the answer is the backup. One that fails on the way is cut off, and then has no
// manifest.
func (h *Host) backUp(w http.ResponseWriter, r *http.Request) {
	if h.isDraining() {
		h.fail(w, errDown)
		return
	}
	out := &clientWriter{w: w, stall: h.stall}
	w.Header().Set("Content-Type", "application/x-tar")
	w.Header().Set("Cache-Control", "no-store")
	if _, err := h.Backup(r.Context(), out); err != nil {
		h.opts.Log.Error("host.backup.failed", "err", err.Error())
		if out.started {
			panic(http.ErrAbortHandler)
		}
		h.fail(w, backupFailure(err))
	}
}

func backupFailure(err error) *errs.Error {
	var e *store.Error
	if errors.As(err, &e) && e.Code == store.Full || sqlite.NoRoom(err) {
		return errs.New(errs.Unavailable, "There is no room for a copy of the largest database.").WithHint("Make room in the data directory.")
	}
	return errs.Public(err)
}

// clientWriter writes to a client that has to take each piece in time, and knows whether anything was written.
type clientWriter struct {
	w       http.ResponseWriter
	stall   time.Duration
	started bool
}

func (c *clientWriter) Write(b []byte) (int, error) {
	c.started = true
	// The last one also holds for what the server writes by itself at the end. Where there are none, nobody is on a line.
	if err := http.NewResponseController(c.w).SetWriteDeadline(time.Now().Add(c.stall)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	return c.w.Write(b)
}
