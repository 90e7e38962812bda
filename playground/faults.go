package playground

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
)

// Fault is a misfortune that the next requests meet.
type Fault struct {
	ID int `json:"id"`
	// Kind is "status" (answer Status), "delay" (wait MS, then go on), "cut" (close the connection), "drop_event",
	// or "duplicate_event".
	Kind   string `json:"kind"`
	Count  int    `json:"count"` // how many are left; 0 in a request means 1
	Status int    `json:"status,omitempty"`
	Code   int    `json:"code,omitempty"` // Discord's; 0 means the usual one of the status
	// When is "before" (nothing happens) or "after" (it happens, and the answer is lost). Default before. A delay
	// "after" lasts also when the caller has given up, so that the request overtakes nothing and is applied late.
	When   string `json:"when,omitempty"`
	Method string `json:"method,omitempty"` // "" is any
	// Path is a pattern below /api/v10, as "/channels/*/messages", a star being one segment; "" is any.
	Path       string  `json:"path,omitempty"`
	MS         int     `json:"ms,omitempty"`
	Bare       bool    `json:"bare,omitempty"`        // a 429 without rate limit headers
	Global     bool    `json:"global,omitempty"`      // a 429 of the whole bot
	RetryAfter float64 `json:"retry_after,omitempty"` // seconds; 0 means 1
}

func (f *Fault) check() error {
	if !slices.Contains([]string{"status", "delay", "cut", "drop_event", "duplicate_event"}, f.Kind) {
		return fmt.Errorf("unknown kind %q", f.Kind)
	}
	if f.When == "" {
		f.When = "before"
	}
	if f.When != "before" && f.When != "after" {
		return fmt.Errorf("when is before or after, not %q", f.When)
	}
	if f.Kind == "status" && (f.Status < 400 || f.Status > 599) {
		return fmt.Errorf("status %d is not an error", f.Status)
	}
	if f.Count == 0 {
		f.Count = 1
	}
	if f.Count < 0 || f.Count > 10000 || f.MS < 0 || f.MS > 60_000 {
		return fmt.Errorf("count or ms out of range")
	}
	if f.RetryAfter == 0 {
		f.RetryAfter = 1
	}
	_, err := path.Match(f.Path, "")
	return err
}

func (f *Fault) matches(method, p string) bool {
	ok, _ := path.Match(f.Path, p) // the pattern was checked
	return (f.Method == "" || strings.EqualFold(f.Method, method)) && (f.Path == "" || ok)
}

func (f Fault) String() string {
	if f.Kind == "status" {
		return fmt.Sprintf("%d %s", f.Status, f.When)
	}
	return f.Kind + " " + f.When
}

// faults are those that wait.
type faults struct {
	mu   sync.Mutex
	last int
	list []*Fault
}

func (f *faults) add(x Fault) Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	x.ID = f.last
	f.list = append(f.list, &x)
	return x
}

// take returns the first fault that a request meets, and counts it down.
func (f *faults) take(method, p string) *Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, x := range f.list {
		if x.matches(method, p) {
			if x.Count--; x.Count == 0 {
				f.list = slices.Delete(f.list, i, i+1)
			}
			hit := *x
			return &hit
		}
	}
	return nil
}

func (f *faults) pending() []Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := []Fault{}
	for _, x := range f.list {
		out = append(out, *x)
	}
	return out
}

func (f *faults) clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = nil
}
