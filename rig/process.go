package rig

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
)

// process is a program of ours that a scenario may kill.
type process struct {
	cmd  *exec.Cmd
	log  *tail
	done chan struct{}
}

// startProcess runs a program with nothing in its environment but env, what every program needs, and its output kept.
func startProcess(dir, bin string, args, env []string) (*process, error) {
	p := &process{cmd: exec.Command(bin, args...), log: &tail{}, done: make(chan struct{})}
	p.cmd.Dir = dir
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + os.TempDir()}, env...)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // of the thread below, which waits with it
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // a killed process is what is wanted; its log says the rest
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// Down is closed when the process is gone.
func (p *process) Down() <-chan struct{} { return p.done }

// Kill sends SIGKILL and waits until the process is gone.
func (p *process) Kill() error {
	err := p.cmd.Process.Signal(syscall.SIGKILL)
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	<-p.done
	return err
}

// signal sends another signal than that of Kill.
func (p *process) signal(s syscall.Signal) error { return p.cmd.Process.Signal(s) }

// busy is an error while it has no children: a runner's are what it runs.
func (p *process) busy() error {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", p.cmd.Process.Pid))
	if err != nil {
		return err
	}
	for _, file := range files {
		if pids, err := os.ReadFile(file); err == nil && len(pids) > 0 { // a thread that ended has none
			return nil
		}
	}
	return errors.New("it runs nothing")
}

// Said is the end of its output.
func (p *process) Said() string { return p.log.String() }
