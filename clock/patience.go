package clock

import "time"

// A process that was killed holds its locks until the kernel has taken it apart.
const (
	patienceTries = 50
	patiencePause = 20 * time.Millisecond
)

// Patience is for a start that meets the lock of a process which is ending: the function says whether to try once
// more, after a pause. After about a second it says no: then the other one runs indeed.
func Patience() func() bool {
	n := 0
	return func() bool {
		if n == patienceTries {
			return false
		}
		n++
		time.Sleep(patiencePause)
		return true
	}
}
