package interactions

import (
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"holdfast/actor"
)

const (
	testNow   = 1_764_470_000_000
	testApp   = "1300000000000000001"
	testGuild = "1300000000000000100"
	testChan  = "1300000000000000200"
	thread    = "1300000000000000300"
)

var testKey = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))

func testConfig() actor.Config {
	return actor.Config{
		ApplicationID: testApp,
		PublicKeys:    []string{hex.EncodeToString(testKey.Public().(ed25519.PublicKey))},
		AllowedGuilds: []string{testGuild},
	}
}

// signed is a request to /interactions as Discord would send it at testNow.
func signed(body []byte) Request {
	stamp := strconv.Itoa(testNow / 1000)
	sig := ed25519.Sign(testKey, append([]byte(stamp), body...))
	return Request{Now: testNow, Method: "POST", Path: "/interactions", Config: testConfig(), Headers: map[string]string{
		"x-signature-timestamp": stamp, "x-signature-ed25519": hex.EncodeToString(sig),
	}}
}

func relayed() Request {
	return Request{Now: testNow, Method: "POST", Path: "/v1/gateway/events", Config: testConfig(),
		Caller: &Caller{Kind: "relay", Subject: "relay"}}
}

func decide(t *testing.T, r Request, body []byte) Verdict {
	t.Helper()
	v, err := Decide(r, body)
	if err != nil {
		t.Fatalf("Decide: %v", err)
	}
	return v
}

func fixture(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", path))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// mutate changes the fixture at path: the value at a dotted field becomes v, or goes when v is nil.
func mutate(t *testing.T, path, field string, v any) []byte {
	t.Helper()
	var doc map[string]any
	dec := json.NewDecoder(strings.NewReader(string(fixture(t, path))))
	dec.UseNumber()
	if err := dec.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	at, keys := doc, strings.Split(field, ".")
	for _, k := range keys[:len(keys)-1] {
		at = at[k].(map[string]any)
	}
	if last := keys[len(keys)-1]; v == nil {
		delete(at, last)
	} else {
		at[last] = v
	}
	b, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func as[T any](t *testing.T, raw []byte) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return v
}

// shown is the callback that a reply holds: its type, its text, and whether one person alone sees it.
type shown struct {
	Type int
	Data struct {
		Content    string
		Flags      int
		CustomID   string `json:"custom_id"`
		Title      string
		Choices    []any
		Components json.RawMessage
	}
}

func wantStatus(t *testing.T, r *actor.Reply, status int) {
	t.Helper()
	if r == nil || r.Status != status {
		t.Fatalf("reply %+v, want status %d", r, status)
	}
	if status < 400 {
		return
	}
	e := as[struct {
		Error struct{ Code, Message string }
	}](t, r.Body)
	if e.Error.Code == "" || e.Error.Message == "" {
		t.Errorf("error body %s has no code or no message", r.Body)
	}
}

func wantWhisper(t *testing.T, r *actor.Reply, part string) {
	t.Helper()
	wantStatus(t, r, 200)
	c := as[shown](t, r.Body)
	if c.Type != callbackMessage || c.Data.Flags != flagEphemeral || !strings.Contains(c.Data.Content, part) {
		t.Errorf("reply %s, want an ephemeral message with %q", r.Body, part)
	}
}
