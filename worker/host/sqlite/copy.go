package sqlite

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/ncruces/go-sqlite3"

	"holdfast/actor/store"
)

// CopyTo writes the whole database to a new file, between two transactions. The copy is as encrypted as the original
// and needs no WAL.
func (d *DB) CopyTo(path string) error {
	left, _, err := d.conn.WALCheckpoint("main", sqlite3.CHECKPOINT_TRUNCATE)
	switch {
	case err != nil:
		return d.classify(err)
	case left > 0:
		return &store.Error{Code: store.Busy, Message: fmt.Sprintf("%d pages stayed in the WAL", left)}
	}
	// This process holds the file's lock, which on all systems that we support is the open file's and not the
	// process's: closing another handle of it does not drop it.
	from, err := os.Open(d.path)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if err = errors.Join(err, to.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// Steps is how many steps of SQLite's virtual machine the core's statements took since the last call: work that can
// be compared, where time cannot.
func (d *DB) Steps() int {
	n := 0
	for _, s := range d.statements {
		n += s.Status(sqlite3.STMTSTATUS_VM_STEP, true)
	}
	return n
}
