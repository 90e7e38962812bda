//go:build linux

package worktree

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/actor/errs"
	"holdfast/actor/frame"
	"holdfast/runner/broker"
	"holdfast/runner/sandbox"
)

// fixture is a project with one commit and a bare origin, and a runner's data folder.
type fixture struct {
	t                           *testing.T
	base, project, data, origin string
	box                         sandbox.Sandbox
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, base: base, project: filepath.Join(base, "project"), data: filepath.Join(base, "data"), origin: filepath.Join(base, "origin.git")}
	box, err := sandbox.NewBwrap(sandbox.Config{Data: filepath.Join(f.data, "sandbox")})
	if err != nil {
		t.Fatal(err)
	}
	f.box = box
	f.host(base, "init", "--quiet", "--bare", "-b", "main", f.origin)
	f.host(base, "init", "--quiet", "-b", "main", f.project)
	f.write("README.md", "hello\n")
	f.write("AGENTS.md", "be kind\n")
	f.host(f.project, "add", ".")
	f.host(f.project, "commit", "--quiet", "-m", "first")
	f.host(f.project, "remote", "add", "origin", f.origin)
	f.host(f.project, "push", "--quiet", "origin", "main")
	return f
}

func (f *fixture) write(name, text string) {
	f.t.Helper()
	path := filepath.Join(f.project, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		f.t.Fatal(err)
	}
}

