package host

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"holdfast/actor"
	"holdfast/actor/errs"
	"holdfast/actor/frame"
)

// Limits of a runner's socket.
const (
	maxSockets    = 16      // of one workspace: one runner's, and those that are refused or whose end nobody heard of
	maxUnhandled  = 32      // frames of one socket in the mailbox: one runner must not fill it alone
	maxOutbox     = 256     // frames on their way to one runner; beyond it, or beyond
	maxOutBytes   = 8 << 20 // bytes of them, the runner is too slow
	writeTimeout  = 10 * time.Second
	pingEvery     = 30 * time.Second
	closeTimeout  = 2 * time.Second
	maxCloseText  = 123 // bytes of a close frame's reason (RFC 6455, 5.5)
	closeInternal = websocket.StatusTryAgainLater

	closeGoingAway = int(websocket.StatusGoingAway)
	closeTooSlow   = int(websocket.StatusPolicyViolation)
)

// socket is one runner's WebSocket.
type socket struct {
	id    string
	order int
	out   chan outgoing
	slots chan struct{} // one for each frame in the mailbox
	ctx   context.Context
	end   context.CancelFunc // cuts the connection
	bytes atomic.Int64       // in out

	mu     sync.Mutex
	code   int // why this side closes it, once it does
	reason string
}

// outgoing is a frame to write, or, with a code, the end of the socket.
type outgoing struct {
	data   []byte
	point  string
	code   int
	reason string
}

// runner serves GET /v1/workspaces/{guild}/{workspace}/runner.
func (h *Host) runner(w http.ResponseWriter, r *http.Request) {
	subject := r.PathValue("guild") + "/" + r.PathValue("workspace")
	t, ok := h.keys.bearer(r)
	switch {
	case !ok:
		h.reply(w, failed(http.StatusUnauthorized, errs.New(errs.Unauthorized, "There is no valid runner token in this request.").
			WithHint("`holdfast token runner %s` prints one.", subject)))
		return
	case t.kind != KindRunner || t.subject != subject:
		h.fail(w, errs.New(errs.Unauthorized, "This token is not for a runner of %s.", subject))
		return
	case h.isDraining():
		h.fail(w, errDown)
		return
	}
	res := h.acquire("workspace:" + subject)
	defer h.release(res)
	s, failure := res.addSocket()
	if failure != nil {
		h.fail(w, failure)
		return
	}
	defer s.end()
	defer res.removeSocket(s)
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return // Accept has answered
	}
	conn.SetReadLimit(frame.MaxFrame + 1) // one more, so that the limit's own close code can be sent
	h.converse(res, s, conn, t)
}

// converse runs an accepted socket to its end.
func (h *Host) converse(res *resident, s *socket, conn *websocket.Conn, t token) {
	ctx := s.ctx
	open, _ := json.Marshal(actor.RunnerSocket{Socket: s.id}) // a string
	var writing sync.WaitGroup
	writing.Go(func() { h.write(ctx, s, conn) })
	if a := h.ask(ctx, res.name, &item{kind: actor.EventRunnerOpen, data: open}, true); a.err != nil {
		s.close(int(closeInternal), "try again")
	} else {
		h.read(ctx, res, s, conn, t)
	}
	code, reason := s.why()
	s.end()
	writing.Wait()
	conn.CloseNow()
	if h.isDead() {
		return
	}
	res.removeSocket(s) // before the event, which lists the sockets that are left
	data, _ := json.Marshal(actor.RunnerSocket{Socket: s.id, Code: code, Reason: reason})
	_ = h.post(res.name, &item{kind: actor.EventRunnerClose, data: data}, true) // fails on a dead host only
}

// read hands each frame over until the socket ends.
func (h *Host) read(ctx context.Context, res *resident, s *socket, conn *websocket.Conn, t token) {
	for {
		kind, data, err := conn.Read(ctx)
		var closed websocket.CloseError
		switch {
		case errors.As(err, &closed):
			s.note(int(closed.Code), closed.Reason)
			return
		case err != nil:
			s.note(int(websocket.StatusAbnormalClosure), "")
			return
		case h.keys.revoked(t):
			s.close(frame.CloseRevoked, "this token was revoked")
		case kind != websocket.MessageText:
			s.close(frame.CloseProtocol, "frames are text")
		case len(data) > frame.MaxFrame:
			s.close(frame.CloseProtocol, "a frame has at most 512 KiB")
		default:
			h.hand(ctx, res, s, data)
		}
	}
}

