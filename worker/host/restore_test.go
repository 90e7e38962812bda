package host

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/actor/errs"
	"holdfast/worker/host/sqlite"
)

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
		if empty, err := isEmpty(dir); err != nil || !empty {
			t.Errorf("%s: something was left behind (%v)", name, err)
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

// A manifest is as untrusted as the rest: it names each file that came, once, and none that did not. Whatever it says,
// nothing outside the directory is touched, and no workspace starts without its review.
func TestRestoreBelievesNoManifest(t *testing.T) {
	c := newTown(t)
	s := c.real("")
	s.configure("a")
	s.configure("b")
	good := s.backup()
	base := t.TempDir()
	beside := filepath.Join(base, "beside", actorsDir, fileName(realWS)) // of another edge, which is stopped
	if err := os.Rename(restored(t, good, RestoreOptions{}), filepath.Join(base, "beside")); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(beside)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(files []ArchiveFile) []ArchiveFile{
		"a file outside in place of one": func(files []ArchiveFile) []ArchiveFile {
			files[0] = ArchiveFile{Name: "../../beside/actors/" + fileName(realWS)}
			return files
		},
		"a file that did not come": func(files []ArchiveFile) []ArchiveFile {
			files[0] = ArchiveFile{Name: "actors/application.db"}
			return files
		},
		"a file twice in place of another": func(files []ArchiveFile) []ArchiveFile {
			files[0] = files[1]
			return files
		},
		"a file twice":     func(files []ArchiveFile) []ArchiveFile { return append(files, files[0]) },
		"a file less":      func(files []ArchiveFile) []ArchiveFile { return files[1:] },
		"another checksum": func(files []ArchiveFile) []ArchiveFile { files[0].SHA256 = files[1].SHA256; return files },
	} {
		headers, bodies := entries(t, good)
		var m Manifest
		last := len(bodies) - 1
		if err := json.Unmarshal(bodies[last], &m); err != nil || len(m.Files) < 3 {
			t.Fatal(err, m.Files)
		}
		m.Files = change(m.Files)
		if bodies[last], err = json.Marshal(m); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(base, "to")
		_, err := Restore(bytes.NewReader(pack(t, headers, bodies)), RestoreOptions{Data: dir, Now: time.Now()})
		if err == nil || !strings.Contains(err.Error(), "no whole backup") {
			t.Errorf("%s: %v, want a refusal", name, err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if now, err := os.ReadFile(beside); err != nil || !bytes.Equal(now, before) {
			t.Errorf("%s: the other directory was changed (%v)", name, err)
		}
	}
}

// While a directory is being restored nobody else has it: no edge serves half of it, and no second restore begins.
func TestARestoreHasItsDirectoryAlone(t *testing.T) {
	c := newTown(t)
	s := c.real("")
	s.configure("a")
	good := s.backup()
	o := RestoreOptions{Data: filepath.Join(t.TempDir(), "to"), Now: time.Now()}
	out, in := io.Pipe()
	made := make(chan error, 1)
	go func() {
		_, err := Restore(out, o)
		out.Close() // what is behind the manifest is not read
		made <- err
	}()
	if _, err := in.Write(good[:512]); err != nil { // it has begun, and goes on when more comes
		t.Fatal(err)
	}
	if _, err := Restore(bytes.NewReader(good), o); err == nil {
		t.Error("a second restore into the same directory")
	}
	if _, err := lockDir(o.Data, func() bool { return false }); !errors.Is(err, ErrLocked) {
		t.Errorf("another process may serve the directory: %v", err)
	}
	if _, err := in.Write(good[512:]); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		t.Fatal(err)
	}
	if err := <-made; err != nil {
		t.Fatal(err)
	}
	again := c.real(o.Data)
	if status, body := again.operator("GET", "/v1/workspaces/"+realGuild+"/a/status", ""); status != 200 {
		t.Errorf("what was restored: %d %s", status, body)
	}
	if !again.lock.clean {
		t.Error("a restore that ended looks like a stop that did not")
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
	f.Add(bytes.Replace(out.Bytes(), []byte(`"name": "actors/application.db"`), []byte(`"name": "actors/workspace_1_a.db"`), 1)) // checksums are alike
	f.Fuzz(func(t *testing.T, raw []byte) {
		seen := map[string]bool{}
		m, err := ReadBackup(bytes.NewReader(raw), func(name string, r io.Reader) error {
			if !filepath.IsLocal(name) || seen[name] {
				t.Fatalf("the name %q came through", name)
			}
			seen[name] = true
			return nil
		})
		if err != nil {
			return
		}
		// The law: what is taken for whole says of every file what it is, and speaks of no other.
		for _, f := range m.Files {
			if !seen[f.Name] {
				t.Fatalf("the manifest names %q, which is not there or was named before", f.Name)
			}
			delete(seen, f.Name)
		}
		if len(seen) > 0 {
			t.Fatalf("the manifest leaves out %v", seen)
		}
	})
}

func checksum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
