package host

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"strings"

	"holdfast/worker/host/sqlite"
)

// inspect looks at each database as the process starts, so that an operator learns of damage from the start and not
// from whoever comes first. A file that looks damaged is woken: opening it says for certain, and marks it.
func (h *Host) inspect() {
	names, err := h.actorNames()
	if err != nil {
		h.opts.Log.Error("host.inspect.failed", "err", err.Error())
		return
	}
	for _, name := range names {
		if h.isDead() {
			return
		}
		path := filepath.Join(h.dir, fileName(name))
		if found, err := os.ReadFile(path + markEnding); err == nil {
			h.opts.Log.Error("actor.damaged.still", "actor", name, "err", strings.TrimSpace(string(found)), "note", "restore a backup")
			if bytes.HasPrefix(found, []byte(shut)) {
				h.wake(name) // perhaps it is sound again
			}
		} else if looksDamaged(path, h.opts.Key != nil) || h.opts.Key != nil && h.misfits(name, path) {
			h.wake(name)
		}
	}
}

// misfits says whether the key does not fit a database that nobody has open. Its header shows nothing.
func (h *Host) misfits(name, path string) bool {
	h.mu.Lock()
	_, open := h.actors[name]
	h.mu.Unlock()
	if open {
		return false // it has been found out already
	}
	db, err := sqlite.OpenWith(path, sqlite.Options{Key: h.opts.Key, Untouched: true})
	if err != nil {
		return isCorrupt(err)
	}
	if err := db.Close(); err != nil {
		h.opts.Log.Error("host.inspect.failed", "actor", name, "err", err.Error())
	}
	return false
}

// sector is the unit of the encrypting file system, and the least size of a page.
const sector = 512

// looksDamaged says from a file's size and, unless it is encrypted, its header (https://sqlite.org/fileformat.html,
// section 1.3) that it will hardly open. A file that cannot be read is left to its actor.
func looksDamaged(path string, encrypted bool) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false
	}
	if wal, err := os.Stat(path + "-wal"); err == nil && wal.Size() > 0 {
		return info.Size() == 0 // else what counts is in the WAL
	}
	if info.Size() == 0 || encrypted {
		return info.Size()%sector != 0
	}
	var head [100]byte
	if _, err := io.ReadFull(f, head[:]); err != nil || !bytes.HasPrefix(head[:], []byte("SQLite format 3\x00")) {
		return true
	}
	page := int64(binary.BigEndian.Uint16(head[16:]))
	if page == 1 {
		page = 65536
	}
	return info.Size() < page*int64(binary.BigEndian.Uint32(head[28:]))
}
