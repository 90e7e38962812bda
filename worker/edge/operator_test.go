package edge_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// The programs for operators, each in a folder of its own with what it takes to run it: the real one, and the one that
// breaks.
var (
	operatorProgram = sync.OnceValues(func() (string, error) { return buildOperator("operator") })
	brokenProgram   = sync.OnceValues(func() (string, error) { return buildOperator("testdata/operator") })
)

func buildOperator(pkg string) (string, error) {
	dir := filepath.Join(filepath.Dir(testCore), strings.ReplaceAll(pkg, "/", "-"))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(dir, "api.wasm"), "./"+pkg)
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", err
	}
	glue, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec.js"))
	if err != nil {
		return "", err
	}
	return dir, os.WriteFile(filepath.Join(dir, "wasm_exec.js"), glue, 0o600)
}

// with starts the Worker again, with a program for operators.
func (d *deployment) with(program func() (string, error)) {
	d.t.Helper()
	dir, err := program()
	if err != nil {
		d.t.Fatal(err)
	}
	d.Kill()
	d.options.Operator = dir
	d.run()
}

func reader() http.Header { return bearer("operator.maya+read.1", "v1|operator|maya|read|1") }

// knows makes a guild's directory answer with reply when it is asked for its workspaces.
func (d *deployment) knows(guild, reply string) {
	d.t.Helper()
	d.must("directory:"+guild, "plan", fmt.Sprintf(`{"on":"workspaces","result":{"v":1,"reply":%s}}`, reply))
}

// What a deployment holds is what the directories of its guilds have committed.
func TestOperatorLists(t *testing.T) {
	d := start(t, nil, map[string]string{"HOLDFAST_DISCORD_ALLOWED_GUILDS": "22,11,33"})
	d.with(operatorProgram)
	d.knows("11", `{"status":200,"body":{"workspaces":["main","other"]}}`)
	d.knows("22", `{"status":200,"body":{"workspaces":["zwei"]}}`)
	d.knows("33", `{"status":200,"body":{"workspaces":[]}}`)
	a := d.request("GET", "/v1/workspaces", nil, reader())
	const want = `{"workspaces":[{"guild":"11","workspace":"main"},{"guild":"11","workspace":"other"},{"guild":"22","workspace":"zwei"}]}`
	if a.Status != 200 || strings.TrimSpace(a.Body) != want || a.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%d %s %v", a.Status, a.Body, a.Header)
	}
	// A workspace that cannot answer takes nothing from the others. The test core answers none.
	a = d.request("GET", "/v1/status", nil, reader())
	if a.Status != 200 || strings.Count(a.Body, `"error":{"code":"internal"`) != 3 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	for reply, status := range map[string]int{
		`{"status":503,"body":{"error":{"code":"unavailable","message":"busy"}}}`: 503,
		`{"status":409,"body":"what?"}`:                                           503,
		`{"status":304}`:                                                          503,
		`{"status":200,"body":{"a":1}}`:                                           503,
		`{"status":200,"body":"no list"}`:                                         503,
	} {
		d.knows("33", reply)
		if a := d.request("GET", "/v1/workspaces", nil, reader()); a.Status != status || !strings.Contains(a.Body, `{"error":{"code":`) {
			t.Errorf("a directory that answers %s: %d %s", reply, a.Status, a.Body)
		}
	}
}

// Who asks about an actor that nobody made is told so, and makes none.
func TestAQuestionMakesNoActor(t *testing.T) {
	d := start(t, nil, map[string]string{"HOLDFAST_DISCORD_ALLOWED_GUILDS": "11,22"})
	d.with(operatorProgram)
	for _, name := range []string{home, "directory:11"} {
		for range 2 { // nor does the first question change the second one's answer
			if a := d.deliver(name, "operator", `{"op":"seen"}`); a.Committed || a.Status != 404 || !strings.Contains(a.Body, "PUT …/config") {
				t.Errorf("%s: %+v", name, a)
			}
		}
		if n := len(d.tally(name).Events); n != 0 {
			t.Errorf("%s has had %d kinds of events", name, n)
		}
	}
	d.knows("22", `{"status":200,"body":{"workspaces":["zwei"]}}`)
	a := d.request("GET", "/v1/workspaces", nil, reader()) // a guild without a directory has none
	if a.Status != 200 || strings.TrimSpace(a.Body) != `{"workspaces":[{"guild":"22","workspace":"zwei"}]}` {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

func TestOperatorRefuses(t *testing.T) {
	d := start(t, nil, nil)
	d.with(operatorProgram)
	for _, tt := range []struct {
		name, path string
		header     http.Header
		status     int
	}{
		{"nothing allowed, nothing there", "/v1/workspaces", reader(), 200},
		{"a key without the role", "/v1/status", bearer("operator.leo+approve.1", "v1|operator|leo|approve|1"), 403},
		{"a runner's key", "/v1/status", bearer("runner.11/main.1", "v1|runner|11/main|1"), 403},
		{"a wait that is no number", "/v1/workspaces/11/main/events?wait=x", reader(), 400},
		{"a wait without end", "/v1/workspaces/11/main/events?wait=NaN", reader(), 400},
		{"no wait", "/v1/workspaces/11/main/jobs/7a4/events?wait=", reader(), 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d.t = t
			if a := d.request("GET", tt.path, nil, tt.header); a.Status != tt.status || !strings.HasPrefix(a.Body, "{") {
				t.Errorf("%d %s", a.Status, a.Body)
			}
		})
	}
}

// Each call that waits holds memory, so there is a bound; and what others wait for holds up nobody else.
func TestOperatorsWait(t *testing.T) {
	d := start(t, nil, nil)
	d.with(operatorProgram)
	const most = 6
	statuses := make(chan int, most+1)
	var wg sync.WaitGroup
	for range most + 1 {
		wg.Go(func() {
			begin := time.Now()
			a := d.request("GET", "/v1/workspaces/11/main/events?wait=3", nil, reader())
			if took := time.Since(begin); a.Status == 200 && (a.Body != `{"events":[]}` || took < 3*time.Second) {
				t.Errorf("%s after %v", a.Body, took)
			}
			statuses <- a.Status
		})
	}
	first := <-statuses
	if a := d.op(home, "sql", `{"sql":"SELECT 1"}`); first != 503 || !a.Committed || len(statuses) != 0 {
		t.Errorf("the first answer was %d; a workspace said %+v", first, a)
	}
	wg.Wait()
	for range most {
		if status := <-statuses; status != 200 {
			t.Error(status)
		}
	}
	if a := d.request("GET", "/v1/workspaces", nil, reader()); a.Status != 200 {
		t.Errorf("afterwards: %+v", a)
	}
}

// A program that breaks costs its call.
func TestOperatorBreaks(t *testing.T) {
	d := start(t, nil, nil)
	d.with(brokenProgram)
	for _, path := range []string{"/v1/status", "/v1/workspaces", "/v1/workspaces/1/exit/events?wait=1"} {
		for range 4 { // more calls than there may be at once
			if a := d.request("GET", path, nil, reader()); a.Status != 500 || !strings.Contains(a.Body, `"internal"`) || strings.Contains(a.Body, "half") {
				t.Errorf("%s: %d %s", path, a.Status, a.Body)
			}
		}
	}
	if a := d.request("GET", "/v1/workspaces/1/timer/events?wait=1", nil, reader()); a.Status != 200 || a.Body != "whole" {
		t.Errorf("%+v", a)
	}
	if c := d.core(); c.Boots > 1 {
		t.Errorf("the core was started %d times", c.Boots)
	}
}