// host is the person's own git, outside.
func (f *fixture) host(dir string, args ...string) string {
	f.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=p", "GIT_AUTHOR_EMAIL=p@x", "GIT_COMMITTER_NAME=p", "GIT_COMMITTER_EMAIL=p@x")
	out, err := cmd.CombinedOutput()
	if err != nil {
		f.t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (f *fixture) open() *Project {
	f.t.Helper()
	p, err := Open(context.Background(), f.project, f.data, f.box)
	if err != nil {
		f.t.Fatal(err)
	}
	return p
}

func (f *fixture) place(p *Project, name string) Place {
	f.t.Helper()
	place, err := p.Place(context.Background(), name)
	if err != nil {
		f.t.Fatal(err)
	}
	return place
}

// inside runs a script as the bash tool would. It returns both outputs, and whether the script succeeded.
func (f *fixture) inside(place Place, script string, more ...sandbox.Mount) (string, bool) {
	f.t.Helper()
	out, err := sandbox.Run(context.Background(), f.box, sandbox.Command{
		Name: "call", Argv: []string{"/bin/bash", "-c", "exec 2>&1; " + script}, Dir: place.Dir, Mounts: append(place.Mounts, more...),
	})
	if err != nil && !strings.Contains(err.Error(), "exit code") {
		f.t.Fatal(err)
	}
	return string(out), err == nil
}

func TestEachConversationHasItsBranch(t *testing.T) {
	f := newFixture(t)
	p := f.open()
	a, b := f.place(p, "c42"), f.place(p, "c43")
	if a.Dir == b.Dir || a.Branch != "holdfast/c42" {
		t.Fatalf("places %+v, %+v", a, b)
	}
	out, ok := f.inside(a, "echo new > new.txt && git add . && git commit -q -m second && git status --short && git log --format=%s")
	if !ok || out != "second\nfirst\n" {
		t.Fatalf("commit inside: %q", out)
	}
	if got := f.host(f.project, "log", "--format=%s", "holdfast/c42"); got != "second\nfirst" {
		t.Fatalf("the person sees %q", got)
	}
	if got := f.host(f.project, "status", "--porcelain"); got != "" {
		t.Fatalf("the person's checkout changed: %q", got)
	}
	if out, _ := f.inside(b, "ls; git branch --show-current"); out != "AGENTS.md\nREADME.md\nholdfast/c43\n" {
		t.Fatalf("the other conversation sees %q", out)
	}
	if got := f.host(f.project, "fsck"); got != "" {
		t.Fatalf("fsck: %s", got)
	}
	// Everyday git, which must work with the repository mostly read-only.
	out, ok = f.inside(a, `git branch fix && git switch -q fix && echo x >> README.md && git stash -q && git stash pop -q && git commit -qam x &&
		git tag v1 && git switch -q - && git merge -q fix && git rebase -q HEAD~1 && git reset -q --hard HEAD~1 && git cherry-pick fix && git diff HEAD~1 --stat`)
	if !ok {
		t.Fatalf("everyday git: %s", out)
	}
}

func TestPlaceIsFoundAgainOrMadeAnew(t *testing.T) {
	f := newFixture(t)
	place := f.place(f.open(), "c42")
	f.inside(place, "echo new > new.txt && git add . && git commit -q -m second; echo more > dirty.txt")
	again := f.place(f.open(), "c42")
	if again.Dir != place.Dir {
		t.Fatalf("moved to %s", again.Dir)
	}
	if out, _ := f.inside(again, "ls"); !strings.Contains(out, "dirty.txt") {
		t.Fatalf("lost work: %q", out)
	}
	if err := os.RemoveAll(place.Dir); err != nil {
		t.Fatal(err)
	}
	if out, _ := f.inside(f.place(f.open(), "c42"), "ls; git log --format=%s"); out != "AGENTS.md\nREADME.md\nnew.txt\nsecond\nfirst\n" {
		t.Fatalf("made anew: %q", out)
	}
	if err := os.Remove(place.Dir + ".done"); err != nil { // as if a crash had come before the end
		t.Fatal(err)
	}
	if out, ok := f.inside(f.place(f.open(), "c42"), "git status --short; ls"); !ok || out != "AGENTS.md\nREADME.md\nnew.txt\n" {
		t.Fatalf("made anew after a crash: %q", out)
	}
	if got := f.host(f.project, "worktree", "list"); strings.Count(got, "\n") != 1 {
		t.Fatalf("worktrees: %s", got)
	}
}

func TestOtherWorktreesOfThePersonStay(t *testing.T) {
	f := newFixture(t)
	f.host(f.project, "worktree", "add", "-q", "-b", "mine", filepath.Join(f.base, "c42"))
	place := f.place(f.open(), "c42") // git must give its state another name
	if out, ok := f.inside(place, "git status --short && git worktree prune; git gc -q; true"); !ok {
		t.Fatal(out)
	}
	if got := f.host(filepath.Join(f.base, "c42"), "branch", "--show-current"); got != "mine" {
		t.Fatalf("the person's worktree: %q", got)
	}
}

func TestNamesOfWorktrees(t *testing.T) {
	p := newFixture(t).open()
	for _, name := range []string{"", "c", "42", "c-1", "../c1", "c1/..", "c1234567890123456", "C1", "c1\n"} {
		if _, err := p.Place(context.Background(), name); errs.CodeOf(err) != errs.Invalid {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestHostileRepository plants what git would run, and lets the runner and the person use the repository.
func TestHostileRepository(t *testing.T) {
	f := newFixture(t)
	marker := filepath.Join(f.base, "ran")
	evil := filepath.Join(f.project, ".git", "evil.sh")
	script := "#!/bin/sh\ntouch " + marker + "\nexec cat\n"
	for _, name := range []string{"evil.sh", "hooks/post-checkout", "hooks/pre-commit", "hooks/reference-transaction", "hooks/post-index-change"} {
		f.write(".git/"+name, script)
	}
	f.write(".git/info/attributes", "* filter=evil\n")
	for _, kv := range []string{"core.fsmonitor", "filter.evil.smudge", "filter.evil.clean", "core.pager", "core.sshCommand", "credential.helper", "core.editor"} {
		f.host(f.project, "config", kv, evil)
	}
	p := f.open()
	place := f.place(p, "c42")
	p.Facts(context.Background())
	if out, ok := f.inside(place, "git status && echo x > x && git add . && git commit -qm x --no-verify"); !ok {
		t.Logf("git inside: %s", out)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Fatal("something of the repository ran outside the sandbox")
	}
}

// obeyed lists all files of a repository that the person's git obeys, with their content.
func (f *fixture) obeyed(git string) map[string]string {
	f.t.Helper()
	seen := map[string]string{}
	err := filepath.WalkDir(git, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(git, path)
		switch strings.Split(rel, "/")[0] {
		case "objects", "refs", "logs":
			return nil
		}
		if own, ok := strings.CutPrefix(rel, "worktrees/c42/"); ok && own != "commondir" && own != "gitdir" && own != "config.worktree" {
			return nil
		}
		seen[rel] = d.Type().String()
		if d.Type().IsRegular() {
			text, err := os.ReadFile(path)
			seen[rel] += string(text)
			return err
		}
		return nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return seen
}

// TestPersonsGitIsNotReached tries, from inside, to leave something that the person's own git would obey.
func TestPersonsGitIsNotReached(t *testing.T) {
	f := newFixture(t)
	place := f.place(f.open(), "c42")
	git := filepath.Join(f.project, ".git")
	own := filepath.Join(git, "worktrees", "c42")
	refs := f.host(f.project, "for-each-ref")
	before, link := f.obeyed(git), must(os.ReadFile(filepath.Join(place.Dir, ".git")))
	for _, script := range []string{
		"echo x > hooks/pre-commit", "mkdir hooks/new", "echo x >> config", "git config core.fsmonitor /bin/true", "git config --worktree a.b c",
		"echo x > config.worktree", "echo x > commondir", "mkdir -p modules/m && echo x > modules/m/config", "echo x > info/attributes",
		"mv hooks h && mkdir hooks && echo x > hooks/pre-commit", "rm -rf hooks", "mv config c && cp c config", "rm config", "ln -sf /tmp/x config",
		"echo ref: refs/heads/x > HEAD", "rm index", "echo x > index", "rm packed-refs", "git pack-refs --all", "git gc -q", "git branch -D holdfast/c42; git update-ref -d refs/heads/nothing",
		"echo x > worktrees/c42/commondir", "rm worktrees/c42/commondir", "echo x > worktrees/c42/config.worktree", "mkdir worktrees/c43",
		"mv worktrees/c42 worktrees/x", "mv worktrees w", "echo x > worktrees/c42/gitdir",
		"cd " + place.Dir + "; echo x > .git", "cd " + place.Dir + "; rm .git", "cd " + place.Dir + "; mv .git moved", "cd " + place.Dir + "; rm -rf .git && mkdir .git",
	} {
		f.inside(place, "cd "+git+" && "+script)
		for name, text := range f.obeyed(git) {
			if before[name] != text {
				t.Fatalf("%s changed %s to %q", script, name, text)
			}
		}
		if after := f.obeyed(git); len(after) != len(before) {
			t.Fatalf("%s left %d files of %d", script, len(after), len(before))
		}
		if now := must(os.ReadFile(filepath.Join(place.Dir, ".git"))); string(now) != string(link) {
			t.Fatalf("%s changed .git to %q", script, now)
		}
	}
	if got := f.host(f.project, "for-each-ref"); got != refs {
		t.Fatalf("refs were %s\nand are %s", refs, got)
	}
	if got := f.host(f.project, "status", "--porcelain"); got != "" {
		t.Fatalf("the person's checkout changed: %q", got)
	}
	if _, err := os.Stat(own); err != nil {
		t.Fatal(err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestPushNeedsItsGrant(t *testing.T) {
	f := newFixture(t)
	p := f.open()
	if p.Origin() != f.origin {
		t.Fatalf("origin %q", p.Origin())
	}
	hook := filepath.Join(f.origin, "hooks", "post-receive")
	marker := filepath.Join(f.base, "hook-ran")
	if err := os.WriteFile(hook, []byte("#!/bin/sh\ntouch "+marker+"\necho seen by hook\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	place := f.place(p, "c42")
	push := "echo x > x && git add x && git commit -qm pushed; git push origin HEAD:refs/heads/fix"
	if out, ok := f.inside(place, push); ok {
		t.Fatalf("pushed without a grant: %s", out)
	}
	if out, _ := f.inside(place, "ls "+f.origin); !strings.Contains(out, "No such file") {
		t.Fatalf("the origin shows without a grant: %s", out)
	}
	grant, err := broker.New(p.Dir(), p.Origin()).Mounts([]frame.Grant{{Kind: "git-push", Target: "origin"}})
	if err != nil {
		t.Fatal(err)
	}
	out, ok := f.inside(place, push, grant...)
	if !ok || !strings.Contains(out, "seen by hook") {
		t.Fatalf("push with the grant: %s", out)
	}
	if got := f.host(f.origin, "log", "-1", "--format=%s", "fix"); got != "pushed" {
		t.Fatalf("the origin has %q", got)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Fatal("the hook ran outside the sandbox")
	}
	before := f.obeyed(f.origin)
	f.inside(place, "cd "+f.origin+"; echo x > hooks/post-receive; echo x > config; echo x > commondir; rm -f HEAD; git push -q . :fix", grant...)
	if after := f.obeyed(f.origin); !maps.Equal(before, after) {
		t.Fatalf("the origin's own files changed: %v", after)
	}
	if out, ok := f.inside(place, "git push origin :fix", grant...); !ok {
		t.Fatalf("removing a branch with the grant: %s", out)
	}
	if out, ok := f.inside(place, "git push origin HEAD:refs/heads/fix2"); ok {
		t.Fatalf("the grant outlived its call: %s", out)
	}
}

func TestFacts(t *testing.T) {
	f := newFixture(t)
	p := f.open()
	facts := p.Facts(context.Background())
	if facts.AgentsMD != "be kind\n" || facts.Branch != "main" || facts.Head != f.host(f.project, "rev-parse", "HEAD") || len(facts.Hash) != 64 {
		t.Fatalf("facts %+v", facts)
	}
	if again := p.Facts(context.Background()); again.Hash != facts.Hash {
		t.Fatal("the hash changes by itself")
	}
	f.write("AGENTS.md", strings.Repeat("é", MaxInstructions))
	long := p.Facts(context.Background())
	if len(long.AgentsMD) > MaxInstructions || long.Hash == facts.Hash {
		t.Fatalf("%d bytes", len(long.AgentsMD))
	}
	if err := os.Remove(filepath.Join(f.project, "AGENTS.md")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(f.project, "AGENTS.md")); err != nil {
		t.Fatal(err)
	}
	f.write("CLAUDE.md", "fallback")
	if got := p.Facts(context.Background()).AgentsMD; got != "fallback" {
		t.Fatalf("instructions %q", got)
	}
}

func TestProjectsWithoutAWorktree(t *testing.T) {
	f := newFixture(t)
	plain := filepath.Join(f.base, "plain")
	link := filepath.Join(f.base, "link")
	if err := os.Mkdir(plain, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(plain, link); err != nil {
		t.Fatal(err)
	}
	p, err := Open(context.Background(), link, f.data, f.box)
	if err != nil || p.Git() {
		t.Fatalf("%v", err)
	}
	place := f.place(p, "c1")
	if out, ok := f.inside(place, "echo x > y && pwd"); !ok || place.Dir != plain || out != plain+"\n" {
		t.Fatalf("%+v: %s", place, out)
	}
	noGit, err := Open(context.Background(), f.project, f.data, nil)
	if err != nil || noGit.Git() || f.place(noGit, "c1").Dir != f.project {
		t.Fatalf("without a sandbox: %v", err)
	}
}

func TestProjectsThatAreRefused(t *testing.T) {
	f := newFixture(t)
	linked := filepath.Join(f.base, "linked")
	f.host(f.project, "worktree", "add", "-q", linked)
	strange := filepath.Join(f.base, "strange")
	if err := os.MkdirAll(filepath.Join(strange, ".git", "refs"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc", filepath.Join(strange, ".git", "objects")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ dir, data string }{
		{linked, f.data}, {strange, f.data}, {filepath.Join(f.base, "nothing"), f.data}, {filepath.Join(f.project, "README.md"), f.data},
		{f.project, filepath.Join(f.project, "data")},
	} {
		if _, err := Open(context.Background(), tt.dir, tt.data, f.box); err == nil {
			t.Errorf("%+v was opened", tt)
		}
	}
}
