package host

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// lines is a listener whose connections hold nothing: what is written to one waits until it is read.
type lines chan net.Conn

func (l lines) Accept() (net.Conn, error) {
	if c, ok := <-l; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (l lines) Close() error   { return nil }
func (l lines) Addr() net.Addr { return &net.UnixAddr{Name: "a line"} }

const tellB = `{"effect":{"id":"m1","type":"actor","actor":"workspace:1/b","data":{"do":[{"trace":"the message"}]}}}`

// Who asks for a backup and does not read it holds up what actors tell each other for a while, not for ever.
func TestABackupThatNobodyReadsEnds(t *testing.T) {
	s := open(t, "")
	s.stall = 20 * time.Millisecond
	s.must("workspace:1/b", `{"trace":"x"}`)
	key, err := Token(testSecret, KindOperator, "ann", []string{"admin"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	l := make(lines, 1)
	srv := &http.Server{Handler: s.Handler()}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = srv.Serve(l)
	}()
	client, far := net.Pipe()
	defer func() {
		client.Close()
		close(l)
		<-served
		srv.Close()
	}()
	l <- far
	if _, err := fmt.Fprintf(client, "POST /v1/backup HTTP/1.1\r\nHost: edge\r\nAuthorization: Bearer %s\r\nContent-Length: 0\r\n\r\n", key); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(client, make([]byte, 1)); err != nil { // it has begun
		t.Fatal(err)
	}
	s.must("workspace:1/a", tellB)
	s.eventually("workspace:1/b", "count(*)", "type = 'actor'", "[[1]]")
	if _, err := s.Backup(t.Context(), io.Discard); err != nil {
		t.Errorf("the next backup: %v", err)
	}
}

// A message that waits for the end of a backup keeps no host from its own.
func TestAStopDoesNotWaitForABackup(t *testing.T) {
	for name, stop := range map[string]func(*site) error{
		"drain": func(s *site) error { return s.Drain(context.Background()) },
		"close": func(s *site) error { return s.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, "")
			s.must("workspace:1/b", `{"trace":"x"}`)
			out, in := io.Pipe()
			made := make(chan error, 1)
			go func() {
				_, err := s.Backup(context.Background(), in)
				made <- err
			}()
			if _, err := out.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			s.must("workspace:1/a", tellB)
			stopped := make(chan error, 1)
			go func() { stopped <- stop(s) }()
			select {
			case err := <-stopped:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(5 * time.Second):
				t.Error("it still waits")
			}
			out.Close()
			if err := <-made; err == nil {
				t.Error("a backup whose client is gone passes for made")
			}
		})
	}
}
