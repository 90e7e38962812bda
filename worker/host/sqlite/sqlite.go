// Package sqlite is one actor's database file: the self-hosted side of the SQL seam (actor/store).
package sqlite

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/ncruces/go-sqlite3"
	_ "github.com/ncruces/go-sqlite3/vfs/xts" // registers the encrypting VFS

	"holdfast/actor/store"
	"holdfast/clock"
)

// Limits of this host beside those of actor/store.
const (
	maxStatements = 512      // prepared statements kept for one database
	maxReply      = 16 << 20 // bytes of all rows of one statement
)

// setup runs at each open. Exclusive locking keeps the WAL's index in memory: no -shm file and one map less (spec
// 2.1). Records are small, and a commit writes each page that it touched: half of SQLite's page is half of what is written,
// and of a new file. The last three lines are SQLite's advice for files that somebody may have tampered with,
// https://sqlite.org/security.html
const setup = `
PRAGMA page_size = 2048;
PRAGMA wal_autocheckpoint = 2000;
PRAGMA locking_mode = EXCLUSIVE;
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA foreign_keys = ON;` + caution

const caution = `
PRAGMA temp_store = MEMORY;
PRAGMA trusted_schema = OFF;
PRAGMA cell_size_check = ON;
PRAGMA mmap_size = 0;`

// setupUntouched is for a file of which not one byte may change: nothing is written, and nothing is moved from the
// WAL into it.
const setupUntouched = `
PRAGMA locking_mode = EXCLUSIVE;
PRAGMA wal_autocheckpoint = 0;
PRAGMA query_only = ON;` + caution

// KeySize is the length of a key in bytes: two keys of AES-256.
const KeySize = 64

// Options say how a file is opened.
type Options struct {
	// Key encrypts the file: nil for none, else KeySize bytes. The cipher is AES-XTS by sectors of 512 bytes. It is
	// the narrow one of the two at hand on purpose: where the end of a WAL is written again together with what comes
	// behind it, a write that is torn by a power cut leaves what was there before as it was.
	Key []byte

	// Untouched opens a damaged file for reading, and leaves it and its WAL as they are.
	Untouched bool

	// Copy opens a file that nobody else has open and that has no WAL, for reading.
	Copy bool

	again func() bool // whether to try again while another process holds the file; nil: for about a second
}

// DB is an open database file. It is for one goroutine.
type DB struct {
	conn       *sqlite3.Conn
	path       string
	statements map[string]*sqlite3.Stmt
	begin      *sqlite3.Stmt
	commit     *sqlite3.Stmt
	rollback   *sqlite3.Stmt
	save       *sqlite3.Stmt
	keep       *sqlite3.Stmt
	undo       *sqlite3.Stmt
	guest      bool // the core's statements run: the authorizer watches
	damage     error
	untouched  bool
	commits    int   // since it was opened
	reserved   int64 // length of the WAL when Reserve last looked
}

// Open opens or creates a file. A damaged one is an error with code store.Corrupt and is left as it is; one that
// another process holds, an error with code store.Busy.
func Open(path string) (*DB, error) { return OpenWith(path, Options{}) }

// OpenWith is Open with options. A wrong key cannot be told from damage: its error has code store.Corrupt too.
func OpenWith(path string, o Options) (*DB, error) {
	if o.Key != nil && len(o.Key) != KeySize {
		return nil, &store.Error{Code: store.Misuse, Message: fmt.Sprintf("a key of %d bytes, expected %d", len(o.Key), KeySize)}
	}
	again := o.again
	if again == nil {
		again = clock.Patience()
	}
	for {
		d, err := openNow(path, o)
		var e *store.Error
		if !errors.As(err, &e) || e.Code != store.Busy || !again() {
			return d, err
		}
	}
}

func openNow(path string, o Options) (*DB, error) {
	if err := emptied(path); err != nil {
		return nil, err
	}
	conn, err := sqlite3.Open(o.uri(path))
	if err != nil {
		return nil, classify(err)
	}
	d := &DB{conn: conn, path: path, untouched: o.Untouched, statements: map[string]*sqlite3.Stmt{}}
	if err := d.prepare(o); err != nil {
		return nil, errors.Join(classify(err), d.Close())
	}
	return d, nil
}

