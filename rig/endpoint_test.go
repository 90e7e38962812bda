package rig

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"io"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

const fixtures = "../interactions/testdata"

// discordKey signs as the Discord of an endpoint test does.
var discordKey = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))

// endpoint is the interactions endpoint of a deployment whose Discord is this test.
type endpoint struct {
	*testing.T
	p *Play
}

func openEndpoint(t *testing.T, h Host) endpoint {
	t.Helper()
	return endpoint{t, deploy(t, h, func(s *Stage) {
		s.Info.PublicKey = hex.EncodeToString(discordKey.Public().(ed25519.PublicKey))
	})}
}

// post sends a body with a signature and a timestamp; "" leaves a header out.
func (e endpoint) post(body []byte, signature, stamp string) (int, string) {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.Context(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.p.stage.URL()+"/interactions", bytes.NewReader(body))
	if err != nil {
		e.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if signature != "" {
		req.Header.Set("X-Signature-Ed25519", signature)
	}
	if stamp != "" {
		req.Header.Set("X-Signature-Timestamp", stamp)
	}
	res, err := client.Do(req)
	if err != nil {
		e.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		e.Fatal(err)
	}
	return res.StatusCode, string(text)
}

func (e endpoint) now() string { return strconv.FormatInt(e.p.stage.Clock.Now().Unix(), 10) }

func sign(stamp string, body []byte) string {
	return hex.EncodeToString(ed25519.Sign(discordKey, append([]byte(stamp), body...)))
}

// answersPing fails the test when the edge no longer works.
func (e endpoint) answersPing(after string) {
	e.Helper()
	body, stamp := []byte(`{"id":"1300000000000009999","application_id":"`+e.p.stage.Info.Application+`","type":1,"token":"t","version":1}`), e.now()
	if status, text := e.post(body, sign(stamp, body), stamp); status != 200 || !strings.Contains(text, `"type":1`) {
		e.Errorf("after %s a ping is answered %d %s", after, status, text)
	}
}

// Signatures that are none are answered 401, whatever is in the body.
func TestForgedSignatures(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(fixtures, "ed25519_wycheproof.json"))
	if err != nil {
		t.Fatal(err)
	}
	var suite struct {
		TestGroups []struct {
			Tests []struct {
				TcID     int
				Msg, Sig string
			}
		}
	}
	if err := json.Unmarshal(raw, &suite); err != nil {
		t.Fatal(err)
	}
	onEachHost(t, func(t *testing.T, h Host) {
		e := openEndpoint(t, h)
		n := 0
		for _, g := range suite.TestGroups {
			for _, v := range g.Tests {
				msg, err := hex.DecodeString(v.Msg)
				if err != nil {
					t.Fatal(err)
				}
				if status, text := e.post(msg, v.Sig, e.now()); status != 401 {
					t.Errorf("vector %d: %d %s", v.TcID, status, text)
				}
				n++
			}
		}
		if n < 100 {
			t.Errorf("only %d vectors", n)
		}
		e.forgeOurs()
		e.answersPing("all of them")
	})
}

// forgeOurs spoils a signature that would hold.
func (e endpoint) forgeOurs() {
	e.Helper()
	body, stamp := []byte(`{"id":"1300000000000009998","application_id":"`+e.p.stage.Info.Application+`","type":1,"token":"t","version":1}`), e.now()
	good := sign(stamp, body)
	old := strconv.FormatInt(e.p.stage.Clock.Now().Add(-6*time.Minute).Unix(), 10)
	soon := strconv.FormatInt(e.p.stage.Clock.Now().Add(6*time.Minute).Unix(), 10)
	cases := []struct {
		name             string
		body             []byte
		signature, stamp string
	}{
		{"no signature", body, "", stamp},
		{"no timestamp", body, good, ""},
		{"short", body, good[:126], stamp},
		{"long", body, good + "00", stamp},
		{"odd", body, good[:127], stamp},
		{"no hex", body, "zz" + good[2:], stamp},
		{"flipped bit", body, flip(good), stamp},
		{"high S", body, addOrder(good), stamp},
		{"another body", append([]byte(" "), body...), good, stamp},
		{"another timestamp", body, good, stamp + "0"},
		{"old, and signed so", body, sign(old, body), old},
		{"early, and signed so", body, sign(soon, body), soon},
		{"timestamp in words", body, sign("now", body), "now"},
		{"empty body", nil, good, stamp},
	}
	for _, c := range cases {
		if status, text := e.post(c.body, c.signature, c.stamp); status != 401 {
			e.Errorf("%s: %d %s", c.name, status, text)
		}
	}
	if status, _ := e.post(bytes.Repeat([]byte("x"), 1<<20+1), good, stamp); status != 413 && status != 401 {
		e.Errorf("a body over 1 MiB: %d", status)
	}
}

func flip(signature string) string {
	raw, _ := hex.DecodeString(signature)
	raw[10] ^= 1
	return hex.EncodeToString(raw)
}

// addOrder gives the same signature with S plus the order of the group, which a lax verifier takes too.
func addOrder(signature string) string {
	raw, _ := hex.DecodeString(signature)
	order, _ := new(big.Int).SetString("7237005577332262213973186563042994240857116359379907606001950938285454250989", 10)
	s := make([]byte, 32)
	for i, b := range raw[32:] {
		s[31-i] = b
	}
	sum := new(big.Int).Add(new(big.Int).SetBytes(s), order).FillBytes(make([]byte, 32))
	for i, b := range sum {
		raw[63-i] = b
	}
	return hex.EncodeToString(raw)
}

// What Discord or a relay signed and nobody can read is answered clearly, and nothing breaks.
func TestMalformedBodies(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(fixtures, "malformed", "*"))
	if err != nil || len(files) < 10 {
		t.Fatalf("%d fixtures, %v", len(files), err)
	}
	onEachHost(t, func(t *testing.T, h Host) {
		e := openEndpoint(t, h)
		r := newRelay(t, e.p.stage)
		for _, file := range files {
			body, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			name, stamp := filepath.Base(file), e.now()
			status, text := e.post(body, sign(stamp, body), stamp)
			e.clear("interaction "+name, status, text)
			status, answer, err := r.post(t.Context(), body)
			if err != nil {
				t.Fatal(err)
			}
			e.clear("batch "+name, status, string(answer))
			event := []byte(`{"shard":0,"session":"s","connection":"c","epoch":1,"closed_gaps":[],"events":[{"id":"1","type":"MESSAGE_CREATE","source":"live","guild_id":"` +
				e.p.stage.Info.Guild + `","channel":{"id":"1","type":0},"data":` + string(body) + `}]}`)
			status, answer, err = r.post(t.Context(), event)
			if err != nil {
				t.Fatal(err)
			}
			e.clear("event "+name, status, string(answer))
			if bytes.Contains(answer, []byte(`"committed"`)) || bytes.Contains(answer, []byte(`"retry"`)) {
				t.Errorf("event %s is answered %s", name, answer)
			}
		}
		e.answersPing("all of them")
		if err := e.p.do(t.Context(), "expect jobs 0\nexpect messages 0"); err != nil {
			t.Error(err)
		}
	})
}

// clear: a refusal by its status, or words for the person; always JSON.
func (e endpoint) clear(what string, status int, text string) {
	e.Helper()
	if status >= 500 || !json.Valid([]byte(text)) {
		e.Errorf("%s: %d %q", what, status, text)
	}
	if status == 200 && strings.HasPrefix(what, "interaction") && !strings.Contains(text, `"flags":64`) && !strings.Contains(text, `"choices":[]`) {
		e.Errorf("%s: taken for real: %s", what, text)
	}
}
