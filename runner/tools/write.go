package tools

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"holdfast/actor/errs"
	"holdfast/runner/protocol"
)

func write(_ context.Context, w *work, raw json.RawMessage) (protocol.Result, error) {
	var a struct{ Path, Content string }
	if err := json.Unmarshal(raw, &a); err != nil {
		return protocol.Result{}, err
	}
	rel, err := w.relative(a.Path)
	if err != nil {
		return protocol.Result{}, err
	}
	if err := w.permit(rel, true); err != nil {
		return protocol.Result{}, err
	}
	if len(a.Content) > maxFile {
		return protocol.Result{}, errs.New(errs.Invalid, "the content is longer than %d bytes", maxFile)
	}
	real, err := w.replace(rel, []byte(a.Content))
	if err != nil {
		return protocol.Result{}, err
	}
	return protocol.Result{
		Summary: fmt.Sprintf("wrote %s: %d lines, %d bytes, sha256 %s", real, countLines(a.Content), len(a.Content), hash([]byte(a.Content))),
		Files:   []string{real},
	}, nil
}

func edit(_ context.Context, w *work, raw json.RawMessage) (protocol.Result, error) {
	var a struct {
		Path, Old, New string
		All            bool
	}
	if err := json.Unmarshal(raw, &a); err != nil {
		return protocol.Result{}, err
	}
	f, real, err := w.open(a.Path)
	if err != nil {
		return protocol.Result{}, err
	}
	data, err := readAll(f)
	f.Close()
	if err != nil {
		return protocol.Result{}, err
	}
	if err := w.permit(real, true); err != nil {
		return protocol.Result{}, err
	}
	if w.changed(real, data) {
		return protocol.Result{}, errs.New(errs.Stale, "%s has changed since it was read; read it again", real)
	}
	n := strings.Count(string(data), a.Old)
	switch {
	case a.Old == a.New:
		return protocol.Result{}, errs.New(errs.Invalid, "old and new are the same")
	case n == 0:
		return protocol.Result{}, errs.New(errs.NotFound, "old does not occur in %s; it must match exactly, white space included", real)
	case n > 1 && !a.All:
		return protocol.Result{}, errs.New(errs.Conflict, "old occurs %d times in %s; give more of the text around it, or set all", n, real)
	}
	text := strings.ReplaceAll(string(data), a.Old, a.New)
	if _, err := w.replace(real, []byte(text)); err != nil {
		return protocol.Result{}, err
	}
	around, err := surroundings(text, strings.Index(string(data), a.Old), a.New)
	return protocol.Result{
		Summary: fmt.Sprintf("edited %s: %d replaced, %d bytes, sha256 %s\n%s", real, n, len(text), hash([]byte(text)), around),
		Files:   []string{real},
	}, err
}

// surroundings shows the first place that an edit has changed, with three lines on each side.
func surroundings(text string, at int, inserted string) (string, error) {
	if text == "" {
		return "the file is now empty", nil
	}
	first := strings.Count(text[:min(at, len(text))], "\n") + 1
	last := countLines(text)
	from := max(1, min(first, last)-3)
	return numbered(text, from, min(first-from+strings.Count(inserted, "\n")+4, 40))
}

func countLines(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}

// replace puts a whole file in place by renaming, so that nobody ever sees half of it. It returns the file's real path.
func (w *work) replace(rel string, data []byte) (string, error) {
	parent, base := filepath.Dir(rel), filepath.Base(rel)
	if base == "." || base == ".." {
		return "", errs.New(errs.Invalid, "%s is a folder", rel)
	}
	if err := w.root.MkdirAll(parent, 0o755); err != nil {
		return "", w.explain(rel, err)
	}
	dir, real, err := w.folder(parent)
	if err != nil {
		return "", err
	}
	defer dir.Close()
	real = filepath.Join(real, base)
	if err := w.permit(real, true); err != nil {
		return "", err
	}
	mode, err := modeOf(dir, base, real)
	if err != nil {
		return "", err
	}
	if err := swapIn(dir, base, data, mode); err != nil {
		return "", w.explain(rel, err)
	}
	w.saw(real, data)
	return real, nil
}

// folder opens a folder and says where it really is: two looks at a path must have met the same one.
func (w *work) folder(rel string) (*os.Root, string, error) {
	// Without these flags a FIFO would be waited upon.
	f, err := w.root.OpenFile(rel, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, "", w.explain(rel, err)
	}
	defer f.Close()
	real, err := w.realPath(f)
	if err != nil {
		return nil, "", err
	}
	dir, err := w.root.OpenRoot(rel)
	if err != nil {
		return nil, "", w.explain(rel, err)
	}
	a, err1 := f.Stat()
	b, err2 := dir.Stat(".")
	if err := errors.Join(err1, err2); err != nil || !os.SameFile(a, b) {
		dir.Close()
		return nil, "", errs.New(errs.Conflict, "%s was replaced meanwhile", rel)
	}
	return dir, real, nil
}

// modeOf is the mode that the file shall have. Links are refused: renaming would replace the link, not its target.
func modeOf(dir *os.Root, base, real string) (fs.FileMode, error) {
	info, err := dir.Lstat(base)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0o644, nil
	case err != nil:
		return 0, err
	case info.Mode()&fs.ModeSymlink != 0:
		return 0, errs.New(errs.Invalid, "%s is a link; write to the file that it names", real)
	}
	return info.Mode().Perm(), regular(real, info)
}

func swapIn(dir *os.Root, base string, data []byte, mode fs.FileMode) (err error) {
	temp := ".holdfast-" + rand.Text()
	f, err := dir.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = dir.Remove(temp)
		}
	}()
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(mode) // the process's umask has no say over a file that exists already
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return dir.Rename(temp, base)
}
