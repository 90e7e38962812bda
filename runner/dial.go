package runner

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"holdfast/actor/frame"
	"holdfast/runner/protocol"
)

// How the runner comes back: after a failure it waits a random part of a time that doubles from firstWait to maxWait.
// A connection that held for settled counts as success. A workspace that belongs to another runner, or a token that is
// not accepted, is not pressed.
const (
	firstWait   = 500 * time.Millisecond
	maxWait     = 30 * time.Second
	settled     = 10 * time.Second
	dialTimeout = 15 * time.Second
	pingEvery   = 20 * time.Second
)

// link is one connection.
type link struct {
	conn    *websocket.Conn
	cancel  context.CancelFunc
	out     chan []byte // frames; nil says that there will be no more
	refused bool        // set by the loop, read after the loop has let go of the connection
}

// dial keeps a connection open until ctx ends.
func (r *Runner) dial(ctx context.Context) {
	for failures := 0; ctx.Err() == nil; failures++ {
		began := r.o.Clock.Now()
		slow, err := r.connection(ctx)
		if r.o.Clock.Now().Sub(began) >= settled {
			failures = 0
		}
		select {
		case <-r.closing:
			return
		case <-ctx.Done():
			return
		default:
		}
		wait := r.wait(failures, slow)
		r.o.Log.Warn("runner.connection.lost", "error", err, "retryMs", wait.Milliseconds())
		r.sleep(ctx, wait)
	}
}

// wait is full jitter over the bounded exponential, but at least a tenth of it.
func (r *Runner) wait(failures int, slow bool) time.Duration {
	limit := maxWait
	if !slow && failures < 6 {
		limit = min(maxWait, firstWait<<failures)
	}
	var b [8]byte
	if _, err := io.ReadFull(r.o.Entropy, b[:]); err != nil {
		return limit
	}
	part := time.Duration(binary.LittleEndian.Uint64(b[:]) % uint64(limit))
	return max(limit/10, part)
}

func (r *Runner) sleep(ctx context.Context, d time.Duration) {
	done := make(chan struct{})
	timer := r.o.Clock.AfterFunc(d, func() { close(done) })
	defer timer.Stop()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// connection dials once and serves that connection to its end. slow says that coming back soon is of no use.
func (r *Runner) connection(ctx context.Context) (slow bool, err error) {
	dialing, cancelDial := context.WithTimeout(ctx, dialTimeout)
	defer cancelDial()
	conn, answer, err := websocket.Dial(dialing, r.o.URL, &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer " + r.o.Token}},
	})
	if err != nil {
		return answer != nil && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden), err
	}
	conn.SetReadLimit(frame.MaxFrame)
	live, cancel := context.WithCancel(ctx)
	l := &link{conn: conn, cancel: cancel, out: make(chan []byte, 1024)}
	written := make(chan struct{})
	go func() {
		defer close(written)
		l.write(live)
	}()
	if r.input(ctx, func() []protocol.Output {
		r.link = l
		return r.machine.Connected(r.o.Clock.Now())
	}) {
		err = r.read(live, l)
	}
	cancel()
	<-written
	_ = conn.CloseNow()
	// Not bound to ctx: the loop goes on until this function has returned.
	told := make(chan struct{})
	r.inputs <- func() []protocol.Output {
		defer close(told)
		r.link = nil
		return r.machine.Disconnected(r.o.Clock.Now())
	}
	<-told
	return l.refused || websocket.CloseStatus(err) == frame.CloseRevoked, err
}

// read hands each message to the loop until the connection ends.
func (r *Runner) read(ctx context.Context, l *link) error {
	for {
		kind, message, err := l.conn.Read(ctx)
		if err != nil {
			return err
		}
		if kind != websocket.MessageText {
			message = nil // not JSON: the machine closes the connection
		}
		if !r.input(ctx, func() []protocol.Output { return r.machine.Received(r.o.Clock.Now(), message) }) {
			return errors.New("stopped")
		}
	}
}

// write sends what is queued, and a ping when nothing was for a while: a peer that is gone must be noticed.
func (l *link) write(ctx context.Context) {
	defer l.cancel()
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case data := <-l.out:
			if data == nil { // the last one
				_ = l.conn.Close(websocket.StatusNormalClosure, "the runner stops")
				return
			}
			err = l.within(ctx, func(ctx context.Context) error { return l.conn.Write(ctx, websocket.MessageText, data) })
		case <-ping.C:
			err = l.within(ctx, l.conn.Ping)
		}
		if err != nil {
			return
		}
	}
}

func (l *link) within(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, stopGrace)
	defer cancel()
	return f(ctx)
}
