package host

import (
	"bufio"
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/interactions"
	"holdfast/worker/engine"
)

// A stranger that sends a head, a part of its body and nothing more is let go, whether or not anybody reads the body.
func TestABodyThatDoesNotComeIsNotWaitedFor(t *testing.T) {
	s := open(t, "")
	s.reading = 20 * time.Millisecond
	for _, path := range []string{"/interactions", "/echo", "/readyz", "/metrics", "/v1/workspaces", "/v1/workspaces/1/a/events?wait=9"} {
		conn, err := net.Dial("tcp", s.server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(5 * time.Second))
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nx", path)
		in := bufio.NewReader(conn)
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Errorf("%s: no answer: %v", path, err)
			continue
		}
		if err := resp.Write(new(strings.Builder)); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if _, err := in.ReadByte(); err == nil || strings.Contains(err.Error(), "timeout") {
			t.Errorf("%s: the connection is kept (%v)", path, err)
		}
	}
}

// The bound is on a body alone: whoever waits for an answer may take longer, also behind a body on the same connection.
func TestWaitingIsNotSending(t *testing.T) {
	g := hold("before commit slow")
	s := open(t, "", g.option)
	s.reading = 50 * time.Millisecond
	runner := s.connect(t)
	answers := make(chan string, 1)
	go func() {
		status, body := s.script(ws, `{"trace":"slow"},{"echo":true}`)
		answers <- fmt.Sprint(status, " ", body)
	}()
	<-g.reached
	watched := httptest.NewServer(s.guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.ServeHTTP(w, r)
		select {
		case <-r.Context().Done():
			t.Error("a client that waits was taken for one that went away")
		case <-time.After(3 * s.reading):
		}
	})))
	defer watched.Close()
	resp, err := http.Post(watched.URL+"/echo", "", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil { // comes when the wait is over
		t.Error(err)
	}
	resp.Body.Close()
	close(g.open)
	if a := <-answers; !strings.HasPrefix(a, "200 ") {
		t.Errorf("a body and a wait: %s", a)
	}
	runner.say(`{"still":"here"}`)
	s.eventually(ws, `json_extract(data, '$.frame')`, "type = 'runner.message'", `[["{\"still\":\"here\"}"]]`)
}

// A signature that does not hold is refused in the host's own code, in the core's words; the core decides about all
// others, also about how old they are.
func TestAStrangersSignatureIsVerifiedOnce(t *testing.T) {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	var asked atomic.Int64
	c := newTown(t)
	s := c.real("", func(o *Options) {
		o.Config.PublicKeys = []string{hex.EncodeToString(key.Public().(ed25519.PublicKey))}
		o.Engine = engine.Linked{HandleFunc: o.Engine.(engine.Linked).HandleFunc, RouteFunc: func(in []byte) ([]byte, int) {
			asked.Add(1)
			return interactions.Route(in)
		}}
	})
	stamp := strconv.FormatInt(s.clock.Now().Unix(), 10)
	const body = `{"id":"1","application_id":"` + realApp + `","type":1,"token":"t","version":1}`
	for name, c := range map[string]struct {
		method, stamp, signed string
		status, asked         int
	}{
		"a ping":                  {"POST", stamp, body, 200, 1},
		"another body was signed": {"POST", stamp, body + " ", 401, 0},
		"long ago":                {"POST", "1000", body, 401, 1},
		"another method":          {"PUT", stamp, body + " ", 405, 1},
	} {
		asked.Store(0)
		status, answer := s.do(c.method, "/interactions", body, "X-Signature-Timestamp", c.stamp,
			"X-Signature-Ed25519", hex.EncodeToString(ed25519.Sign(key, []byte(c.stamp+c.signed))))
		if status != c.status || asked.Load() != int64(c.asked) {
			t.Errorf("%s: %d %s, and the core was asked %d times; want %d and %d", name, status, answer, asked.Load(), c.status, c.asked)
		}
		if want := string(interactions.Unsigned().Body); status == 401 && answer != want {
			t.Errorf("%s: %s, want the core's %s", name, answer, want)
		}
	}
}
