//go:build linux

package sandbox

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// hungBwrap is bubblewrap as it is between its clone and the moment when it lets its child go: the child waits, and
// nothing tells it that its parent is gone.
const hungBwrap = `#!/bin/sh
[ "$1" = --help ] && exit 0
sleep 600 3>&- 4>&- 5>&- 6>&- 7>&- &
echo $! >"${0%/*}/child.new" && mv "${0%/*}/child.new" "${0%/*}/child"
wait
`

// TestNothingWaitsForADeadRunner kills the process that started a sandbox before it has let the sandbox go.
func TestNothingWaitsForADeadRunner(t *testing.T) {
	if dir := os.Getenv("GUARD_CHILD"); dir != "" {
		startAndHang(t, dir, os.Getenv("GUARD_KIND"))
		return
	}
	for _, kind := range []string{"hung", "held"} {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "bwrap"), []byte(hungBwrap), 0o755); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(os.Args[0], "-test.run=^TestNothingWaitsForADeadRunner$")
			cmd.Env = append(os.Environ(), "GUARD_CHILD="+dir, "GUARD_KIND="+kind)
			cmd.Stderr = os.Stderr
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			child, err := openPid(childOf(t, dir, kind, out))
			if err != nil {
				t.Fatal(err)
			}
			defer child.close()
			_ = unix.Kill(cmd.Process.Pid, unix.SIGKILL)
			_ = cmd.Wait() // it was killed
			if err := child.awaitEnd(10 * time.Second); err != nil {
				child.kill()
				t.Error(err)
			}
			if _, err := os.Stat(filepath.Join(dir, "executed")); err == nil {
				t.Error("the command ran, without limits, after its runner's death")
			}
		})
	}
}

// childOf waits until the sandbox's first process waits, and gives its number.
func childOf(t *testing.T, dir, kind string, out io.Reader) int {
	t.Helper()
	if kind == "held" {
		line := make([]byte, 6)
		if _, err := io.ReadFull(out, line); err != nil || !bytes.Equal(line, []byte("ready\n")) {
			t.Fatalf("%q, %v", line, err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "data", "run", "7.1"))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(text), "\n")
		n, err := strconv.Atoi(strings.Fields(lines[1])[1])
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		return n
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); <-tick.C {
		if text, err := os.ReadFile(filepath.Join(dir, "child")); err == nil {
			n, err := strconv.Atoi(strings.TrimSpace(string(text)))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatal("the sandbox did not begin")
	return 0
}

func startAndHang(t *testing.T, dir, kind string) {
	config := Config{Data: filepath.Join(dir, "data")}
	if kind == "hung" {
		config.Program = filepath.Join(dir, "bwrap")
	}
	box, err := NewBwrap(config)
	if err != nil {
		t.Fatal(err)
	}
	box.held = func() {
		fmt.Println("ready")
		select {}
	}
	_, err = box.Start(Command{Name: "7.1", Argv: []string{"/bin/touch", filepath.Join(dir, "executed")}, Dir: dir,
		Mounts: []Mount{{Kind: Writable, Source: dir}}, Stdout: os.Stdout})
	t.Fatal(err)
}
