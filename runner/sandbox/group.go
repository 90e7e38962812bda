//go:build linux

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// group is the control groups of one call: the only limit that the kernel keeps for root's processes, and for the
// memory of many processes together. An ordinary user has none to give away; its calls have RLIMIT_NPROC and the watch.
type group []string

// joinGroups puts pid into new groups with limits, as far as the machine lets us. What cannot be had is left out.
func joinGroups(pid int, l Limits) (g group) {
	if os.Geteuid() != 0 {
		return nil
	}
	// Above what the watch allows: it can say what happened, the kernel only picks a victim.
	threads, memory := fmt.Sprint(4*l.Processes), fmt.Sprint(2*l.Memory+l.Memory/2)
	unified := map[string]string{"pids.max": threads, "memory.max": memory, "memory.swap.max": "0"}
	for _, c := range []struct {
		base   string
		limits map[string]string
	}{
		{"/sys/fs/cgroup/pids", map[string]string{"pids.max": threads}},
		{"/sys/fs/cgroup/memory", map[string]string{"memory.limit_in_bytes": memory}},
		{"/sys/fs/cgroup", unified},
	} {
		if _, err := os.Stat(filepath.Join(c.base, "cgroup.procs")); err != nil {
			continue
		}
		dir, err := os.MkdirTemp(c.base, "holdfast-")
		if err != nil {
			continue
		}
		g = append(g, dir)
		for file, value := range c.limits {
			_ = writeFile(filepath.Join(dir, file), value)
		}
		_ = writeFile(filepath.Join(dir, "cgroup.procs"), fmt.Sprint(pid))
	}
	return g
}

// writeFile never makes a file: in a folder of control groups the kernel has made those that exist.
func writeFile(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// remove drops the groups, which must be empty of processes.
func (g group) remove() {
	for _, dir := range g {
		_ = os.Remove(dir)
	}
}
