package alarm

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"holdfast/clock"
	"holdfast/worker/host/sqlite"
)

func open(t *testing.T, path string, clk clock.Clock) *Index {
	t.Helper()
	x, err := Open(path, clk, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

func at(ms int64) *int64 { return &ms }

// onDisk says what a start would find after a crash at this moment.
func onDisk(t *testing.T, x *Index, path string) map[string]row {
	t.Helper()
	if err := x.Abandon(); err != nil {
		t.Fatal(err)
	}
	y := open(t, path, x.clock)
	rows := map[string]row{}
	for name, e := range y.entries {
		rows[name] = e.saved
	}
	return rows
}

func TestEarlierBeforeTheCommitLaterAfterIt(t *testing.T) {
	type step struct {
		before bool
		due    *int64
		flying bool
	}
	for name, c := range map[string]struct {
		steps []step
		want  row
	}{
		"the first time is on disk before the commit": {[]step{{true, at(500), false}}, row{due: 500}},
		"an earlier one too":                          {[]step{{true, at(500), false}, {false, at(500), false}, {true, at(300), false}}, row{due: 300}},
		"a later one waits":                           {[]step{{true, at(500), false}, {false, at(500), false}, {true, at(900), false}, {false, at(900), false}}, row{due: 500}},
		"none waits":                                  {[]step{{true, at(500), false}, {false, at(500), false}, {true, nil, false}, {false, nil, false}}, row{due: 500}},
		"flight is on disk before the commit":         {[]step{{true, at(500), false}, {false, at(500), false}, {true, at(900), true}}, row{due: 500, inFlight: true}},
		"landing waits":                               {[]step{{true, at(500), true}, {false, at(500), true}, {true, at(500), false}, {false, at(500), false}}, row{due: 500, inFlight: true}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "alarms.db")
			x := open(t, path, &clock.Shifted{})
			for _, s := range c.steps {
				if !s.before {
					x.After("a", s.due, s.flying)
				} else if err := x.Before("a", s.due, s.flying); err != nil {
					t.Fatal(err)
				}
			}
			if got := onDisk(t, x, path)["a"]; got != c.want {
				t.Errorf("disk says %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestFlightCoversEveryTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "alarms.db")
	x := open(t, path, &clock.Shifted{})
	begin := x.Writes()
	x.Expect("a")
	for due := int64(900); due > 0; due -= 100 { // an actor at work, whose time becomes earlier and earlier
		if err := x.Before("a", &due, due%200 == 0); err != nil {
			t.Fatal(err)
		}
		x.After("a", &due, due%200 == 0)
		x.Expect("a")
	}
	if n := x.Writes() - begin; n != 1 {
		t.Errorf("%d writes, want 1", n)
	}
	if got := onDisk(t, x, path)["a"]; !got.inFlight {
		t.Errorf("disk says %+v: a start would not open it", got)
	}
}

func TestExpectedInVain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "alarms.db")
	x := open(t, path, &clock.Shifted{})
	x.Expect("nobody")
	if err := x.Before("a", at(5), false); err != nil { // behind it, or in the same commit
		t.Fatal(err)
	}
	x.After("a", at(5), false)
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	y := open(t, path, x.clock)
	if len(y.entries) != 1 || y.entries["a"].saved != (row{due: 5}) {
		t.Errorf("entries: %+v", y.entries)
	}
}

// A later time that is being written while an actor commits an earlier one must not be what a start finds.
func TestAWriteUnderWayIsNotTrusted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "alarms.db")
	x := open(t, path, &clock.Shifted{})
	if err := x.Before("a", at(100), false); err != nil {
		t.Fatal(err)
	}
	x.After("a", at(900), false)
	x.mu.Lock()
	x.entries["a"].writing = &row{due: 900}
	x.mu.Unlock()
	if err := x.write(map[string]row{"a": {due: 900}}); err != nil { // it has just reached the disk, and nobody knows yet
		t.Fatal(err)
	}
	if err := x.Before("a", at(500), false); err != nil {
		t.Fatal(err)
	}
	if got := onDisk(t, x, path)["a"]; got.due > 500 {
		t.Errorf("disk says %+v, want 500 or earlier", got)
	}
}

func TestCloseRecordsWhatWaited(t *testing.T) {
	path := filepath.Join(t.TempDir(), "alarms.db")
	x := open(t, path, &clock.Shifted{})
	for _, due := range []*int64{at(500), at(900)} {
		if err := x.Before("late", due, true); err != nil {
			t.Fatal(err)
		}
		x.After("late", due, true)
	}
	if err := x.Before("gone", at(100), true); err != nil {
		t.Fatal(err)
	}
	x.After("gone", nil, false)
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	y := open(t, path, x.clock)
	if len(y.entries) != 1 || y.entries["late"].saved != (row{900, true}) {
		t.Fatalf("entries: %+v", y.entries)
	}
	if got := y.InFlight(); !slices.Equal(got, []string{"late"}) {
		t.Errorf("in flight: %v", got)
	}
}

func TestACommitUnderWayKeepsItsTimeOnDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "alarms.db")
	x := open(t, path, &clock.Shifted{})
	if err := x.Before("slow", at(100), false); err != nil {
		t.Fatal(err)
	}
	// Another actor's write takes along whatever is dirty; "slow" has no time yet in truth.
	x.mu.Lock()
	x.dirty = true
	x.mu.Unlock()
	if err := x.Before("other", at(50), false); err != nil {
		t.Fatal(err)
	}
	if got := onDisk(t, x, path)["slow"]; got.due != 100 {
		t.Errorf("disk says %+v, want 100", got)
	}
}

