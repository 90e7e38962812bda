package edge_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/worker/edge/workerd"
	"holdfast/worker/fuel"
)

const (
	secret = "0123456789abcdef0123456789abcdef"
	home   = "workspace:11/main" // the actor that most tests talk to
)

// testCore is the path of testdata/core, built and instrumented.
var testCore string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "edge")
	if err == nil {
		testCore = filepath.Join(dir, "core.wasm")
		err = buildCore(testCore, "./testdata/core")
	}
	code := 1
	if err != nil {
		fmt.Fprintln(os.Stderr, "build the test core:", err)
	} else {
		code = m.Run()
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

func buildCore(out, pkg string) error {
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-ldflags=-s -w", "-o", out, pkg)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if msg, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, msg)
	}
	raw, err := os.ReadFile(out)
	if err != nil {
		return err
	}
	fueled, err := fuel.Instrument(raw)
	if err != nil {
		return err
	}
	return os.WriteFile(out, fueled, 0o600)
}

// deployment is an edge under test, with a server that plays Discord and the model provider.
type deployment struct {
	*workerd.Process
	t       *testing.T
	options workerd.Options
	remote  *httptest.Server
}

// start runs the Worker with the test core. handler is the outside world; env adds variables.
func start(t *testing.T, handler http.HandlerFunc, env map[string]string) *deployment {
	t.Helper()
	t.Parallel()
	bin, err := workerd.Find()
	if err != nil {
		t.Skip(err)
	}
	if handler == nil {
		handler = http.NotFound
	}
	remote := httptest.NewServer(handler)
	t.Cleanup(remote.Close)
	d := &deployment{t: t, remote: remote, options: workerd.Options{
		Bin: bin, Dir: t.TempDir(), CoreWasm: testCore, Rig: true, Log: logTo(t), Env: map[string]string{
			"HOLDFAST_DISCORD_APPLICATION_ID": "1",
			"HOLDFAST_DISCORD_PUBLIC_KEYS":    strings.Repeat("ab", 32),
			"HOLDFAST_DISCORD_BOT_TOKEN":      "bot-token",
			"HOLDFAST_DISCORD_API":            remote.URL + "/discord",
			"HOLDFAST_SECRET":                 secret,
			"HOLDFAST_MODELS": fmt.Sprintf(`{"a":{"format":"anthropic","base_url":"%[1]s/a","model":"m"},`+
				`"o":{"format":"openai","base_url":"%[1]s/o","model":"m"},"gone":{"format":"openai","base_url":"http://127.0.0.1:1","model":"m"}}`, remote.URL),
			"HOLDFAST_MODEL_KEY_A": "key-a",
			"HOLDFAST_MODEL_KEY_O": "key-o",
		},
	}}
	maps.Copy(d.options.Env, env)
	d.run()
	t.Cleanup(func() { d.Kill() })
	return d
}

// run starts the process, again when it was killed: on the same storage and port.
func (d *deployment) run() {
	d.t.Helper()
	p, err := workerd.Start(context.Background(), d.options)
	if err != nil {
		d.t.Fatal(err)
	}
	d.Process = p
	d.options.Port = p.Port
}

func logTo(t *testing.T) io.Writer {
	path := filepath.Join(t.TempDir(), "log")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		f.Close()
		if b, _ := os.ReadFile(path); t.Failed() {
			t.Logf("the Worker printed:\n%.20000s", b)
		}
	})
	return f
}

// answer is what a request or an actor answered.
type answer struct {
	Committed bool
	Status    int
	Body      string
	Header    http.Header `json:"-"`
}

// request sends a request to the front.
func (d *deployment) request(method, path string, body []byte, header http.Header) answer {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, d.URL+path, bytes.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	maps.Copy(req.Header, header)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return answer{Status: res.StatusCode, Body: string(b), Header: res.Header}
}

// deliver hands an event to an actor, past the front.
func (d *deployment) deliver(actor, kind, data string) answer {
	d.t.Helper()
	q := url.Values{"actor": {actor}, "type": {kind}, "data": {data}}
	res := d.request("GET", "/rig/deliver?"+q.Encode(), nil, nil)
	if res.Status != 200 {
		d.t.Fatalf("deliver: %d %s", res.Status, res.Body)
	}
	var a answer
	if err := json.Unmarshal([]byte(res.Body), &a); err != nil {
		d.t.Fatal(err)
	}
	return a
}

// op gives the test core a command, and makes the actor where there is none.
func (d *deployment) op(actor, op, args string) answer {
	d.t.Helper()
	data := fmt.Sprintf(`{"op":%q,"args":%s}`, op, args)
	a := d.deliver(actor, "operator", data)
	if a.Status == 404 && strings.Contains(a.Body, "PUT …/config") {
		d.make(actor)
		a = d.deliver(actor, "operator", data)
	}
	return a
}

// make begins an actor, as an admin's PUT …/config does.
func (d *deployment) make(actor string) {
	d.t.Helper()
	if a := d.deliver(actor, "operator", `{"op":"config"}`); !a.Committed {
		d.t.Fatalf("make %s: %d %s", actor, a.Status, a.Body)
	}
}

// must gives the test core a command that succeeds, and its answer's body.
func (d *deployment) must(actor, op, args string) string {
	d.t.Helper()
	a := d.op(actor, op, args)
	if !a.Committed || a.Status > 299 {
		d.t.Fatalf("%s: %d %s", op, a.Status, a.Body)
	}
	return a.Body
}

// event is what the test core noted of an event.
type event struct {
	ID, Type, Owner, Actor string
	Attempt                int
	Now, Deadline          int64
	Sockets                []string
	Config                 struct{ Full json.RawMessage }
	Data                   json.RawMessage
}

func (d *deployment) seen(actor string) []event {
	d.t.Helper()
	var all []event
	if err := json.Unmarshal([]byte(d.must(actor, "seen", "null")), &all); err != nil {
		d.t.Fatal(err)
	}
	return all
}

// await waits until an actor has seen an event of a type, and gives it.
func (d *deployment) await(actor, kind string) event {
	d.t.Helper()
	var found event
	d.until(func() bool {
		for _, e := range d.seen(actor) {
			if e.Type == kind {
				found = e
				return true
			}
		}
		return false
	})
	return found
}

// until polls until ok, for a minute: twice the time after which an alarm looks after what a dead object had in flight.
func (d *deployment) until(ok func() bool) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-ctx.Done():
			d.t.Fatal("that did not happen within a minute")
		case <-tick.C:
		}
	}
}

// key makes the hex HMAC-SHA256 of docs/protocol.md, "Callers".
func key(secret, message string) string {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write([]byte(message))
	return hex.EncodeToString(m.Sum(nil))
}

// bearer is the Authorization header of a key.
func bearer(subject, message string) http.Header {
	return http.Header{"Authorization": {"Bearer hf1." + subject + "." + key(secret, message)}}
}
