package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"holdfast/actor/store"
)

func open(t *testing.T, path string) *DB {
	t.Helper()
	db, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// in runs statements in a transaction of their own and gives the last one's rows.
func in(t *testing.T, db *DB, statements ...string) []store.Row {
	t.Helper()
	if err := db.Begin(); err != nil {
		t.Fatal(err)
	}
	var rows []store.Row
	for _, sql := range statements {
		var err error
		if rows, err = db.Do(sql, nil); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	if err := db.Commit(); err != nil {
		t.Fatal(err)
	}
	return rows
}

func codeOf(err error) store.Code {
	var e *store.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func TestValuesComeBackAsTheyWent(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "odd name?#%.db"))
	in(t, db, `CREATE TABLE v (x ANY) STRICT`)
	for _, v := range []store.Value{nil, int64(0), int64(store.MaxInt), int64(-store.MaxInt), 0.5, "", "é\x00z", []byte{}, []byte{0, 255},
		strings.Repeat("x", store.MaxValue-20), make([]byte, store.MaxValue-20)} {
		if err := db.Begin(); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Do(`INSERT INTO v VALUES (?)`, []store.Value{v}); err != nil {
			t.Errorf("%.20v: %v", v, err)
		}
		rows, err := db.Do(`SELECT x FROM v`, nil)
		if err != nil || len(rows) != 1 || !reflect.DeepEqual(rows[0][0], v) {
			t.Errorf("%.20v came back as %.60v, %v", v, rows, err)
		}
		if err := db.Rollback(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCodes(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "a.db"))
	in(t, db, `CREATE TABLE p (id INTEGER PRIMARY KEY, u TEXT UNIQUE NOT NULL, CHECK (u <> 'no')) STRICT`,
		`CREATE TABLE c (p INTEGER NOT NULL REFERENCES p (id)) STRICT`,
		`CREATE TRIGGER never BEFORE DELETE ON p BEGIN SELECT RAISE(ABORT, 'append only'); END`,
		`INSERT INTO p VALUES (1, 'a')`)
	hundred := make([]store.Value, 101)
	for sql, c := range map[string]struct {
		args []store.Value
		want store.Code
	}{
		`INSERT INTO p VALUES (1, 'b')`:   {nil, store.Constraint},
		`INSERT INTO p VALUES (2, 'a')`:   {nil, store.Constraint},
		`INSERT INTO p VALUES (2, NULL)`:  {nil, store.Constraint},
		`INSERT INTO p VALUES (2, 'no')`:  {nil, store.Constraint},
		`INSERT INTO p VALUES ('x', 'b')`: {nil, store.Misuse},
		`INSERT INTO c VALUES (2)`:        {nil, store.Constraint},
		`DELETE FROM p`:                   {nil, store.Constraint},
		`SELEKT 1`:                        {nil, store.Misuse},
		`SELECT * FROM nothing`:           {nil, store.Misuse},
		`SELECT ?`:                        {nil, store.Misuse},
		`SELECT 1 -- no parameters`:       {[]store.Value{nil}, store.Misuse},
		`SELECT 1; SELECT 2`:              {nil, store.Misuse},
		``:                                {nil, store.Misuse},
		`-- nothing`:                      {nil, store.Misuse},
		`SELECT 9007199254740993`:         {nil, store.Misuse},
		`SELECT ?1`:                       {[]store.Value{int64(store.MaxInt + 1)}, store.Misuse},
		`SELECT ?2`:                       {hundred, store.TooBig},
		`SELECT ?101`:                     {nil, store.Misuse},
		`SELECT randomblob(2097153)`:      {nil, store.TooBig},
		`SELECT ` + strings.Repeat(" ", store.MaxSQL) + `1`: {nil, store.TooBig},
		`COMMIT`:                         {nil, store.Misuse},
		`ROLLBACK`:                       {nil, store.Misuse},
		`SAVEPOINT x`:                    {nil, store.Misuse},
		`ATTACH 'other.db' AS o`:         {nil, store.Misuse},
		`PRAGMA synchronous = OFF`:       {nil, store.Misuse},
		`VACUUM INTO '/tmp/stolen.db'`:   {nil, store.Misuse},
		`SELECT load_extension('x')`:     {nil, store.Misuse},
		`SELECT readfile('/etc/passwd')`: {nil, store.Misuse},
		`WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT hex(zeroblob(100000)) FROM r`: {nil, store.TooBig},
	} {
		if err := db.Begin(); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Do(sql, c.args); codeOf(err) != c.want {
			t.Errorf("%.60s: %v, want %s", sql, err, c.want)
		}
		if err := db.Rollback(); err != nil {
			t.Fatal(err)
		}
	}
	if rows := in(t, db, `SELECT count(*) FROM p`); rows[0].Int(0) != 1 {
		t.Errorf("%d rows, want 1", rows[0].Int(0))
	}
}

func TestSettings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	db := open(t, path)
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "locking_mode": "exclusive"} {
		stmt, _, err := db.conn.Prepare("PRAGMA " + pragma)
		if err != nil {
			t.Fatal(err)
		}
		if !stmt.Step() || stmt.ColumnText(0) != want {
			t.Errorf("%s is %s, want %s", pragma, stmt.ColumnText(0), want)
		}
		stmt.Close()
	}
	in(t, db, `CREATE TABLE x (y INTEGER) STRICT`)
	if _, err := Open(path); codeOf(err) != store.Busy {
		t.Errorf("a second opening: %v, want busy", err)
	}
	ends := func() bool { return db.Close() == nil }
	if _, err := OpenWith(path, Options{again: ends}); err != nil {
		t.Errorf("an opening while the other one ends: %v", err)
	}
}

