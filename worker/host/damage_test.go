package host

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// spoil overwrites one page in the middle of an actor's file and gives what the file then holds.
func (s *site) spoil(name string, find string) []byte {
	s.t.Helper()
	path := filepath.Join(s.opts.Data, actorsDir, fileName(name))
	b, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	at := bytes.Index(b, []byte(find))
	if at < 8192 {
		s.t.Fatalf("%q is at %d", find, at)
	}
	copy(b[at&^4095:], bytes.Repeat([]byte("damage! "), 512))
	if err := os.WriteFile(path, b, 0o600); err != nil {
		s.t.Fatal(err)
	}
	return b
}

func (s *site) untouched(name string, want []byte) {
	s.t.Helper()
	if now, err := os.ReadFile(filepath.Join(s.opts.Data, actorsDir, fileName(name))); err != nil || !bytes.Equal(now, want) {
		s.t.Errorf("the damaged file was touched (%v)", err)
	}
}

func TestADamagedPageStopsWritesAndNotReads(t *testing.T) {
	for _, byCheck := range []bool{true, false} {
		t.Run(map[bool]string{true: "by the check after a crash", false: "by an event"}[byCheck], func(t *testing.T) {
			c := newTown(t)
			s := c.real("")
			s.configure("a")
			s.mention(realWS, messageID(0))
			until(t, "the answer", func() bool { return len(c.answers()) == 1 })
			s.advanceUntil("rest", func() bool { return s.metric("backlog") == 0 })
			s.stop()
			if byCheck { // else, after a stop in order, nothing is checked at the next start
				s.looksCrashed()
			}
			bad := s.spoil(realWS, `"text":"I heard you."`)
			s = c.real(s.opts.Data)
			until(t, "the damage to be found", func() bool {
				s.mention(realWS, messageID(3))
				if !byCheck {
					s.operator("GET", "/v1/workspaces/"+realGuild+"/a/records", "")
				}
				return s.metric("actors_damaged_total") > 0
			})
			writes := func() {
				t.Helper()
				if status, body := s.operator("PUT", "/v1/workspaces/"+realGuild+"/a/config", `{"model":"m"}`); status != 503 || !strings.Contains(body, "The database is damaged") {
					t.Errorf("a write: %d %s", status, body)
				}
				if s.mention(realWS, messageID(2)) {
					t.Error("a message was taken")
				}
				if status, body := s.operator("GET", "/v1/workspaces/"+realGuild+"/a/status", ""); status != 200 || !strings.Contains(body, "The database is damaged") {
					t.Errorf("status: %d %s", status, body)
				}
			}
			writes()
			s.untouched(realWS, bad)
			s.stop()
			s = c.real(s.opts.Data) // stays so after a clean restart
			writes()
			s.configure("b") // others go on
			if !s.mention("workspace:"+realGuild+"/b", messageID(3)) {
				t.Error("another workspace was disturbed")
			}
			s.stop()
			s.untouched(realWS, bad)
		})
	}
}

// looksCrashed makes the next start believe that the last process died.
func (s *site) looksCrashed() {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.opts.Data, "holdfast.lock"), []byte("1\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
}
