package sample

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func output(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestMake(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "sample")
	project, err := Make(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := output(t, project, "git", "status", "--porcelain", "--branch"); got != "## main...origin/main" {
		t.Errorf("git status: %q", got)
	}
	head := output(t, project, "git", "rev-parse", "HEAD")
	if origin := output(t, project, "git", "ls-remote", "origin", "refs/heads/main"); !strings.HasPrefix(origin, head) {
		t.Errorf("origin has %q, the project %q", origin, head)
	}
	for _, name := range []string{"README.md", "AGENTS.md", "go.mod", "berths.go", "berths_test.go"} {
		if _, err := os.Stat(filepath.Join(project, name)); err != nil {
			t.Error(err)
		}
	}
	output(t, project, "go", "vet", "./...")
	output(t, project, "go", "test", "./...")
	if got := output(t, project, "gofmt", "-l", "."); got != "" {
		t.Errorf("not formatted: %s", got)
	}
}

// What people did to the sample is theirs: a second start keeps it.
func TestMakeKeepsWhatIsThere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sample")
	project, err := Make(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(project, "README.md")); err != nil {
		t.Fatal(err)
	}
	if _, err := Make(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(project, "README.md")); !os.IsNotExist(err) {
		t.Errorf("the second start brought the file back (%v)", err)
	}
}

// The same commit everywhere, whatever git is configured to do for whoever starts it.
func TestMakeIsTheSameEverywhere(t *testing.T) {
	heads := map[string]bool{}
	for _, name := range []string{"a", "b"} {
		home := t.TempDir()
		t.Setenv("HOME", home)
		t.Setenv("GIT_AUTHOR_NAME", "Somebody "+name)
		hostile := "[commit]\n\tgpgSign = true\n[core]\n\thooksPath = /nonexistent\n[init]\n\tdefaultBranch = trunk\n"
		if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(hostile), 0o600); err != nil {
			t.Fatal(err)
		}
		project, err := Make(t.Context(), filepath.Join(t.TempDir(), "sample"))
		if err != nil {
			t.Fatal(err)
		}
		heads[output(t, project, "git", "rev-parse", "main")] = true
	}
	if len(heads) != 1 {
		t.Errorf("different commits: %v", heads)
	}
}
