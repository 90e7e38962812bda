// Package protocol is the runner's side of the conversation with a workspace, as a machine without I/O (spec 3.6, 9.6).
//
// Inputs are method calls that carry the time; outputs say what the owner of the machine must do, in that order.
// The machine starts no goroutine, reads no clock and depends on no map's order, so that a simulator can drive it.
// Three rules hold whatever happens:
//
//   - a tool starts only after the journal has confirmed `started`, and a result leaves only after the journal has it;
//   - a task that was not confirmed before its connection ended is dropped: it never started;
//   - a result is sent again after each welcome until the workspace acknowledges it.
package protocol

import (
	"encoding/json"
	"time"

	"holdfast/actor/frame"
)

// Limits of the machine.
const (
	MaxRunning    = 16               // attempts at once; one more gets an error result
	MaxSummary    = 32 << 10         // bytes of a result that the model sees
	MaxPayload    = 1 << 20          // bytes of a result's payload, sent as chunks: the longest blob of a workspace
	ProgressEvery = time.Second      // at most one progress frame per attempt (spec 4.3)
	RetryJournal  = time.Second      // after a journal write that failed
	maxLease      = int64(3_600_000) // ms; a longer one is a protocol error
	chunkBytes    = 256 << 10        // raw bytes per chunk: 350 KiB as base64, below frame.MaxFrame
	remembered    = 4096             // tasks whose newest epoch is kept, so that a repeated frame never runs twice
)

// Key names one attempt at one task.
type Key struct{ Task, Epoch int64 }

// Entry is what the journal holds about an attempt.
type Entry struct {
	Key
	Result *Result // nil: it was started, and nobody knows how it ended
}

// Result is how an attempt ended.
type Result struct {
	Status  string   `json:"status"`
	Summary string   `json:"summary"`
	Exit    *int     `json:"exit,omitempty"`
	Millis  int64    `json:"ms"`
	Files   []string `json:"files,omitempty"`
	Payload []byte   `json:"-"` // all of a long output, at most MaxPayload; the summary is its head and tail
}

// Kind says what an Output demands.
type Kind int

// The kinds of output. After a Save the owner calls Saved, after a Start it calls Finished, each exactly once.
const (
	Send          Kind = iota // write Frame to the connection
	SaveStarted               // journal Key as started, with fsync, then call Saved
	SaveFinished              // journal Result for Key, with fsync, then call Saved
	Forget                    // drop Key from the journal; nothing is called
	Start                     // execute Frame (a task); call Progress as it goes and Finished at its end
	Kill                      // end that execution and all its processes; Finished is still called
	GatherFacts               // collect the project's facts, then call Facts
	Close                     // close the connection with Code and Reason, then call Disconnected
	RefusedByPeer             // the workspace is another runner's: Reason names it; the connection will be closed
)

// Output is one thing to do.
type Output struct {
	Kind   Kind
	Key    Key
	Frame  frame.Frame
	Result *Result
	Code   int
	Reason string
}

type state int

const (
	saving      state = iota // SaveStarted was asked for
	running                  // Start was given
	unsaved                  // ended, SaveFinished was asked for
	failedSave               // ended, the journal could not be written: asked again on a tick
	finished                 // the journal has the result
	interrupted              // an earlier process started it and died
)

type attempt struct {
	key       Key
	state     state
	task      frame.Frame
	conn      int64  // the connection that the task arrived on
	refusal   string // ends as an error without being executed
	cancelled bool
	result    *Result
	retry     time.Time
	progress  frame.Frame // newest one that was not sent
	pending   bool        // progress holds something
	sentAt    time.Time   // last progress frame
}

// Machine is the session of one runner process. It is not safe for concurrent use.
type Machine struct {
	hello     frame.Frame
	attempts  map[Key]*attempt
	newest    map[int64]int64 // task → newest epoch seen, bounded by order
	order     []int64
	conn      int64 // number of the current connection, 0 before the first
	connected bool
	welcomed  bool
	lease     time.Duration
	renewAt   time.Time
	stopping  bool
	out       []Output
}

// New makes the machine of a process that has just started. hello carries what this runner says about itself;
// entries is its journal as an earlier process left it.
func New(hello frame.Frame, entries []Entry) *Machine {
	m := &Machine{hello: hello, attempts: map[Key]*attempt{}, newest: map[int64]int64{}}
	m.hello.Type = frame.TypeHello
	for _, e := range entries {
		a := &attempt{key: e.Key, state: interrupted, result: e.Result}
		if e.Result != nil {
			a.state = finished
		}
		m.attempts[e.Key] = a
		m.remember(e.Key)
	}
	return m
}

// Connected says that a connection is open. The machine says hello on it.
func (m *Machine) Connected(now time.Time) []Output {
	m.conn++
	m.connected, m.welcomed = true, false
	h := m.hello
	h.Journal = m.journal()
	m.send(h)
	return m.take()
}

// Disconnected says that the connection is gone. Tools that run go on.
func (m *Machine) Disconnected(now time.Time) []Output {
	m.connected, m.welcomed = false, false
	for _, a := range m.sorted() {
		a.pending = false
	}
	return m.take()
}

// Saved answers SaveStarted or SaveFinished; err says that the journal does not hold it.
func (m *Machine) Saved(now time.Time, k Key, err error) []Output {
	a := m.attempts[k]
	switch {
	case a == nil:
	case a.state == saving && err != nil:
		m.drop(a)
		if m.live(a) { // nothing was executed: an answer that gets lost is made good by the next hello
			m.send(resultFrame(k, &Result{Status: frame.StatusError, Summary: "the runner could not write its journal: nothing was executed"}, ""))
		}
	case a.state == saving:
		m.begin(now, a)
	case a.state == unsaved && err != nil:
		a.state, a.retry = failedSave, now.Add(RetryJournal)
	case a.state == unsaved:
		a.state = finished
		m.sendResult(a)
	}
	return m.take()
}

