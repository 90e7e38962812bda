package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/worker/host/sqlite"
)

// The test binary is also its own children.
func TestMain(m *testing.M) {
	if t := os.Getenv(childVar); t != "" {
		if err := serveChild(t); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func open(t *testing.T) (context.Context, *bench) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	b := &bench{quick: true, dir: t.TempDir()}
	var err error
	if b.world, err = newWorld(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.world.close)
	return ctx, b
}

func TestFloorCommitsWhatIsSigned(t *testing.T) {
	for _, group := range []bool{false, true} {
		t.Run(fmt.Sprint("group ", group), func(t *testing.T) {
			ctx, b := open(t)
			dir, err := b.folder()
			if err != nil {
				t.Fatal(err)
			}
			c, err := spawn(ctx, "floor", dir, floorArgs{Key: b.world.publicKey(), Group: group})
			if err != nil {
				t.Fatal(err)
			}
			list := at(c.url, newEdge(c.url, b.world).asks([]space{{"a", "1"}}, 32))
			forged := list[0]
			forged.body = []byte(strings.Replace(string(forged.body), "Why", "Who", 1))
			if _, _, err := newClient().do(ctx, forged); err == nil || !strings.Contains(err.Error(), "401") {
				t.Errorf("a forged request: %v, want 401", err)
			}
			took, err := all(ctx, newClients(8), deal(list, 8))
			if err != nil || len(took) != len(list) {
				t.Fatalf("%d of %d answered: %v", len(took), len(list), err)
			}
			if err := c.kill(); err != nil {
				t.Fatal(err)
			}
			if n := rows(t, filepath.Join(dir, "floor.db")); n != int64(len(list)) {
				t.Errorf("%d rows survived, %d were acknowledged", n, len(list))
			}
		})
	}
}

func rows(t *testing.T, path string) int64 {
	t.Helper()
	db, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Begin(); err != nil {
		t.Fatal(err)
	}
	found, err := db.Do(`SELECT count(*) FROM seen`, nil)
	if err != nil {
		t.Fatal(err)
	}
	return found[0].Int(0)
}

func TestEdgeAcknowledgesAndTurns(t *testing.T) {
	ctx, b := open(t)
	e, stop, err := b.host(ctx, "linked")
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	spaces, err := e.open(ctx, 2)
	if err != nil {
		t.Fatal(err)
	}
	b.world.mute.Store(true)
	if _, err := inOrder(ctx, newClient(), e.asks(spaces, 4)); err != nil { // each must be "type":5: it began a turn
		t.Error(err)
	}
	b.world.mute.Store(false)
	s, r, err := e.staffed(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	if err := e.turn(ctx, s); err != nil {
		t.Fatal(err)
	}
	m, err := e.metrics(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"holdfast_commit_seconds_count", "holdfast_core_seconds_sum", "holdfast_alarm_writes_total"} {
		if total(m, name) == 0 {
			t.Errorf("no %s in the metrics", name)
		}
	}
	if _, _, err := newClient().do(ctx, e.messages(s, 3)); err != nil {
		t.Error(err)
	}
}

func TestBareLoopIsDurable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "loop.db")
	l, err := openLedger(path)
	if err != nil {
		t.Fatal(err)
	}
	took, err := l.commits(7, 100)
	if err != nil || len(took) != 7 || took.quantile(0) <= 0 {
		t.Errorf("%v, %v", took, err)
	}
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	if n := rows(t, path); n != 7 {
		t.Errorf("%d rows, want 7", n)
	}
}

func TestDeal(t *testing.T) {
	lists := deal(make([]request, 7), 3)
	if len(lists) != 3 || len(lists[0]) != 3 || len(lists[2]) != 2 {
		t.Errorf("%d lists: %d, %d, %d", len(lists), len(lists[0]), len(lists[1]), len(lists[2]))
	}
}

func TestMemory(t *testing.T) {
	r, err := memory(os.Getpid())
	if err != nil || r.own < 1<<20 || r.all <= r.own {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := memory(1 << 30); err == nil {
		t.Error("a process that is not there has memory")
	}
}
