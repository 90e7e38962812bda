package host

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/actor/errs"
	"holdfast/worker/host/sqlite"
)

// backup asks the host for a backup, as an admin over HTTP.
func (s *site) backup() []byte {
	s.t.Helper()
	status, body := s.operator("POST", "/v1/backup", "")
	if status != 200 {
		s.t.Fatalf("backup: %d %s", status, body)
	}
	return []byte(body)
}

// restored is a directory made from a backup.
func restored(t testing.TB, backup []byte, o RestoreOptions) string {
	t.Helper()
	o.Data = filepath.Join(t.TempDir(), "restored")
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	if _, err := Restore(bytes.NewReader(backup), o); err != nil {
		t.Fatal(err)
	}
	return o.Data
}

func TestABackupIsMadeWhileEverythingRuns(t *testing.T) {
	for name, key := range map[string][]byte{"plain": nil, "encrypted": bytes.Repeat([]byte{3}, sqlite.KeySize)} {
		t.Run(name, func(t *testing.T) {
			withKey := func(o *Options) { o.Key = key; o.Limits.Open = 2 }
			s := open(t, "", withKey)
			names := []string{"workspace:1/a", "workspace:1/b", "workspace:2/c", "directory:1"}
			stop, busy := make(chan struct{}), sync.WaitGroup{}
			counts := make([]int, len(names))
			for i, name := range names {
				s.must(name, `{"trace":"a word to look for"},{"alarm":3600000}`)
				busy.Go(func() {
					for {
						select {
						case <-stop:
							return
						default:
							s.must(name, `{"trace":"more"}`)
							counts[i]++
						}
					}
				})
			}
			backup := s.backup()
			close(stop)
			busy.Wait()
			if bytes.Contains(backup, []byte("a word to look for")) != (key == nil) {
				t.Error("the backup is not as encrypted as the data")
			}
			m, err := ReadBackup(bytes.NewReader(backup), nil)
			if err != nil || len(m.Files) != len(names)+1 || len(m.Damaged) != 0 || m.Encrypted != (key != nil) {
				t.Fatalf("manifest: %+v, %v", m, err)
			}
			s.must(names[0], `{"trace":"after the backup"}`) // the original goes on
			again := open(t, restored(t, backup, RestoreOptions{Key: key}), withKey)
			for i, name := range names {
				var rows [][]int
				if err := json.Unmarshal([]byte(again.seen(name, "count(*), max(n)", "type = 'interaction'")), &rows); err != nil {
					t.Fatal(err)
				}
				if n := rows[0][0]; n < 1 || n > counts[i]+1 {
					t.Errorf("%s: %d events, of %d", name, n, counts[i]+1)
				}
			}
			if got := again.seen(names[0], "count(*)", "data LIKE '%after the backup%'"); got != "[[0]]" {
				t.Errorf("what came after it is in it: %s", got)
			}
			for _, name := range names[:3] { // each workspace is woken at once: nothing is taken from the index on trust
				again.eventually(name, "count(*)", "type = 'wake'", "[[1]]")
			}
			if left, _ := filepath.Glob(filepath.Join(s.opts.Data, tempDir)); len(left) > 0 {
				t.Error("a copy was left behind")
			}
		})
	}
}

