package interactions

import (
	"crypto/ed25519"
	"encoding/hex"
	"slices"
	"strconv"

	"holdfast/actor"
	"holdfast/actor/errs"
)

// MaxSkew is how far an interaction's timestamp may be from the host's clock, in ms, either way (spec 6.1). Discord's
// documentation sets no bound; this one keeps a recorded request from being of use later.
const MaxSkew = 5 * 60 * 1000

// MaxKeys is how many public keys count: the present one, and the next while it is being changed.
const MaxKeys = 2

// authentic says whether a request to /interactions was signed by Discord, now.
func authentic(r Request, body []byte) bool {
	if len(body) > MaxBody || !fresh(r.Headers[headerStamp], r.Now) {
		return false
	}
	if r.Signer != "" {
		return slices.Contains(counting(r.Config.PublicKeys), r.Signer)
	}
	return Signer(r.Config.PublicKeys, r.Headers, body) != ""
}

// Unsigned is the answer to a request to /interactions whose signature does not hold. A host that asked Signer, this very
// code, and got "" answers so without asking the core, which would verify again, many times slower.
func Unsigned() *actor.Reply {
	return ErrorReply(401, errs.New(errs.Unauthorized, "The signature does not hold."))
}

// Headers of a signed request (Discord, "Setting Up an Endpoint"), in lower case.
const (
	headerStamp     = "x-signature-timestamp"
	headerSignature = "x-signature-ed25519"
)

// Headers are those that the core reads: a host passes no others.
var Headers = []string{headerStamp, headerSignature}

// Signer gives the key, as it is written in keys, under which a request to /interactions is signed, or "". It says
// nothing about the timestamp's age. A host may call it in its own machine code and hand the key over in Request: the
// curve's arithmetic is by far the longest step of a verdict when WebAssembly does it.
func Signer(keys []string, headers map[string]string, body []byte) string {
	message := append([]byte(headers[headerStamp]), body...)
	for _, k := range counting(keys) {
		if Verify([]string{k}, headers[headerSignature], message) {
			return k
		}
	}
	return ""
}

func counting(keys []string) []string { return keys[:min(len(keys), MaxKeys)] }

// Verify says whether signature, in hex, is an Ed25519 signature of message under one of the first MaxKeys public
// keys, in hex. A key that is no key verifies nothing.
func Verify(keys []string, signature string, message []byte) bool {
	sig, err := hex.DecodeString(signature)
	if err != nil || len(sig) != ed25519.SignatureSize {
		return false
	}
	for _, k := range counting(keys) {
		key, err := hex.DecodeString(k)
		if err == nil && len(key) == ed25519.PublicKeySize && ed25519.Verify(key, message, sig) {
			return true
		}
	}
	return false
}

// fresh says whether stamp, in unix seconds, is within MaxSkew of now, in ms.
func fresh(stamp string, now int64) bool {
	if len(stamp) == 0 || len(stamp) > 12 || !digits(stamp) {
		return false
	}
	s, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return false
	}
	d := now - s*1000
	return -MaxSkew <= d && d <= MaxSkew
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return len(s) > 0
}
