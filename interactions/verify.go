package interactions

import (
	"crypto/ed25519"
	"encoding/hex"
	"strconv"
)

// MaxSkew is how far an interaction's timestamp may be from the host's clock, in ms, either way (spec 6.1). Discord's
// documentation sets no bound; this one keeps a recorded request from being of use later.
const MaxSkew = 5 * 60 * 1000

// MaxKeys is how many public keys count: the present one, and the next while it is being changed.
const MaxKeys = 2

// authentic says whether a request to /interactions was signed by Discord, now.
func authentic(r Request, body []byte) bool {
	stamp := r.Headers["x-signature-timestamp"]
	if len(body) > MaxBody || !fresh(stamp, r.Now) {
		return false
	}
	message := append([]byte(stamp), body...)
	return Verify(r.Config.PublicKeys, r.Headers["x-signature-ed25519"], message)
}

// Verify says whether signature, in hex, is an Ed25519 signature of message under one of the first MaxKeys public
// keys, in hex. A key that is no key verifies nothing.
func Verify(keys []string, signature string, message []byte) bool {
	sig, err := hex.DecodeString(signature)
	if err != nil || len(sig) != ed25519.SignatureSize {
		return false
	}
	for _, k := range keys[:min(len(keys), MaxKeys)] {
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
