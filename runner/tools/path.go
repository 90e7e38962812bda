package tools

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"holdfast/actor/errs"
)

// maxFile is the largest file that read, edit and grep load, in bytes.
const maxFile = 16 << 20

// relative turns what a model calls a path into one below the folder. Absolute paths are taken when they lead there.
func (w *work) relative(path string) (string, error) {
	if strings.ContainsRune(path, 0) || len(path) > 4096 {
		return "", errs.New(errs.Invalid, "that is no path")
	}
	rel := filepath.Clean(path)
	if filepath.IsAbs(rel) {
		var err error
		if rel, err = filepath.Rel(w.call.Dir, rel); err != nil {
			return "", outside(path)
		}
	}
	if !filepath.IsLocal(rel) {
		return "", outside(path)
	}
	return rel, nil
}

func outside(path string) error {
	return errs.New(errs.Unauthorized, "%.200s is outside the project", path)
}

// permit refuses paths that the person has denied, and writing what git itself uses.
func (w *work) permit(rel string, writing bool) error {
	if w.set.isDenied(rel) {
		return errs.New(errs.Unauthorized, "%s is denied by the workspace's rules", rel)
	}
	for part := range strings.SplitSeq(rel, "/") {
		if writing && strings.EqualFold(part, ".git") {
			return errs.New(errs.Unauthorized, "%s belongs to git and must not be written", rel)
		}
	}
	return nil
}

func (s *Set) isDenied(rel string) bool {
	for _, pattern := range s.denied {
		if wildcard(pattern, rel) || wildcard(pattern, filepath.Base(rel)) {
			return true
		}
	}
	return false
}

// wildcard matches * with any text, slashes included, and ? with any byte.
func wildcard(pattern, s string) bool {
	star, mark, p, i := -1, 0, 0, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == s[i]):
			p++
			i++
		case star >= 0:
			mark++
			p, i = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// open opens a regular file for reading. It checks the path as given and the path that the opened file really has, so
// that neither a link nor a swap between the two leads to what is denied.
func (w *work) open(path string) (*os.File, string, error) {
	rel, err := w.relative(path)
	if err != nil {
		return nil, "", err
	}
	if err := w.permit(rel, false); err != nil {
		return nil, "", err
	}
	info, err := w.root.Stat(rel) // opening a device may already do something
	if err != nil {
		return nil, "", w.explain(rel, err)
	}
	if err := regular(rel, info); err != nil {
		return nil, "", err
	}
	f, err := w.root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, "", w.explain(rel, err)
	}
	real, err := w.checkOpened(f, rel)
	if err != nil {
		f.Close()
		return nil, "", err
	}
	return f, real, nil
}

func (w *work) checkOpened(f *os.File, rel string) (string, error) {
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if err := regular(rel, info); err != nil {
		return "", err
	}
	real, err := w.realPath(f)
	if err != nil {
		return "", err
	}
	return real, w.permit(real, false)
}

func regular(rel string, info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return errs.New(errs.Invalid, "%s is a folder", rel)
	case !info.Mode().IsRegular():
		return errs.New(errs.Invalid, "%s is no regular file (%s)", rel, info.Mode().Type())
	case info.Size() > maxFile:
		return errs.New(errs.Invalid, "%s has %d bytes, more than the %d that this tool takes", rel, info.Size(), maxFile)
	}
	return nil
}

// realPath is where an opened file or folder is, below the call's folder.
func (w *work) realPath(f *os.File) (string, error) {
	path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err != nil {
		return "", fmt.Errorf("where the file is cannot be found out: %w", err)
	}
	rel, err := filepath.Rel(w.call.Dir, path)
	if err != nil || !filepath.IsLocal(rel) {
		return "", outside(f.Name())
	}
	return rel, nil
}

// explain turns the file system's errors into sentences about the path as the model knows it.
func (w *work) explain(rel string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errs.Wrap(errs.NotFound, err, "%s does not exist", rel)
	case errors.Is(err, fs.ErrPermission):
		return errs.Wrap(errs.Unauthorized, err, "%s may not be accessed", rel)
	case strings.Contains(err.Error(), "escapes"):
		return errs.Wrap(errs.Unauthorized, err, "%s leads out of the project", rel)
	}
	var path *os.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return errs.Wrap(errs.Invalid, err, "%s: %v", rel, err)
}

func readAll(f *os.File) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = errs.New(errs.Invalid, "the file grew beyond %d bytes", maxFile)
	}
	return data, err
}