func TestMessagesBetweenActorsWaitForABackup(t *testing.T) {
	s := open(t, "")
	s.must("workspace:1/a", `{"trace":"x"}`)
	s.must("workspace:1/b", `{"trace":"x"}`)
	out, in := io.Pipe()
	made := make(chan error, 1)
	go func() {
		_, err := s.Backup(context.Background(), in)
		made <- errors.Join(err, in.Close())
	}()
	if _, err := out.Read(make([]byte, 1)); err != nil { // it has begun, and goes on when its reader does
		t.Fatal(err)
	}
	if _, err := s.Backup(context.Background(), io.Discard); errs.CodeOf(err) != errs.Conflict {
		t.Errorf("a second backup: %v, want conflict", err)
	}
	s.must("workspace:1/a", `{"effect":{"id":"m1","type":"actor","actor":"workspace:1/b","data":{"do":[{"trace":"the message"}]}}}`)
	until(t, "the effect", func() bool { return s.metric("effects_total", "type", "actor") == 1 })
	if got := s.seen("workspace:1/b", "count(*)", "type = 'actor'"); got != "[[0]]" {
		t.Errorf("a message went between the copies: %s", got)
	}
	if _, err := io.Copy(io.Discard, out); err != nil {
		t.Fatal(err)
	}
	if err := <-made; err != nil {
		t.Fatal(err)
	}
	s.eventually("workspace:1/b", "count(*)", "type = 'actor'", "[[1]]")
}

func TestWhoMayBackUp(t *testing.T) {
	s := open(t, "")
	for name, c := range map[string]struct {
		kind, subject string
		roles         []string
		status        int
	}{
		"an operator without the role": {KindOperator, "ann", []string{"read", "approve"}, 403},
		"a runner":                     {KindRunner, "1/a", nil, 403},
		"an admin":                     {KindOperator, "ann", []string{"admin"}, 200},
	} {
		key, err := Token(testSecret, c.kind, c.subject, c.roles, 0)
		if err != nil {
			t.Fatal(err)
		}
		if status, body := s.do("POST", "/v1/backup", "", "Authorization", "Bearer "+key); status != c.status {
			t.Errorf("%s: %d %.200s, want %d", name, status, body, c.status)
		}
	}
	if status, _ := s.do("POST", "/v1/backup", ""); status != 401 {
		t.Errorf("nobody: %d, want 401", status)
	}
}

// A damaged database takes nothing from the others' backup, and is named.
func TestADamagedDatabaseIsLeftOut(t *testing.T) {
	c := newTown(t)
	s := c.real("")
	s.configure("a")
	s.configure("b")
	s.mention(realWS, messageID(0))
	until(t, "the answer", func() bool { return len(c.answers()) == 1 })
	s.advanceUntil("rest", func() bool { return s.metric("backlog") == 0 })
	s.stop()
	bad := s.spoil(realWS, `"text":"I heard you."`)
	s = c.real(s.opts.Data)
	backup := s.backup()
	m, err := ReadBackup(bytes.NewReader(backup), nil)
	if err != nil || fmt.Sprint(m.Damaged) != "["+realWS+"]" || len(m.Files) != 2 {
		t.Fatalf("manifest: %+v, %v", m, err)
	}
	if status, body := s.operator("PUT", "/v1/workspaces/"+realGuild+"/a/config", `{"model":"m"}`); status != 503 {
		t.Errorf("the damage that the backup found is not known: %d %s", status, body)
	}
	restored(t, backup, RestoreOptions{})
	s.stop()
	s.untouched(realWS, bad)
}

// entries takes a backup apart, for tests that put another one together.
func entries(t *testing.T, backup []byte) (headers []*tar.Header, bodies [][]byte) {
	t.Helper()
	in := tar.NewReader(bytes.NewReader(backup))
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return headers, bodies
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		headers, bodies = append(headers, h), append(bodies, body)
	}
}

