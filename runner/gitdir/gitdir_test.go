package gitdir

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"holdfast/runner/sandbox"
)

func repo(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{"objects", "refs", "hooks"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "HEAD"), []byte("ref: refs/heads/main\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestCheck(t *testing.T) {
	if err := Check(repo(t)); err != nil {
		t.Fatal(err)
	}
	harms := map[string]func(dir string) error{
		"commondir":      func(d string) error { return os.WriteFile(d+"/commondir", nil, 0o644) },
		"linked HEAD":    func(d string) error { os.Remove(d + "/HEAD"); return os.Symlink("/etc/passwd", d+"/HEAD") },
		"linked refs":    func(d string) error { os.Remove(d + "/refs"); return os.Symlink("/etc", d+"/refs") },
		"no objects":     func(d string) error { return os.Remove(d + "/objects") },
		"linked objects": func(d string) error { os.Remove(d + "/objects"); return os.Symlink("hooks", d+"/objects") },
	}
	for name, harm := range harms {
		dir := repo(t)
		if err := harm(dir); err != nil {
			t.Fatal(err)
		}
		if Check(dir) == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestMountsFollowNoLinks(t *testing.T) {
	dir := repo(t)
	for _, name := range []string{"config", "logs", "lfs"} {
		if err := os.Symlink("/etc", filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, m := range Mounts(dir, "/r") {
		kind := map[sandbox.Kind]string{sandbox.ReadOnly: "r", sandbox.Writable: "w", sandbox.Scratch: "s", sandbox.Hidden: "h"}[m.Kind]
		got = append(got, kind+m.Target)
	}
	want := []string{"s/r", "r/r/HEAD", "r/r/hooks", "w/r/objects", "w/r/refs", "h/r/packed-refs"}
	if !slices.Equal(got, want) {
		t.Fatalf("got %v", got)
	}
}

func TestSweepRemovesPlantedLinks(t *testing.T) {
	dir := repo(t)
	outside := filepath.Join(t.TempDir(), "profile")
	if err := os.WriteFile(outside, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "logs", "refs", "heads"), 0o755); err != nil {
		t.Fatal(err)
	}
	real, link, folder := filepath.Join(dir, "logs/refs/heads/main"), filepath.Join(dir, "logs/refs/heads/evil"), filepath.Join(dir, "refs/linked")
	for _, err := range []error{os.WriteFile(real, nil, 0o644), os.Symlink(outside, link), os.Symlink(t.TempDir(), folder), Sweep(dir)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]bool{real: true, outside: true, link: false, folder: false} {
		if _, err := os.Lstat(path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
}
