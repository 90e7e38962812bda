// Package workerd runs the Cloudflare edge on this machine for tests: the Worker's own modules in the runtime that
// Cloudflare uses, with storage in a folder that outlives the process.
package workerd

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Options say what to run.
type Options struct {
	Bin      string            // the workerd program, as Find gives it
	Dir      string            // configuration and storage; the same folder again is the same deployment again
	Port     int               // on 127.0.0.1; 0: a free one
	CoreWasm string            // path of core.wasm
	Operator string            // folder of api.wasm and wasm_exec.js; "": calls that need them are what the core says they are
	Env      map[string]string // the Worker's variables and secrets
	Rig      bool              // a test build: HOLDFAST_RIG_KILL, HOLDFAST_RIG_STALL and the paths under /rig/ work
	Modules  map[string]string // tests of single modules: what to run in the place of a module, or beside them
	Log      io.Writer         // gets what the Worker and workerd print; nil: nobody
}

// Process is a workerd that runs.
type Process struct {
	URL  string // without a slash at its end
	Port int

	cmd  *exec.Cmd
	rig  chan string
	done chan struct{}
	err  error // why it ended; valid once done is closed
}

// Start runs workerd until Kill or the end of ctx, and returns once it listens. It fails when the configuration does
// not load or the port is taken.
func Start(ctx context.Context, o Options) (*Process, error) {
	config, err := prepare(o)
	if err != nil {
		return nil, fmt.Errorf("prepare workerd: %w", err)
	}
	control, controlEnd, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer control.Close()
	out, outEnd, err := os.Pipe()
	if err != nil {
		controlEnd.Close()
		return nil, err
	}
	cmd := exec.CommandContext(ctx, o.Bin, "serve", "--control-fd=3", config)
	cmd.Env = environment(o.Env)
	cmd.Stdout, cmd.Stderr = outEnd, outEnd
	cmd.ExtraFiles = []*os.File{controlEnd}
	err = cmd.Start()
	controlEnd.Close()
	outEnd.Close()
	if err != nil {
		out.Close()
		return nil, fmt.Errorf("start workerd: %w", err)
	}
	p := &Process{cmd: cmd, rig: make(chan string, 16), done: make(chan struct{})}
	go p.follow(out, o.Log)
	if p.Port, err = listening(control); err != nil {
		return nil, errors.Join(err, p.Kill())
	}
	p.URL = fmt.Sprintf("http://127.0.0.1:%d", p.Port)
	return p, nil
}

// Kill ends the process as a crash would, by SIGKILL, and waits until it is gone. It does nothing to one that is gone.
func (p *Process) Kill() error {
	err := p.cmd.Process.Signal(syscall.SIGKILL)
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	<-p.done
	return err
}

// Done is closed when the process is gone.
func (p *Process) Done() <-chan struct{} { return p.done }

// Rig gives the points at which a test build stopped, as "before commit admit". The process then does nothing more,
// but it is there until Kill. One that hangs for a while says so in its log only.
func (p *Process) Rig() <-chan string { return p.rig }

// follow copies the output to log, looks for rig lines in it, and waits for the process.
func (p *Process) follow(out io.ReadCloser, log io.Writer) {
	defer out.Close()
	if log == nil {
		log = io.Discard
	}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		fmt.Fprint(log, line)
		if point, ok := strings.CutPrefix(strings.TrimSpace(line), "rig: "); ok && !strings.HasPrefix(point, "stall ") {
			p.rig <- point
		}
		if err != nil {
			break
		}
	}
	p.err = p.cmd.Wait()
	close(p.done)
}

// listening waits for the port that workerd says it listens on.
func listening(control io.Reader) (int, error) {
	lines := bufio.NewScanner(control)
	for lines.Scan() {
		var e struct {
			Event, Socket string
			Port          int
		}
		if json.Unmarshal(lines.Bytes(), &e) == nil && e.Event == "listen" && e.Socket == "http" {
			return e.Port, nil
		}
	}
	return 0, errors.New("workerd ended before it listened; its output says why")
}

// environment is all that workerd gets: nothing of this process may reach it by accident.
func environment(env map[string]string) []string {
	all := []string{}
	for name, value := range env {
		all = append(all, name+"="+value)
	}
	return all
}

// Find looks for workerd: $HOLDFAST_WORKERD, or in node_modules of this folder and those above it.
func Find() (string, error) {
	if bin := os.Getenv("HOLDFAST_WORKERD"); bin != "" {
		return bin, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		bin := filepath.Join(dir, "node_modules", "@cloudflare", platform(), "bin", "workerd")
		if _, err := os.Stat(bin); err == nil {
			return bin, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("workerd is not installed: run npm ci, or set HOLDFAST_WORKERD")
		}
		dir = up
	}
}
