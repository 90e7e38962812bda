package runner

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"holdfast/actor/errs"
	"holdfast/actor/frame"
	"holdfast/runner/protocol"
	"holdfast/runner/tools"
)

// start executes a task beside the loop.
func (r *Runner) start(k protocol.Key, task frame.Frame) {
	ctx, cancel := context.WithCancel(context.Background())
	r.calls[k] = cancel
	began := r.o.Clock.Now()
	go func() {
		result := r.safely(ctx, k, task)
		cancel()
		r.inputs <- func() []protocol.Output { // the loop lives until the machine has it
			delete(r.calls, k)
			r.o.Log.Info("runner.call.done", "task", k.Task, "epoch", k.Epoch, "tool", task.Tool, "status", result.Status,
				"durationMs", r.o.Clock.Now().Sub(began).Milliseconds())
			return r.machine.Finished(r.o.Clock.Now(), k, result)
		}
	}()
}

// safely turns a panic in a tool into an error result: other calls go on.
func (r *Runner) safely(ctx context.Context, k protocol.Key, task frame.Frame) (result protocol.Result) {
	defer func() {
		if p := recover(); p != nil {
			r.o.Log.Error("runner.call.panicked", "task", k.Task, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			result = protocol.Result{Status: frame.StatusError, Summary: "the tool failed inside the runner; its log says how"}
		}
	}()
	return r.call(ctx, k, task)
}

// call finds the conversation's place, adds what was granted, and runs the tool there.
func (r *Runner) call(ctx context.Context, k protocol.Key, task frame.Frame) protocol.Result {
	fail := func(err error) protocol.Result {
		if ctx.Err() != nil {
			return protocol.Result{Status: frame.StatusKilled, Summary: "cancelled before the tool began"}
		}
		r.o.Log.Warn("runner.call.failed", "task", k.Task, "error", err)
		e := errs.Public(err)
		if e.Code == errs.Internal {
			return protocol.Result{Status: frame.StatusError, Summary: fmt.Sprintf("the runner could not prepare the call: %v", err)}
		}
		return protocol.Result{Status: frame.StatusError, Summary: e.Message + ". " + e.Hint}
	}
	place, err := r.project.Place(ctx, task.Worktree)
	if err != nil {
		return fail(err)
	}
	granted, err := r.broker.Mounts(task.Grants)
	if err != nil {
		return fail(err)
	}
	result := r.tools.Run(ctx, tools.Call{
		Name: fmt.Sprintf("%d.%d", k.Task, k.Epoch), Tool: task.Tool, Args: task.Args, Conversation: task.Worktree, Dir: place.Dir,
		Mounts: append(place.Mounts, granted...), Timeout: time.Duration(task.TimeoutMS) * time.Millisecond,
		Progress: r.progress(ctx, k),
	})
	if err := r.project.Sweep(); err != nil {
		r.o.Log.Warn("runner.sweep.failed", "task", k.Task, "error", err)
	}
	return result
}

// progress tells the loop of a command's output, at most a few times a second: the machine lets through what may be
// sent, and this keeps a chatty command from occupying the loop.
func (r *Runner) progress(ctx context.Context, k protocol.Key) func(int64, string) {
	var next time.Time
	return func(bytes int64, line string) {
		now := r.o.Clock.Now()
		if now.Before(next) {
			return
		}
		next = now.Add(protocol.ProgressEvery / 4)
		r.input(ctx, func() []protocol.Output { return r.machine.Progress(r.o.Clock.Now(), k, bytes, line) })
	}
}
