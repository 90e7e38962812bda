package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coder/websocket"

	"holdfast/actor/frame"
	"holdfast/runner/protocol"
)

// Run connects, and again when the connection is lost, until ctx ends; then it ends or awaits what runs and closes
// the journal. It returns nil after an ordinary stop.
func (r *Runner) Run(ctx context.Context) error {
	var end context.CancelFunc
	r.life, end = context.WithCancel(context.Background())
	defer end()
	dialled := make(chan struct{})
	go func() {
		defer close(dialled)
		r.dial(r.life)
	}()
	stop, running := ctx.Done(), true
	for running || r.machine.Busy() {
		select {
		case in := <-r.inputs:
			r.do(in())
		case <-stop:
			stop, running = nil, false
			r.do(r.machine.Stop(r.o.Clock.Now(), !r.o.Drain))
		}
		r.schedule()
	}
	r.farewell(dialled, end)
	if r.timer != nil {
		r.timer.Stop()
	}
	if err := r.journal.Close(); err != nil {
		return fmt.Errorf("close the journal: %w", err)
	}
	return nil
}

// farewell lets the connection send what is queued, closes it, and returns when the dialler has ended.
func (r *Runner) farewell(dialled <-chan struct{}, end context.CancelFunc) {
	close(r.closing)
	if r.link == nil {
		end() // it dials or waits
	} else {
		select {
		case r.link.out <- nil:
		default:
			end()
		}
	}
	hurry := r.o.Clock.AfterFunc(stopGrace, end)
	defer hurry.Stop()
	for {
		select {
		case in := <-r.inputs:
			r.do(in())
		case <-dialled:
			return
		}
	}
}

// input hands something to the loop. It gives up when ctx ends.
func (r *Runner) input(ctx context.Context, f func() []protocol.Output) bool {
	select {
	case r.inputs <- f:
		return true
	case <-ctx.Done():
		return false
	}
}

// schedule calls Tick when the machine wants it.
func (r *Runner) schedule() {
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
	at, wanted := r.machine.Next()
	if !wanted {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	timer := r.o.Clock.AfterFunc(max(0, at.Sub(r.o.Clock.Now())), func() {
		r.input(ctx, func() []protocol.Output { return r.machine.Tick(r.o.Clock.Now()) })
	})
	r.timer = cancelling{timer, cancel}
}

// cancelling is a timer whose Stop also frees a callback that is waiting for the loop.
type cancelling struct {
	timer  interface{ Stop() bool }
	cancel context.CancelFunc
}

func (c cancelling) Stop() bool {
	c.cancel()
	return c.timer.Stop()
}

// do carries out outputs, in order, and those that follow from them.
func (r *Runner) do(out []protocol.Output) {
	for len(out) > 0 {
		o := out[0]
		out = append(out[1:len(out):len(out)], r.one(o)...)
	}
}

func (r *Runner) one(o protocol.Output) []protocol.Output {
	switch o.Kind {
	case protocol.Send:
		r.send(o.Frame)
	case protocol.SaveStarted:
		return r.saved(o.Key, r.journal.Started(o.Key), "started")
	case protocol.SaveFinished:
		return r.saved(o.Key, r.journal.Finished(o.Key, *o.Result), "finished")
	case protocol.Forget:
		if err := r.journal.Forget(o.Key); err != nil { // it is reported once more after the next start
			r.o.Log.Error("runner.journal.failed", "task", o.Key.Task, "error", err)
		}
	case protocol.Start:
		r.start(o.Key, o.Frame)
	case protocol.Kill:
		if cancel := r.calls[o.Key]; cancel != nil {
			cancel()
		}
	case protocol.GatherFacts:
		go func() {
			f := r.project.Facts(r.life)
			r.input(r.life, func() []protocol.Output { return r.machine.Facts(r.o.Clock.Now(), f) })
		}()
	case protocol.Close:
		r.o.Log.Error("runner.protocol.broken", "reason", o.Reason)
		r.hangUp(websocket.StatusCode(o.Code), o.Reason)
	case protocol.RefusedByPeer:
		r.o.Log.Warn("runner.lease.refused", "holder", o.Reason)
		if r.link != nil {
			r.link.refused = true
		}
	}
	return nil
}

func (r *Runner) saved(k protocol.Key, err error, point string) []protocol.Output {
	if err != nil {
		r.o.Log.Error("runner.journal.failed", "task", k.Task, "error", err)
	} else {
		r.o.Hook(point, k.Task)
	}
	return r.machine.Saved(r.o.Clock.Now(), k, err)
}

// send queues a frame. A connection that does not take frames fast enough is given up: what matters comes again.
func (r *Runner) send(f frame.Frame) {
	if r.link == nil {
		return
	}
	data, err := protocol.Encode(f)
	if err == nil && len(data) > frame.MaxFrame {
		err = errors.New("the frame is too long")
	}
	if err != nil {
		r.o.Log.Error("runner.frame.failed", "type", f.Type, "error", err)
		return
	}
	select {
	case r.link.out <- data:
	default:
		r.hangUp(websocket.StatusPolicyViolation, "the connection is too slow")
	}
}

func (r *Runner) hangUp(code websocket.StatusCode, reason string) {
	if l := r.link; l != nil {
		go func() {
			_ = l.conn.Close(code, reason)
			l.cancel()
		}()
	}
}

// stopGrace is how long a frame, or the end of a connection, may take.
const stopGrace = 10 * time.Second
