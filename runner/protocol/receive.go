package protocol

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"holdfast/actor/frame"
)

// Received handles one text message of the workspace. Unknown types are ignored; what does not parse, or breaks the
// protocol, closes the connection with frame.CloseProtocol.
func (m *Machine) Received(now time.Time, message []byte) []Output {
	if !m.connected {
		return nil
	}
	var f frame.Frame
	if len(message) > frame.MaxFrame {
		m.fail("a frame is longer than %d bytes", frame.MaxFrame)
	} else if err := json.Unmarshal(message, &f); err != nil {
		m.fail("a frame is not valid: %v", err)
	} else {
		m.handle(now, f)
	}
	return m.take()
}

func (m *Machine) handle(now time.Time, f frame.Frame) {
	switch f.Type {
	case frame.TypeWelcome:
		m.welcome(now, f)
	case frame.TypeRefused:
		m.put(Output{Kind: RefusedByPeer, Reason: clip(f.Holder, 200)})
	case frame.TypeTask, frame.TypeCancel, frame.TypeAck:
		switch {
		case f.Task <= 0 || f.Epoch <= 0:
			m.fail("%s without task and epoch", f.Type)
		case !m.welcomed:
			m.fail("%s before welcome", f.Type)
		default:
			m.about(now, f)
		}
	case frame.TypeAskFacts:
		if m.welcomed {
			m.put(Output{Kind: GatherFacts})
		}
	}
}

func (m *Machine) about(now time.Time, f frame.Frame) {
	k := Key{f.Task, f.Epoch}
	switch f.Type {
	case frame.TypeTask:
		m.task(now, f, k)
	case frame.TypeCancel:
		m.remember(k) // a task frame that comes after its own cancel is late
		if a := m.attempts[k]; a != nil && a.state == running {
			m.kill(a)
		} else if a != nil && a.state == saving {
			a.cancelled = true
		}
	case frame.TypeAck:
		if a := m.attempts[k]; a != nil && (a.state == finished || a.state == interrupted) {
			delete(m.attempts, k)
			m.put(Output{Kind: Forget, Key: k})
		}
	}
}

// welcome takes the lease and sends what the workspace has not acknowledged.
func (m *Machine) welcome(now time.Time, f frame.Frame) {
	if f.Lease <= 0 || f.Lease > maxLease {
		m.fail("welcome with a lease of %d ms", f.Lease)
		return
	}
	m.welcomed = true
	m.lease = time.Duration(f.Lease) * time.Millisecond
	m.renewAt = now.Add(m.lease / 3)
	for _, a := range m.sorted() {
		if a.state == finished {
			m.sendResult(a)
		}
	}
}

// task begins an attempt unless it, or a newer one, is already known: then what is known is said again.
func (m *Machine) task(now time.Time, f frame.Frame, k Key) {
	if f.Tool == "" {
		m.fail("task without a tool")
		return
	}
	if newest, seen := m.newest[k.Task]; seen && k.Epoch <= newest {
		if a := m.attempts[k]; a != nil {
			m.repeat(a)
		}
		return
	}
	if m.stopping {
		return // never started; the next hello says so
	}
	m.supersede(k)
	m.remember(k)
	a := &attempt{key: k, state: saving, task: f, conn: m.conn}
	if ArgsHash(f.Tool, f.Args) != f.ArgsHash {
		a.refusal = "the arguments do not match their hash: nothing was executed"
	} else if m.active() >= MaxRunning {
		a.refusal = fmt.Sprintf("the runner already runs %d calls: nothing was executed", MaxRunning)
	}
	m.attempts[k] = a
	m.put(Output{Kind: SaveStarted, Key: k})
}

// repeat says once more how far a known attempt is.
func (m *Machine) repeat(a *attempt) {
	switch a.state {
	case saving:
		a.conn = m.conn // sent again on this connection while the journal is still writing
	case running:
		m.send(frame.Frame{Type: frame.TypeStarted, Task: a.key.Task, Epoch: a.key.Epoch})
	case finished:
		m.sendResult(a)
	}
}

// supersede ends older attempts at the same task: a newer epoch means that their claim is lost.
func (m *Machine) supersede(k Key) {
	for _, a := range m.sorted() {
		if a.key.Task != k.Task || a.key.Epoch >= k.Epoch {
			continue
		}
		switch a.state {
		case running:
			m.kill(a)
		case saving:
			a.cancelled = true
		}
	}
}

func (m *Machine) active() int {
	n := 0
	for _, a := range m.attempts {
		if a.state == running || a.state == saving {
			n++
		}
	}
	return n
}

// fail closes the connection over a breach of the protocol; what else arrives on it is ignored.
func (m *Machine) fail(format string, args ...any) {
	m.connected, m.welcomed = false, false
	// A close reason is at most 123 bytes (RFC 6455, section 5.5).
	m.put(Output{Kind: Close, Code: frame.CloseProtocol, Reason: clip(fmt.Sprintf(format, args...), 120)})
}

// ArgsHash is the hex SHA-256 of the tool's name, a NUL byte and the arguments' bytes as they travel.
func ArgsHash(tool string, args []byte) string {
	h := sha256.New()
	h.Write([]byte(tool))
	h.Write([]byte{0})
	h.Write(args)
	return hex.EncodeToString(h.Sum(nil))
}
