package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"holdfast/actor/errs"
	"holdfast/runner/gitdir"
	"holdfast/runner/sandbox"
)

// Place makes the place of a conversation, or finds the one it has. The name is as "c42"; "" means the project's own
// folder where there is no git. Errors of code Invalid are the caller's.
func (p *Project) Place(ctx context.Context, name string) (Place, error) {
	if p.git == "" {
		return Place{Dir: p.dir, Mounts: []sandbox.Mount{{Kind: sandbox.Writable, Source: p.dir}}}, nil
	}
	if !validName.MatchString(name) {
		return Place{}, errs.New(errs.Invalid, "%.40q is no name of a worktree", name)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	dir := filepath.Join(p.data, "worktrees", name)
	admin, err := p.existing(dir)
	if err == nil && admin == "" {
		admin, err = p.create(ctx, name, dir)
	}
	if err != nil {
		return Place{}, fmt.Errorf("worktree %s: %w", name, err)
	}
	return p.place(name, dir, admin), nil
}

func (p *Project) place(name, dir, admin string) Place {
	own := filepath.Join(p.git, "worktrees", admin)
	return Place{Dir: dir, Branch: "holdfast/" + name, Mounts: append(gitdir.Mounts(p.git, p.git),
		sandbox.Mount{Kind: sandbox.Writable, Source: own},
		sandbox.Mount{Source: filepath.Join(own, "commondir")},
		sandbox.Mount{Source: filepath.Join(own, "gitdir")},
		sandbox.Mount{Source: filepath.Join(own, "config.worktree")},
		sandbox.Mount{Kind: sandbox.Writable, Source: dir},
		sandbox.Mount{Source: filepath.Join(dir, ".git")},
	)}
}

// existing finds the state folder of a worktree whose making was completed; "" says that there is none.
func (p *Project) existing(dir string) (admin string, err error) {
	done, err := os.ReadFile(dir + ".done")
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return "", nil // somebody removed it: made anew from its branch
	}
	admin = string(done)
	pointer, err := p.pointer(dir)
	if err != nil || pointer != admin {
		return "", errs.New(errs.Conflict, "it no longer belongs to the project's repository").WithHint("Move %s away.", dir)
	}
	if info, err := os.Lstat(filepath.Join(p.git, "worktrees", admin)); err != nil || !info.IsDir() {
		return "", errs.New(errs.Conflict, "the repository has forgotten it").WithHint("Move %s away.", dir)
	}
	return admin, nil
}

// pointer reads which state folder the .git file of a worktree names.
func (p *Project) pointer(dir string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	info, err := root.Lstat(".git")
	if err != nil || !info.Mode().IsRegular() || info.Size() > 4096 {
		return "", errors.New("its .git is no small file")
	}
	text, err := root.ReadFile(".git")
	if err != nil {
		return "", err
	}
	path, _ := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	admin := filepath.Base(path)
	if filepath.Dir(path) != filepath.Join(p.git, "worktrees") || !validAdmin.MatchString(admin) {
		return "", errors.New("its .git names another repository")
	}
	return admin, nil
}

// create makes the worktree. The file beside it is written last: what a crash left unfinished is removed and begun
// again. Files are checked out only once nothing but this worktree can be written, since filters may run then.
func (p *Project) create(ctx context.Context, name, dir string) (string, error) {
	if err := p.discard(dir); err != nil {
		return "", err
	}
	git := []string{"--git-dir=" + p.git}
	mounts := append(gitdir.Mounts(p.git, p.git),
		sandbox.Mount{Kind: sandbox.Writable, Source: filepath.Join(p.git, "worktrees")},
		sandbox.Mount{Kind: sandbox.Writable, Source: filepath.Dir(dir)})
	if _, err := p.run(ctx, p.dir, mounts, append(git, "rev-parse", "--verify", "--quiet", "HEAD")...); err != nil {
		return "", errs.Wrap(errs.Invalid, err, "the project has no commit yet")
	}
	branch := "holdfast/" + name
	add := append(git, "worktree", "add", "--quiet", "--no-checkout")
	if _, err := p.run(ctx, p.dir, mounts, append(git, "rev-parse", "--verify", "--quiet", "refs/heads/"+branch)...); err == nil {
		add = append(add, dir, branch)
	} else {
		add = append(add, "-b", branch, dir, "HEAD")
	}
	if _, err := p.run(ctx, p.dir, mounts, add...); err != nil {
		return "", err
	}
	admin, err := p.pointer(dir)
	if err != nil {
		return "", err
	}
	if err := p.makeConfig(admin); err != nil {
		return "", err
	}
	if _, err := p.run(ctx, dir, p.place(name, dir, admin).Mounts, "reset", "--quiet", "--hard"); err != nil {
		return "", err
	}
	return admin, os.WriteFile(dir+".done", []byte(admin), 0o600)
}

// makeConfig sees to it that the file which the sandbox shows read-only exists.
func (p *Project) makeConfig(admin string) error {
	root, err := os.OpenRoot(filepath.Join(p.git, "worktrees", admin))
	if err != nil {
		return err
	}
	defer root.Close()
	f, err := root.OpenFile("config.worktree", os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

// discard removes what is left of an unfinished or removed worktree, its state in the repository included. It does
// not prune: inside the sandbox the person's other worktrees would all look gone.
func (p *Project) discard(dir string) error {
	if err := errors.Join(os.RemoveAll(dir), removeFile(dir+".done")); err != nil {
		return err
	}
	root, err := os.OpenRoot(filepath.Join(p.git, "worktrees"))
	if err != nil {
		return err
	}
	defer root.Close()
	names, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return err
	}
	for _, n := range names {
		text, err := root.ReadFile(n.Name() + "/gitdir")
		if err == nil && strings.TrimSpace(string(text)) == filepath.Join(dir, ".git") {
			if err := root.RemoveAll(n.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

func removeFile(name string) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