// hand posts a frame. One that is not committed ends the socket: the runner connects again, and both sides compare
// what they know.
func (h *Host) hand(ctx context.Context, res *resident, s *socket, data []byte) {
	if code, _ := s.why(); code != 0 {
		return // it is ending: what was not handled comes again
	}
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return
	}
	if !json.Valid(data) {
		data, _ = json.Marshal(string(data))
	}
	head, _ := json.Marshal(struct {
		Socket string `json:"socket"`
	}{s.id})
	it := &item{kind: actor.EventRunnerMessage, data: splice(head, "frame", data), done: func(a answer) {
		<-s.slots
		if a.err != nil {
			s.close(int(closeInternal), "try again")
		}
	}}
	if h.post(res.name, it, true) != nil {
		s.end()
	}
}

// write sends what is in the outbox, in order, and keeps the connection alive.
func (h *Host) write(ctx context.Context, s *socket, conn *websocket.Conn) {
	defer s.end()
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-ping.C:
			err = within(ctx, writeTimeout, conn.Ping)
		case o := <-s.out:
			if o.code != 0 {
				s.finish(conn, o)
				return
			}
			err = within(ctx, writeTimeout, func(ctx context.Context) error { return conn.Write(ctx, websocket.MessageText, o.data) })
			s.bytes.Add(-int64(len(o.data)))
			if err == nil {
				h.point("after", "effect", o.point)
			} else if ctx.Err() == nil {
				s.note(closeTooSlow, "too slow")
			}
		}
		if err != nil {
			return
		}
	}
}

// finish sends the close frame. The other side gets a moment to answer it.
func (s *socket) finish(conn *websocket.Conn, o outgoing) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = conn.Close(websocket.StatusCode(o.code), o.reason) // either way the connection ends
	}()
	select {
	case <-done:
	case <-time.After(closeTimeout):
	}
}

func within(ctx context.Context, d time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return f(ctx)
}

// send performs runner.send and runner.close. It never waits: a runner that does not read is cut off.
func (r *resident) send(e actor.Effect) {
	r.mu.Lock()
	s := r.sockets[e.Socket]
	r.mu.Unlock()
	r.host.point("before", "effect", e.Point)
	if s == nil || r.host.killed.Load() {
		return // what it was told is in rows, and is told again after the next hello
	}
	if e.Type == actor.EffectRunnerClose {
		s.close(e.Code, e.Reason)
		return
	}
	if s.bytes.Add(int64(len(e.Message))) <= maxOutBytes {
		select {
		case s.out <- outgoing{data: e.Message, point: e.Point}:
			return
		default:
		}
	}
	s.note(closeTooSlow, "too slow")
	s.end()
}

// close ends the socket behind the frames that wait to be sent.
func (s *socket) close(code int, reason string) {
	if code < 1000 || code > 4999 {
		code = int(websocket.StatusNormalClosure)
	}
	reason = reason[:min(len(reason), maxCloseText)]
	s.note(code, reason)
	select {
	case s.out <- outgoing{code: code, reason: reason}:
	default:
		s.end()
	}
}

// note keeps the first reason why the socket ends.
func (s *socket) note(code int, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.code == 0 {
		s.code, s.reason = code, reason
	}
}

func (s *socket) why() (int, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.code, s.reason
}

// addSocket gives a new socket an id that no earlier start has used.
func (r *resident) addSocket() (*socket, *errs.Error) {
	id, err := r.host.random(8)
	if err != nil {
		return nil, errs.Public(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.sockets) >= maxSockets {
		return nil, errs.New(errs.Unavailable, "Too many runners are connected.").WithHint("Stop one.")
	}
	s := &socket{id: "s" + id, order: int(r.host.serial.Add(1)), out: make(chan outgoing, maxOutbox),
		slots: make(chan struct{}, maxUnhandled)}
	s.ctx, s.end = context.WithCancel(r.host.ctx)
	r.sockets[s.id] = s
	return s, nil
}

func (r *resident) removeSocket(s *socket) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.sockets, s.id)
}
