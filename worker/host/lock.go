package host

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// ErrLocked means that another process serves the data directory; the error's text has its pid.
var ErrLocked = errors.New("the data directory is served already")

const cleanMark = "stopped\n"

// dirLock makes this the one process of a data directory (spec 3.1, rule 6), whether it serves or restores. The kernel drops it when the process dies.
type dirLock struct {
	file  *os.File
	clean bool // the last holder stopped in order
}

// lockDir takes the directory. While another process holds it, again says whether to try once more.
func lockDir(dir string, again func() bool) (*dirLock, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	for errors.Is(err, syscall.EWOULDBLOCK) && again() {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	// Read only now: a holder that was about to end has said by now how it did.
	said, readErr := io.ReadAll(io.LimitReader(f, 64))
	if err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%w: %s by process %s; stop that one first", ErrLocked, dir, bytes.TrimSpace(said))
		}
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	l := &dirLock{file: f, clean: len(said) == 0 || strings.TrimSpace(string(said)) == strings.TrimSpace(cleanMark)}
	if err := errors.Join(readErr, l.say(strconv.Itoa(os.Getpid())+"\n")); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock: %w", err)
	}
	return l, nil
}

// say replaces what the file says. It is always as long, so that a full disk is no obstacle.
func (l *dirLock) say(s string) error {
	_, err := fmt.Fprintf(io.NewOffsetWriter(l.file, 0), "%-*s", len(cleanMark)+4, s)
	return err
}

// release gives the directory up. clean says that everything was closed in order.
func (l *dirLock) release(clean bool) error {
	var err error
	if clean {
		err = l.say(cleanMark)
	}
	// Closing is not enough: a program that is being started holds a copy of the file until it has begun.
	return errors.Join(err, syscall.Flock(int(l.file.Fd()), syscall.LOCK_UN), l.file.Close())
}
