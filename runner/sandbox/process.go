//go:build linux

package sandbox

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/actor/errs"
)

// dieWithin is how long a killed call may take to be gone: thousands of processes end one after the other.
const dieWithin = 30 * time.Second

// process is a started command of either sandbox.
type process struct {
	pidFile string
	limits  Limits
	dir     string
	mark    string // value of markName in the environment of everything the call started, without a sandbox
	cmd     *exec.Cmd
	inner   *pid // first process inside bubblewrap, nil without
	guard   *guard
	groups  group
	finish  func() error

	began  time.Time
	exited chan struct{}
	code   int

	mu     sync.Mutex
	dead   bool // Kill was called, or it ended
	reason string
}

func newProcess(pidFile string, limits Limits, dir string) *process {
	return &process{pidFile: pidFile, limits: limits, dir: dir, exited: make(chan struct{})}
}

func checkCommand(c Command) error {
	if len(c.Argv) == 0 || !filepath.IsAbs(c.Dir) || c.Name == "" || strings.ContainsAny(c.Name, "/\x00") {
		return errs.New(errs.Invalid, "a command needs a name, a program and an absolute folder")
	}
	for _, s := range append(append([]string{c.Dir}, c.Argv...), c.Env...) {
		if strings.ContainsRune(s, 0) {
			return errs.New(errs.Invalid, "a command must not contain NUL bytes")
		}
	}
	return nil
}

// start runs cmd in a process group of its own. It dies with the thread that started it, so that thread is kept for
// it until its end (PR_SET_PDEATHSIG is about the parent thread).
func (p *process) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	p.cmd, p.began = cmd, time.Now()
	// Files that this process inherited itself are not marked: without this a call would inherit them in turn.
	if err := unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("close_range: %w", err)
	}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		if err == nil {
			p.guard.add(cmd.Process.Pid)
		}
		started <- err
		if err != nil {
			return
		}
		p.reap()
		close(p.exited)
	}()
	return <-started
}

// reap waits for the first process, ends what is left of its group, and only then gives its pid back to the machine.
func (p *process) reap() {
	pid := p.cmd.Process.Pid
	for {
		if err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != unix.EINTR {
			break
		}
	}
	p.mu.Lock()
	p.dead = true
	_ = unix.Kill(-pid, unix.SIGKILL)
	p.mu.Unlock()
	p.guard.drop(pid) // while the number is still its own
	_ = p.cmd.Wait()
	p.code = exitCode(p.cmd.ProcessState)
}

func exitCode(s *os.ProcessState) int {
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return s.ExitCode()
}

// Kill ends the whole call.
func (p *process) Kill(reason string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return
	}
	p.dead, p.reason = true, reason
	// The pid is still its own: reap sets dead before it lets go of it.
	_ = unix.Kill(-p.cmd.Process.Pid, unix.SIGKILL)
	if p.inner != nil {
		p.inner.kill() // the kernel then kills its whole namespace
	}
	if p.mark != "" {
		killMarked(p.mark)
	}
}

func (p *process) killed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reason != ""
}

// Wait waits for the end, then for the end of what may have outlived the first process.
func (p *process) Wait() (Exit, error) {
	<-p.exited
	p.mu.Lock()
	reason := p.reason
	p.mu.Unlock()
	if p.mark != "" {
		killMarked(p.mark)
	}
	var err error
	if p.finish != nil {
		err = p.finish()
	}
	if p.inner != nil {
		p.inner.kill()
		err = errors.Join(err, p.inner.awaitEnd(dieWithin))
		p.inner.close()
	}
	p.groups.remove()
	_ = os.Remove(p.pidFile)
	return Exit{Code: p.code, Reason: reason, Elapsed: time.Since(p.began)}, err
}

// applyLimits sets what every process of the call inherits.
func applyLimits(pid int, l Limits) error {
	for _, r := range []struct {
		resource int
		value    uint64
	}{
		// Private writable memory, not address space: Go, Java and browsers reserve far more than they use.
		{unix.RLIMIT_DATA, uint64(l.Memory)},
		{unix.RLIMIT_FSIZE, uint64(l.File)},
		// Threads count too. The kernel exempts root from it, whose calls the watch ends instead.
		{unix.RLIMIT_NPROC, uint64(l.Processes) * 8},
		{unix.RLIMIT_NOFILE, 4096},
		{unix.RLIMIT_CORE, 0},
		{unix.RLIMIT_MSGQUEUE, 0},
	} {
		want := unix.Rlimit{Cur: r.value, Max: r.value}
		var have unix.Rlimit
		if err := unix.Prlimit(pid, r.resource, nil, &have); err != nil {
			return err
		}
		want.Max = min(want.Max, have.Max)
		want.Cur = min(want.Cur, want.Max)
		if err := unix.Prlimit(pid, r.resource, &want, nil); err != nil {
			return err
		}
	}
	// When the machine runs out of memory all the same, the call goes first. A refusal is not worth failing for.
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), []byte("1000"), 0)
	return nil
}
