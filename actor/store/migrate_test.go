package store_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/actor/store"
	"holdfast/worker/host/sqlite"
)

var (
	one = []string{`CREATE TABLE a (x TEXT) STRICT`, `INSERT INTO a VALUES ('kept')`}
	two = []string{`ALTER TABLE a ADD COLUMN y INTEGER NOT NULL DEFAULT 7`, `CREATE INDEX a_by_y ON a(y)`}
)

// migrate runs Migrate in a transaction of its own, which is rolled back when it fails.
func migrate(t *testing.T, db *sqlite.DB, migrations ...[]string) (err error) {
	t.Helper()
	if err := db.Begin(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if p, ok := recover().(*store.Abort); ok {
			err = p.Err
		}
		end := db.Commit
		if err != nil {
			end = db.Rollback
		}
		if e := end(); e != nil {
			t.Fatal(e)
		}
	}()
	return store.Migrate(store.Tx{Conn: db}, migrations)
}

func state(t *testing.T, db *sqlite.DB) string {
	t.Helper()
	rows, err := db.Do(`SELECT (SELECT value FROM meta WHERE key = 'schema') || ' ' || group_concat(sql, ';') FROM sqlite_schema WHERE name LIKE 'a%'`, nil)
	if err != nil {
		t.Fatal(err)
	}
	return rows[0].Str(0)
}

func TestMigrations(t *testing.T) {
	db, err := sqlite.Open(filepath.Join(t.TempDir(), "a.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for range 2 { // the second time there is nothing to do
		if err := migrate(t, db, one); err != nil {
			t.Fatal(err)
		}
	}
	before := state(t, db)
	var broken *store.Error
	if err := migrate(t, db, one, []string{`CREATE TABLE ab (x TEXT) STRICT`, `CREATE TABLE a (x TEXT) STRICT`}); !errors.As(err, &broken) {
		t.Errorf("a migration that fails: %v", err)
	}
	if after := state(t, db); after != before {
		t.Errorf("half a migration stayed: %s", after)
	}
	if err := migrate(t, db, one, two); err != nil {
		t.Fatal(err)
	}
	rows, err := db.Do(`SELECT x, y FROM a`, nil)
	if err != nil || len(rows) != 1 || fmt.Sprint(rows[0]) != "[kept 7]" {
		t.Errorf("after both: %v, %v", rows, err)
	}
	if err := migrate(t, db, one); err == nil || !strings.Contains(err.Error(), "schema 2") || !strings.Contains(err.Error(), "knows 1") {
		t.Errorf("backwards: %v, want both versions", err)
	}
	if after := state(t, db); !strings.HasPrefix(after, "2 ") {
		t.Errorf("going backwards changed it: %s", after)
	}
}

// All migrations of ours run, one after the other as well as at once, and lead to the same schema.
func TestOurMigrationsRunFromEveryVersion(t *testing.T) {
	for name, all := range map[string][][]string{"workspace": store.Workspace, "directory": store.Directory, "application": store.Application} {
		var schemas []string
		for from := range all {
			db, err := sqlite.Open(filepath.Join(t.TempDir(), "a.db"))
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			for _, steps := range [][][]string{all[:from], all} {
				if err := migrate(t, db, steps...); err != nil {
					t.Fatalf("%s from %d: %v", name, from, err)
				}
			}
			rows, err := db.Do(`SELECT group_concat(sql, ';' ORDER BY name) FROM sqlite_schema`, nil)
			if err != nil {
				t.Fatal(err)
			}
			if schemas = append(schemas, rows[0].Str(0)); schemas[0] != schemas[from] {
				t.Errorf("%s: from %d another schema comes out", name, from)
			}
		}
	}
}

// What was spent before there were running totals counts.
func TestSpendBeginsWithWhatWasUsed(t *testing.T) {
	db, err := sqlite.Open(filepath.Join(t.TempDir(), "a.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := migrate(t, db, store.Workspace[:2]...); err != nil {
		t.Fatal(err)
	}
	for i, at := range []int64{1764460799999, 1764460800000, 1764547199999} {
		if _, err := db.Do(`INSERT INTO usage(task, epoch, turn, user, model, state, input, output, micros, created_wall) VALUES (?, 1, 1, 'maya', 'm', 'settled', 10, 5, 3, ?)`, []any{int64(i), at}); err != nil {
			t.Fatal(err)
		}
	}
	if err := migrate(t, db, store.Workspace...); err != nil {
		t.Fatal(err)
	}
	rows, err := db.Do(`SELECT day, user, model, tokens, micros FROM spend ORDER BY day`, nil)
	if err != nil || fmt.Sprint(rows) != "[[20421 maya m 15 3] [20422 maya m 30 6]]" {
		t.Errorf("spend %v, %v", rows, err)
	}
}

// A list in a constraint costs a table at each write.
func TestConstraintsHaveNoLists(t *testing.T) {
	for _, all := range [][][]string{store.Workspace, store.Directory, store.Application} {
		for _, migration := range all {
			for _, statement := range migration {
				if strings.HasPrefix(statement, "CREATE TABLE") && strings.Contains(statement, " IN (") {
					t.Errorf("write it out with OR: %s", statement)
				}
			}
		}
	}
}
