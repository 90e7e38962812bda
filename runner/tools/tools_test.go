//go:build linux

package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"holdfast/actor/frame"
	"holdfast/runner/protocol"
	"holdfast/runner/sandbox"
)

// desk is a project folder with its tools.
type desk struct {
	t   *testing.T
	dir string
	set *Set
	n   int
}

func newDesk(t *testing.T, denied ...string) *desk {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	box, err := sandbox.NewBwrap(sandbox.Config{Data: filepath.Join(base, "data")})
	if err != nil {
		t.Fatal(err)
	}
	set, err := New(Options{Sandbox: box, Denied: denied})
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, dir: filepath.Join(base, "project"), set: set}
	if err := os.Mkdir(d.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(base, "secret"), []byte("canary"), 0o644); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *desk) put(files map[string]string) {
	d.t.Helper()
	for name, text := range files {
		path := filepath.Join(d.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			d.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			d.t.Fatal(err)
		}
	}
}

func (d *desk) get(name string) string {
	d.t.Helper()
	b, err := os.ReadFile(filepath.Join(d.dir, name))
	if err != nil {
		d.t.Fatal(err)
	}
	return string(b)
}

func (d *desk) link(target, name string) {
	d.t.Helper()
	if err := os.Symlink(target, filepath.Join(d.dir, name)); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) call(tool string, args any) Call {
	d.t.Helper()
	raw, ok := args.(string)
	if !ok {
		data, err := json.Marshal(args)
		if err != nil {
			d.t.Fatal(err)
		}
		raw = string(data)
	}
	d.n++
	return Call{Name: fmt.Sprint("call-", d.n), Tool: tool, Args: json.RawMessage(raw), Conversation: "c1", Dir: d.dir,
		Mounts: []sandbox.Mount{{Kind: sandbox.Writable, Source: d.dir}}}
}

func (d *desk) run(tool string, args any) protocol.Result {
	d.t.Helper()
	return d.set.Run(context.Background(), d.call(tool, args))
}

type m = map[string]any

// expect runs a tool and wants this status and this text in its summary.
func (d *desk) expect(tool string, args any, status, part string) string {
	d.t.Helper()
	r := d.run(tool, args)
	if r.Status != status || !strings.Contains(r.Summary, part) || strings.Contains(r.Summary, "canary") {
		d.t.Fatalf("%s %v: %s %q, want %s with %q", tool, args, r.Status, r.Summary, status, part)
	}
	return r.Summary
}

