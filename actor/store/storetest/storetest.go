// Package storetest is a database in memory for tests of the actor.
package storetest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"holdfast/actor/store"
)

// DB is a database in memory that implements store.Conn.
type DB struct{ conn *sqlite3.Conn }

// Open gives an empty database that is closed with the test.
func Open(t testing.TB) *DB {
	t.Helper()
	conn, err := sqlite3.Open(":memory:")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.Exec("PRAGMA foreign_keys = ON"); err != nil {
		t.Fatal(err)
	}
	return &DB{conn}
}

// Transaction runs f and commits, or rolls back when f says so.
func (db *DB) Transaction(f func() (commit bool)) error {
	if err := db.conn.Exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if f() {
		return db.conn.Exec("COMMIT")
	}
	return db.conn.Exec("ROLLBACK")
}

// Do implements store.Conn.
func (db *DB) Do(sql string, args []store.Value) ([]store.Row, error) {
	if err := store.CheckLimits(sql, args); err != nil {
		return nil, err
	}
	stmt, _, err := db.conn.Prepare(sql)
	if err != nil {
		return nil, classify(err)
	}
	defer stmt.Close()
	for i, a := range args {
		if err := bind(stmt, i+1, a); err != nil {
			return nil, classify(err)
		}
	}
	var rows []store.Row
	for stmt.Step() {
		row := make(store.Row, stmt.ColumnCount())
		for i := range row {
			switch stmt.ColumnType(i) {
			case sqlite3.INTEGER:
				row[i] = stmt.ColumnInt64(i)
			case sqlite3.FLOAT:
				row[i] = stmt.ColumnFloat(i)
			case sqlite3.TEXT:
				row[i] = stmt.ColumnText(i)
			case sqlite3.BLOB:
				row[i] = stmt.ColumnBlob(i, nil)
			}
		}
		rows = append(rows, row)
	}
	return rows, classify(stmt.Err())
}

func bind(stmt *sqlite3.Stmt, i int, a store.Value) error {
	switch v := a.(type) {
	case nil:
		return stmt.BindNull(i)
	case int64:
		return stmt.BindInt64(i, v)
	case float64:
		return stmt.BindFloat(i, v)
	case string:
		return stmt.BindText(i, v)
	case []byte:
		return stmt.BindBlob(i, v)
	}
	return fmt.Errorf("parameter %d has Go type %T", i, a)
}

func classify(err error) error {
	if err == nil {
		return nil
	}
	code := store.Misuse
	if errors.Is(err, sqlite3.CONSTRAINT) {
		code = store.Constraint
	}
	return &store.Error{Code: code, Message: err.Error()}
}
