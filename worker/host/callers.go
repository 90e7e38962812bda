package host

import (
	"crypto/hmac"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"holdfast/actor/errs"
	"holdfast/interactions"
)

// maxSkew is how far a relay's clock may be off (spec 9.5).
const maxSkew = 5 * time.Minute

// keyring knows the deployment secrets and which tokens are too old.
type keyring struct {
	secrets []Secret
	least   atomic.Pointer[map[string]int]
}

func (k *keyring) setLeast(least map[string]int) {
	copied := maps.Clone(least)
	k.least.Store(&copied)
}

// revoked says whether a token's number is below the least valid one.
func (k *keyring) revoked(t token) bool {
	return t.n < (*k.least.Load())[t.kind+"."+t.subject]
}

// holds says whether key is the token's, under any of the secrets. All are compared, each in constant time.
func (k *keyring) holds(t token, key string) bool {
	found := false
	for _, secret := range k.secrets {
		if hmac.Equal([]byte(t.key(secret)), []byte(key)) {
			found = true
		}
	}
	return found
}

// bearer finds the token in a request's Authorization header, if it is valid.
func (k *keyring) bearer(r *http.Request) (t token, ok bool) {
	text, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return t, false
	}
	t, key, ok := parseToken(text)
	// A relay signs; a relay's key on the wire proves only that it leaked.
	if !ok || t.kind == KindRelay || k.revoked(t) || !k.holds(t, key) {
		return t, false
	}
	return t, true
}

// relay finds the relay that signed a request, if the signature is valid.
func (k *keyring) relay(h http.Header, body []byte, now time.Time) (t token, ok bool) {
	parts := strings.Split(h.Get("X-Holdfast-Key"), ".")
	if len(parts) != 3 {
		return t, false
	}
	t, ok = parseSubject(parts[0], parts[1], parts[2])
	if !ok || t.kind != KindRelay || k.revoked(t) {
		return t, false
	}
	stamp := h.Get("X-Holdfast-Timestamp")
	ms, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || now.Sub(time.UnixMilli(ms)).Abs() > maxSkew {
		return t, false
	}
	found := false
	for _, secret := range k.secrets {
		want := "v1=" + sign(t.key(secret), stamp+"."+string(body))
		if hmac.Equal([]byte(want), []byte(h.Get("X-Holdfast-Signature"))) {
			found = true
		}
	}
	return t, found
}

// caller finds who sent a request; nil for nobody.
func (h *Host) caller(r *http.Request, body []byte) *interactions.Caller {
	t, ok := h.keys.bearer(r)
	if !ok {
		t, ok = h.keys.relay(r.Header, body, h.now())
	}
	if !ok {
		return nil
	}
	return &interactions.Caller{Kind: t.kind, Subject: t.subject, Roles: t.roles}
}

// Caller finds who holds the bearer token of a request; nil for nobody.
func (h *Host) Caller(r *http.Request) *interactions.Caller { return h.caller(r, nil) }

// only lets operators through who have the role.
func (h *Host) only(role string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch c := h.Caller(r); {
		case c == nil:
			h.reply(w, failed(http.StatusUnauthorized, errs.New(errs.Unauthorized, "There is no valid key in this request.")))
		case c.Kind != KindOperator || !slices.Contains(c.Roles, role):
			h.reply(w, failed(http.StatusForbidden, errs.New(errs.Unauthorized, "This key may not do that.").WithHint("It takes an operator's key with the role %s.", role)))
		default:
			next.ServeHTTP(w, r)
		}
	})
}
