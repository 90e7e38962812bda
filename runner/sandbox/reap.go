//go:build linux

package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// markName is set in the environment of everything that runs without a sandbox, so that it can be found again.
const markName = "HOLDFAST_CALL"

// writePidFile records who runs, before it runs: pids with their start times, since pids are used again.
func (p *process) writePidFile() error {
	if p.pidFile == "" {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "pid %d %s\n", p.cmd.Process.Pid, startTime(p.cmd.Process.Pid))
	if p.inner != nil {
		fmt.Fprintf(&b, "pid %d %s\n", p.inner.number, startTime(p.inner.number))
	}
	for _, dir := range p.groups {
		fmt.Fprintf(&b, "group %s\n", dir)
	}
	if p.mark != "" {
		fmt.Fprintf(&b, "mark %s\n", p.mark)
	}
	return os.WriteFile(p.pidFile, []byte(b.String()), 0o600)
}

// Reap ends what an earlier process of the runner left running, by the pid files in the sandbox's data folder, and
// says how many calls that were. It must be called before anything is started.
func Reap(data string) (int, error) {
	files, err := os.ReadDir(filepath.Join(data, "run"))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	n := 0
	for _, f := range files {
		path := filepath.Join(data, "run", f.Name())
		text, readErr := os.ReadFile(path)
		if readErr != nil {
			err = errors.Join(err, readErr)
			continue
		}
		if reapOne(string(text)) {
			n++
		}
		err = errors.Join(err, os.Remove(path))
	}
	return n, err
}

func reapOne(text string) (found bool) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		switch {
		case len(f) == 3 && f[0] == "pid":
			found = reapPid(f[1], f[2]) || found
		case len(f) == 2 && f[0] == "group" && strings.HasPrefix(f[1], "/sys/fs/cgroup/"):
			_ = os.Remove(f[1])
		case len(f) == 2 && f[0] == "mark":
			found = killMarked(f[1]) > 0 || found
		}
	}
	return found
}

// reapPid ends a process and its group, if it is still the one that began at that time.
func reapPid(number, began string) bool {
	n, err := strconv.Atoi(number)
	if err != nil || n <= 1 {
		return false
	}
	p, err := openPid(n)
	if err != nil {
		return false
	}
	defer p.close()
	if startTime(n) != began { // looked at only now that the handle holds the process
		return false
	}
	if group, err := unix.Getpgid(n); err == nil && group == n {
		_ = unix.Kill(-n, unix.SIGKILL)
	}
	p.kill()
	_ = p.awaitEnd(dieWithin)
	return true
}

// startTime is field 22 of /proc/pid/stat, in clock ticks since the machine's boot; "" when there is no such process.
func startTime(pid int) string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The program's name, in parentheses, may contain anything.
	f := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(f) < 20 || f[0][0] == 'Z' {
		return ""
	}
	return string(f[19])
}

func marked(pid int, mark string) bool {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err == nil && bytes.Contains(append([]byte{0}, env...), []byte("\x00"+markName+"="+mark+"\x00"))
}

// killMarked ends every process that carries the mark, until none is left: new ones may be born between two looks.
func killMarked(mark string) (killed int) {
	for range 100 {
		found := 0
		names, err := filepath.Glob("/proc/[0-9]*")
		if err != nil {
			return killed
		}
		for _, name := range names {
			pid, err := strconv.Atoi(filepath.Base(name))
			if err == nil && pid > 1 && marked(pid, mark) {
				found++
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		}
		if killed += found; found == 0 {
			return killed
		}
	}
	return killed
}
