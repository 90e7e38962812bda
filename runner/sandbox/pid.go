//go:build linux

package sandbox

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// pid is a handle on one process: unlike its number it can never come to mean another one.
type pid struct {
	number int
	fd     int
}

func openPid(number int) (*pid, error) {
	fd, err := unix.PidfdOpen(number, 0)
	if err != nil {
		return nil, fmt.Errorf("process %d: %w", number, err)
	}
	return &pid{number, fd}, nil
}

// kill sends SIGKILL; a process that has ended already is no failure.
func (p *pid) kill() { _ = unix.PidfdSendSignal(p.fd, unix.SIGKILL, nil, 0) }

// awaitEnd waits until the process, and with it a namespace that it was the first of, is gone.
func (p *pid) awaitEnd(atMost time.Duration) error {
	deadline := time.Now().Add(atMost)
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}, int(time.Until(deadline).Milliseconds()))
		switch {
		case err == nil && n > 0:
			return nil
		case err != nil && err != unix.EINTR:
			return fmt.Errorf("wait for process %d: %w", p.number, err)
		case !time.Now().Before(deadline):
			return fmt.Errorf("process %d does not die", p.number)
		}
	}
}

func (p *pid) close() { unix.Close(p.fd) }
