package sqlite

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fill commits n rows, one by one, reserving after each.
func fill(t *testing.T, db *DB, n int) {
	t.Helper()
	for range n {
		in(t, db, `INSERT INTO a (v) VALUES ('`+strings.Repeat("x", 3000)+`')`)
		if err := db.Reserve(); err != nil {
			t.Fatal(err)
		}
	}
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// What was reserved takes nothing away and adds nothing, whatever the state in which the files are found again.
func TestReserved(t *testing.T) {
	for name, o := range map[string]Options{"plain": {}, "encrypted": {Key: bytes.Repeat([]byte{7, 8}, KeySize/2)}} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.db")
			db, err := OpenWith(path, o)
			if err != nil {
				t.Fatal(err)
			}
			in(t, db, `CREATE TABLE a (v TEXT) STRICT`)
			grown, last := 0, int64(0)
			for range 23 {
				fill(t, db, 1)
				if n := size(t, path+"-wal"); n != last {
					grown, last = grown+1, n
				}
			}
			if grown > 7 {
				t.Errorf("the WAL grew %d times in 23 commits", grown)
			}
			for _, kept := range []string{path, path + "-wal"} { // as a kill would leave them
				raw, err := os.ReadFile(kept)
				if err == nil {
					err = os.WriteFile(strings.Replace(kept, "a.db", "b.db", 1), raw, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			for _, file := range []string{path, strings.Replace(path, "a.db", "b.db", 1)} {
				again, err := OpenWith(file, o)
				if err != nil {
					t.Fatal(err)
				}
				if rows := in(t, again, `SELECT count(*) FROM a`); rows[0].Int(0) != 23 {
					t.Errorf("%s has %d rows, want 23", file, rows[0].Int(0))
				}
				fill(t, again, 10)
				if err := again.CheckAll(); err != nil {
					t.Error(err)
				}
				if err := again.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// crashed gives a copy of a database's files as a kill would leave them.
func crashed(t *testing.T, path string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "killed.db")
	for _, ending := range []string{"", "-wal"} {
		if err := os.WriteFile(to+ending, read(t, path+ending), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// A process that dies again and again reserves no more than one that lives.
func TestCrashesReserveNothingMore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	db := openWith(t, path, Options{})
	in(t, db, `CREATE TABLE a (v TEXT) STRICT`)
	fill(t, db, restless)
	first := size(t, path+"-wal")
	for range 8 {
		path = crashed(t, path)
		db = openWith(t, path, Options{})
		fill(t, db, restless)
	}
	if last := size(t, path+"-wal"); last > 3*first {
		t.Errorf("the WAL grew from %d to %d bytes by 8 crashes", first, last)
	}
}

func TestNothingIsReservedForARestingDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	db, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	in(t, db, `CREATE TABLE a (v TEXT) STRICT`)
	fill(t, db, 1)
	if got := size(t, path+"-wal"); got >= leastReserve {
		t.Errorf("the WAL has %d bytes after two commits", got)
	}
}