func pack(t *testing.T, headers []*tar.Header, bodies [][]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for i, h := range headers {
		h.Size = int64(len(bodies[i]))
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(bodies[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestRestoreRefuses(t *testing.T) {
	c := newTown(t)
	s := c.real("")
	s.configure("a")
	good := s.backup()
	newer := func() []byte { // the same with a database of a later program
		if err := s.inTurn(context.Background(), realWS, func(r *resident) error {
			if err := r.db.Begin(); err != nil {
				return err
			}
			if _, err := r.db.Do(`UPDATE meta SET value = '99' WHERE key = 'schema'`, nil); err != nil {
				return err
			}
			return r.db.Commit()
		}); err != nil {
			t.Fatal(err)
		}
		return s.backup()
	}()
	with := func(name string, kind byte) []byte {
		headers, bodies := entries(t, good)
		headers = append([]*tar.Header{{Name: name, Typeflag: kind, Linkname: "/etc/passwd", Mode: 0o600}}, headers...)
		return pack(t, headers, append([][]byte{nil}, bodies...))
	}
	changed := func(i int, f func([]byte) []byte) []byte {
		headers, bodies := entries(t, good)
		bodies[i] = f(bodies[i])
		return pack(t, headers, bodies)
	}
	spoilt := func() []byte { // whole as an archive, damaged as a database
		headers, bodies := entries(t, good)
		last := len(headers) - 1
		old := checksum(bodies[0])
		copy(bodies[0][8192:], bytes.Repeat([]byte("damage! "), 512))
		bodies[last] = bytes.ReplaceAll(bodies[last], []byte(old), []byte(checksum(bodies[0])))
		return pack(t, headers, bodies)
	}
	for name, c := range map[string]struct {
		backup []byte
		key    []byte
		want   string
	}{
		"nothing":               {nil, nil, "no whole backup"},
		"no tar":                {[]byte(strings.Repeat("hello ", 1000)), nil, "no whole backup"},
		"cut in a database":     {good[:5000], nil, "no whole backup"},
		"cut before its end":    {good[:len(good)-3000], nil, "no whole backup"},
		"a changed byte":        {changed(0, func(b []byte) []byte { b[5000] ^= 1; return b }), nil, "no whole backup"},
		"a shorter database":    {changed(0, func(b []byte) []byte { return b[:4096] }), nil, "no whole backup"},
		"a manifest of nothing": {changed(2, func([]byte) []byte { return []byte(`{"format":1}`) }), nil, "no whole backup"},
		"another format":        {changed(2, func(b []byte) []byte { return bytes.Replace(b, []byte(`"format": 1`), []byte(`"format": 2`), 1) }), nil, "format 2"},
		"a file beside":         {with("actors/../../evil.db", tar.TypeReg), nil, "no whole backup"},
		"an absolute path":      {with("/tmp/evil.db", tar.TypeReg), nil, "no whole backup"},
		"a link":                {with("actors/directory_7.db", tar.TypeSymlink), nil, "no whole backup"},
		"an odd actor":          {with("actors/workspace_x_a.db", tar.TypeReg), nil, "no whole backup"},
		"a newer schema":        {newer, nil, "schema 99"},
		"a damaged database":    {spoilt(), nil, "is damaged"},
		"a key for nothing":     {good, make([]byte, sqlite.KeySize), "not encrypted"},
	} {
		dir := filepath.Join(t.TempDir(), "to")
		_, err := Restore(bytes.NewReader(c.backup), RestoreOptions{Data: dir, Key: c.key, Now: time.Now()})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%s: left %v behind", name, left)
		}
	}
	if _, err := Restore(bytes.NewReader(good), RestoreOptions{Data: s.opts.Data, Now: time.Now()}); errs.CodeOf(err) != errs.Conflict {
		t.Errorf("into a directory that is served: %v, want conflict", err)
	}
	s.configure("a") // it goes on
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, restoring), 0o700); err != nil {
		t.Fatal(err)
	}
	o := s.opts
	o.Data = dir
	if _, err := New(context.Background(), o); err == nil || !strings.Contains(err.Error(), "did not end") {
		t.Errorf("a restore that did not end is served: %v", err)
	}
}

func TestRestoreNeedsTheKey(t *testing.T) {
	key, other := bytes.Repeat([]byte{3}, sqlite.KeySize), bytes.Repeat([]byte{4}, sqlite.KeySize)
	s := open(t, "", func(o *Options) { o.Key = key })
	s.must(ws, `{"trace":"x"}`)
	backup := s.backup()
	for name, c := range map[string]struct {
		key  []byte
		want string
	}{"none": {nil, "is encrypted"}, "another": {other, "damaged"}} {
		_, err := Restore(bytes.NewReader(backup), RestoreOptions{Data: filepath.Join(t.TempDir(), "to"), Key: c.key, Now: time.Now()})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestF36_RestoredFromYesterdaysBackup goes through the whole host: what was answered since is not answered again,
// what was not waits for an operator, and no nonce comes twice.
func TestF36_RestoredFromYesterdaysBackup(t *testing.T) {
	c := newTown(t)
	s := c.real("")
	s.configure("a")
	c.gate = make(chan struct{})
	s.mention(realWS, messageID(0)) // open in the backup, answered after it
	until(t, "the model call", func() bool { return c.modelCalls() == 1 })
	backup := s.backup()
	close(c.gate)
	s.advanceUntil("the first answer", func() bool { return len(c.answers()) == 1 })
	s.mention(realWS, messageID(1)) // not in the backup, answered after it
	s.advanceUntil("the second answer", func() bool { return len(c.answers()) == 2 })
	s.advanceUntil("rest", func() bool { return s.metric("backlog") == 0 })
	s.stop()
	calls := c.modelCalls()

	s = c.real(restored(t, backup, RestoreOptions{}))
	for n := range 3 { // the relay's backfill; the last one was never seen before
		s.mention(realWS, messageID(n))
	}
	review := "/v1/workspaces/" + realGuild + "/a/review"
	s.advanceUntil("verdicts", func() bool {
		_, body := s.operator("GET", review, "")
		return strings.Count(body, `"verdict":"answered"`) == 2 && strings.Count(body, `"verdict":"absent"`) == 1
	})
	for range 50 {
		s.clock.Advance(time.Minute)
	}
	if n := c.modelCalls(); n != calls {
		t.Errorf("%d model calls in review", n-calls)
	}
	if status, body := s.operator("POST", "/v1/workspaces/"+realGuild+"/a/release", ""); status != 200 || !strings.Contains(body, `"mode":"over"`) {
		t.Fatalf("release: %d %s", status, body)
	}
	s.advanceUntil("the third answer", func() bool { return len(c.answers()) == 3 })
	s.advanceUntil("rest", func() bool { return s.metric("backlog") == 0 })
	for n := range 3 {
		if got := c.answers()[messageID(n)]; got != 1 {
			t.Errorf("message %d has %d answers, want one", n, got)
		}
	}
	for nonce, n := range c.nonces {
		if n > 1 {
			t.Errorf("nonce %s came %d times", nonce, n)
		}
	}
}

func FuzzReadBackup(f *testing.F) {
	var out bytes.Buffer
	a := archiveWriter{tar: tar.NewWriter(&out), manifest: Manifest{Format: archiveFormat}}
	path := filepath.Join(f.TempDir(), "x")
	if err := os.WriteFile(path, []byte("body"), 0o600); err != nil {
		f.Fatal(err)
	}
	for _, name := range []string{"actors/workspace_1_a.db", "actors/application.db", alarmsFile} {
		if err := a.add(name, path, 0); err != nil {
			f.Fatal(err)
		}
	}
	if err := a.close(); err != nil {
		f.Fatal(err)
	}
	f.Add(out.Bytes())
	f.Add(out.Bytes()[:700])
	f.Fuzz(func(t *testing.T, raw []byte) {
		seen := map[string]bool{}
		m, err := ReadBackup(bytes.NewReader(raw), func(name string, r io.Reader) error {
			if !filepath.IsLocal(name) || seen[name] {
				t.Fatalf("the name %q came through", name)
			}
			seen[name] = true
			return nil
		})
		// The law: what is taken for whole says of every file what it is.
		if err == nil && len(m.Files) != len(seen) {
			t.Fatalf("%d files in the manifest of %d", len(m.Files), len(seen))
		}
	})
}

func checksum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
