package engine_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"testing"

	"holdfast/actor/store"
	"holdfast/worker/engine"
	"holdfast/worker/engine/enginetest"
	"holdfast/worker/host/sqlite"
)

// module builds the test core once for all tests.
var module = sync.OnceValues(func() ([]byte, error) {
	return enginetest.Build(dir, enginetest.TestCore)
})

var dir string

func openDB(t testing.TB) *sqlite.DB {
	db, err := sqlite.Open(filepath.Join(t.TempDir(), "a.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func newWazero(t testing.TB, opts engine.WazeroOptions) *engine.Wazero {
	core, err := module()
	if err != nil {
		t.Fatal(err)
	}
	opts.CacheDir = filepath.Join(dir, "cache")
	w, err := engine.NewWazero(context.Background(), core, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close(context.Background()) })
	return w
}

var linked = engine.Linked{HandleFunc: enginetest.Handle, RouteFunc: enginetest.Route}

func TestConformanceLinked(t *testing.T) { enginetest.Run(t, linked, openDB(t), false) }

func TestConformanceWazero(t *testing.T) {
	enginetest.Run(t, newWazero(t, engine.WazeroOptions{}), openDB(t), true)
}

// bomb is a Conn whose host code is broken.
type bomb struct{}

func (bomb) Do(string, []store.Value) ([]store.Row, error) { panic("the host is broken") }

// failing is a Conn whose disk is broken, with an error that has no code.
type failing struct{}

func (failing) Do(string, []store.Value) ([]store.Row, error) { return nil, io.ErrClosedPipe }

func event(data string) []byte {
	return fmt.Appendf(nil, `{"v":1,"id":"x","type":"interaction","attempt":1,"now":1,"config":{"version":1,"hash":"h","full":{}},"data":%s}`, data)
}

func TestBrokenHost(t *testing.T) {
	for name, e := range map[string]engine.Engine{"linked": linked, "wazero": newWazero(t, engine.WazeroOptions{})} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			if _, _, err := e.Handle(ctx, bomb{}, engine.Call{Event: event(`{}`)}); !errors.Is(err, engine.ErrCrash) {
				t.Errorf("panic inside an import: err = %v, want ErrCrash", err)
			}
			out, rc, err := e.Handle(ctx, failing{}, engine.Call{Event: event(`{}`)})
			var code struct{ Code string }
			if json.Unmarshal(out, &code); err != nil || rc != 1 || code.Code != "unavailable" {
				t.Errorf("failing disk: rc = %d, err = %v, out = %s", rc, err, out)
			}
			if _, rc, err := e.Route(ctx, []byte("{}\n")); rc != 0 || err != nil {
				t.Errorf("the next call: rc = %d, err = %v", rc, err)
			}
		})
	}
}

func TestManyCallsAtOnce(t *testing.T) {
	w := newWazero(t, engine.WazeroOptions{Parallel: 3})
	var wg sync.WaitGroup
	for i := range 24 {
		db := openDB(t)
		wg.Go(func() {
			data := fmt.Sprintf(`{"do":[{"sql":"SELECT %d"}]}`, i)
			if i%8 == 7 {
				data = `{"do":[{"loop":true}]}`
			}
			out, rc, err := w.Handle(context.Background(), db, engine.Call{Event: event(data)})
			var res struct{ Reply struct{ Body [][]int } }
			json.Unmarshal(out, &res)
			switch {
			case i%8 == 7:
				if !errors.Is(err, engine.ErrFuel) {
					t.Errorf("call %d: err = %v, want ErrFuel", i, err)
				}
			case err != nil || rc != 0 || len(res.Reply.Body) != 1 || res.Reply.Body[0][0] != i:
				t.Errorf("call %d: rc = %d, err = %v, out = %s", i, rc, err, out)
			}
		})
	}
	wg.Wait()
}

func TestModuleWithoutFuelIsRefused(t *testing.T) {
	empty := []byte("\x00asm\x01\x00\x00\x00")
	if _, err := engine.NewWazero(context.Background(), empty, engine.WazeroOptions{}); err == nil {
		t.Fatal("a module without exports was accepted")
	}
}

func BenchmarkHandle(b *testing.B) {
	for name, e := range map[string]engine.Engine{"linked": linked, "wazero": newWazero(b, engine.WazeroOptions{})} {
		b.Run(name, func(b *testing.B) {
			db := openDB(b)
			var call engine.Call
			rand.Read(call.Entropy[:])
			call.Event = event(`{"do":[{"sql":"SELECT count(*) FROM conf"},{"sql":"SELECT 1"},{"sql":"SELECT 2"}]}`)
			for b.Loop() {
				if err := db.Begin(); err != nil {
					b.Fatal(err)
				}
				if _, rc, err := e.Handle(context.Background(), db, call); rc != 0 || err != nil {
					b.Fatal(rc, err)
				}
				if err := db.Commit(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