func TestWakesEachTimeOnceInOrder(t *testing.T) {
	clk := &clock.Shifted{}
	x := open(t, filepath.Join(t.TempDir(), "alarms.db"), clk)
	woken := make(chan string, 10)
	start := clk.Now().UnixMilli()
	set := func(actor string, after time.Duration) { x.After(actor, at(start+after.Milliseconds()), false) }
	set("overdue", -time.Hour)
	set("second", 2*time.Hour)
	set("first", time.Hour)
	set("moved", time.Hour)
	set("moved", 100*time.Hour)
	set("cleared", time.Hour)
	x.After("cleared", nil, false)
	x.Start(func(actor string) { woken <- actor })
	expect := func(want string) {
		t.Helper()
		select {
		case got := <-woken:
			if got != want {
				t.Fatalf("woke %s, want %s", got, want)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s was not woken", want)
		}
	}
	expect("overdue")
	clk.Advance(90 * time.Minute)
	expect("first")
	clk.Advance(time.Hour)
	expect("second")

	x.Again("first", clk.Now().Add(time.Minute).UnixMilli())
	clk.Advance(2 * time.Minute)
	expect("first")

	x.Pause()
	clk.Advance(1000 * time.Hour)
	if len(woken) != 0 {
		t.Errorf("%s was woken by a paused index", <-woken)
	}
}

// A write that failed may be on the disk all the same. Nothing may rely on what was there before it.
func TestAWriteThatFailedMayBeThere(t *testing.T) {
	x := open(t, filepath.Join(t.TempDir(), "alarms.db"), &clock.Shifted{})
	set := func(due int64) {
		t.Helper()
		if err := x.Before("a", at(due), false); err != nil {
			t.Fatal(err)
		}
		x.After("a", at(due), false)
	}
	set(500)
	set(900)
	x.mu.Lock()
	x.entries["a"].changed = time.Now().Add(-time.Hour)
	x.dirty = true
	x.mu.Unlock()
	x.dbMu.Lock()
	if err := x.db.Begin(); err != nil { // the next one cannot begin
		t.Fatal(err)
	}
	x.dbMu.Unlock()
	failed := make(chan error, 1)
	x.writes <- write{done: failed}
	if err := <-failed; err == nil {
		t.Fatal("the write was to fail")
	}
	x.dbMu.Lock()
	if err := x.db.Rollback(); err != nil {
		t.Fatal(err)
	}
	x.dbMu.Unlock()
	before := x.Writes()
	set(700) // 500 covers it, the 900 that may be there does not
	if n := x.Writes() - before; n != 1 {
		t.Errorf("%d writes for a time that may not be on the disk, want 1", n)
	}
	before = x.Writes()
	set(800)
	if n := x.Writes() - before; n != 0 {
		t.Errorf("%d writes for a time that is covered for certain, want none", n)
	}
}

func TestWeakerCoversWhatBothCover(t *testing.T) {
	all := []row{{}, {due: 1}, {due: 2}, {due: 3}, {inFlight: true}, {due: 2, inFlight: true}}
	for _, a := range all {
		for _, b := range all {
			for _, c := range all {
				if got, want := weaker(a, b).covers(c), a.covers(c) && b.covers(c); got != want {
					t.Errorf("weaker(%v, %v) covers %v: %v, want %v", a, b, c, got, want)
				}
			}
		}
	}
}
