package rig

import (
	"strings"
	"sync"
)

// keptLog is how much of a program's output is kept for an error, in bytes.
const keptLog = 64 << 10

// tail keeps the end of what is written to it. It is safe for use by several goroutines.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if over := len(t.text) - keptLog; over > 0 {
		t.text = append(t.text[:0:0], t.text[over:]...)
	}
	return len(b), nil
}

// String is what was kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(string(t.text), "\uFFFD")
}
