package host

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"holdfast/worker/host/sqlite"
)

func (s *site) file(name string) string { return filepath.Join(s.opts.Data, actorsDir, fileName(name)) }

func (s *site) marked(name string) bool {
	_, err := os.Stat(s.file(name) + markEnding)
	return err == nil
}

// replace puts bytes in the place of a file and gives them back.
func replace(t *testing.T, path string, change func([]byte) []byte) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b = change(b)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return b
}

// wrongly are ways in which a file does not even open.
var wrongly = map[string]func(testing.TB, []byte) []byte{
	"a garbage header": func(_ testing.TB, b []byte) []byte {
		return append(bytes.Repeat([]byte("garbage!"), 64), b[512:]...)
	},
	"one byte":     func(_ testing.TB, b []byte) []byte { return b[:1] },
	"half a page":  func(_ testing.TB, b []byte) []byte { return b[:2048] },
	"one page":     func(_ testing.TB, b []byte) []byte { return b[:4096] },
	"a page short": func(_ testing.TB, b []byte) []byte { return b[:len(b)-4096] },
	"another key":  func(t testing.TB, _ []byte) []byte { return encrypted(t) },
}

// encrypted is a sound database under a key that nobody here has.
func encrypted(t testing.TB) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.db")
	db, err := sqlite.OpenWith(path, sqlite.Options{Key: bytes.Repeat([]byte{9}, sqlite.KeySize)})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Begin()
	if err == nil {
		_, err = db.Do("CREATE TABLE t (x) ", nil)
	}
	if err = errors.Join(err, db.Commit(), db.Close()); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// signedTown opens a host that takes interactions under key.
func signedTown(t *testing.T, c *town, dir string, key ed25519.PrivateKey) *site {
	return c.real(dir, func(o *Options) {
		o.Config.PublicKeys = []string{hex.EncodeToString(key.Public().(ed25519.PublicKey))}
		o.Config.ApplicationID, o.Config.AllowedGuilds = askApp, []string{realGuild}
	})
}

func TestADatabaseThatDoesNotOpenIsDamagedLikeAnyOther(t *testing.T) {
	for name, spoil := range wrongly {
		t.Run(name, func(t *testing.T) {
			key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
			c := newTown(t)
			s := signedTown(t, c, "", key)
			s.configure("a")
			s.configure("b")
			if status, body := s.operator("PUT", "/v1/workspaces/"+realGuild+"/a/config", `{"bindings":["`+askChannel+`"]}`); status != 200 {
				t.Fatalf("bind: %d %s", status, body)
			}
			s.stop()
			bad := replace(t, s.file(realWS), func(b []byte) []byte { return spoil(t, b) })

			for range 2 { // the second start finds the mark
				s = signedTown(t, c, s.opts.Data, key)
				until(t, "the start to mark it", func() bool { return s.marked(realWS) })
				s.refusesAsDamaged(key)
				if status, body := s.operator("PUT", "/v1/workspaces/"+realGuild+"/b/config", `{"instructions":"x"}`); status != 200 {
					t.Errorf("another workspace: %d %s", status, body)
				}
				if s.marked("workspace:" + realGuild + "/b") {
					t.Error("another workspace is marked")
				}
				s.stop()
				s.untouched(realWS, bad)
			}
		})
	}
}

// Encrypted, a file shows nothing of what it is: the start tries the key.
func TestTheStartFindsAnotherKey(t *testing.T) {
	key := func(o *Options) { o.Key = bytes.Repeat([]byte{1}, sqlite.KeySize) }
	s := open(t, "", key)
	s.must(ws, `{"trace":"x"}`)
	s.must("workspace:1/b", `{"trace":"x"}`)
	s.stop()
	bad := replace(t, s.file(ws), func([]byte) []byte { return encrypted(t) })
	s = open(t, s.opts.Data, key)
	until(t, "the mark", func() bool { return s.marked(ws) })
	if s.marked("workspace:1/b") {
		t.Error("another workspace is marked")
	}
	s.must("workspace:1/b", `{"trace":"x"}`)
	s.stop()
	s.untouched(ws, bad)
}

// refusesAsDamaged checks what everybody is told of the workspace.
func (s *site) refusesAsDamaged(key ed25519.PrivateKey) {
	s.t.Helper()
	base := "/v1/workspaces/" + realGuild + "/a/"
	for _, path := range []string{base + "status", "/v1/status"} {
		if status, body := s.operator("GET", path, ""); status != 200 || !strings.Contains(body, `"storage":"The database is damaged`) {
			s.t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if status, body := s.operator("PUT", base+"config", `{"model":"m"}`); status != 503 || !strings.Contains(body, "The database is damaged") {
		s.t.Errorf("a write: %d %s", status, body)
	}
	if status, body := s.operator("GET", base+"jobs", ""); status != 503 || !strings.Contains(body, "The database is damaged") {
		s.t.Errorf("jobs: %d %s", status, body)
	}
	for n := range 2 { // whoever comes first is told the same as all others
		status, body := s.interaction(key, ask(s.t, strconv.Itoa(1300000000000009000+n), "hello"))
		if status != 200 || !strings.Contains(body, "database is damaged") || strings.Contains(body, "try again.") || !strings.Contains(body, `"flags":64`) {
			s.t.Errorf("in the chat: %d %s", status, body)
		}
	}
	if s.mention(realWS, messageID(7)) {
		s.t.Error("a message was taken")
	}
}

func TestAMarkGoesWhenTheFileOpensAgain(t *testing.T) {
	c := newTown(t)
	right, wrong := bytes.Repeat([]byte{1}, sqlite.KeySize), bytes.Repeat([]byte{2}, sqlite.KeySize)
	with := func(key []byte) func(*Options) { return func(o *Options) { o.Key = key } }
	s := c.real("", with(right))
	s.configure("a")
	s.stop()
	if err := os.Remove(filepath.Join(s.opts.Data, alarmsFile)); err != nil {
		t.Fatal(err)
	}
	s = c.real(s.opts.Data, with(wrong))
	until(t, "the mark", func() bool { _, _ = s.operator("GET", "/v1/status", ""); return s.marked(realWS) })
	s.stop()
	if err := os.Remove(filepath.Join(s.opts.Data, alarmsFile)); err != nil {
		t.Fatal(err)
	}
	s = c.real(s.opts.Data, with(right))
	until(t, "the mark to go", func() bool { return !s.marked(realWS) })
	s.configure("a")
	if status, body := s.operator("GET", "/v1/workspaces/"+realGuild+"/a/status", ""); status != 200 || !strings.Contains(body, `"storage":"ok"`) {
		t.Errorf("status: %d %s", status, body)
	}
}
