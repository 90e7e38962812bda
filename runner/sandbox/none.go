//go:build linux

package sandbox

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// None runs commands as the runner's own user, with its files and its network. Mounts are not obeyed. What a call
// started is found by a mark in its environment and killed at its end; a program that clears its environment and
// leaves its process group escapes that.
type None struct {
	data   string
	limits Limits
}

// NewNone prepares it; c.ReadOnly and c.Program are not used.
func NewNone(c Config) (*None, error) {
	data, err := filepath.Abs(c.Data)
	if err != nil {
		return nil, err
	}
	return &None{data: data, limits: c.Limits.orDefault()}, os.MkdirAll(filepath.Join(data, "run"), 0o700)
}

// Name is "none".
func (n *None) Name() string { return "none" }

// Start runs a command. Of the runner's environment it gets the variables that say where things are, no others.
func (n *None) Start(c Command) (Process, error) {
	if err := checkCommand(c); err != nil {
		return nil, err
	}
	p := newProcess(filepath.Join(n.data, "run", c.Name), n.limits, c.Dir)
	p.mark = rand.Text()
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Env = []string{markName + "=" + p.mark, "TERM=dumb", "GIT_TERMINAL_PROMPT=0", "PAGER=cat"}
	for _, name := range []string{"PATH", "HOME", "USER", "LANG", "TMPDIR"} {
		if v, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	cmd.Env = append(cmd.Env, c.Env...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.Dir, c.Stdout, c.Stderr
	// The mark is on record before the program exists.
	if err := os.WriteFile(p.pidFile, []byte("mark "+p.mark+"\n"), 0o600); err != nil {
		return nil, err
	}
	if err := p.start(cmd); err != nil {
		_ = os.Remove(p.pidFile)
		return nil, fmt.Errorf("start %s: %w", c.Argv[0], err)
	}
	if err := applyLimits(cmd.Process.Pid, n.limits); err != nil {
		p.Kill("its limits could not be set")
	}
	go p.watch()
	return p, nil
}
