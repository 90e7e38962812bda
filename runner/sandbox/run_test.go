//go:build linux

package sandbox

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// escape leaves a process behind that is in no group of the call's, does not carry its mark, and holds its output until
// nobody holds the FIFO "hold".
const escape = `mkfifo up; env -i setsid /bin/bash -c 'exec 3<hold; echo >up; read -u 3' & read <up; echo begun; echo trouble >&2`

// A process that escaped and keeps the output open does not keep its call from ending.
func TestRunEndsWithItsCommand(t *testing.T) {
	dir := t.TempDir()
	box, err := NewNone(Config{Data: filepath.Join(dir, "data")})
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(dir, "hold"), 0o600); err != nil {
		t.Fatal(err)
	}
	hold, err := os.OpenFile(filepath.Join(dir, "hold"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	patience := time.AfterFunc(10*time.Second, func() { hold.Close() })
	out, err := Run(t.Context(), box, Command{Name: "escape", Argv: []string{"/bin/bash", "-c", escape}, Dir: dir})
	if err != nil || string(out) != "begun\n" {
		t.Errorf("%q, %v", out, err)
	}
	if !patience.Stop() {
		t.Error("it waited for the process that escaped")
	}
	hold.Close()
}
