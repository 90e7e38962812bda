package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Times of the process's HTTP servers.
const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	drainTimeout  = 20 * time.Second // as long as a stop waits for what is in flight
)

// server is an HTTP server on a listener that is open already, so that its address is known before it serves.
type server struct {
	listener net.Listener
	http     *http.Server
}

// listen opens a TCP address.
func listen(ctx context.Context, address string) (*server, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &server{listener: l, http: &http.Server{ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)}}, nil
}

// url is the server's address for a client on this machine.
func (s *server) url() string { return "http://" + s.listener.Addr().String() }

// serve answers with h until the server is shut down. Its error goes to failed.
func (s *server) serve(h http.Handler, failed chan<- error) {
	s.http.Handler = h
	go func() {
		if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			failed <- fmt.Errorf("serve %s: %w", s.listener.Addr(), err)
		}
	}()
}

// stop waits for the requests that are being answered; long polls and streams end when ctx does.
func (s *server) stop(ctx context.Context) error {
	if err := s.http.Shutdown(ctx); err != nil {
		return s.http.Close()
	}
	return nil
}

// newLog makes the process's log: JSON lines, or text for people.
func newLog(out io.Writer, level, format string) *slog.Logger {
	var l slog.Level
	if l.UnmarshalText([]byte(level)) != nil {
		l = slog.LevelInfo
	}
	o := &slog.HandlerOptions{Level: l}
	if format == "text" {
		return slog.New(slog.NewTextHandler(out, o))
	}
	return slog.New(slog.NewJSONHandler(out, o))
}

// ignoreClosed drops the error of closing a listener that its server has closed already.
func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
