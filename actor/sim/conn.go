package sim

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ncruces/go-sqlite3"

	"holdfast/actor/store"
)

// database is a workspace's, in memory. It stays inside one transaction for a whole run: an event's transaction is a
// savepoint in it, and rolling it back makes the database new again for the next run, with its prepared statements.
type database struct {
	conn       *sqlite3.Conn
	statements map[string]*sqlite3.Stmt
}

// pool keeps databases of one schema between runs; a database is never with two of them. None is ever closed, so it must
// not forget any, as a sync.Pool does.
type pool struct {
	migrations [][]string

	mu   sync.Mutex
	free []*database
}

func newPool(migrations [][]string) *pool { return &pool{migrations: migrations} }

func openDatabase(migrations [][]string) (*database, error) {
	conn, err := sqlite3.Open(":memory:")
	if err != nil {
		return nil, err
	}
	d := &database{conn: conn, statements: map[string]*sqlite3.Stmt{}}
	if err := conn.Exec(`PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF`); err != nil {
		return nil, err
	}
	if _, err := conn.Config(sqlite3.DBCONFIG_ENABLE_QPSG, true); err != nil { // or a bound value may cost a new plan each time
		return nil, err
	}
	return d, store.Migrate(store.Tx{Conn: d}, migrations)
}

// take gives an empty database with the newest schema.
func (p *pool) take() *database {
	d := p.unused()
	if d == nil {
		var err error
		if d, err = openDatabase(p.migrations); err != nil {
			panic(err)
		}
	}
	d.must(`BEGIN`)
	return d
}

func (p *pool) unused() *database {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) == 0 {
		return nil
	}
	d := p.free[len(p.free)-1]
	p.free = p.free[:len(p.free)-1]
	return d
}

func (p *pool) giveBack(d *database) {
	d.must(`ROLLBACK`)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, d)
}

func (d *database) begin()    { d.must(`SAVEPOINT event`) }
func (d *database) commit()   { d.must(`RELEASE event`) }
func (d *database) rollback() { d.must(`ROLLBACK TO event`); d.must(`RELEASE event`) }

func (d *database) must(sql string) {
	if _, err := d.Do(sql, nil); err != nil {
		panic(fmt.Sprintf("%s: %v", sql, err))
	}
}

// Do runs one statement, as worker/host/sqlite does for real.
func (d *database) Do(sql string, args []store.Value) ([]store.Row, error) {
	stmt, ok := d.statements[sql]
	if !ok {
		var err error
		if stmt, _, err = d.conn.PrepareFlags(sql, sqlite3.PREPARE_PERSISTENT); err != nil {
			return nil, &store.Error{Code: store.Misuse, Message: err.Error()}
		}
		d.statements[strings.Clone(sql)] = stmt
	}
	defer stmt.Reset()
	for i, a := range args {
		if err := bind(stmt, i+1, a); err != nil {
			return nil, &store.Error{Code: store.Misuse, Message: err.Error()}
		}
	}
	var rows []store.Row
	for stmt.Step() {
		row := make(store.Row, stmt.ColumnCount())
		for i := range row {
			row[i] = column(stmt, i)
		}
		rows = append(rows, row)
	}
	if err := stmt.Err(); err != nil {
		return nil, &store.Error{Code: store.Constraint, Message: err.Error()}
	}
	return rows, nil
}

func bind(stmt *sqlite3.Stmt, i int, v any) error {
	switch v := v.(type) {
	case int:
		return stmt.BindInt64(i, int64(v))
	case int64:
		return stmt.BindInt64(i, v)
	case bool:
		return stmt.BindBool(i, v)
	case float64:
		return stmt.BindFloat(i, v)
	case string:
		return stmt.BindText(i, v)
	case []byte:
		return stmt.BindBlob(i, append([]byte{}, v...))
	}
	return stmt.BindNull(i)
}

func column(stmt *sqlite3.Stmt, i int) any {
	switch stmt.ColumnType(i) {
	case sqlite3.INTEGER:
		return stmt.ColumnInt64(i)
	case sqlite3.FLOAT:
		return stmt.ColumnFloat(i)
	case sqlite3.TEXT:
		return stmt.ColumnText(i)
	case sqlite3.BLOB:
		return stmt.ColumnBlob(i, []byte{})
	}
	return nil
}

// faultyConn is what the core sees of a database: statements that fail, and ones on which it traps.
type faultyConn struct {
	db     *database
	failIn int // the n-th statement from now fails with code, 0: none
	code   store.Code
	trapIn int             // at the n-th statement from now the core traps, 0: never
	full   bool            // the disk is: whatever writes fails
	poison map[string]bool // "task 7", "delivery 9": the core traps when it reads that row by its id
	words  []string        // texts of queued inputs: the core traps when it places one
	refuse int             // writes that the full disk refused
}

// planted is the panic of a trap that the simulator wants.
type planted string

// poisonWord in an input makes the core trap whenever it binds it: a defect that one input triggers (F35).
const poisonWord = "POISON"

func (c *faultyConn) Do(sql string, args []store.Value) ([]store.Row, error) {
	if c.failIn > 0 {
		if c.failIn--; c.failIn == 0 {
			return nil, &store.Error{Code: c.code, Message: "planted by the simulator"}
		}
	}
	if c.trapIn > 0 {
		if c.trapIn--; c.trapIn == 0 {
			panic(planted("a trap"))
		}
	}
	if c.full && !strings.HasPrefix(sql, "SELECT") {
		c.refuse++
		return nil, &store.Error{Code: store.Full, Message: "planted by the simulator"}
	}
	if c.poisoned(sql, args) {
		panic(planted("a poisoned row or input"))
	}
	return c.db.Do(sql, args)
}

func (c *faultyConn) poisoned(sql string, args []store.Value) bool {
	if len(c.poison) > 0 && len(args) == 1 && strings.HasPrefix(sql, "SELECT") {
		for _, table := range []string{"task", "delivery"} {
			if strings.HasSuffix(sql, "FROM "+table+" WHERE id = ?") && c.poison[fmt.Sprint(table, " ", args[0])] {
				return true
			}
		}
	}
	for _, a := range args {
		if text, ok := a.(string); ok && strings.HasPrefix(text, poisonWord) {
			return true
		}
	}
	if len(c.words) == 0 || !strings.HasPrefix(sql, "INSERT INTO entry") {
		return false
	}
	return slices.ContainsFunc(args, func(a store.Value) bool {
		text, ok := a.(string)
		return ok && slices.ContainsFunc(c.words, func(word string) bool { return strings.Contains(text, word) })
	})
}
