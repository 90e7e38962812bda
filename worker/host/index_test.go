package host

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/actor/errs"
	"holdfast/worker/host/sqlite"
)

func (s *site) keptIndexes() []string {
	s.t.Helper()
	files, err := filepath.Glob(filepath.Join(s.opts.Data, alarmsFile+aside+"*"))
	if err != nil {
		s.t.Fatal(err)
	}
	return slices.DeleteFunc(files, func(name string) bool { return strings.HasSuffix(name, "-wal") })
}

func TestALostAlarmIndexIsMadeAnew(t *testing.T) {
	const workspaces = 200
	name := func(i int) string { return fmt.Sprintf("workspace:1/w%d", i) }
	first := open(t, "")
	for i := range workspaces {
		first.on(name(i), "on_wake", `{"alarm":3600000}`)
		first.must(name(i), `{"alarm":3600000}`)
	}
	first.stop()
	for how, spoil := range map[string]func([]byte) []byte{
		"missing":         nil,
		"empty":           func([]byte) []byte { return []byte{} },
		"garbage":         func(b []byte) []byte { return bytes.Repeat([]byte("garbage!"), len(b)/8) },
		"truncated":       func(b []byte) []byte { return b[:len(b)/2] },
		"a few bytes":     func(b []byte) []byte { return b[:9] },
		"a page":          func(b []byte) []byte { copy(b[4096:], bytes.Repeat([]byte("damage! "), 512)); return b },
		"another program": func([]byte) []byte { return encrypted(t) },
	} {
		t.Run(how, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(first.opts.Data)); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, alarmsFile)
			var bad []byte
			if spoil == nil {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			} else {
				bad = replace(t, path, spoil)
			}
			s := open(t, dir)
			s.wasKept(bad)

			until(t, "each to be woken by the start", func() bool {
				return s.metric("events_total", "type", "wake", "result", "committed") == workspaces
			})
			s.clock.Advance(2 * time.Hour)
			until(t, "each alarm", func() bool {
				return s.metric("events_total", "type", "wake", "result", "committed") == 2*workspaces
			})
			for i := 0; i < workspaces; i += 37 {
				s.eventually(name(i), "count(*)", "type = 'wake'", "[[2]]")
			}
		})
	}
}

// wasKept checks that a damaged index is still there, to the byte, and that an operator is told.
func (s *site) wasKept(bad []byte) {
	s.t.Helper()
	kept := s.keptIndexes()
	if len(bad) == 0 { // there was nothing to keep
		if len(kept) > 0 {
			s.t.Errorf("kept: %v", kept)
		}
		return
	}
	if len(kept) != 1 {
		s.t.Fatalf("kept: %v, want one file", kept)
	}
	if b, err := os.ReadFile(kept[0]); err != nil || !bytes.Equal(b, bad) {
		s.t.Errorf("the damaged index was touched (%v)", err)
	}
	if notes := s.Notes(); len(notes) != 1 || !strings.Contains(notes[0], filepath.Base(kept[0])) {
		s.t.Errorf("notes: %q", notes)
	}
}

func TestAWrongKeyChangesNothing(t *testing.T) {
	right, wrong := bytes.Repeat([]byte{1}, sqlite.KeySize), bytes.Repeat([]byte{2}, sqlite.KeySize)
	s := open(t, "", func(o *Options) { o.Key = right })
	s.must(ws, `{"trace":"x"}`)
	s.stop()
	for _, key := range [][]byte{wrong, nil} {
		opts := s.opts
		opts.Key = key
		if h, err := New(context.Background(), opts); errs.CodeOf(err) != errs.Invalid || !strings.Contains(errs.Public(err).Hint, "key") {
			if err == nil {
				h.Close()
			}
			t.Fatalf("a start with another key: %v", err)
		}
	}
	if kept := s.keptIndexes(); len(kept) > 0 || s.marked(ws) {
		t.Errorf("kept: %v, marked: %t", kept, s.marked(ws))
	}
	open(t, s.opts.Data, func(o *Options) { o.Key = right }).must(ws, `{"trace":"x"}`)
}

func TestDamageOfNoWorkspaceIsNoted(t *testing.T) {
	s := open(t, "")
	s.must("directory:1", `{"trace":"x"}`)
	s.stop()
	replace(t, s.file("directory:1"), func(b []byte) []byte { return b[:100] })
	s = open(t, s.opts.Data)
	until(t, "the note", func() bool { n := s.Notes(); return len(n) == 1 && strings.HasPrefix(n[0], "directory:1: ") })
	if status, body := s.operator("GET", "/v1/status", ""); status != 200 || !strings.Contains(body, `"notes":["directory:1: The database is damaged`) {
		t.Errorf("status: %d %s", status, body)
	}
}
