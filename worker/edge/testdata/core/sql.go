//go:build wasip1

package main

import (
	"encoding/json"
	"fmt"
	"reflect"

	"holdfast/actor/errs"
	"holdfast/actor/store"
)

func output(b []byte) ([]byte, int) { return b, 0 }

func fail(e *errs.Error) ([]byte, int) {
	b, _ := json.Marshal(e)
	return b, 1
}

func reply(v any) ([]byte, int) {
	b, _ := json.Marshal(v)
	return fmt.Appendf(nil, `{"v":1,"reply":{"status":200,"body":%s}}`, b), 0
}

// runSQL runs {"sql":"…","args":[…],"repeat":n} and says what came back, kinds included, or the error's code. A
// failure is answered, not rolled back, so that the tests see whether the host refuses to commit after it.
func runSQL(tx store.Tx, args json.RawMessage) any {
	var q struct {
		SQL    string
		Args   []any
		Big    int
		Params int
	}
	_ = json.Unmarshal(args, &q)
	for i, a := range q.Args {
		if f, ok := a.(float64); ok && f == float64(int64(f)) {
			q.Args[i] = int64(f)
		}
	}
	if q.Big > 0 {
		q.Args = append(q.Args, string(make([]byte, q.Big)))
	}
	for range q.Params {
		q.Args = append(q.Args, int64(1))
	}
	rows, err := tx.Conn.Do(q.SQL, q.Args)
	if err != nil {
		return err.Error()
	}
	all := [][]string{}
	for _, r := range rows {
		line := []string{}
		for _, v := range r {
			line = append(line, fmt.Sprintf("%T %v", v, v))
		}
		all = append(all, line)
	}
	return all
}

// values sends each kind of value to the database and back, and names those that came back changed.
func values(tx store.Tx) any {
	changed := []string{}
	for _, v := range []store.Value{
		nil, int64(0), int64(1), int64(-1), int64(1) << 31, int64(store.MaxInt), -int64(store.MaxInt),
		1.5, -2.25, 1e300, "", "text", "ünï 🙂 \x00 end", []byte{}, []byte{0, 1, 255}, string(make([]byte, 1<<20)),
	} {
		rows, err := tx.Conn.Do(`SELECT ?`, []store.Value{v})
		if err != nil || !reflect.DeepEqual(rows, []store.Row{{v}}) {
			changed = append(changed, fmt.Sprintf("%T %.40v became %.40v %v", v, v, rows, err))
		}
	}
	return changed
}
