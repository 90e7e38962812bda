package host

import (
	"context"
	"fmt"
	"io"
	"testing"

	"holdfast/actor"
	"holdfast/worker/engine"
	"holdfast/worker/engine/enginetest"
)

// BenchmarkEvent is one event, from the mailbox to its answer, with its commit synced to disk. The ratio of the
// engines is what counts.
func BenchmarkEvent(b *testing.B) {
	module, err := enginetest.Build(b.TempDir(), enginetest.TestCore)
	if err != nil {
		b.Fatal(err)
	}
	wasm, err := engine.NewWazero(context.Background(), module, engine.WazeroOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer wasm.Close(context.Background())
	linked := engine.Linked{HandleFunc: enginetest.Handle, RouteFunc: enginetest.Route}
	for name, e := range map[string]engine.Engine{"linked": linked, "wazero": wasm} {
		b.Run(name, func(b *testing.B) {
			s := open(b, "", func(o *Options) { o.Engine = e })
			s.must(ws, `{"trace":"x"}`)
			data := []byte(`{"do":[{"sql":"SELECT count(*) FROM conf"},{"alarm":30000}]}`)
			for b.Loop() {
				if a := s.ask(context.Background(), ws, &item{kind: actor.EventInteraction, data: data}, true); a.err != nil {
					b.Fatal(a.err)
				}
			}
		})
	}
}

// BenchmarkBackup is the backup of a hundred small workspaces, each copied and checked.
func BenchmarkBackup(b *testing.B) {
	c := newTown(b)
	s := c.real("")
	for i := range 100 {
		s.configure(fmt.Sprintf("w%d", i))
	}
	for b.Loop() {
		if _, err := s.Backup(context.Background(), io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}
