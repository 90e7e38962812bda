package sqlite

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/actor/store"
)

func openWith(t *testing.T, path string, o Options) *DB {
	t.Helper()
	db, err := OpenWith(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// filled makes a database of many pages and closes it.
func filled(t *testing.T, path string, o Options) {
	t.Helper()
	db := openWith(t, path, o)
	in(t, db, `CREATE TABLE head (x TEXT) STRICT`, `INSERT INTO head VALUES ('a word to look for')`, `CREATE TABLE fill (x TEXT) STRICT`,
		`INSERT INTO fill WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 2000) SELECT 'some text that fills a page ' || i FROM n`)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestAKeyHidesEverything(t *testing.T) {
	key, other := bytes.Repeat([]byte{7}, KeySize), bytes.Repeat([]byte{8}, KeySize)
	path := filepath.Join(t.TempDir(), "a.db")
	filled(t, path, Options{Key: key})
	db := openWith(t, path, Options{Key: key})
	in(t, db, `INSERT INTO head VALUES ('another word to look for')`)
	for _, file := range []string{path, path + "-wal"} {
		if raw := read(t, file); len(raw) == 0 || bytes.Contains(raw, []byte("look for")) || bytes.HasPrefix(raw, []byte("SQLite")) {
			t.Errorf("%s: %d bytes that can be read", file, len(raw))
		}
	}
	if got := in(t, db, `SELECT count(*) FROM head`)[0].Int(0); got != 2 {
		t.Errorf("%d rows, want 2", got)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]Options{"no key": {}, "another key": {Key: other}} {
		if _, err := OpenWith(path, o); codeOf(err) != store.Corrupt {
			t.Errorf("%s: %v, want corrupt", name, err)
		}
	}
	if _, err := OpenWith(path, Options{Key: key[:32]}); codeOf(err) != store.Misuse {
		t.Errorf("a short key: %v, want misuse", err)
	}
	if err := openWith(t, path, Options{Key: key}).CheckAll(); err != nil {
		t.Errorf("after attempts with wrong keys: %v", err)
	}
}

func TestACopyIsWhole(t *testing.T) {
	for name, o := range map[string]Options{"plain": {}, "encrypted": {Key: bytes.Repeat([]byte{7}, KeySize)}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path, to := filepath.Join(dir, "a.db"), filepath.Join(dir, "copy")
			filled(t, path, o)
			db := openWith(t, path, o)
			in(t, db, `INSERT INTO head VALUES ('only in the WAL')`)
			if err := db.CopyTo(to); err != nil {
				t.Fatal(err)
			}
			in(t, db, `INSERT INTO head VALUES ('after the copy')`) // the original goes on
			if _, err := Open(path); codeOf(err) == "" {
				t.Error("the copying dropped the lock")
			}
			o.Copy = true
			copied := openWith(t, to, o)
			if err := copied.CheckAll(); err != nil {
				t.Error(err)
			}
			rows, err := copied.Do(`SELECT x FROM head ORDER BY rowid`, nil)
			if err != nil || len(rows) != 2 || rows[1].Str(0) != "only in the WAL" {
				t.Errorf("%v, %v", rows, err)
			}
			if err := db.CopyTo(to); err == nil {
				t.Error("a copy replaced a file")
			}
		})
	}
}

// overwrite spoils one page of a file.
func overwrite(t *testing.T, path string, page int) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(bytes.Repeat([]byte("damage! "), 512), int64(page)*4096); err != nil {
		t.Fatal(err)
	}
}

func TestADamagedFileIsReadAndStaysAsItIs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	filled(t, path, Options{})
	// Something is left in the WAL, as after a crash: it must be seen, and stay there.
	db := openWith(t, path, Options{})
	in(t, db, `INSERT INTO head VALUES ('in the WAL')`)
	if err := db.keepWAL(true); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	overwrite(t, path, 9)
	file, wal := read(t, path), read(t, path+"-wal")

	db = openWith(t, path, Options{})
	if err := db.Check(); codeOf(err) != store.Corrupt {
		t.Fatalf("the check says %v, want corrupt", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = openWith(t, path, Options{Untouched: true})
	if err := db.BeginRead(); err != nil {
		t.Fatal(err)
	}
	rows, err := db.Do(`SELECT x FROM head`, nil)
	if err != nil || len(rows) != 2 {
		t.Errorf("what is sound: %v, %v", rows, err)
	}
	if _, err := db.Do(`INSERT INTO head VALUES ('no')`, nil); err == nil {
		t.Error("a write was taken")
	}
	if _, err := db.Do(`SELECT count(x) FROM fill WHERE x > ''`, nil); codeOf(err) != store.Corrupt {
		t.Errorf("what is damaged: %v, want corrupt", err)
	}
	if err := db.EndRead(); err != nil {
		t.Fatal(err)
	}
	if err := db.Begin(); err == nil {
		if _, err := db.Do(`DELETE FROM head`, nil); err == nil {
			t.Error("a write was taken after a read")
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(read(t, path), file) || !bytes.Equal(read(t, path+"-wal"), wal) {
		t.Error("the file or its WAL changed")
	}
}

func TestStepsCountWork(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	filled(t, path, Options{})
	db := openWith(t, path, Options{})
	in(t, db, `CREATE INDEX i ON fill(x)`)
	db.Steps()
	in(t, db, `SELECT x FROM fill WHERE x = 'some text that fills a page 77'`)
	one := db.Steps()
	in(t, db, `SELECT count(*) FROM fill WHERE x LIKE '%77'`)
	if all := db.Steps(); one < 1 || all < 100*one {
		t.Errorf("one row took %d steps and all of them %d", one, all)
	}
}

// FuzzDamage: whatever became of the file, opening and checking it ends with an error or with sound rows, and never
// changes a file that is not sound.
func FuzzDamage(f *testing.F) {
	path := filepath.Join(f.TempDir(), "a.db")
	db, err := Open(path)
	if err != nil {
		f.Fatal(err)
	}
	for _, sql := range []string{`CREATE TABLE t (x TEXT) STRICT`, `INSERT INTO t VALUES ('one'), ('two')`} {
		if err := db.conn.Exec(sql); err != nil {
			f.Fatal(err)
		}
	}
	db.Close()
	good, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(0, []byte("x"))
	f.Add(4096, []byte("y"))
	f.Add(18, []byte{9, 9})
	f.Fuzz(func(t *testing.T, at int, change []byte) {
		bad := bytes.Clone(good)
		copy(bad[min(max(at, 0), len(bad)):], change)
		path := filepath.Join(t.TempDir(), "b.db")
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		db, err := OpenWith(path, Options{Untouched: true})
		if err == nil {
			if err = db.BeginRead(); err == nil {
				var rows []store.Row
				if rows, err = db.Do(`SELECT x FROM t`, nil); err == nil && len(rows) > 1000 {
					err = fmt.Errorf("%d rows", len(rows))
				}
			}
			db.Close()
		}
		if now := read(t, path); !bytes.Equal(now, bad) {
			t.Errorf("the file changed (%v)", err)
		}
		if err != nil && strings.Contains(err.Error(), "rows") {
			t.Error(err)
		}
	})
}
