//go:build rig

package host

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
)

// rigPoint makes a test build die where HOLDFAST_RIG_KILL says ("before commit admit"), and wait where
// HOLDFAST_RIG_STALL says ("before commit admit 5s"). Each happens once in a process.
func rigPoint() func(when, what, point string) {
	kill := os.Getenv("HOLDFAST_RIG_KILL")
	stall, text := "", os.Getenv("HOLDFAST_RIG_STALL")
	if i := strings.LastIndexByte(text, ' '); i > 0 {
		stall, text = text[:i], text[i+1:]
	}
	var once sync.Once
	return func(when, what, point string) {
		here := when + " " + what + " " + point
		if here == stall {
			once.Do(func() {
				d, err := time.ParseDuration(text)
				if err != nil {
					panic("HOLDFAST_RIG_STALL: " + err.Error())
				}
				fmt.Fprintln(os.Stderr, "rig: stall", here)
				time.Sleep(d)
			})
		}
		if here == kill {
			fmt.Fprintln(os.Stderr, "rig:", here)
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // the signal is on its way: nothing more may happen here
		}
	}
}
