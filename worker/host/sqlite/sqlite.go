// Package sqlite is one actor's database file: the self-hosted side of the SQL seam (actor/store).
package sqlite

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"holdfast/actor/store"
)

// Limits of this host beside those of actor/store.
const (
	maxStatements = 512      // prepared statements kept for one database
	maxReply      = 16 << 20 // bytes of all rows of one statement
)

// setup runs at each open. Exclusive locking keeps the WAL's index in memory: no -shm file and one map less (spec
// 2.1). The last three lines are SQLite's advice for files that somebody may have tampered with,
// https://sqlite.org/security.html
const setup = `
PRAGMA locking_mode = EXCLUSIVE;
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA foreign_keys = ON;
PRAGMA trusted_schema = OFF;
PRAGMA cell_size_check = ON;
PRAGMA mmap_size = 0;`

// DB is an open database file. It is for one goroutine.
type DB struct {
	conn       *sqlite3.Conn
	statements map[string]*sqlite3.Stmt
	begin      *sqlite3.Stmt
	commit     *sqlite3.Stmt
	rollback   *sqlite3.Stmt
	guest      bool // the core's statements run: the authorizer watches
	damage     error
}

// Open opens or creates a file. A damaged one is an error with code store.Corrupt and is left as it is; one that
// another process holds, an error with code store.Busy.
func Open(path string) (*DB, error) {
	conn, err := sqlite3.Open("file:" + escape(path))
	if err != nil {
		return nil, classify(err)
	}
	d := &DB{conn: conn, statements: map[string]*sqlite3.Stmt{}}
	if err := d.prepare(); err != nil {
		return nil, errors.Join(classify(err), d.Close())
	}
	return d, nil
}

// escape keeps a path from being read as the query of a file: URI.
func escape(path string) string {
	return strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
}

func (d *DB) prepare() error {
	if err := d.conn.Exec(setup); err != nil {
		return err
	}
	// The header and the schema are read here, so that damage shows now and not in the middle of an event.
	if err := d.conn.Exec(`SELECT count(*) FROM sqlite_schema`); err != nil {
		return err
	}
	d.conn.Limit(sqlite3.LIMIT_LENGTH, store.MaxValue)
	d.conn.Limit(sqlite3.LIMIT_SQL_LENGTH, store.MaxSQL)
	d.conn.Limit(sqlite3.LIMIT_VARIABLE_NUMBER, store.MaxParams)
	d.conn.Limit(sqlite3.LIMIT_ATTACHED, 0)
	for sql, stmt := range map[string]**sqlite3.Stmt{`BEGIN IMMEDIATE`: &d.begin, `COMMIT`: &d.commit, `ROLLBACK`: &d.rollback} {
		var err error
		if *stmt, _, err = d.conn.Prepare(sql); err != nil {
			return err
		}
	}
	return d.conn.SetAuthorizer(d.authorize)
}

// authorize keeps the core's statements inside the transaction that its host opened, as workerd does.
func (d *DB) authorize(action sqlite3.AuthorizerActionCode, name, _, _, _ string) sqlite3.AuthorizerReturnCode {
	if !d.guest {
		return sqlite3.AUTH_OK
	}
	switch action {
	case sqlite3.AUTH_TRANSACTION, sqlite3.AUTH_SAVEPOINT, sqlite3.AUTH_ATTACH, sqlite3.AUTH_DETACH:
		return sqlite3.AUTH_DENY
	case sqlite3.AUTH_PRAGMA:
		if name != "quick_check" { // ALTER TABLE runs that one by itself
			return sqlite3.AUTH_DENY
		}
	}
	return sqlite3.AUTH_OK
}

// Begin opens a transaction for writing.
func (d *DB) Begin() error {
	d.guest = false
	return classify(d.begin.Exec())
}

// Commit ends the transaction. After an error it is unknown whether it happened, unless the error's code is
// store.Busy or store.Constraint: the caller must close the database and look again (spec 3.1, rule 5).
func (d *DB) Commit() error {
	d.guest = false
	return classify(d.commit.Exec())
}

// Rollback ends the transaction, if there still is one: after some errors SQLite has ended it by itself.
func (d *DB) Rollback() error {
	if d.conn.GetAutocommit() {
		return nil
	}
	d.guest = false
	return classify(d.rollback.Exec())
}

// Damage is the first error of a statement that was about the file and not about the statement: store.Corrupt or
// store.IO. After one, the database should be opened again.
func (d *DB) Damage() error { return d.damage }

// Check runs SQLite's quick_check.
func (d *DB) Check() error {
	stmt, _, err := d.conn.Prepare(`PRAGMA quick_check(1)`)
	if err != nil {
		return classify(err)
	}
	defer stmt.Close()
	if stmt.Step() && stmt.ColumnText(0) != "ok" {
		return &store.Error{Code: store.Corrupt, Message: stmt.ColumnText(0)}
	}
	return classify(stmt.Err())
}

// Limit bounds the file's size in pages: how tests fill a disk.
func (d *DB) Limit(pages int) error {
	return classify(d.conn.Exec(fmt.Sprintf(`PRAGMA max_page_count = %d`, pages)))
}

// Close rolls back an open transaction and closes the file.
func (d *DB) Close() error {
	d.forget()
	for _, s := range []*sqlite3.Stmt{d.begin, d.commit, d.rollback} {
		s.Close()
	}
	return classify(d.conn.Close())
}

func (d *DB) forget() {
	for _, s := range d.statements {
		s.Close()
	}
	clear(d.statements)
}

// classify gives an error of SQLite the code that both hosts use.
func classify(err error) error {
	if err == nil {
		return nil
	}
	code := store.IO
	for _, m := range codes {
		if errors.Is(err, m.sqlite) {
			code = m.store
			break
		}
	}
	return &store.Error{Code: code, Message: err.Error()}
}

var codes = []struct {
	sqlite sqlite3.ErrorCode
	store  store.Code
}{
	{sqlite3.FULL, store.Full},
	{sqlite3.CORRUPT, store.Corrupt},
	{sqlite3.NOTADB, store.Corrupt},
	{sqlite3.CONSTRAINT, store.Constraint},
	{sqlite3.BUSY, store.Busy},
	{sqlite3.LOCKED, store.Busy},
	{sqlite3.TOOBIG, store.TooBig},
	{sqlite3.ERROR, store.Misuse},
	{sqlite3.MISUSE, store.Misuse},
	{sqlite3.RANGE, store.Misuse},
	{sqlite3.MISMATCH, store.Misuse},
	{sqlite3.AUTH, store.Misuse},
	{sqlite3.SCHEMA, store.Misuse},
}
