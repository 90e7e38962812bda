package edge_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast/interactions"
	"holdfast/worker/edge/workerd"
)

// vector is a signature, all in hex.
type vector struct {
	Key       string `json:"key"`
	Signature string `json:"signature"`
	Message   string `json:"message"`
}

func (v vector) core(t *testing.T) bool {
	t.Helper()
	message, err := hex.DecodeString(v.Message)
	if err != nil {
		t.Fatal(err)
	}
	return interactions.Verify([]string{v.Key}, v.Signature, message)
}

// What WebCrypto calls signed, the core does: on the vectors that interactions is held to, word for word, and on those
// where implementations of Ed25519 are known to differ, at least never more.
func TestSignerVectors(t *testing.T) {
	vectors := wycheproof(t)
	known := len(vectors)
	vectors = append(vectors, oddVectors()...)
	accepted, stricter := 0, 0
	for i, got := range webcrypto(t, vectors) {
		want := vectors[i].core(t)
		if got {
			accepted++
		}
		if want && !got {
			stricter++
		}
		if got && !want || i < known && got != want {
			t.Errorf("vector %d %+v: WebCrypto says %v, the core %v", i, vectors[i], got, want)
		}
	}
	t.Logf("%d vectors: WebCrypto verified %d, the core %d more", len(vectors), accepted, stricter)
	if accepted == 0 {
		t.Error("WebCrypto verified nothing")
	}
}

func wycheproof(t *testing.T) (all []vector) {
	t.Helper()
	text, err := os.ReadFile("../../interactions/testdata/ed25519_wycheproof.json")
	if err != nil {
		t.Fatal(err)
	}
	var suite struct {
		TestGroups []struct {
			PublicKey struct{ PK string }
			Tests     []struct{ Msg, Sig string }
		}
	}
	if err := json.Unmarshal(text, &suite); err != nil {
		t.Fatal(err)
	}
	for _, g := range suite.TestGroups {
		for _, c := range g.Tests {
			if len(c.Sig) == 2*ed25519.SignatureSize { // others do not get as far
				all = append(all, vector{g.PublicKey.PK, c.Sig, c.Msg})
			}
		}
	}
	return all
}

// smallOrder are the encodings of the curve's eight points of small order, and those that are not canonical (the sign
// set at x = 0, y beyond the prime).
var smallOrder = []string{
	"0100000000000000000000000000000000000000000000000000000000000000",
	"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"0000000000000000000000000000000000000000000000000000000000000000",
	"0000000000000000000000000000000000000000000000000000000000000080",
	"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
	"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
	"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
	"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
	"0100000000000000000000000000000000000000000000000000000000000080",
	"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
	"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
	"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
}

// order is the group's: a signature whose S has it added is the malleable twin of one that is valid.
const order = "edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010"

// oddVectors are keys and commitments of small order with S = 0 and S = the order, for messages enough that each
// equation comes out somewhere, and the malleable twins of good signatures.
func oddVectors() (all []vector) {
	zero := strings.Repeat("00", 32)
	for _, key := range smallOrder {
		for _, r := range smallOrder {
			for m := range 8 {
				message := hex.EncodeToString([]byte(fmt.Sprint("message ", m)))
				all = append(all, vector{key, r + zero, message}, vector{key, r + order, message})
			}
		}
	}
	private := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, 32))
	key := hex.EncodeToString(private.Public().(ed25519.PublicKey))
	for m := range 8 {
		message := fmt.Appendf(nil, "message %d", m)
		good := ed25519.Sign(private, message)
		all = append(all, vector{key, hex.EncodeToString(good), hex.EncodeToString(message)},
			vector{key, hex.EncodeToString(twin(good)), hex.EncodeToString(message)})
	}
	return all
}

// twin adds the order to S.
func twin(signature []byte) []byte {
	l, _ := hex.DecodeString(order) // our own constant
	sum, carry := bytes.Clone(signature), 0
	for i, b := range l {
		carry += int(sum[32+i]) + int(b)
		sum[32+i] = byte(carry)
		carry >>= 8
	}
	return sum
}

// webcrypto asks workerd.
func webcrypto(t *testing.T, vectors []vector) (verdicts []bool) {
	t.Helper()
	bin, err := workerd.Find()
	if err != nil {
		t.Skip(err)
	}
	main, err := os.ReadFile("testdata/signer.mjs")
	if err != nil {
		t.Fatal(err)
	}
	p, err := workerd.Start(context.Background(), workerd.Options{Bin: bin, Dir: t.TempDir(), CoreWasm: testCore, Modules: map[string]string{"front.mjs": string(main)}, Log: logTo(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Kill() })
	body, err := json.Marshal(vectors)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Post(p.URL, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(&verdicts); err != nil || len(verdicts) != len(vectors) {
		t.Fatalf("%d verdicts on %d vectors: %v", len(verdicts), len(vectors), err)
	}
	return verdicts
}

// The front says who signed a request to /interactions, and of others nothing.
func TestSignerIsPassed(t *testing.T) {
	private := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, 32))
	key := strings.ToUpper(hex.EncodeToString(private.Public().(ed25519.PublicKey)))
	other := strings.Repeat("ab", 32)
	d := start(t, nil, map[string]string{"HOLDFAST_DISCORD_PUBLIC_KEYS": other + "," + key})
	stamp, body := strconv.FormatInt(time.Now().Unix(), 10), "{\"ü\":1}"
	signature := hex.EncodeToString(ed25519.Sign(private, []byte(stamp+body)))
	for _, tt := range []struct{ name, path, stamp, signature, body, want string }{
		{"signed", "/interactions", stamp, signature, body, key},
		{"in capitals", "/interactions", stamp, strings.ToUpper(signature), body, key},
		{"another body", "/interactions", stamp, signature, body + " ", ""},
		{"another time", "/interactions", stamp + "0", signature, body, ""},
		{"a time that is none", "/interactions", "+" + stamp, signature, body, ""},
		{"too short", "/interactions", stamp, signature[:126], body, ""},
		{"another path", "/do/echo", stamp, signature, body, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d.t = t
			a := d.request("POST", tt.path, []byte(tt.body), http.Header{"X-Signature-Timestamp": {tt.stamp}, "X-Signature-Ed25519": {tt.signature}})
			var got struct{ Signer string }
			if err := json.Unmarshal([]byte(a.Body), &got); err != nil || got.Signer != tt.want {
				t.Errorf("signer %q, want %q (%v): %s", got.Signer, tt.want, err, a.Body)
			}
		})
	}
}
