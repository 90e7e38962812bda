package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"
)

// What is measured runs in a process of its own, floors too, so that no load generator's garbage is collected by it.

// childVar holds a child's task, as JSON, in its environment.
const childVar = "HOLDFAST_BENCH_CHILD"

// task is what a child does.
type task struct {
	Kind string // a key of children
	Data string // its folder
	Args json.RawMessage
}

// children run until their standard input ends. They call ready with their handler once they can serve.
var children = map[string]func(t task, ready func(http.Handler) error) error{"floor": serveFloor, "host": serveHost}

// serveChild is the child's whole life.
func serveChild(raw string) error {
	var t task
	if err := json.Unmarshal([]byte(raw), &t); err != nil {
		return err
	}
	serve, ok := children[t.Kind]
	if !ok {
		return fmt.Errorf("no child is called %q", t.Kind)
	}
	return serve(t, func(h http.Handler) error {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		go http.Serve(l, h)
		fmt.Printf("http://%s\n", l.Addr())
		_, err = io.Copy(io.Discard, os.Stdin)
		return errors.Join(err, l.Close())
	})
}

// child is a process that serves.
type child struct {
	url   string
	cmd   *exec.Cmd
	stdin io.Closer
	began time.Time // when it was started
}

// spawn starts this very program as a child.
func spawn(ctx context.Context, kind, data string, args any) (*child, error) {
	rawArgs, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(task{kind, data, rawArgs})
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return start(exec.CommandContext(ctx, self), []string{childVar + "=" + string(raw)})
}

// start runs a command that prints its URL as its first line.
func start(cmd *exec.Cmd, env []string) (*child, error) {
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + os.TempDir()}, env...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c := &child{cmd: cmd, stdin: stdin, began: time.Now()}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("a child ended before it served: %w", err), c.kill())
	}
	c.url = strings.TrimSpace(line)
	return c, nil
}

// kill ends it as a crash would.
func (c *child) kill() error {
	err := c.cmd.Process.Kill()
	_ = c.cmd.Wait() // "killed" is what was asked for
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// resident is a process's memory in bytes.
type resident struct {
	own int64 // nobody else can have it
	all int64 // with the pages of its program's file, which the system drops when it needs room
}

func memory(pid int) (r resident, err error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return r, err
	}
	for line := range strings.Lines(string(raw)) {
		var kb int64
		if n, _ := fmt.Sscanf(line, "RssAnon: %d kB", &kb); n == 1 {
			r.own = kb << 10
		}
		if n, _ := fmt.Sscanf(line, "VmRSS: %d kB", &kb); n == 1 {
			r.all = kb << 10
		}
	}
	if r.own == 0 || r.all == 0 {
		return r, fmt.Errorf("process %d: no memory in its status", pid)
	}
	return r, nil
}
