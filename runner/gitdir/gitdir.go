// Package gitdir says what of a git repository a sandbox may see and change.
//
// The person's own git obeys what lies in a repository: hooks, config, commondir, info/attributes, modules. So nothing
// there can be changed or added from inside except objects, refs and logs, which commits and pushes need.
package gitdir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"holdfast/actor/errs"
	"holdfast/runner/sandbox"
)

// shown is what git reads in a repository; written is what it must be able to write (gitrepository-layout(5)).
var (
	shown   = []string{"HEAD", "config", "config.worktree", "hooks", "index", "info", "modules", "packed-refs", "shallow", "lfs", "worktrees"}
	written = []string{"objects", "refs", "logs", "reftable"}
)

// Check says whether dir is a repository that may be shown: links in place of its folders could lead anywhere, and
// commondir would make git use another repository.
func Check(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return errs.Wrap(errs.NotFound, err, "there is no git repository")
	}
	defer root.Close()
	for _, name := range []string{"objects", "refs"} {
		if info, err := root.Lstat(name); err != nil || !info.IsDir() {
			return errs.New(errs.Invalid, "it is no git repository: %s is no folder", name)
		}
	}
	if info, err := root.Lstat("HEAD"); err != nil || !info.Mode().IsRegular() {
		return errs.New(errs.Invalid, "it is no git repository: HEAD is no file")
	}
	if _, err := root.Lstat("commondir"); !errors.Is(err, fs.ErrNotExist) {
		return errs.New(errs.Invalid, "it names another repository in commondir")
	}
	return nil
}

// Mounts shows the repository in dir at target. The folder itself is scratch: git can make its lock files there, and
// they are gone afterwards. git branch -d and git pack-refs do not work that way; they fail and change nothing.
func Mounts(dir, target string) []sandbox.Mount {
	mounts := []sandbox.Mount{{Kind: sandbox.Scratch, Target: target}}
	add := func(kind sandbox.Kind, name string) {
		info, err := os.Lstat(filepath.Join(dir, name))
		if err == nil && (info.IsDir() || kind == sandbox.ReadOnly && info.Mode().IsRegular()) {
			mounts = append(mounts, sandbox.Mount{Kind: kind, Source: filepath.Join(dir, name), Target: filepath.Join(target, name)})
		}
	}
	for _, name := range shown {
		add(sandbox.ReadOnly, name)
	}
	for _, name := range written {
		add(sandbox.Writable, name)
	}
	// It must not be replaced, least of all in the scratch folder: packing removes the refs it has packed.
	if info, err := os.Lstat(filepath.Join(dir, "packed-refs")); err != nil || !info.Mode().IsRegular() {
		mounts = append(mounts, sandbox.Mount{Kind: sandbox.Hidden, Target: filepath.Join(target, "packed-refs")})
	}
	return mounts
}

// Sweep removes links from refs and logs after a call. Git makes none there, and the person's git would write its
// reflog through one that a program has planted.
func Sweep(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range []string{"refs", "logs"} {
		err = errors.Join(err, fs.WalkDir(root.FS(), name, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type()&fs.ModeSymlink != 0 {
				return root.Remove(path)
			}
			return nil // what vanishes meanwhile is no concern
		}))
	}
	return err
}
