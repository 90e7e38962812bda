package alarm

import (
	"errors"

	"holdfast/clock"
	"holdfast/worker/host/sqlite"
)

// CopyTo writes the index as the disk has it to a new file.
func (x *Index) CopyTo(path string) error {
	x.dbMu.Lock()
	defer x.dbMu.Unlock()
	return x.db.CopyTo(path)
}

// Reset makes an index that nobody has open wake each of the actors at once, and nobody else: what it says of them is
// not to be trusted after a restore, and waking too early does no harm. The configuration's version is kept.
func Reset(path string, o sqlite.Options, actors []string) (err error) {
	x, err := Open(path, clock.Real{}, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.Abandon()) }()
	rows := map[string]row{}
	for _, actor := range actors {
		rows[actor] = row{due: 1}
	}
	if err := x.transaction(func(do doFunc) error {
		_, err := do(`DELETE FROM alarm`)
		return err
	}); err != nil {
		return err
	}
	return x.write(rows)
}
