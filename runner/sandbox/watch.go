//go:build linux

package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// watchEvery is how often a call is looked at. What it may do between two looks is what the machine must bear.
const watchEvery = 50 * time.Millisecond

// keepFree is what a call must leave on the disk, whatever its own limit.
const keepFree = 512 << 20

// watch kills the call when all its processes together go beyond a limit: what one process may do is the kernel's
// business (applyLimits), which knows no limit for a whole family without control groups.
func (p *process) watch() {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	free := diskFree(p.dir)
	for {
		select {
		case <-p.exited:
			return
		case <-tick.C:
		}
		if reason := p.excess(free); reason != "" {
			p.Kill(reason)
			return
		}
	}
}

func (p *process) excess(before int64) string {
	n, memory := p.usage()
	switch {
	case n > p.limits.Processes:
		return fmt.Sprintf("more than %d processes", p.limits.Processes)
	case memory > 2*p.limits.Memory:
		return fmt.Sprintf("more than %d MiB of memory", 2*p.limits.Memory>>20)
	}
	free := diskFree(p.dir)
	if before-free > p.limits.Disk {
		return fmt.Sprintf("more than %d MiB written to the disk", p.limits.Disk>>20)
	}
	if free < keepFree && free < before {
		return "the disk is almost full"
	}
	return ""
}

// usage counts the call's processes and their anonymous memory, as seen in its own /proc.
func (p *process) usage() (n int, memory int64) {
	proc := "/proc"
	if p.inner != nil {
		proc = fmt.Sprintf("/proc/%d/root/proc", p.inner.number)
	}
	dir, err := os.Open(proc)
	if err != nil {
		return 0, 0
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return 0, 0
	}
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err != nil || p.mark != "" && !marked(pid, p.mark) {
			continue
		}
		if n++; n > p.limits.Processes {
			return n, memory // a bomb: no time to lose
		}
		memory += anonymous(proc + "/" + name + "/statm")
	}
	return n, memory
}

// anonymous is resident minus shared memory in bytes, from a statm file.
func anonymous(statm string) int64 {
	data, err := os.ReadFile(statm)
	fields := bytes.Fields(data)
	if err != nil || len(fields) < 3 {
		return 0
	}
	resident, _ := strconv.ParseInt(string(fields[1]), 10, 64)
	shared, _ := strconv.ParseInt(string(fields[2]), 10, 64)
	return (resident - shared) * int64(os.Getpagesize())
}

func diskFree(dir string) int64 {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 1 << 62
	}
	return int64(s.Bavail) * s.Bsize
}
