package policy

import (
	_ "embed" // the shipped policy is a file, so that its lines have numbers
	"sync"
)

//go:embed default.json
var defaultJSON []byte

// DefaultJSON is the shipped policy's document.
func DefaultJSON() []byte { return append([]byte(nil), defaultJSON...) }

var (
	shippedOnce sync.Once
	shipped     *Policy
)

// Default is the shipped policy: reading, editing and testing inside the project is allowed, what leaves it or
// cannot be seen through asks, secrets and fetch-and-execute are denied.
func Default() *Policy {
	shippedOnce.Do(func() {
		p, err := Parse(defaultJSON)
		if err != nil {
			panic("policy: the shipped policy is broken: " + err.Error()) // a fault of the build, caught by every test
		}
		shipped = p
	})
	return shipped
}
