// Package journal remembers which attempts this runner began and how they ended, until the workspace has that
// (spec 3.6). It is one small SQLite file; every write is on the disk when its method returns.
package journal

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/ncruces/go-sqlite3"

	"holdfast/actor/errs"
	"holdfast/clock"
	"holdfast/runner/protocol"
)

// The ways in which a journal cannot be opened. In none of them is the file changed.
var (
	ErrLocked  = errs.New(errs.Conflict, "another runner uses this journal").WithHint("Stop the other runner, or give this one its own data folder.")
	ErrCorrupt = errs.New(errs.Internal, "the journal is damaged").WithHint("It was left as it is. Move it away to begin a new one: the workspace then treats unfinished calls as interrupted.")
	ErrForeign = errs.New(errs.Invalid, "the file is not a journal that this version can read")
)

// appID marks the file (PRAGMA application_id): "hfrj". version is the schema's.
const (
	appID   = 0x6866726a
	version = 1
)

const schema = `
CREATE TABLE meta(id TEXT NOT NULL);
CREATE TABLE attempt(
	task INTEGER NOT NULL, epoch INTEGER NOT NULL,
	result TEXT,    -- JSON of protocol.Result; NULL while nobody knows how it ended
	payload BLOB,
	PRIMARY KEY(task, epoch));`

// Journal is an open journal file. It is not safe for concurrent use.
type Journal struct {
	conn *sqlite3.Conn
	id   string
}

// Open opens the journal at path, or makes one with a new id of 16 bytes from entropy. The file stays locked until
// Close. Errors: ErrLocked, ErrCorrupt, ErrForeign, or the file system's.
func Open(path string, entropy io.Reader) (*Journal, error) {
	return openWhile(clock.Patience(), path, entropy)
}

// openWhile tries again, for as long as again says so, while another runner has the file: that one may be ending.
func openWhile(again func() bool, path string, entropy io.Reader) (*Journal, error) {
	for {
		j, err := openNow(path, entropy)
		if !errors.Is(err, ErrLocked) || !again() {
			return j, err
		}
	}
}

func openNow(path string, entropy io.Reader) (*Journal, error) {
	fresh, err := isFresh(path)
	if err != nil {
		return nil, err
	}
	conn, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READWRITE|sqlite3.OPEN_CREATE)
	if err != nil {
		return nil, classify(path, err)
	}
	j := &Journal{conn: conn}
	if err := j.prepare(fresh, entropy); err != nil {
		conn.Close()
		return nil, classify(path, err)
	}
	return j, nil
}

// isFresh says whether there is nothing to lose at path: no file, or the empty one of a crash right after its birth.
func isFresh(path string) (bool, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return true, nil
	case err != nil:
		return false, err
	case !info.Mode().IsRegular():
		return false, ErrForeign
	}
	return info.Size() == 0, nil
}

// prepare checks before it writes: until the file is known to be sound and ours, not even a checkpoint may touch it.
func (j *Journal) prepare(fresh bool, entropy io.Reader) error {
	if _, err := j.conn.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, true); err != nil {
		return err
	}
	if err := j.conn.Exec(`PRAGMA locking_mode=EXCLUSIVE; PRAGMA trusted_schema=OFF`); err != nil {
		return err
	}
	if !fresh {
		if err := j.check(); err != nil {
			return err
		}
	}
	if err := j.conn.Exec(`PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL`); err != nil {
		return err
	}
	// The write lock, once taken, is kept for as long as the connection lives.
	if err := j.conn.Exec(`BEGIN IMMEDIATE`); err != nil {
		return err
	}
	if fresh {
		if err := j.create(entropy); err != nil {
			return err
		}
	}
	if err := j.conn.Exec(`COMMIT`); err != nil {
		return err
	}
	id, err := j.text(`SELECT id FROM meta`)
	if err != nil {
		return err
	}
	if len(id) != 32 {
		return ErrCorrupt
	}
	j.id = id
	_, err = j.conn.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, false)
	return err
}

func (j *Journal) check() error {
	mark, err := j.text(`PRAGMA application_id`)
	if err != nil {
		return err
	}
	v, err := j.text(`PRAGMA user_version`)
	if err != nil {
		return err
	}
	if mark != fmt.Sprint(appID) || v != fmt.Sprint(version) {
		return ErrForeign
	}
	verdict, err := j.text(`PRAGMA quick_check(1)`)
	if err != nil {
		return err
	}
	if verdict != "ok" {
		return fmt.Errorf("%w: %s", ErrCorrupt, verdict)
	}
	return nil
}