func TestOffer(t *testing.T) {
	set, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	safe := map[string]bool{"read": true, "glob": true, "grep": true, "write": true, "edit": false}
	offer := set.Offer()
	if len(offer) != len(safe) {
		t.Fatalf("offered without a sandbox: %+v", offer)
	}
	for _, tool := range offer {
		if want, known := safe[tool.Name]; !known || want != tool.Safe || !json.Valid(tool.Schema) {
			t.Errorf("%+v", tool)
		}
	}
	none, err := sandbox.NewNone(sandbox.Config{Data: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if set, err = New(Options{Sandbox: none}); err != nil {
		t.Fatal(err)
	}
	if last := set.Offer()[5]; last.Name != "bash" || last.Safe || last.Note != "runs without a sandbox" {
		t.Fatalf("%+v", last)
	}
}

func TestWrongArguments(t *testing.T) {
	d := newDesk(t)
	tests := []struct{ tool, args, part string }{
		{"read", `{}`, "missing property 'path'"},
		{"read", `{"path":"a","offset":0}`, "offset: minimum"},
		{"read", `{"path":1}`, "path: got number, want string"},
		{"read", `{"path":"a","colour":"red"}`, "additional properties 'colour' not allowed"},
		{"read", `{"path":`, "no JSON"},
		{"read", ``, "no JSON"},
		{"read", `[]`, "want object"},
		{"edit", `{"path":"a","old":"","new":"x"}`, "minLength"},
		{"bash", `{"command":"true","timeout":-1}`, "timeout"},
		{"dance", `{}`, `no tool called "dance"`},
	}
	for _, tt := range tests {
		d.expect(tt.tool, tt.args, frame.StatusError, tt.part)
	}
	if got := d.expect("read", `{}`, frame.StatusError, "Its schema is {"); !strings.Contains(got, `"offset"`) {
		t.Fatalf("no schema in %q", got)
	}
}

func TestRead(t *testing.T) {
	d := newDesk(t)
	long := strings.Repeat("x", 3000)
	d.put(map[string]string{"a.txt": "one\ntwo\r\nthree", "empty": "", "big": strings.Repeat("line\n", 9000), "wide": long,
		"bin": "\x89PNG\r\n\x1a\n\x00\x00", "latin1": "caf\xe9 au lait"})
	if got := d.run("read", m{"path": "a.txt"}).Summary; got != "     1\tone\n     2\ttwo\n     3\tthree\n" {
		t.Fatalf("%q", got)
	}
	d.expect("read", m{"path": filepath.Join(d.dir, "a.txt"), "offset": 2, "limit": 1}, "ok", "… 1 lines omitted before …\n     2\ttwo\n… 1 lines omitted; the file has 3 lines, read on with offset 3")
	d.expect("read", m{"path": "a.txt", "offset": 4}, "error", "has 3 lines")
	d.expect("read", m{"path": "empty"}, "ok", "is empty")
	big := d.expect("read", m{"path": "big"}, "ok", "the file has 9000 lines, read on with offset 2001")
	if len(big) > protocol.MaxSummary {
		t.Fatalf("%d bytes", len(big))
	}
	if got := d.expect("read", m{"path": "wide"}, "ok", "(1000 bytes more)"); len(got) > 2100 {
		t.Fatalf("%d bytes", len(got))
	}
	d.expect("read", m{"path": "bin"}, "ok", "binary file (image/png, 10 bytes")
	d.expect("read", m{"path": "latin1"}, "ok", "binary file")
	d.expect("read", m{"path": "none"}, "error", "none does not exist")
	d.expect("read", m{"path": "."}, "error", "is a folder")
}

func TestPathsDoNotEscape(t *testing.T) {
	d := newDesk(t)
	d.put(map[string]string{"sub/inside.txt": "fine", ".git/config": "x"})
	d.link("../secret", "up")
	d.link(filepath.Join(filepath.Dir(d.dir), "secret"), "absolute")
	d.link("..", "parent")
	d.link("sub", "within")
	d.link("loop", "loop")
	d.link("/dev/zero", "zero")
	if err := unix.Mkfifo(filepath.Join(d.dir, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"../secret", "up", "absolute", "parent/secret", "sub/../../secret", filepath.Join(filepath.Dir(d.dir), "secret"),
		"/etc/passwd", "loop", "zero", "fifo", "~/.ssh/id_rsa", "a\x00b", strings.Repeat("a/", 3000), "parent/project/sub/inside.txt"} {
		d.expect("read", m{"path": path}, "error", "")
		d.expect("edit", m{"path": path, "old": "a", "new": "b"}, "error", "")
		d.expect("grep", m{"pattern": "canary|root", "path": path}, "error", "")
		if path != "loop" && path != "~/.ssh/id_rsa" {
			d.expect("write", m{"path": path, "content": "x"}, "error", "")
		}
	}
	d.expect("write", m{"path": "parent/new", "content": "x"}, "error", "")
	d.expect("write", m{"path": ".git/hooks/pre-commit", "content": "x"}, "error", "belongs to git")
	d.expect("write", m{"path": "sub/.GIT/config", "content": "x"}, "error", "belongs to git")
	d.expect("edit", m{"path": ".git/config", "old": "x", "new": "y"}, "error", "belongs to git")
	d.expect("read", m{"path": "within/inside.txt"}, "ok", "fine")
	d.expect("bash", m{"command": "true", "cwd": "parent"}, "error", "leads out")
	if b, err := os.ReadFile(filepath.Join(filepath.Dir(d.dir), "secret")); err != nil || string(b) != "canary" {
		t.Fatalf("%q, %v", b, err)
	}
}

func TestSwappedLinkRace(t *testing.T) {
	d := newDesk(t)
	d.put(map[string]string{"a/secret": "harmless", "b": ""})
	if err := os.Symlink("..", filepath.Join(d.dir, "out")); err != nil {
		t.Fatal(err)
	}
	a, hold, out := filepath.Join(d.dir, "a"), filepath.Join(d.dir, "hold"), filepath.Join(d.dir, "out")
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { // a is now the folder, now a link to the project's parent, where another "secret" lies
		defer close(done)
		for ctx.Err() == nil {
			_ = os.Rename(a, hold)
			_ = os.Rename(out, a)
			_ = os.Rename(a, out)
			_ = os.Rename(hold, a)
		}
	}()
	fine := 0
	for i := range 2000 {
		r := d.run("read", m{"path": "a/secret"})
		if strings.Contains(r.Summary, "canary") {
			t.Fatalf("escaped at %d: %q", i, r.Summary)
		}
		if r.Status == frame.StatusOK {
			fine++
		}
		if i%10 == 0 {
			d.run("write", m{"path": "a/new", "content": "x"})
		}
	}
	cancel()
	<-done
	if _, err := os.Stat(filepath.Join(filepath.Dir(d.dir), "new")); err == nil {
		t.Fatal("written outside")
	}
	if fine == 0 || fine == 2000 {
		t.Logf("the race was one-sided: %d of 2000 reads succeeded", fine)
	}
}

func TestDeniedPaths(t *testing.T) {
	d := newDesk(t, "*.env", "secrets/*")
	d.put(map[string]string{".env": "canary", "a/prod.env": "canary", "secrets/deep/key": "canary", "ok.txt": "fine canaries? no", "environment": "fine"})
	d.link(".env", "innocent")
	d.link("secrets", "folder")
	for _, path := range []string{".env", "a/prod.env", "secrets/deep/key", "innocent", "folder/deep/key", "./a/../.env"} {
		d.expect("read", m{"path": path}, "error", "denied")
		d.expect("edit", m{"path": path, "old": "canary", "new": "b"}, "error", "denied")
		d.expect("grep", m{"path": path, "pattern": "can"}, "error", "denied")
	}
	for _, path := range []string{".env", "new.env", "secrets/x", "folder/x"} {
		d.expect("write", m{"path": path, "content": "x"}, "error", "denied")
	}
	d.expect("read", m{"path": "environment"}, "ok", "fine")
	if got := d.run("grep", m{"pattern": "canary"}).Summary; got != "no match\n" {
		t.Fatalf("grep %q", got)
	}
	if got := d.run("glob", m{"pattern": "**"}).Summary; got != "environment\nok.txt\n" {
		t.Fatalf("glob %q", got)
	}
	d.expect("bash", m{"command": "cat .env a/prod.env secrets/deep/key innocent; cp .env x; cat x; mv a b; cat b/prod.env; echo done"}, "ok", "done")
	if d.get(".env") != "canary" {
		t.Fatal("a denied file was changed")
	}
}

func TestWrite(t *testing.T) {
	d := newDesk(t)
	d.put(map[string]string{"run.sh": "old", "dir/x": ""})
	if err := os.Chmod(filepath.Join(d.dir, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := d.run("write", m{"path": "new/deep/a.txt", "content": "é\n"})
	if r.Status != "ok" || d.get("new/deep/a.txt") != "é\n" || len(r.Files) != 1 || r.Files[0] != "new/deep/a.txt" || !strings.Contains(r.Summary, hash([]byte("é\n"))) {
		t.Fatalf("%+v", r)
	}
	d.expect("write", m{"path": "run.sh", "content": "new"}, "ok", "wrote run.sh")
	if info, err := os.Stat(filepath.Join(d.dir, "run.sh")); err != nil || info.Mode().Perm() != 0o755 {
		t.Fatalf("%v, %v", info.Mode(), err)
	}
	d.link("run.sh", "link")
	d.expect("write", m{"path": "link", "content": "x"}, "error", "is a link")
	d.expect("write", m{"path": "dir", "content": "x"}, "error", "is a folder")
	d.expect("write", m{"path": ".", "content": "x"}, "error", "is a folder")
	d.expect("write", m{"path": "run.sh/x", "content": "x"}, "error", "")
	left, err := filepath.Glob(filepath.Join(d.dir, "*", ".holdfast-*"))
	if more, _ := filepath.Glob(filepath.Join(d.dir, ".holdfast-*")); err != nil || len(left)+len(more) != 0 {
		t.Fatalf("temporary files are left: %v %v", left, more)
	}
}

func TestEdit(t *testing.T) {
	d := newDesk(t)
	d.put(map[string]string{"a.go": "one\ntwo\ntwo\nthree\n"})
	d.expect("edit", m{"path": "a.go", "old": "two", "new": "2"}, "error", "occurs 2 times")
	d.expect("edit", m{"path": "a.go", "old": "four", "new": "4"}, "error", "does not occur")
	d.expect("edit", m{"path": "a.go", "old": "one", "new": "one"}, "error", "the same")
	d.expect("edit", m{"path": "a.go", "old": "two", "new": "2", "all": true}, "ok", "2 replaced")
	d.expect("edit", m{"path": "a.go", "old": "three\n", "new": "3\n"}, "ok", "     4\t3")
	if d.get("a.go") != "one\n2\n2\n3\n" {
		t.Fatalf("%q", d.get("a.go"))
	}
	d.expect("read", m{"path": "a.go"}, "ok", "")
	d.put(map[string]string{"a.go": "one\nchanged by somebody\n"})
	d.expect("edit", m{"path": "a.go", "old": "one", "new": "1"}, "error", "changed since it was read")
	other := d.call("edit", m{"path": "a.go", "old": "one", "new": "1"})
	other.Conversation = "c2"
	if r := d.set.Run(context.Background(), other); r.Status != "ok" {
		t.Fatalf("another conversation, which never read it: %+v", r)
	}
	d.expect("read", m{"path": "a.go"}, "ok", "")
	d.expect("edit", m{"path": "a.go", "old": "1\nchanged by somebody\n", "new": ""}, "ok", "now empty")
}

func TestGlobAndGrep(t *testing.T) {
	d := newDesk(t)
	d.put(map[string]string{".gitignore": "*.log\n/build/\n!keep.log\n", "main.go": "package main\nfunc main() {}\n", "pkg/a.go": "package pkg\n// TODO main\n",
		"pkg/b_test.go": "package pkg\n", "build/out.go": "package main\n", "x.log": "main\n", "keep.log": "main\n", "pkg/.gitignore": "gen*\n", "pkg/gen.go": "main",
		".git/HEAD": "main", "bin": "main\x00"})
	for _, tt := range []struct {
		args m
		want string
	}{
		{m{"pattern": "*.go"}, "main.go\npkg/a.go\npkg/b_test.go\n"},
		{m{"pattern": "/*.go"}, "main.go\n"},
		{m{"pattern": "pkg/**"}, "pkg/.gitignore\npkg/a.go\npkg/b_test.go\n"},
		{m{"pattern": "**/*_test.go"}, "pkg/b_test.go\n"},
		{m{"pattern": "*.go", "path": "pkg"}, "pkg/a.go\npkg/b_test.go\n"},
		{m{"pattern": "*.log"}, "keep.log\n"},
		{m{"pattern": "*.rs"}, "no file matches"},
	} {
		if got := d.run("glob", tt.args).Summary; got != tt.want {
			t.Errorf("glob %v: %q", tt.args, got)
		}
	}
	for _, tt := range []struct {
		args m
		want string
	}{
		{m{"pattern": `main`}, "keep.log:1:main\nmain.go:1:package main\nmain.go:2:func main() {}\npkg/a.go:2:// TODO main\n"},
		{m{"pattern": `^package`, "glob": "pkg/*"}, "pkg/a.go:1:package pkg\npkg/b_test.go:1:package pkg\n"},
		{m{"pattern": `todo`, "ignore_case": true, "context": 1}, "pkg/a.go-1-package pkg\npkg/a.go:2:// TODO main\n"},
		{m{"pattern": `pkg$`, "path": "pkg/a.go"}, "pkg/a.go:1:package pkg\n"},
		{m{"pattern": `nothing`}, "no match\n"},
	} {
		if got := d.run("grep", tt.args).Summary; got != tt.want {
			t.Errorf("grep %v: %q", tt.args, got)
		}
	}
	d.expect("grep", m{"pattern": "("}, "error", "no regular expression")
	d.put(map[string]string{"many.txt": strings.Repeat("needle in a long enough line of hay\n", 5000)})
	got := d.expect("grep", m{"pattern": "needle"}, "ok", "stopped after 500 matches")
	if len(got) > protocol.MaxSummary {
		t.Fatalf("%d bytes", len(got))
	}
}

func TestProjectThroughALinkedFolder(t *testing.T) {
	d := newDesk(t)
	d.put(map[string]string{"a.txt": "hi\n"})
	link := filepath.Join(filepath.Dir(d.dir), "link")
	if err := os.Symlink(d.dir, link); err != nil {
		t.Fatal(err)
	}
	real, err := filepath.EvalSymlinks(link) // as the runner does when it opens a project
	if err != nil {
		t.Fatal(err)
	}
	d.dir = real
	d.expect("read", m{"path": "a.txt"}, "ok", "hi")
	d.expect("bash", m{"command": "cat a.txt"}, "ok", "hi")
}
