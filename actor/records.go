package actor

import (
	"fmt"
	"strings"
)

// recordTables are what the playground's panel shows of a workspace: every column that holds no secret, the newest
// rows first. A column is shown under the last word of its expression.
var recordTables = []struct {
	name, order string
	columns     []string
}{
	{"submission", "id DESC", []string{"id", "conversation", "source", "author_name", "state", "reason", "turn"}},
	{"turn", "id DESC", []string{"id", "conversation", "acknowledged", "rounds", "restarts", "tokens", "ended_wall"}},
	{"task", "id DESC", []string{"id", "turn", "kind", "tool", "state", "epoch", "starts", "due"}},
	{"delivery", "id DESC", []string{"id", "turn", "kind", "op", "state", "attempts", "epoch", "reason", "due"}},
	{"entry", "id DESC", []string{"id", "conversation", "kind", "turn", "task", "substr(body, 1, 120) AS body"}},
	{"event", "id DESC", []string{"id", "name", "turn", "ref", "detail"}},
	{"thread", "attached DESC", []string{"id", "conversation", "state"}},
}

// recordRows is how many rows of each table are shown.
const recordRows = 25

type recordTable struct {
	Name    string   `json:"name"`
	Columns []string `json:"columns"`
	Rows    [][]any  `json:"rows"`
}

func (w *work) recordsOp() error {
	var tables []recordTable
	for _, t := range recordTables {
		table := recordTable{Name: t.name, Rows: [][]any{}}
		for _, column := range t.columns {
			words := strings.Fields(column)
			table.Columns = append(table.Columns, words[len(words)-1])
		}
		for _, row := range w.tx.Rows(fmt.Sprintf(`SELECT %s FROM %s ORDER BY %s LIMIT %d`, strings.Join(t.columns, ", "), t.name, t.order, recordRows)) {
			table.Rows = append(table.Rows, row)
		}
		tables = append(tables, table)
	}
	w.answer(200, map[string]any{"tables": tables})
	return nil
}
