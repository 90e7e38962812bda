package playground

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"holdfast/clock"
)

const relayKey = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

// rig is a playground with a fake edge beside it.
type rig struct {
	*testing.T
	s     *Server
	info  Info
	clock *clock.Shifted
	http  *httptest.Server
	edge  *fakeEdge
}

// fakeEdge answers interactions as a test says, and takes events.
type fakeEdge struct {
	t      *testing.T
	server *httptest.Server

	mu      sync.Mutex
	key     ed25519.PublicKey
	answer  func(w http.ResponseWriter, i obj)
	verdict func(id string) string // of an event; nil: committed
	events  chan obj
	bad     int // requests whose signature did not hold
}

func (e *fakeEdge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	e.mu.Lock()
	key, answer, verdict := e.key, e.answer, e.verdict
	e.mu.Unlock()
	if r.URL.Path == "/interactions" {
		sig, _ := hex.DecodeString(r.Header.Get("X-Signature-Ed25519"))
		if !ed25519.Verify(key, append([]byte(r.Header.Get("X-Signature-Timestamp")), body...), sig) {
			e.mu.Lock()
			e.bad++
			e.mu.Unlock()
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		var i obj
		_ = json.Unmarshal(body, &i)
		answer(w, i)
		return
	}
	mac := hmac.New(sha256.New, []byte(relayKey))
	mac.Write([]byte(r.Header.Get("X-Holdfast-Timestamp") + "." + string(body)))
	if r.Header.Get("X-Holdfast-Signature") != "v1="+hex.EncodeToString(mac.Sum(nil)) || r.Header.Get("X-Holdfast-Key") != "relay.relay.1" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	var batch struct{ Events []obj }
	_ = json.Unmarshal(body, &batch)
	results := []obj{}
	for _, ev := range batch.Events {
		status := "committed"
		if verdict != nil {
			status = verdict(ev["id"].(string))
		}
		results = append(results, obj{"id": ev["id"], "status": status})
		if status != "retry" {
			e.events <- ev
		}
	}
	_, _ = w.Write(mustJSON(obj{"results": results, "gaps": []any{}}))
}

// reply answers an interaction inline.
func reply(v any) func(http.ResponseWriter, obj) {
	return func(w http.ResponseWriter, _ obj) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(mustJSON(v))
	}
}

func (e *fakeEdge) set(answer func(http.ResponseWriter, obj)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.answer = answer
}

func newRig(t *testing.T, dir string) *rig {
	t.Helper()
	r := &rig{T: t, clock: &clock.Shifted{}, edge: &fakeEdge{t: t, events: make(chan obj, 1000), answer: reply(obj{"type": 5})}}
	r.edge.server = httptest.NewServer(r.edge)
	s, err := New(Options{Data: dir, Clock: r.clock})
	if err != nil {
		t.Fatal(err)
	}
	r.s = s
	r.http = httptest.NewServer(s.Handler())
	if err := s.SetBase(r.http.URL); err != nil {
		t.Fatal(err)
	}
	r.info = s.Info()
	key, _ := hex.DecodeString(r.info.PublicKey)
	r.edge.key = key
	s.SetEdge(Edge{InteractionsURL: r.edge.server.URL + "/interactions", EventsURL: r.edge.server.URL + "/v1/gateway/events", RelayKey: relayKey})
	t.Cleanup(r.close)
	return r
}

func (r *rig) close() {
	_ = r.s.Close()
	r.http.Close()
	r.edge.server.CloseClientConnections()
	r.edge.server.Close()
	for _, e := range r.s.wire.after(0) {
		if len(e.Ours) > 0 {
			r.Errorf("our answer to %s %s (%d) breaks Discord's description: %q\n%s", e.Method, e.Path, e.Status, e.Ours, e.Response)
		}
	}
}

