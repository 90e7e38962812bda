// Package worktree gives each conversation a place to work: a git worktree on a branch of its own, or, in a project
// without git, the project's folder (spec 4.3).
//
// A repository's configuration and hooks are written by whoever wrote its files, so every git runs inside the sandbox,
// and of the common repository only objects, refs, logs and the worktree's own state can be written there. Nothing can
// be added beside them: the person's own git obeys files such as commondir, config and hooks.
package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"holdfast/actor/errs"
	"holdfast/runner/gitdir"
	"holdfast/runner/sandbox"
)

var (
	validName  = regexp.MustCompile(`^c[0-9]{1,15}$`)
	validAdmin = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
)

// Project is a folder that people let the runner work on.
type Project struct {
	dir    string          // real path
	git    string          // its repository, "" without
	data   string          // worktrees/ is below it
	box    sandbox.Sandbox // nil: no program may run
	origin string          // push address of the remote "origin" when the runner started, "" without

	mu  sync.Mutex // one git of the runner at a time
	gen int        // makes names of pid files unique
}

// Place is where the tools of one conversation work.
type Place struct {
	Dir    string          // real path
	Branch string          // "" without git
	Mounts []sandbox.Mount // what a command needs to see to work there
}

// Open looks at the project in dir, which may be reached through links. data is the runner's own folder. With a nil
// box there are no worktrees: conversations share the project's folder.
func Open(ctx context.Context, dir, data string, box sandbox.Sandbox) (*Project, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return nil, errs.Wrap(errs.NotFound, err, "the project's folder cannot be reached")
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return nil, errs.New(errs.Invalid, "the project %s is not a folder", dir)
	}
	if data, err = filepath.Abs(data); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(data, "worktrees"), 0o700); err != nil {
		return nil, err
	}
	if data, err = filepath.EvalSymlinks(data); err != nil {
		return nil, err
	}
	if within(data, real) {
		return nil, errs.New(errs.Invalid, "the runner's data folder must not be inside the project").WithHint("Tools could write it there.")
	}
	p := &Project{dir: real, data: data, box: box}
	if box == nil {
		return p, nil
	}
	if p.git, err = repository(real); err != nil || p.git == "" {
		return p, err
	}
	out, err := p.run(ctx, p.dir, []sandbox.Mount{{Source: p.git}}, "--git-dir="+p.git, "remote", "get-url", "--push", "origin")
	if err == nil { // a project without the remote is none to complain about
		p.origin = strings.TrimSpace(string(out))
	}
	return p, nil
}

func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// repository finds the project's own repository: the real folder .git that has what a repository has. Links, and the
// .git files of linked worktrees and submodules, could name any folder of the machine; they are refused.
func repository(dir string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	info, err := root.Lstat(".git")
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", errs.New(errs.Invalid, "the project is a linked worktree or a submodule").WithHint("Give the runner the main checkout of the repository.")
	}
	if err := gitdir.Check(filepath.Join(dir, ".git")); err != nil {
		return "", fmt.Errorf("the project's .git: %w", err)
	}
	for _, name := range []string{"logs", "worktrees"} { // they are written in the sandbox, which cannot make them
		if err := root.Mkdir(".git/"+name, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", err
		}
		if info, err := root.Lstat(".git/" + name); err != nil || !info.IsDir() {
			return "", errs.New(errs.Invalid, "the project's .git is no repository: %s is no folder", name)
		}
	}
	return filepath.Join(dir, ".git"), nil
}

// Dir is the project's folder, without links.
func (p *Project) Dir() string { return p.dir }

// Git says whether conversations get worktrees.
func (p *Project) Git() bool { return p.git != "" }

// Origin is where "origin" was pushed to when the runner started; "" without such a remote.
func (p *Project) Origin() string { return p.origin }

// run runs one git of the runner itself, without hooks and helpers of the repository.
func (p *Project) run(ctx context.Context, dir string, mounts []sandbox.Mount, args ...string) ([]byte, error) {
	p.gen++
	quiet := []string{"git", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0"}
	out, err := sandbox.Run(ctx, p.box, sandbox.Command{
		Name: fmt.Sprint("git-", p.gen), Argv: append(quiet, args...), Dir: dir,
		Mounts: append([]sandbox.Mount{{Source: p.dir}}, mounts...),
	})
	if err != nil {
		return nil, fmt.Errorf("git %s: %w", args[len(args)-1], err)
	}
	return out, nil
}

// Sweep is to be called after each command that ran in a Place.
func (p *Project) Sweep() error {
	if p.git == "" {
		return nil
	}
	return gitdir.Sweep(p.git)
}
