package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestStatusOfAWorkspaceThatCannotBeRead(t *testing.T) {
	var out bytes.Buffer
	raw := `{"workspaces":[{"guild":"1","workspace":"a","status":{"workspace":"1/a","now":5,"storage":"The database is damaged.","unreadable":true}},` +
		`{"guild":"1","workspace":"b","status":{"now":5,"storage":"ok","queued":3}}],"notes":["The alarm index was damaged."]}`
	if err := printStatus(&out, []byte(raw)); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 5 || !strings.HasPrefix(lines[1], "1/a") || strings.Contains(lines[1], "none connected") || !strings.Contains(lines[1], "unknown") ||
		!strings.Contains(lines[2], "3") || lines[3] != "The alarm index was damaged." || lines[4] != "1/a: The database is damaged." {
		t.Errorf("got:\n%s", out.String())
	}
}