// api calls the REST API as the bot and decodes the answer.
func (r *rig) api(method, path, body string) (int, obj) {
	r.Helper()
	status, raw, _ := r.raw(method, "/api/v10"+path, body, "Bot "+r.info.Token)
	var o obj
	if len(raw) > 0 && raw[0] == '{' {
		if err := json.Unmarshal(raw, &o); err != nil {
			r.Fatal(err)
		}
	}
	return status, o
}

// list calls the REST API for a list.
func (r *rig) list(path string) []obj {
	r.Helper()
	status, raw, _ := r.raw("GET", "/api/v10"+path, "", "Bot "+r.info.Token)
	var l []obj
	if err := json.Unmarshal(raw, &l); err != nil || status != 200 {
		r.Fatalf("%s: %d %s", path, status, raw)
	}
	return l
}

func (r *rig) raw(method, path, body, auth string) (int, []byte, http.Header) {
	r.Helper()
	req, _ := http.NewRequest(method, r.http.URL+path, bytes.NewReader([]byte(body)))
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if auth != "" {
		req.Header.Set("Authorization", auth)
	}
	req.Header.Set("User-Agent", "DiscordBot (https://example.com, 1)")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.Fatal(err)
	}
	defer res.Body.Close()
	raw, _ := io.ReadAll(res.Body)
	return res.StatusCode, raw, res.Header
}

// do uses the control API and fails the test unless it says 200.
func (r *rig) do(method, path string, body any) obj {
	r.Helper()
	status, o := r.try(method, path, body)
	if status != 200 {
		r.Fatalf("%s %s: %d %v", method, path, status, o)
	}
	return o
}

func (r *rig) try(method, path string, body any) (int, obj) {
	r.Helper()
	text := ""
	if body != nil {
		text = string(mustJSON(body))
	}
	status, raw, _ := r.raw(method, "/control/v1"+path, text, "Bearer "+r.info.ControlToken)
	var o obj
	if err := json.Unmarshal(raw, &o); err != nil {
		r.Fatalf("%s: %s", path, raw)
	}
	return status, o
}

func (r *rig) post(content string) string {
	r.Helper()
	status, m := r.api("POST", "/channels/"+r.info.Channel+"/messages", string(mustJSON(obj{"content": content})))
	if status != 200 {
		r.Fatal(status, m)
	}
	return m["id"].(string)
}

const commands = `[{"name":"ask","description":"Ask the agent","options":[{"type":3,"name":"prompt","description":"What to do","required":true,"max_length":6000},{"type":3,"name":"model","description":"Model"},{"type":11,"name":"attachment","description":"A file"}]},
{"name":"resume","description":"Resume","options":[{"type":3,"name":"conversation","description":"Which","required":true,"autocomplete":true}]},
{"name":"workspace","description":"Administration","default_member_permissions":"32","options":[{"type":1,"name":"bind","description":"Bind this channel","options":[{"type":3,"name":"name","description":"Its name","required":true}]}]}]`

func (r *rig) register() {
	r.Helper()
	status, raw, _ := r.raw("PUT", "/api/v10/applications/"+r.info.Application+"/commands", commands, "Bot "+r.info.Token)
	if status != 200 {
		r.Fatalf("register: %d %s", status, raw)
	}
}

func (r *rig) ask(user, prompt string) obj {
	r.Helper()
	return r.do("POST", "/users/"+user+"/commands", obj{"channel": r.info.Channel, "name": "ask", "options": obj{"prompt": prompt}})
}

// tokenOf reads an interaction's token from the request that the edge got.
func (r *rig) tokenOf(id string) string {
	r.Helper()
	i, ok := r.s.world.Interaction(id)
	if !ok {
		r.Fatal("no interaction", id)
	}
	return i.Token
}

func has(t *testing.T, o obj, path string, want any) {
	t.Helper()
	var v any = o
	for _, k := range strings.Split(path, ".") {
		m, _ := v.(map[string]any)
		v = m[k]
	}
	if string(mustJSON(v)) != string(mustJSON(want)) {
		t.Errorf("%s is %s, want %s", path, mustJSON(v), mustJSON(want))
	}
}
