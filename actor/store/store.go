// Package store is the seam between an actor and the SQLite database that its host owns.
//
// A host implements Conn; the actor works through Tx. Both hosts enforce the same limits and answer with the same
// codes (spec 2.2, 9.2), so what works on a laptop works on Cloudflare.
package store

import (
	"fmt"
)

// Limits of one statement, the strictest of the hosts (Cloudflare Durable Objects, "SQL API limits").
const (
	MaxParams = 100       // bound parameters
	MaxSQL    = 100 << 10 // bytes of SQL text
	MaxValue  = 2 << 20   // bytes of one text or blob value, and of one row
	MaxInt    = 1 << 53   // greatest magnitude of an integer: workerd hands integers over as doubles
)

// Code classifies a failed statement, equally on both hosts.
type Code string

const (
	Full       Code = "full"       // no room on the disk; nothing was written
	Corrupt    Code = "corrupt"    // the database is damaged
	Constraint Code = "constraint" // a UNIQUE, CHECK, NOT NULL or foreign key, or a RAISE of a trigger
	Busy       Code = "busy"       // another process holds the database
	TooBig     Code = "toobig"     // over one of the limits above
	Misuse     Code = "misuse"     // a wrong statement or argument: a defect of ours
	IO         Code = "io"         // anything else that the disk said
)

// Error is what a host answers when a statement failed.
type Error struct {
	Code    Code
	Message string
}

func (e *Error) Error() string { return fmt.Sprintf("sql %s: %s", e.Code, e.Message) }

// Value is nil, int64 (|n| ≤ MaxInt), float64, string or []byte.
type Value = any

// Conn runs one statement inside the transaction that the host has opened, and gives all its rows.
// There is no count of changed rows: statements that must know say RETURNING.
type Conn interface {
	Do(sql string, args []Value) ([]Row, error)
}

// Tx runs statements for an actor. A failed one aborts the event: it panics with *Abort, which the core's entry
// point turns into "roll back". There is thus no path that could go on after a statement failed (spec 3.1, rule 5).
type Tx struct{ Conn Conn }

// Abort carries a statement's failure to the entry point. Nothing else may recover it.
type Abort struct{ Err error }

// Exec runs a statement whose rows do not matter.
func (t Tx) Exec(sql string, args ...Value) { t.Rows(sql, args...) }

// Rows runs a statement and gives its rows. Integers of any Go kind and bools are accepted as arguments.
func (t Tx) Rows(sql string, args ...Value) []Row {
	for i, a := range args {
		args[i] = normal(a)
	}
	rows, err := t.Conn.Do(sql, args)
	if err != nil {
		panic(&Abort{Err: fmt.Errorf("%w in %.120q", err, sql)})
	}
	return rows
}

// Row gives the first row, and whether there was one.
func (t Tx) Row(sql string, args ...Value) (Row, bool) {
	rows := t.Rows(sql, args...)
	if len(rows) == 0 {
		return nil, false
	}
	return rows[0], true
}

// Changed says whether a statement with a RETURNING clause touched a row.
func (t Tx) Changed(sql string, args ...Value) bool { return len(t.Rows(sql, args...)) > 0 }

func normal(a any) Value {
	switch v := a.(type) {
	case int:
		return int64(v)
	case int32:
		return int64(v)
	case uint32:
		return int64(v)
	case bool:
		if v {
			return int64(1)
		}
		return int64(0)
	}
	return a
}

// Row is one result row. Accessors give the zero value for NULL.
type Row []Value

// Int is column i as an integer.
func (r Row) Int(i int) int64 {
	switch v := r[i].(type) {
	case int64:
		return v
	case float64:
		return int64(v)
	}
	return 0
}

// Str is column i as text.
func (r Row) Str(i int) string {
	switch v := r[i].(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return ""
}

// Bytes is column i as bytes.
func (r Row) Bytes(i int) []byte {
	switch v := r[i].(type) {
	case []byte:
		return v
	case string:
		return []byte(v)
	}
	return nil
}

// Null says whether column i is NULL.
func (r Row) Null(i int) bool { return r[i] == nil }
