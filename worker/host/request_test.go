package host

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// way is a path to a server on which the connections that are open may be cut without either side hearing of it.
type way struct {
	net.Listener
	to   string
	cuts atomic.Int64
}

func (w *way) serve() {
	for {
		near, err := w.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", w.to)
		if err != nil {
			near.Close()
			return
		}
		of := w.cuts.Load()
		pass := func(to, from net.Conn) {
			defer to.Close()
			for buf := make([]byte, 32<<10); ; {
				n, err := from.Read(buf)
				if err != nil {
					return
				}
				if w.cuts.Load() == of {
					_, _ = to.Write(buf[:n]) // a closed one is noticed by its reader
				}
			}
		}
		go pass(near, far)
		go pass(far, near)
	}
}

// A connection whose other side fell silent is not used for ever.
func TestADeadConnectionIsReplaced(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Proto) }))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	t.Cleanup(srv.Close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	w := &way{Listener: l, to: strings.TrimPrefix(srv.URL, "https://")}
	go w.serve()

	client := newClient()
	transport := client.Transport.(*http.Transport)
	defer transport.CloseIdleConnections()
	transport.TLSClientConfig = srv.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	if transport.HTTP2 == nil || transport.HTTP2.SendPingTimeout+transport.HTTP2.PingTimeout > 15*time.Second {
		t.Fatalf("%+v: a dead connection outlasts a request to Discord", transport.HTTP2)
	}
	transport.HTTP2.SendPingTimeout /= 100 // this test waits for them
	transport.HTTP2.PingTimeout /= 10
	client.Timeout = 5 * time.Second
	get := func() (string, error) {
		resp, err := client.Get("https://" + l.Addr().String())
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		return string(body), err
	}
	if proto, err := get(); proto != "HTTP/2.0" {
		t.Fatalf("%q, %v, want HTTP/2.0", proto, err)
	}
	w.cuts.Add(1)
	if _, err := get(); err == nil {
		t.Fatal("the connection was to be dead")
	}
	if proto, err := get(); proto != "HTTP/2.0" {
		t.Errorf("the next request: %q, %v, want HTTP/2.0 over a new connection", proto, err)
	}
}
