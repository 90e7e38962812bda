package broker

import (
	"os"
	"path/filepath"
	"testing"

	"holdfast/actor/errs"
	"holdfast/actor/frame"
	"holdfast/runner/sandbox"
)

func bare(t *testing.T, dir string) string {
	t.Helper()
	for _, d := range []string{"objects", "refs", "hooks"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "HEAD"), []byte("ref: refs/heads/main\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestOrigins(t *testing.T) {
	base := t.TempDir()
	repo := bare(t, filepath.Join(base, "origin.git"))
	bare(t, filepath.Join(base, "checkout", ".git"))
	project := filepath.Join(base, "project")
	tests := []struct {
		origin, target string
		code           errs.Code
	}{
		{repo, repo, ""},
		{"file://" + repo, repo, ""},
		{"../origin.git", repo, ""},
		{filepath.Join(base, "checkout"), filepath.Join(base, "checkout", ".git"), ""},
		{"", "", errs.NotFound},
		{filepath.Join(base, "gone"), "", errs.NotFound},
		{base, "", errs.Invalid},
		{"git@example.org:team/app.git", "", errs.Unavailable},
		{"https://example.org/app.git", "", errs.Unavailable},
		{"ssh://example.org/app.git", "", errs.Unavailable},
		{"ext::sh -c touch% /tmp/x", "", errs.Unavailable},
	}
	for _, tt := range tests {
		mounts, err := New(project, tt.origin).Mounts([]frame.Grant{{Kind: GitPush, Target: "origin"}})
		if errs.CodeOf(err) != tt.code {
			t.Errorf("%q: %v", tt.origin, err)
			continue
		}
		if err == nil && (mounts[0].Target != tt.target || mounts[0].Kind != sandbox.Scratch || len(mounts) != 6) {
			t.Errorf("%q: %+v", tt.origin, mounts)
		}
	}
}

func TestGrantsThatDoNotExist(t *testing.T) {
	b := New("/", bare(t, t.TempDir()))
	for _, g := range []frame.Grant{{Kind: "network", Target: "example.org"}, {Kind: GitPush, Target: "upstream"}, {}} {
		if _, err := b.Mounts([]frame.Grant{g}); errs.CodeOf(err) != errs.Invalid {
			t.Errorf("%+v: %v", g, err)
		}
	}
	if m, err := b.Mounts(nil); m != nil || err != nil {
		t.Fatalf("no grants: %v, %v", m, err)
	}
}