// emptied finds a file that has lost all its content beside a WAL that has some: SQLite would take it for a new one,
// and delete the WAL. A new file has its first page before it has a WAL.
func emptied(path string) error {
	file, err := os.Stat(path)
	if err != nil || file.Size() > 0 {
		return nil // whatever is wrong, opening it says
	}
	if wal, err := os.Stat(path + "-wal"); err == nil && wal.Size() > 0 {
		return &store.Error{Code: store.Corrupt, Message: "the file is empty, and its WAL is not"}
	}
	return nil
}

func (o Options) uri(path string) string {
	uri, sep := "file:"+escape(path), "?"
	if o.Key != nil {
		uri, sep = uri+"?vfs=xts", "&"
	}
	if o.Copy {
		uri += sep + "mode=ro&immutable=1"
	}
	return uri
}

// escape keeps a path from being read as the query of a file: URI.
func escape(path string) string {
	return strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
}

func (d *DB) prepare(o Options) error {
	if o.Key != nil { // not in the URI, which SQLite keeps
		if err := d.conn.Exec(`PRAGMA hexkey = '` + hex.EncodeToString(o.Key) + `'`); err != nil {
			return err
		}
	}
	if err := d.setUp(o); err != nil {
		return err
	}
	// The header and the schema are read here, so that damage shows now and not in the middle of an event.
	if err := d.conn.Exec(`SELECT count(*) FROM sqlite_schema`); err != nil {
		return err
	}
	if err := d.keepWAL(o.Untouched); err != nil {
		return err
	}
	if wal, err := os.Stat(d.path + "-wal"); err == nil {
		d.reserved = wal.Size() // a WAL that was left by a crash ends in what was reserved then
	}
	// Plans do not depend on bound values, or a new value would now and then cost a new plan.
	if _, err := d.conn.Config(sqlite3.DBCONFIG_ENABLE_QPSG, true); err != nil {
		return err
	}
	d.conn.Limit(sqlite3.LIMIT_LENGTH, store.MaxValue)
	d.conn.Limit(sqlite3.LIMIT_SQL_LENGTH, store.MaxSQL)
	d.conn.Limit(sqlite3.LIMIT_VARIABLE_NUMBER, store.MaxParams)
	d.conn.Limit(sqlite3.LIMIT_ATTACHED, 0)
	for sql, stmt := range map[string]**sqlite3.Stmt{`BEGIN IMMEDIATE`: &d.begin, `COMMIT`: &d.commit, `ROLLBACK`: &d.rollback,
		`SAVEPOINT event`: &d.save, `RELEASE event`: &d.keep, `ROLLBACK TO event`: &d.undo} {
		var err error
		if *stmt, _, err = d.conn.Prepare(sql); err != nil {
			return err
		}
	}
	return d.conn.SetAuthorizer(d.authorize)
}

func (d *DB) setUp(o Options) error {
	if o.Copy {
		return d.conn.Exec(caution)
	}
	// Until the file is known to be sound, closing it must not move its WAL into it.
	if err := d.keepWAL(true); err != nil {
		return err
	}
	if o.Untouched {
		return d.conn.Exec(setupUntouched)
	}
	return d.conn.Exec(setup)
}

// keepWAL says whether closing leaves the WAL as it is.
func (d *DB) keepWAL(keep bool) error {
	_, err := d.conn.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, keep)
	return err
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
	return d.classify(d.begin.Exec())
}

// BeginRead opens a transaction in which every write fails. EndRead ends it.
func (d *DB) BeginRead() error {
	d.guest = false
	return d.classify(d.conn.Exec(`PRAGMA query_only = ON; BEGIN`))
}