// begin runs an attempt whose start the journal has, or drops it when the connection it came on is gone.
func (m *Machine) begin(now time.Time, a *attempt) {
	if !m.live(a) {
		m.drop(a)
		m.put(Output{Kind: Forget, Key: a.key})
		return
	}
	m.send(frame.Frame{Type: frame.TypeStarted, Task: a.key.Task, Epoch: a.key.Epoch})
	switch {
	case a.refusal != "":
		m.finish(a, &Result{Status: frame.StatusError, Summary: a.refusal})
	case a.cancelled || m.stopping:
		m.finish(a, &Result{Status: frame.StatusKilled, Summary: "cancelled before it began: nothing was executed"})
	default:
		a.state = running
		m.put(Output{Kind: Start, Key: a.key, Frame: a.task})
	}
}

// Finished says that an execution ended, for whatever reason.
func (m *Machine) Finished(now time.Time, k Key, r Result) []Output {
	if a := m.attempts[k]; a != nil && a.state == running {
		m.finish(a, &r)
	}
	return m.take()
}

func (m *Machine) finish(a *attempt, r *Result) {
	a.state, a.result, a.pending = unsaved, bound(r), false
	m.put(Output{Kind: SaveFinished, Key: a.key, Result: a.result})
}

// Progress says how many bytes an execution has written so far, and its newest line.
func (m *Machine) Progress(now time.Time, k Key, bytes int64, line string) []Output {
	if a := m.attempts[k]; a != nil && a.state == running && m.welcomed {
		a.progress = frame.Frame{Type: frame.TypeProgress, Task: k.Task, Epoch: k.Epoch, Bytes: bytes, Line: clip(line, 200)}
		a.pending = true
		m.flushProgress(now, a)
	}
	return m.take()
}

func (m *Machine) flushProgress(now time.Time, a *attempt) {
	if a.pending && m.welcomed && !now.Before(a.sentAt.Add(ProgressEvery)) {
		m.send(a.progress)
		a.pending, a.sentAt = false, now
	}
}

// Facts answers GatherFacts.
func (m *Machine) Facts(now time.Time, f frame.Frame) []Output {
	if m.welcomed {
		f.Type = frame.TypeFacts
		m.send(f)
	}
	return m.take()
}

// Tick does what has become due: renewals, held-back progress, journal writes to be repeated.
func (m *Machine) Tick(now time.Time) []Output {
	renew := m.welcomed && !now.Before(m.renewAt)
	for _, a := range m.sorted() {
		m.flushProgress(now, a)
		if renew && a.state == running {
			m.send(frame.Frame{Type: frame.TypeRenew, Task: a.key.Task, Epoch: a.key.Epoch})
		}
		if a.state == failedSave && !now.Before(a.retry) {
			a.state = unsaved
			m.put(Output{Kind: SaveFinished, Key: a.key, Result: a.result})
		}
	}
	if renew {
		m.renewAt = now.Add(m.lease / 3)
	}
	return m.take()
}

// Next says when Tick has something to do, and whether it has at all.
func (m *Machine) Next() (time.Time, bool) {
	var next time.Time
	earliest := func(t time.Time) {
		if next.IsZero() || t.Before(next) {
			next = t
		}
	}
	for _, a := range m.sorted() {
		switch {
		case a.state == failedSave:
			earliest(a.retry)
		case a.state == running && m.welcomed:
			earliest(m.renewAt)
			if a.pending {
				earliest(a.sentAt.Add(ProgressEvery))
			}
		}
	}
	return next, !next.IsZero()
}

// Stop accepts no further task. With kill it also ends what runs; each execution still reports Finished.
func (m *Machine) Stop(now time.Time, kill bool) []Output {
	m.stopping = true
	for _, a := range m.sorted() {
		if kill && a.state == running {
			m.kill(a)
		}
	}
	return m.take()
}

// Busy says whether an execution or a journal write is still under way.
func (m *Machine) Busy() bool {
	for _, a := range m.attempts {
		if a.state == saving || a.state == running || a.state == unsaved {
			return true
		}
	}
	return false
}

// Welcomed says whether the workspace has accepted this runner on the current connection.
func (m *Machine) Welcomed() bool { return m.welcomed }

func (m *Machine) kill(a *attempt) {
	if !a.cancelled {
		a.cancelled = true
		m.put(Output{Kind: Kill, Key: a.key})
	}
}

// drop forgets an attempt that never executed: the same task may come again, even under the same epoch.
func (m *Machine) drop(a *attempt) {
	delete(m.attempts, a.key)
	if m.newest[a.key.Task] == a.key.Epoch {
		m.newest[a.key.Task]--
	}
}

// live says whether the connection that an attempt's task arrived on is still the current one.
func (m *Machine) live(a *attempt) bool { return m.connected && a.conn == m.conn }

func (m *Machine) put(o Output) { m.out = append(m.out, o) }

func (m *Machine) send(f frame.Frame) {
	if m.connected {
		m.put(Output{Kind: Send, Frame: f})
	}
}

func (m *Machine) take() []Output {
	out := m.out
	m.out = nil
	return out
}

// Encode is a frame as it travels.
func Encode(f frame.Frame) ([]byte, error) { return json.Marshal(f) }
