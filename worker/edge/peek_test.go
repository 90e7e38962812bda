package edge_test

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"holdfast/worker/edge"
)

// An object whose database is full answers who asks how things stand, refuses all else, and says why.
func TestPeekWhenTheDatabaseIsFull(t *testing.T) {
	d := start(t, nil, map[string]string{"HOLDFAST_DISCORD_ALLOWED_GUILDS": "11"})
	storage, err := edge.Modules.ReadFile("sql.mjs")
	if err != nil {
		t.Fatal(err)
	}
	full, err := os.ReadFile("testdata/full.mjs")
	if err != nil {
		t.Fatal(err)
	}
	d.Kill()
	d.options.CoreWasm = realCore(t)
	d.options.Modules = map[string]string{"storage.mjs": string(storage), "sql.mjs": string(full)}
	d.run()
	t.Cleanup(func() { d.Kill() })
	h := bearer("operator.maya+read+admin.1", "v1|operator|maya|read,admin|1")
	call := func(method, path, body string) answer {
		return d.request(method, "/v1/workspaces/11/main/"+path, []byte(body), http.Header{"Authorization": h["Authorization"]})
	}
	want := func(a answer, status int, part string) {
		t.Helper()
		if a.Status != status || !strings.Contains(a.Body, part) {
			t.Errorf("%d %s; want %d with %q", a.Status, a.Body, status, part)
		}
	}
	want(call("PUT", "config", `{"members":[{"user":"21","roles":["member"]}]}`), 200, "")
	want(call("GET", "status", ""), 200, `"storage":"ok"`)
	const why = "The database is full"
	want(call("PUT", "config", `{"instructions":"the disk is full now"}`), 503, why)
	want(call("GET", "status", ""), 200, `"storage":"`+why)
	want(call("GET", "jobs", ""), 200, `"jobs":[]`)
	want(call("PUT", "config", `{"instructions":"again"}`), 503, why)

	d.request("GET", "/rig/reset?actor=workspace:11/main", nil, nil)
	want(call("GET", "status", ""), 200, `"storage":"`+why) // by an owner whose start could not be committed
	want(call("PUT", "config", `{"instructions":"again"}`), 503, why)
	d.Kill()
	d.run() // there is room again
	want(call("PUT", "config", `{"instructions":"again"}`), 200, "")
	want(call("GET", "status", ""), 200, `"storage":"ok"`)
}
