package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"holdfast/actor/errs"
	"holdfast/actor/frame"
	"holdfast/runner/protocol"
	"holdfast/runner/sandbox"
)

const (
	defaultTimeout = 2 * time.Minute
	maxHidden      = 2000 // denied files that are covered for one call
)

func bash(ctx context.Context, w *work, raw json.RawMessage) (protocol.Result, error) {
	var a struct {
		Command, Cwd string
		Timeout      float64
	}
	if err := json.Unmarshal(raw, &a); err != nil {
		return protocol.Result{}, err
	}
	dir, err := w.startFolder(a.Cwd)
	if err != nil {
		return protocol.Result{}, err
	}
	mounts, err := w.hide(ctx)
	if err != nil {
		return protocol.Result{}, err
	}
	limit := defaultTimeout
	if a.Timeout > 0 {
		limit = time.Duration(a.Timeout * float64(time.Second))
	}
	if w.call.Timeout > 0 {
		limit = min(limit, w.call.Timeout)
	}
	return w.execute(ctx, limit, sandbox.Command{
		Name: w.call.Name, Argv: []string{"/bin/bash", "-c", a.Command}, Dir: filepath.Join(w.call.Dir, dir), Mounts: mounts,
	})
}

// hide covers the files that are denied, so that no program can read them either. Repositories are left alone: what
// was committed can be read from them.
func (w *work) hide(ctx context.Context) ([]sandbox.Mount, error) {
	mounts := w.call.Mounts[:len(w.call.Mounts):len(w.call.Mounts)]
	if len(w.set.denied) == 0 {
		return mounts, nil
	}
	hidden := 0
	err := fs.WalkDir(w.root.FS(), ".", func(rel string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return errs.Wrap(errs.Invalid, err, "%s cannot be looked at, so it is not certain that nothing denied is in it", rel)
		case d.Type().IsRegular() && w.set.isDenied(rel):
			if hidden++; hidden > maxHidden {
				return errs.New(errs.Invalid, "more than %d files are denied: too many to cover for a command", maxHidden)
			}
			mounts = append(mounts, sandbox.Mount{Kind: sandbox.Hidden, Target: path.Join(w.call.Dir, rel)})
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		}
		return nil
	})
	return mounts, err
}

// execute runs a command with both streams in one pipe and makes its output the result.
func (w *work) execute(ctx context.Context, limit time.Duration, c sandbox.Command) (protocol.Result, error) {
	r, pipe, err := os.Pipe()
	if err != nil {
		return protocol.Result{}, err
	}
	defer r.Close()
	c.Stdout, c.Stderr = pipe, pipe
	p, err := w.set.box.Start(c)
	pipe.Close()
	if err != nil {
		return protocol.Result{}, errors.Join(err, outputOf(r))
	}
	stop := context.AfterFunc(ctx, func() { p.Kill(killedByCancel) })
	defer stop()
	timer := w.set.clock.AfterFunc(limit, func() { p.Kill(killedByTimeout) })
	defer timer.Stop()
	var out collector
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		w.follow(r, &out)
	}()
	exit, err := p.Wait()
	_ = r.SetReadDeadline(time.Now().Add(sandbox.Linger)) // every pipe has one
	<-copied
	if err != nil {
		return protocol.Result{}, fmt.Errorf("%w: %s", err, cut(out.text(), 500))
	}
	return finish(&out, exit, limit), nil
}

// Why a call was killed.
const (
	killedByCancel  = "cancelled"
	killedByTimeout = "timeout"
)

// follow copies what a command writes, and tells of it.
func (w *work) follow(r *os.File, out *collector) {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			_, _ = out.Write(buf[:n])
			if w.call.Progress != nil {
				w.call.Progress(out.total, clean(string(out.last)))
			}
		}
		if err != nil {
			return
		}
	}
}

// outputOf is what bubblewrap said before it failed.
func outputOf(r *os.File) error {
	buf := make([]byte, 2000)
	n, _ := r.Read(buf)
	if n == 0 {
		return nil
	}
	return errors.New(clean(strings.TrimSpace(string(buf[:n]))))
}

// finish puts output, exit code and time into a result. The payload is there when the summary leaves something out.
func finish(out *collector, exit sandbox.Exit, limit time.Duration) protocol.Result {
	text := out.text()
	r := protocol.Result{Status: frame.StatusOK, Exit: &exit.Code, Summary: shorten(text)}
	if len(r.Summary) < len(text) {
		r.Payload = []byte(text)
	}
	end := fmt.Sprintf("exit code %d", exit.Code)
	switch {
	case exit.Reason == killedByTimeout:
		r.Status, end = frame.StatusTimeout, fmt.Sprintf("killed: it ran longer than %s", limit)
	case exit.Reason == killedByCancel:
		r.Status, end = frame.StatusKilled, "killed: the call was cancelled"
	case exit.Reason != "":
		r.Status, end = frame.StatusError, "killed: "+exit.Reason
	case exit.Code != 0:
		r.Status = frame.StatusError
	}
	if r.Summary != "" && !strings.HasSuffix(r.Summary, "\n") {
		r.Summary += "\n"
	}
	r.Summary += fmt.Sprintf("[%s, %.1f s]", end, exit.Elapsed.Seconds())
	return r
}
