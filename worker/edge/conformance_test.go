package edge_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"holdfast/actor/store"
	"holdfast/worker/edge/workerd"
	"holdfast/worker/engine"
	"holdfast/worker/engine/enginetest"
)

// The suite that the linked engine and wazero pass, in workerd, less what workerd cannot do: its integers are doubles,
// so that it never sees one beyond them; and the limits of a row and of an isolate's memory exist on Cloudflare only.
func TestConformance(t *testing.T) {
	bin, err := workerd.Find()
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	wasm, err := enginetest.Build(dir, enginetest.TestCore)
	if err != nil {
		t.Fatal(err)
	}
	core := filepath.Join(dir, "core.wasm")
	if err := os.WriteFile(core, wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	main, err := os.ReadFile("testdata/conformance.mjs")
	if err != nil {
		t.Fatal(err)
	}
	p, err := workerd.Start(context.Background(), workerd.Options{Bin: bin, Dir: dir, CoreWasm: core, Modules: map[string]string{"front.mjs": string(main)}, Log: logTo(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Kill() })
	e := remote{p.URL}
	enginetest.Run(t, e, e, true, "an integer beyond doubles", "a row over the limit", "all memory")
}

// remote is an Engine in another process. It has the transaction too, so that it is its own database.
type remote struct{ url string }

func (r remote) Route(ctx context.Context, in []byte) ([]byte, int, error) {
	return r.call(ctx, "route", engine.Call{Entropy: enginetest.Seed, Event: in})
}

func (r remote) Handle(ctx context.Context, _ store.Conn, c engine.Call) ([]byte, int, error) {
	return r.call(ctx, "handle", c)
}

func (remote) Close(context.Context) error { return nil }
func (remote) Do(sql string, args []store.Value) ([]store.Row, error) {
	panic("the database is elsewhere")
}
func (remote) Begin() error    { return nil }
func (remote) Commit() error   { return nil }
func (remote) Rollback() error { return nil }

func (r remote) call(ctx context.Context, name string, c engine.Call) ([]byte, int, error) {
	q := url.Values{"call": {name}, "now": {fmt.Sprint(max(c.Now, 1))}, "entropy": {hex.EncodeToString(c.Entropy[:])}}
	req, err := http.NewRequestWithContext(ctx, "POST", r.url+"/?"+q.Encode(), bytes.NewReader(c.Event))
	if err != nil {
		return nil, 0, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, 0, err
	}
	defer res.Body.Close()
	var got struct {
		RC            int
		Output, Crash string
	}
	if err := json.NewDecoder(res.Body).Decode(&got); err != nil {
		return nil, 0, err
	}
	if got.Crash != "" {
		return nil, 0, map[string]error{"any": engine.ErrCrash, "fuel": engine.ErrFuel}[got.Crash]
	}
	return []byte(got.Output), got.RC, nil
}