func TestAStatementOutlivesASchemaChange(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "a.db"))
	in(t, db, `CREATE TABLE x (y INTEGER) STRICT`, `INSERT INTO x VALUES (1)`, `SELECT * FROM x`)
	in(t, db, `ALTER TABLE x ADD COLUMN z TEXT DEFAULT 'new'`)
	if rows := in(t, db, `SELECT * FROM x`); len(rows[0]) != 2 || rows[0].Str(1) != "new" {
		t.Errorf("row: %v", rows[0])
	}
}

func TestManyStatements(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "a.db"))
	for i := range maxStatements + 10 {
		if rows := in(t, db, fmt.Sprintf(`SELECT %d`, i)); rows[0].Int(0) != int64(i) {
			t.Fatalf("%d: %v", i, rows)
		}
	}
	if n := len(db.statements); n > maxStatements {
		t.Errorf("%d statements are kept", n)
	}
}

func TestDamageIsFoundAndLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	db := open(t, path)
	in(t, db, `CREATE TABLE x (y TEXT) STRICT`, `CREATE INDEX i ON x (y)`,
		`WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5000) INSERT INTO x SELECT 'row ' || n FROM r`)
	if err := db.Check(); err != nil {
		t.Fatalf("a sound file: %v", err)
	}
	db.Close()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 4 * 4096; i < 12*4096; i++ {
		b[i] = 0xa5
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	db = open(t, path)
	if err := db.Check(); codeOf(err) != store.Corrupt {
		t.Errorf("check: %v, want corrupt", err)
	}
	if err := db.Begin(); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Do(`SELECT count(*), max(y) FROM x NOT INDEXED`, nil); codeOf(err) != store.Corrupt {
		t.Errorf("reading: %v, want corrupt", err)
	}
	if codeOf(db.Damage()) != store.Corrupt {
		t.Errorf("damage: %v", db.Damage())
	}
	if err := db.Rollback(); err != nil {
		t.Fatal(err)
	}
	db.Close()
	if now, _ := os.ReadFile(path); string(now) != string(b) {
		t.Error("the file was changed")
	}
}

func TestFull(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "a.db"))
	in(t, db, `CREATE TABLE x (y BLOB) STRICT`)
	if err := db.Limit(10); err != nil {
		t.Fatal(err)
	}
	if err := db.Begin(); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Do(`INSERT INTO x VALUES (randomblob(100000))`, nil); codeOf(err) != store.Full {
		t.Errorf("%v, want full", err)
	}
	if err := db.Rollback(); err != nil {
		t.Fatal(err)
	}
	if rows := in(t, db, `INSERT INTO x VALUES (x'01') RETURNING length(y)`); rows[0].Int(0) != 1 {
		t.Errorf("after it: %v", rows)
	}
}

// SQLite may have ended the transaction by itself: the host's own statements are its own again all the same.
func TestRollbackOfATransactionThatIsOver(t *testing.T) {
	db := openWith(t, filepath.Join(t.TempDir(), "a.db"), Options{})
	in(t, db, `CREATE TABLE a (v TEXT) STRICT`)
	if err := db.Limit(20); err != nil {
		t.Fatal(err)
	}
	if err := db.Begin(); err != nil {
		t.Fatal(err)
	}
	_, err := db.Do(`INSERT INTO a WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 9000) SELECT 'text that fills a page' FROM n`, nil)
	if codeOf(err) != store.Full {
		t.Fatalf("%v, want full", err)
	}
	if err := db.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := db.Limit(1000); err != nil {
		t.Errorf("the host's statement afterwards: %v", err)
	}
}