func (j *Journal) create(entropy io.Reader) error {
	raw := make([]byte, 16)
	if _, err := io.ReadFull(entropy, raw); err != nil {
		return fmt.Errorf("journal id: %w", err)
	}
	if err := j.conn.Exec(schema + fmt.Sprintf(`PRAGMA application_id=%d; PRAGMA user_version=%d`, appID, version)); err != nil {
		return err
	}
	return j.exec(`INSERT INTO meta(id) VALUES(?)`, hex.EncodeToString(raw))
}

func classify(path string, err error) error {
	switch {
	case errors.Is(err, ErrForeign), errors.Is(err, ErrCorrupt):
	case errors.Is(err, sqlite3.BUSY), errors.Is(err, sqlite3.LOCKED):
		err = ErrLocked
	case errors.Is(err, sqlite3.CORRUPT):
		err = fmt.Errorf("%w: %v", ErrCorrupt, err)
	case errors.Is(err, sqlite3.NOTADB):
		err = fmt.Errorf("%w: %v", ErrCorrupt, err)
	}
	return fmt.Errorf("journal %s: %w", path, err)
}

// ID is the journal's random name, 32 hex digits, minted with the file.
func (j *Journal) ID() string { return j.id }

// Started records that an attempt is about to be executed.
func (j *Journal) Started(k protocol.Key) error {
	return j.exec(`INSERT INTO attempt(task, epoch) VALUES(?, ?) ON CONFLICT DO NOTHING`, k.Task, k.Epoch)
}

// Finished records how an attempt ended.
func (j *Journal) Finished(k protocol.Key, r protocol.Result) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return j.exec(`INSERT INTO attempt(task, epoch, result, payload) VALUES(?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET result=excluded.result, payload=excluded.payload`, k.Task, k.Epoch, string(data), r.Payload)
}

// Forget drops an attempt. An unknown one is no error.
func (j *Journal) Forget(k protocol.Key) error {
	return j.exec(`DELETE FROM attempt WHERE task=? AND epoch=?`, k.Task, k.Epoch)
}

// Entries lists all attempts, oldest task first.
func (j *Journal) Entries() ([]protocol.Entry, error) {
	stmt, _, err := j.conn.Prepare(`SELECT task, epoch, result, payload FROM attempt ORDER BY task, epoch`)
	if err != nil {
		return nil, err
	}
	defer stmt.Close()
	var out []protocol.Entry
	for stmt.Step() {
		e := protocol.Entry{Key: protocol.Key{Task: stmt.ColumnInt64(0), Epoch: stmt.ColumnInt64(1)}}
		if stmt.ColumnType(2) != sqlite3.NULL {
			e.Result = &protocol.Result{}
			if err := json.Unmarshal([]byte(stmt.ColumnText(2)), e.Result); err != nil {
				return nil, fmt.Errorf("%w: result of task %d: %v", ErrCorrupt, e.Task, err)
			}
			e.Result.Payload = stmt.ColumnBlob(3, nil)
		}
		out = append(out, e)
	}
	return out, stmt.Err()
}

// Close releases the file.
func (j *Journal) Close() error { return j.conn.Close() }

func (j *Journal) exec(sql string, args ...any) error {
	stmt, err := j.bind(sql, args)
	if err != nil {
		return err
	}
	defer stmt.Close()
	return stmt.Exec()
}

func (j *Journal) text(sql string) (string, error) {
	stmt, err := j.bind(sql, nil)
	if err != nil {
		return "", err
	}
	defer stmt.Close()
	if !stmt.Step() {
		return "", stmt.Err()
	}
	return stmt.ColumnText(0), nil
}

func (j *Journal) bind(sql string, args []any) (*sqlite3.Stmt, error) {
	stmt, _, err := j.conn.Prepare(sql)
	if err != nil {
		return nil, err
	}
	for i, a := range args {
		switch v := a.(type) {
		case int64:
			err = stmt.BindInt64(i+1, v)
		case string:
			err = stmt.BindText(i+1, v)
		case []byte:
			if v == nil {
				err = stmt.BindNull(i + 1)
			} else {
				err = stmt.BindBlob(i+1, v)
			}
		default:
			err = fmt.Errorf("argument %d has type %T", i, a)
		}
		if err != nil {
			stmt.Close()
			return nil, err
		}
	}
	return stmt, nil
}
