package edge_test

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestValuesComeBackAsTheyWent(t *testing.T) {
	d := start(t, nil, nil)
	if got := d.must(home, "values", "null"); got != "[]" {
		t.Error(got)
	}
}

func TestSQL(t *testing.T) {
	d := start(t, nil, nil)
	tests := []struct{ name, args, want string }{
		{"integers are integers", `{"sql":"SELECT typeof(?), ? / 2, ? || ''","args":[3,3,3]}`, `[["string integer","int64 1","string 3"]]`},
		{"numbered parameters", `{"sql":"SELECT ?2, ?1, '?', ? -- ?","args":[1,"b",4]}`, `[["string b","int64 1","string ?","int64 4"]]`},
		{"no rows", `{"sql":"SELECT 1 WHERE 0"}`, `[]`},
		{"a hundred parameters", `{"sql":"SELECT count(*) FROM (VALUES ` + strings.Repeat("(?),", 99) + `(?))","params":100}`, `[["int64 100"]]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := d.must(home, "sql", tt.args); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// A failed statement is answered to the core with a code, and then nothing is committed whatever the core says.
func TestFailedSQLRollsBack(t *testing.T) {
	d := start(t, nil, nil)
	d.must(home, "sql", `{"sql":"CREATE TABLE u(x INTEGER PRIMARY KEY CHECK(x < 5))"}`)
	before := len(d.seen(home))
	for _, args := range []string{
		`{"sql":"INSERT INTO u VALUES(9)"}`, `{"sql":"SELECT * FROM nope"}`, `{"sql":"SELECT ?","params":101}`,
		`{"sql":"SELECT ?","big":2097153}`, `{"sql":"SELECT ?"}`, `{"sql":"COMMIT"}`, `{"sql":"ATTACH 'x' AS y"}`,
	} {
		if a := d.op(home, "sql", args); a.Committed || a.Status != 503 {
			t.Errorf("%s: %+v", args, a)
		}
	}
	if after := len(d.seen(home)); after != before+1 {
		t.Errorf("%d events before, %d after: something was committed", before, after)
	}
}

func TestRefusalRollsBack(t *testing.T) {
	d := start(t, nil, nil)
	a := d.op(home, "fail", "null")
	if a.Committed || a.Status != 409 || a.Body != `{"error":{"code":"conflict","message":"as you wished"}}` {
		t.Errorf("%+v", a)
	}
	for _, e := range d.seen(home) {
		if strings.Contains(string(e.Data), `"fail"`) {
			t.Error("the event was committed")
		}
	}
}

// F18: a crash costs an event and an instance, nothing else.
func TestF18_CrashReplacesTheInstance(t *testing.T) {
	d := start(t, nil, nil)
	d.must("workspace:11/other", "seen", "null")
	for _, how := range []string{"panic", "exit", "loop"} {
		t.Run(how, func(t *testing.T) {
			boots := d.core().Boots
			if a := d.op(home, how, "null"); a.Committed || a.Status != 500 {
				t.Errorf("%+v", a)
			}
			if after := d.core().Boots; after != boots+3 && after != boots+4 {
				t.Errorf("%d boots before, %d after four crashes", boots, after)
			}
			d.must("workspace:11/other", "seen", "null")
			for _, e := range d.seen(home) {
				if strings.Contains(string(e.Data), how) {
					t.Error("the event was committed")
				}
			}
		})
	}
}

func TestAttemptsAreCounted(t *testing.T) {
	d := start(t, nil, nil)
	if got := d.must(home, "until", "4"); got != "4" {
		t.Errorf("succeeded at attempt %s, want 4", got)
	}
	all := d.seen(home)
	if last := all[len(all)-2]; last.Attempt != 4 {
		t.Errorf("%+v", last)
	}
}

func TestLargeInstanceIsReplaced(t *testing.T) {
	d := start(t, nil, nil)
	if got := d.must(home, "grow", "null"); got != `"grow"` {
		t.Error(got)
	}
	if c := d.core(); c.Memory != 0 {
		t.Errorf("%+v: it was kept", c)
	}
	d.must(home, "seen", "null")
	if c := d.core(); c.Memory == 0 || c.Memory > 64<<20 || c.Boots != 2 {
		t.Errorf("%+v", c)
	}
}

func TestOwnerStartsOnce(t *testing.T) {
	d := start(t, nil, nil)
	d.must(home, "seen", "null")
	first := d.seen(home)
	if first[0].Type != "start" || len(first[0].Config.Full) == 0 || first[1].Type != "operator" || len(first[1].Config.Full) != 0 {
		t.Fatalf("%+v", first)
	}
	if first[0].Owner != first[1].Owner || len(first[0].Owner) != 32 || first[0].Actor != home || first[0].ID == first[1].ID {
		t.Errorf("%+v", first[:2])
	}
	d.Kill()
	d.run()
	again := d.seen(home)
	if last := again[len(again)-2]; last.Type != "start" || last.Owner == first[0].Owner {
		t.Errorf("after a kill: %+v", last)
	}
}

func TestConfigurationIsSentAgainWhenAsked(t *testing.T) {
	d := start(t, nil, nil)
	d.must(home, "seen", "null")
	d.must(home, "sql", `{"sql":"DELETE FROM config"}`)
	all := d.seen(home)
	if last := all[len(all)-1]; last.Attempt != 1 || len(last.Config.Full) == 0 {
		t.Errorf("%+v", last)
	}
	if full := string(all[0].Config.Full); strings.Contains(full, "key-a") || strings.Contains(full, "bot-token") || strings.Contains(full, "base_url") || strings.Contains(full, secret) {
		t.Errorf("the core was told too much: %s", full)
	}
}

// The randomness that the core sees is fresh for each event.
func TestEntropy(t *testing.T) {
	d := start(t, nil, nil)
	if a, b := d.must(home, "random", "null"), d.must(home, "random", "null"); a == b || len(a) != 34 {
		t.Errorf("%s and %s", a, b)
	}
}

type coreState struct {
	Boots  int
	Memory int64
}

func (d *deployment) core() (c coreState) {
	d.t.Helper()
	if err := json.Unmarshal([]byte(d.request("GET", "/rig/core", nil, nil).Body), &c); err != nil {
		d.t.Fatal(err)
	}
	return c
}
