package sqlite

import (
	"errors"
	"io/fs"
	"os"
)

// Sizes of what is written ahead of a WAL, in bytes.
const (
	leastReserve = 128 << 10
	mostReserve  = 1 << 20
)

// restless is how many commits a database has seen since it was opened before it is worth reserving for it.
const restless = 3

// Reserve writes zeros behind the WAL of a database at work, so that its next commits need not make the file longer: to
// sync one that keeps its length takes half as long, because the file system's own journal has nothing to do. SQLite reads
// the zeros as the end of the WAL. It is for a moment in which nobody waits. Where there is no room, nothing is reserved.
func (d *DB) Reserve() error {
	if d.commits < restless || d.untouched || d.damage != nil {
		return nil
	}
	wal, err := os.OpenFile(d.path+"-wal", os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(d.lengthen(wal), wal.Close())
}

func (d *DB) lengthen(wal *os.File) error {
	info, err := wal.Stat()
	if err != nil || info.Size() == 0 || info.Size() == d.reserved {
		return err // nothing was written since, or all of it into what was reserved
	}
	d.reserved = info.Size()
	zeros := make([]byte, min(max(info.Size(), leastReserve), mostReserve))
	if _, err := wal.WriteAt(zeros, info.Size()); err != nil {
		short := wal.Truncate(info.Size()) // what little room there is, is for commits
		if NoRoom(err) {
			err = nil
		}
		return errors.Join(err, short)
	}
	d.reserved += int64(len(zeros))
	return wal.Sync()
}