// EndRead ends what BeginRead began. A file that was opened Untouched stays closed to writes.
func (d *DB) EndRead() error {
	err := d.Rollback()
	if !d.untouched {
		err = errors.Join(err, classify(d.conn.Exec(`PRAGMA query_only = OFF`)))
	}
	return err
}

// Commit ends the transaction. After an error it is unknown whether it happened, unless the error's code is
// store.Busy or store.Constraint: the caller must close the database and look again (spec 3.1, rule 5). With store.Full
// it did not happen; but of an encrypted file a crash may bring it back, until the next commit.
func (d *DB) Commit() error {
	d.guest = false
	d.commits++
	return d.classify(d.commit.Exec())
}

// Rollback ends the transaction, if there still is one: after some errors SQLite has ended it by itself.
func (d *DB) Rollback() error {
	d.guest = false
	if d.conn.GetAutocommit() {
		return nil
	}
	return d.classify(d.rollback.Exec())
}

// Save begins a part of the transaction that Keep or Undo ends. Parts do not nest.
func (d *DB) Save() error {
	d.guest = false
	return d.classify(d.save.Exec())
}

// Keep ends a part: it is committed with the transaction.
func (d *DB) Keep() error {
	d.guest = false
	return d.classify(d.keep.Exec())
}

// Undo ends a part as if it had never begun. After an error the transaction must be rolled back.
func (d *DB) Undo() error {
	d.guest = false
	return errors.Join(d.classify(d.undo.Exec()), d.classify(d.keep.Exec()))
}

// Damage is the first error of a statement that was about the file and not about the statement: store.Corrupt or
// store.IO. After one, the database should be opened again.
func (d *DB) Damage() error { return d.damage }

// Check runs SQLite's quick_check.
func (d *DB) Check() error { return d.verdict(`PRAGMA quick_check(1)`) }

// CheckAll runs SQLite's integrity_check, which also compares tables and indexes.
func (d *DB) CheckAll() error { return d.verdict(`PRAGMA integrity_check(1)`) }

func (d *DB) verdict(pragma string) error {
	d.guest = false
	stmt, _, err := d.conn.Prepare(pragma)
	if err != nil {
		return d.classify(err)
	}
	defer stmt.Close()
	if stmt.Step() && stmt.ColumnText(0) != "ok" {
		return d.note(&store.Error{Code: store.Corrupt, Message: stmt.ColumnText(0)})
	}
	return d.classify(stmt.Err())
}

// classify gives an error its code and remembers one that is about the file.
func (d *DB) classify(err error) error { return d.note(classify(err)) }

// note remembers the first damage. A damaged file is left as it is from then on: closing moves nothing into it.
func (d *DB) note(err error) error {
	var e *store.Error
	if errors.As(err, &e) && d.damage == nil && (e.Code == store.Corrupt || e.Code == store.IO) {
		d.damage = err
		if e.Code == store.Corrupt {
			_ = d.keepWAL(true) // at worst the WAL's sound pages are moved, as at any close
		}
	}
	return err
}

// Limit bounds the file's size in pages: how tests fill a disk.
func (d *DB) Limit(pages int) error {
	return classify(d.conn.Exec(fmt.Sprintf(`PRAGMA max_page_count = %d`, pages)))
}

// Close rolls back an open transaction and closes the file.
func (d *DB) Close() error {
	d.forget()
	for _, s := range []*sqlite3.Stmt{d.begin, d.commit, d.rollback, d.save, d.keep, d.undo} {
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
	if noRoom(err) {
		code = store.Full
	}
	for _, m := range codes {
		if errors.Is(err, m.sqlite) {
			code = m.store
			break
		}
	}
	return &store.Error{Code: code, Message: err.Error()}
}

// noRoom finds the full disk, the spent quota or the process's limit of a file's size behind a write that failed:
// go-sqlite3 0.37 calls it an error of the disk. One of fsync stays that: what was written before it may be there.
func noRoom(err error) bool {
	return errors.Is(err, sqlite3.IOERR_WRITE) && NoRoom(err)
}

// NoRoom says whether a write failed for want of room, and would succeed if there was some.
func NoRoom(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
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
