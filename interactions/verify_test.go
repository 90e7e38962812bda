package interactions

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
)

func TestVerifyWycheproof(t *testing.T) {
	suite := as[struct {
		NumberOfTests int
		TestGroups    []struct {
			PublicKey struct{ PK string }
			Tests     []struct {
				TcID    int
				Comment string
				Msg     string
				Sig     string
				Result  string
			}
		}
	}](t, fixture(t, "ed25519_wycheproof.json"))
	ran := 0
	for _, g := range suite.TestGroups {
		for _, c := range g.Tests {
			ran++
			msg, err := hex.DecodeString(c.Msg)
			if err != nil {
				t.Fatal(err)
			}
			if got := Verify([]string{g.PublicKey.PK}, c.Sig, msg); got != (c.Result == "valid") {
				t.Errorf("vector %d (%s): verified %v, want %s", c.TcID, c.Comment, got, c.Result)
			}
		}
	}
	if ran != suite.NumberOfTests || ran == 0 {
		t.Errorf("ran %d vectors of %d", ran, suite.NumberOfTests)
	}
}

func TestSignatureRefused(t *testing.T) {
	body := fixture(t, "interactions/ping.json")
	header := func(name, v string) func(*Request, *[]byte) {
		return func(r *Request, _ *[]byte) { r.Headers[name] = v }
	}
	const sig, stamp = "x-signature-ed25519", "x-signature-timestamp"
	good := signed(body).Headers[sig]
	cases := map[string]func(*Request, *[]byte){
		"no signature":    func(r *Request, _ *[]byte) { delete(r.Headers, sig) },
		"no timestamp":    func(r *Request, _ *[]byte) { delete(r.Headers, stamp) },
		"no headers":      func(r *Request, _ *[]byte) { r.Headers = nil },
		"empty":           header(sig, ""),
		"short":           header(sig, good[:126]),
		"long":            header(sig, good+"00"),
		"odd":             header(sig, good[:127]),
		"not hex":         header(sig, "zz"+good[2:]),
		"flipped":         header(sig, flip(good, 0)),
		"flipped in S":    header(sig, flip(good, 100)),
		"high bits of S":  header(sig, good[:126]+"ff"),
		"other timestamp": header(stamp, strconv.Itoa(testNow/1000+1)),
		"not a number":    header(stamp, "now"),
		"signed number":   header(stamp, "+"+strconv.Itoa(testNow/1000)),
		"huge number":     header(stamp, strings.Repeat("9", 40)),
		"other body":      func(_ *Request, b *[]byte) { *b = append(*b, ' ') },
		"re-serialised": func(_ *Request, b *[]byte) {
			var v any
			_ = json.Unmarshal(*b, &v)
			*b, _ = json.Marshal(v)
		},
		"too early": func(r *Request, _ *[]byte) { r.Now = testNow - MaxSkew - 1 },
		"too late":  func(r *Request, _ *[]byte) { r.Now = testNow + MaxSkew + 1 },
		"no keys":   func(r *Request, _ *[]byte) { r.Config.PublicKeys = nil },
		"a short key": func(r *Request, _ *[]byte) {
			r.Config.PublicKeys = []string{"00", "", r.Config.PublicKeys[0][:62]}
		},
		"a third key": func(r *Request, _ *[]byte) {
			r.Config.PublicKeys = []string{strings.Repeat("00", 32), strings.Repeat("11", 32), r.Config.PublicKeys[0]}
		},
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			r, b := signed(body), bytes.Clone(body)
			change(&r, &b)
			wantStatus(t, decide(t, r, b).Reply, 401)
			r.Signer = Signer(r.Config.PublicKeys, r.Headers, b) // as a host that looks first
			wantStatus(t, decide(t, r, b).Reply, 401)
		})
	}
}

func flip(hexed string, at int) string {
	b := []byte(hexed)
	if b[at] == '0' {
		b[at] = '1'
	} else {
		b[at] = '0'
	}
	return string(b)
}

// A body that is too long and a body that is no JSON are refused by their signature, before they are read.
func TestSignatureFirst(t *testing.T) {
	long := bytes.Repeat([]byte{' '}, MaxBody+1)
	wantStatus(t, decide(t, signed(long), long).Reply, 401)
	broken := signed([]byte("{"))
	broken.Headers["x-signature-ed25519"] = flip(broken.Headers["x-signature-ed25519"], 3)
	wantStatus(t, decide(t, broken, []byte("{")).Reply, 401)
}

func TestSignatureAccepted(t *testing.T) {
	body := fixture(t, "interactions/ping.json")
	for name, change := range map[string]func(*Request){
		"as it is": func(*Request) {},
		"earliest": func(r *Request) { r.Now -= MaxSkew },
		"latest":   func(r *Request) { r.Now += MaxSkew },
		"the second key": func(r *Request) {
			r.Config.PublicKeys = append([]string{strings.Repeat("11", 32)}, r.Config.PublicKeys...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := signed(body)
			change(&r)
			for _, signer := range []string{"", Signer(r.Config.PublicKeys, r.Headers, body)} {
				r.Signer = signer
				v := decide(t, r, body)
				wantStatus(t, v.Reply, 200)
				if string(v.Reply.Body) != `{"type":1}` {
					t.Errorf("PING answered %s", v.Reply.Body)
				}
			}
		})
	}
}

// What a host found counts only for a key that counts, at a time that counts.
func TestSignerIsNotTrustedWithMore(t *testing.T) {
	body := fixture(t, "interactions/ping.json")
	r := signed(body)
	key := Signer(r.Config.PublicKeys, r.Headers, body)
	if key != r.Config.PublicKeys[0] {
		t.Fatalf("signer %q, want %q", key, r.Config.PublicKeys[0])
	}
	for name, change := range map[string]func(*Request){
		"no key of ours": func(r *Request) { r.Signer = strings.Repeat("11", 32) },
		"a third key": func(r *Request) {
			r.Config.PublicKeys = []string{strings.Repeat("00", 32), strings.Repeat("11", 32), key}
		},
		"too late":     func(r *Request) { r.Now += MaxSkew + 1 },
		"no timestamp": func(r *Request) { delete(r.Headers, "x-signature-timestamp") },
	} {
		t.Run(name, func(t *testing.T) {
			r := signed(body)
			r.Signer = key
			change(&r)
			wantStatus(t, decide(t, r, body).Reply, 401)
		})
	}
}
