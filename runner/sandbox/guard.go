//go:build linux

package sandbox

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// guard outlives this process by a moment. Bubblewrap's first child has no parent-death signal before it executes
// something: when this process and then bubblewrap are killed while that child still waits for either of them, it would
// wait for ever. The guard knows the process groups of all calls, and ends them once this process is gone.
type guard struct {
	mu   sync.Mutex
	pipe *os.File // its standard input: "+ 17", "- 17"; its end is the end of this process
}

const guardScript = `groups=
while read -r op group; do
	rest=
	for g in $groups; do [ "$g" = "$group" ] || rest="$rest $g"; done
	groups=$rest
	[ "$op" = + ] && groups="$groups $group"
done
for g in $groups; do kill -9 "-$g"; done`

// theGuard is one for the whole process, begun with its first sandbox.
var theGuard = sync.OnceValues(newGuard)

func newGuard() (*guard, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	cmd := exec.Command("/bin/sh", "-c", guardScript)
	cmd.Env, cmd.Dir, cmd.Stdin = []string{}, "/", r
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // what ends this process's group must not end it
	// Files that this process inherited itself are not marked: the guard would keep them open.
	err = unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC)
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		w.Close()
		return nil, fmt.Errorf("start the guard: %w", err)
	}
	return &guard{pipe: w}, nil
}

// add and drop say which process groups are to end with this process. A guard that is gone guards nothing; then a call
// is ended by its parent-death signals, or by the next start's Reap.
func (g *guard) add(group int)  { g.say('+', group) }
func (g *guard) drop(group int) { g.say('-', group) }

func (g *guard) say(op rune, group int) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	_, _ = fmt.Fprintf(g.pipe, "%c %d\n", op, group)
}
