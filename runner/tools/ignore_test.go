//go:build linux

package tools

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestIgnoreAgreesWithGit makes random rules and asks git check-ignore about every file.
func TestIgnoreAgreesWithGit(t *testing.T) {
	files := []string{"a", "b.log", "d/a", "d/b.log", "d/e/a", "d/e/f/b.log", "build/a", "d/build/a", "foo bar", "d/#x", "!neg", "a[1]", "d/e/a1", "d/e/a-", "deep/d/e/a"}
	parts := []string{"a", "*.log", "d", "e", "**", "*", "build", "?", "[ab]*", "[!a]*", "foo bar", `\#x`, "#x", `\!neg`, `a\[1\]`, "a[0-9]", "a[]-]", "b.*", "f", "[", "***"}
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 60 {
		dir := t.TempDir()
		git(t, dir, nil, "init", "-q")
		for _, f := range files {
			path := filepath.Join(dir, f)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		rules := map[string]string{".": randomRules(rng, parts), "d": randomRules(rng, parts)}
		for folder, text := range rules {
			if err := os.WriteFile(filepath.Join(dir, folder, ".gitignore"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		out := git(t, dir, []byte(strings.Join(files, "\x00")), "check-ignore", "-z", "--no-index", "--stdin")
		want := map[string]bool{}
		for f := range strings.SplitSeq(out, "\x00") {
			want[f] = true
		}
		for _, f := range files {
			if got := ignoredBelow(rules, f); got != want[f] {
				t.Errorf("round %d: %q ignored %v, git says %v; rules %q", round, f, got, want[f], rules)
			}
		}
	}
}

// ignoredBelow decides as walk does: a folder that is ignored hides what is in it.
func ignoredBelow(rules map[string]string, file string) bool {
	files := []ignoreFile{parseIgnore(".", rules["."])}
	elements := strings.Split(file, "/")
	for i := range elements {
		rel := strings.Join(elements[:i+1], "/")
		if ignored(files, rel, i < len(elements)-1) {
			return true
		}
		if text, ok := rules[rel]; ok {
			files = append(files, parseIgnore(rel, text))
		}
	}
	return false
}

func randomRules(rng *rand.Rand, parts []string) string {
	var b strings.Builder
	for range 1 + rng.IntN(4) {
		if rng.IntN(4) == 0 {
			b.WriteByte('!')
		}
		if rng.IntN(4) == 0 {
			b.WriteByte('/')
		}
		for i := range 1 + rng.IntN(3) {
			if i > 0 {
				b.WriteByte('/')
			}
			b.WriteString(parts[rng.IntN(len(parts))])
		}
		b.WriteString([]string{"", "/", " ", "\r"}[rng.IntN(4)] + "\n")
	}
	return b.String()
}

func git(t *testing.T, dir string, stdin []byte, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(stdin)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.Output()
	if exit, ok := err.(*exec.ExitError); err != nil && (!ok || exit.ExitCode() != 1) {
		t.Fatalf("git %v: %v", args, err)
	}
	return string(out)
}

func TestWildcard(t *testing.T) {
	for _, tt := range []struct {
		pattern, s string
		want       bool
	}{
		{"*.env", ".env", true}, {"*.env", "a/b.env", true}, {"*.env", "env", false}, {"*.env", ".envrc", false}, {"secrets/*", "secrets/a/b", true},
		{"secrets/*", "secrets", false}, {"?.go", "a.go", true}, {"?.go", "ab.go", false}, {"a*b*c", "axxbyyc", true}, {"a*b*c", "axxbyy", false}, {"*", "", true}, {"", "", true}, {"", "a", false},
	} {
		if got := wildcard(tt.pattern, tt.s); got != tt.want {
			t.Errorf("%q on %q: %v", tt.pattern, tt.s, got)
		}
	}
}
