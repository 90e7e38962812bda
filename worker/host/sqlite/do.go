package sqlite

import (
	"fmt"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"holdfast/actor/store"
)

// Do runs one statement inside the open transaction. Its errors are *store.Error.
func (d *DB) Do(sql string, args []store.Value) ([]store.Row, error) {
	if err := store.CheckLimits(sql, args); err != nil {
		return nil, err
	}
	stmt, err := d.statement(sql)
	if err != nil {
		return nil, err
	}
	rows, err := run(stmt, args)
	_ = d.note(err)
	// Reset repeats the error of the last step, which run has seen.
	_ = stmt.Reset()
	if len(args) > 0 {
		_ = stmt.ClearBindings() // else a cached statement would hold on to megabytes
	}
	return rows, err
}

func (d *DB) statement(sql string) (*sqlite3.Stmt, error) {
	d.guest = true // a cached statement may be prepared again after a change of the schema
	if stmt, ok := d.statements[sql]; ok {
		return stmt, nil
	}
	stmt, tail, err := d.conn.PrepareFlags(sql, sqlite3.PREPARE_PERSISTENT)
	switch {
	case err != nil:
		return nil, d.classify(err)
	case stmt == nil:
		return nil, &store.Error{Code: store.Misuse, Message: "no statement"}
	case strings.Trim(tail, " \t\r\n;") != "":
		stmt.Close()
		return nil, &store.Error{Code: store.Misuse, Message: "more than one statement"}
	}
	if len(d.statements) >= maxStatements {
		d.forget()
	}
	d.statements[strings.Clone(sql)] = stmt
	return stmt, nil
}

func run(stmt *sqlite3.Stmt, args []store.Value) ([]store.Row, error) {
	if n := stmt.BindCount(); n != len(args) {
		return nil, &store.Error{Code: store.Misuse, Message: fmt.Sprintf("%d arguments for %d parameters", len(args), n)}
	}
	for i, a := range args {
		if err := bind(stmt, i+1, a); err != nil {
			return nil, classify(err)
		}
	}
	var rows []store.Row
	columns, size := -1, 0
	for stmt.Step() {
		if columns < 0 {
			columns = stmt.ColumnCount() // not before: the first step may prepare it again for a changed schema
		}
		row := make(store.Row, columns)
		for i := range row {
			n, err := column(stmt, i, &row[i])
			if err != nil {
				return nil, err
			}
			size += n + 16
		}
		if size > maxReply {
			return nil, &store.Error{Code: store.TooBig, Message: fmt.Sprintf("rows of over %d bytes", maxReply)}
		}
		rows = append(rows, row)
	}
	return rows, classify(stmt.Err())
}

func bind(stmt *sqlite3.Stmt, i int, v store.Value) error {
	switch v := v.(type) {
	case int64:
		return stmt.BindInt64(i, v)
	case float64:
		return stmt.BindFloat(i, v)
	case string:
		return stmt.BindText(i, v)
	case []byte:
		if v == nil {
			v = []byte{} // a blob that is empty, not NULL: the wire knows no difference
		}
		return stmt.BindBlob(i, v)
	}
	return stmt.BindNull(i)
}

// column reads a value and gives its length in bytes.
func column(stmt *sqlite3.Stmt, i int, v *store.Value) (int, error) {
	switch stmt.ColumnType(i) {
	case sqlite3.INTEGER:
		n := stmt.ColumnInt64(i)
		if n > store.MaxInt || n < -store.MaxInt {
			return 0, &store.Error{Code: store.Misuse, Message: fmt.Sprintf("column %d: integer %d is beyond 2^53", i, n)}
		}
		*v = n
	case sqlite3.FLOAT:
		*v = stmt.ColumnFloat(i)
	case sqlite3.TEXT:
		s := stmt.ColumnText(i)
		*v = s
		return len(s), nil
	case sqlite3.BLOB:
		b := stmt.ColumnBlob(i, []byte{})
		*v = b
		return len(b), nil
	}
	return 0, nil
}
