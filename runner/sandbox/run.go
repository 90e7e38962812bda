package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"holdfast/actor/errs"
)

// MaxOutput is how many bytes of each stream Run keeps.
const MaxOutput = 1 << 20

// Linger is how long output is still read once a command has ended. All that it wrote is in the pipe by then, 64 KiB at
// most. The pipe itself may stay open for ever: without a sandbox a program that escaped holds it.
const Linger = time.Second

// Run runs a command to its end and returns its standard output, also when it failed. The error then carries the end
// of standard error.
func Run(ctx context.Context, s Sandbox, c Command) ([]byte, error) {
	var stdout, stderr capture
	if err := stdout.open(&c.Stdout); err != nil {
		return nil, err
	}
	if err := stderr.open(&c.Stderr); err != nil {
		c.Stdout.Close()
		stdout.close()
		return nil, err
	}
	p, err := s.Start(c)
	c.Stdout.Close()
	c.Stderr.Close()
	if err != nil {
		stderr.close()
		stdout.close()
		return nil, withOutput(err, stderr.kept.Bytes())
	}
	stop := context.AfterFunc(ctx, func() { p.Kill("stopped") })
	defer stop()
	exit, err := p.Wait()
	stdout.close()
	stderr.close()
	switch {
	case err != nil:
		return nil, withOutput(err, stderr.kept.Bytes())
	case exit.Reason != "":
		return nil, fmt.Errorf("%s was killed: %s", c.Argv[0], exit.Reason)
	case exit.Code != 0:
		return stdout.kept.Bytes(), withOutput(fmt.Errorf("%s ended with exit code %d", c.Argv[0], exit.Code), stderr.kept.Bytes())
	}
	return stdout.kept.Bytes(), nil
}

func withOutput(err error, output []byte) error {
	text := strings.TrimSpace(string(output[max(0, len(output)-500):]))
	if text == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, strings.ToValidUTF8(text, "?"))
}

// capture keeps the beginning of what is written to a pipe and drains the rest.
type capture struct {
	r    *os.File
	kept bytes.Buffer
	done chan struct{}
}

func (c *capture) open(w **os.File) (err error) {
	if c.r, *w, err = os.Pipe(); err != nil {
		return err
	}
	c.done = make(chan struct{})
	go func() {
		defer close(c.done)
		_, _ = io.CopyN(&c.kept, c.r, MaxOutput)
		_, _ = io.Copy(io.Discard, c.r)
	}()
	return nil
}

// close is for a command that has ended.
func (c *capture) close() {
	_ = c.r.SetReadDeadline(time.Now().Add(Linger)) // every pipe has one
	<-c.done
	c.r.Close()
}

// SelfTest runs /bin/true in s. The error has a hint that says how to make the sandbox work.
func SelfTest(ctx context.Context, s Sandbox) error {
	_, err := Run(ctx, s, Command{Name: "selftest", Argv: []string{"/bin/true"}, Dir: "/"})
	if err == nil || s.Name() != "bwrap" {
		return err
	}
	return &errs.Error{Code: errs.Unavailable, Message: "bubblewrap does not work here", Hint: Hint, Err: err}
}
