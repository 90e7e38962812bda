package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"holdfast/actor"
)

// Times of an http effect.
const (
	defaultTimeout = 30 * time.Second
	progressEvery  = 5 * time.Second
	connectTimeout = 10 * time.Second
)

// An HTTP/2 connection on which nothing came for aliveAsk is asked whether it lives, and closed when it does not say so
// within aliveAnswer. Without that one whose other side is gone is used until TCP gives up, which takes a quarter of an
// hour. The two together are shorter than the time of a request to Discord, 15 s (actor, deliverTimeout), so that the
// next try of whatever met the dead connection has a new one. A model that says nothing for minutes is not at risk: the
// connection answers, not the model.
const (
	aliveAsk    = 5 * time.Second
	aliveAnswer = 5 * time.Second
)

// userAgent is what Discord asks of every client (Discord, "User Agent").
const userAgent = "DiscordBot (https://holdfast.invalid, 1)"

var (
	errTimeout = errors.New("timeout")
	errTooLong = fmt.Errorf("answer over %d MiB", actor.MaxBody>>20)
)

func newClient() *http.Client {
	dialer := net.Dialer{Timeout: connectTimeout, KeepAlive: 30 * time.Second}
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            dialer.DialContext,
			TLSHandshakeTimeout:    connectTimeout,
			MaxIdleConnsPerHost:    16,
			IdleConnTimeout:        90 * time.Second,
			ForceAttemptHTTP2:      true,
			HTTP2:                  &http.HTTP2Config{SendPingTimeout: aliveAsk, PingTimeout: aliveAnswer},
			MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// request performs an http effect.
func (f *flight) request() {
	h := f.host
	if h.isDraining() {
		f.land(actor.Outcome{Kind: actor.OutcomeHeld, Detail: "the edge is stopping"}, nil)
		return
	}
	h.point("before", "effect", f.effect.Point)
	if f.ctx.Err() != nil {
		return
	}
	out, body := f.perform()
	h.metrics.outcomes.WithLabelValues(out.Kind).Inc()
	f.land(out, body)
}

func (f *flight) perform() (actor.Outcome, []byte) {
	ctx, cancel := context.WithCancelCause(f.ctx)
	defer cancel(nil)
	var connected atomic.Bool
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }}
	req, err := f.host.build(httptrace.WithClientTrace(ctx, trace), f.effect)
	if err != nil {
		return actor.Outcome{Kind: actor.OutcomeRefused, Detail: err.Error()}, nil
	}
	if f.effect.Credential == "bot" {
		if err := f.host.pace.wait(ctx, f.host.opts.Clock); err != nil {
			why := "the edge is stopping"
			if errors.Is(err, errPace) {
				why = err.Error()
			}
			return actor.Outcome{Kind: actor.OutcomeHeld, Detail: why}, nil
		}
	}
	timeout := time.Duration(f.effect.TimeoutMS) * time.Millisecond
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	timer := f.host.opts.Clock.AfterFunc(timeout, func() { cancel(errTimeout) })
	defer timer.Stop()
	var received atomic.Int64
	defer f.report(&received)()

	resp, err := f.host.client.Do(req)
	if err != nil {
		return failure(ctx, err, connected.Load()), nil
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(counter{resp.Body, &received}, actor.MaxBody+1))
	switch {
	case err != nil:
		return failure(ctx, err, true), nil
	case len(body) > actor.MaxBody:
		return actor.Outcome{Kind: actor.OutcomeRefused, Status: resp.StatusCode, Detail: errTooLong.Error()}, nil
	}
	return actor.Outcome{Kind: actor.OutcomeResponse, Status: resp.StatusCode, Headers: lower(resp.Header)}, body
}

// failure says what kind of failure err was: whether the remote side may have acted is what counts.
func failure(ctx context.Context, err error, connected bool) actor.Outcome {
	out := actor.Outcome{Kind: actor.OutcomeNetwork, Detail: clean(err)}
	switch {
	case !connected:
		out.Kind = actor.OutcomeUnsent
	case errors.Is(context.Cause(ctx), errTimeout):
		out.Kind = actor.OutcomeTimeout
	}
	return out
}

// clean takes the address out of an error: a path may hold an interaction's token.
func clean(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	s := err.Error()
	return s[:min(len(s), 200)]
}

// build makes the request of an effect. Its errors are reasons to refuse.
func (h *Host) build(ctx context.Context, e actor.Effect) (*http.Request, error) {
	target, ok := h.opts.Targets[e.Target]
	if !ok {
		return nil, errors.New("unknown target")
	}
	if !strings.HasPrefix(e.Path, "/") || strings.Contains(e.Path+"/", "/../") {
		return nil, errors.New("the path leaves the target")
	}
	var body io.Reader
	if e.Body != nil {
		body = bytes.NewReader(e.Body)
	}
	req, err := http.NewRequestWithContext(ctx, e.Method, target.BaseURL+e.Path, body)
	if err != nil {
		return nil, errors.New("method or path is not valid")
	}
	for name, value := range e.Headers {
		req.Header.Set(name, value)
	}
	if e.Body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if e.Target == "discord" {
		req.Header.Set("User-Agent", userAgent)
	}
	return req, authorize(req, target, e)
}

// authorize adds the credential that the effect names, which must be the target's own.
func authorize(req *http.Request, target Target, e actor.Effect) error {
	switch {
	case e.Credential == "":
	case e.Credential == "bot" && e.Target == "discord":
		req.Header.Set("Authorization", "Bot "+string(target.Credential))
	case e.Credential != e.Target || e.Target == "discord":
		return errors.New("that credential is not for that target")
	case target.Credential == "": // a local model without a key
	case target.Format == "anthropic":
		req.Header.Set("X-Api-Key", string(target.Credential))
	default:
		req.Header.Set("Authorization", "Bearer "+string(target.Credential))
	}
	return nil
}

func lower(h http.Header) map[string]string {
	m := make(map[string]string, len(h))
	for name, values := range h {
		m[strings.ToLower(name)] = strings.ToValidUTF8(strings.Join(values, ", "), "?")
	}
	return m
}

// counter counts the bytes that are read through it.
type counter struct {
	io.Reader
	n *atomic.Int64
}

func (c counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// report posts a progress event every few seconds until the function that it returns is called.
func (f *flight) report(received *atomic.Int64) (stop func()) {
	ctx, cancel := context.WithCancel(f.ctx)
	var tick func()
	tick = func() {
		if ctx.Err() != nil {
			return
		}
		f.post(actor.EventProgress, actor.Progress{ID: f.effect.ID, Epoch: f.effect.Epoch, Bytes: received.Load()}, false)
		f.host.opts.Clock.AfterFunc(progressEvery, tick)
	}
	timer := f.host.opts.Clock.AfterFunc(progressEvery, tick)
	return func() {
		cancel()
		timer.Stop()
	}
}
