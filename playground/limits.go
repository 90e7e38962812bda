package playground

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// A bucket takes bucketSize requests each bucketTime. Discord's are smaller and change; a client must read the
// headers. These are wide enough not to disturb a test that does not ask for a limit (faults do).
const (
	bucketSize = 50
	bucketTime = 5 * time.Second
)

// limits counts requests by bucket and top-level id.
type limits struct {
	mu      sync.Mutex
	buckets map[string]*bucket
}

type bucket struct {
	until time.Time
	used  int
}

// spend counts a request, writes Discord's headers, and says whether it is let through.
func (l *limits) spend(h http.Header, operation, major string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.buckets == nil {
		l.buckets = map[string]*bucket{}
	}
	key := operation + " " + major
	b := l.buckets[key]
	if b == nil || !now.Before(b.until) {
		l.forget(now)
		b = &bucket{until: now.Add(bucketTime)}
		l.buckets[key] = b
	}
	b.used++
	sum := sha256.Sum256([]byte(operation))
	left := b.until.Sub(now).Seconds()
	h.Set("X-RateLimit-Bucket", hex.EncodeToString(sum[:16]))
	h.Set("X-RateLimit-Limit", strconv.Itoa(bucketSize))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(max(0, bucketSize-b.used)))
	h.Set("X-RateLimit-Reset", fmt.Sprintf("%.3f", float64(b.until.UnixMilli())/1000))
	h.Set("X-RateLimit-Reset-After", fmt.Sprintf("%.3f", left))
	return b.used <= bucketSize
}

// forget drops what is over; each interaction's token has a bucket of its own.
func (l *limits) forget(now time.Time) {
	for key, b := range l.buckets {
		if !now.Before(b.until) {
			delete(l.buckets, key)
		}
	}
}

// limited is the answer 429; retry is in seconds.
func limited(h http.Header, retry float64, global, bare bool) (int, []byte) {
	if bare {
		for _, k := range []string{"Bucket", "Limit", "Remaining", "Reset", "Reset-After"} {
			h.Del("X-RateLimit-" + k)
		}
	} else {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(retry))))
		h.Set("X-RateLimit-Remaining", "0")
		h.Set("X-RateLimit-Reset-After", fmt.Sprintf("%.3f", retry))
		h.Set("X-RateLimit-Scope", "user")
		if global {
			h.Set("X-RateLimit-Scope", "global")
			h.Set("X-RateLimit-Global", "true")
		}
	}
	return http.StatusTooManyRequests, mustJSON(obj{"message": "You are being rate limited.", "retry_after": retry, "global": global})
}
