package protocol

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"unicode/utf8"

	"holdfast/actor/frame"
)

// sendResult sends the payload's chunks, if any, and then the result that names them.
func (m *Machine) sendResult(a *attempt) {
	if !m.welcomed {
		return
	}
	hash := ""
	if len(a.result.Payload) > 0 {
		sum := sha256.Sum256(a.result.Payload)
		hash = hex.EncodeToString(sum[:])
		for _, c := range chunks(a.result.Payload, hash) {
			m.send(c)
		}
	}
	m.send(resultFrame(a.key, a.result, hash))
}

func chunks(payload []byte, hash string) []frame.Frame {
	total := (len(payload) + chunkBytes - 1) / chunkBytes
	var out []frame.Frame
	for seq := range total {
		piece := payload[seq*chunkBytes : min(len(payload), (seq+1)*chunkBytes)]
		out = append(out, frame.Frame{Type: frame.TypeChunk, Blobs: &frame.Chunk{
			Hash: hash, Seq: seq, Total: total, Data: base64.StdEncoding.EncodeToString(piece),
		}})
	}
	return out
}

func resultFrame(k Key, r *Result, hash string) frame.Frame {
	return frame.Frame{Type: frame.TypeResult, Task: k.Task, Epoch: k.Epoch, Status: r.Status, Summary: r.Summary,
		Exit: r.Exit, Millis: r.Millis, Blob: hash, Files: r.Files}
}

// bound cuts what a tool must never exceed, so that a result always fits its frames.
func bound(r *Result) *Result {
	b := *r
	b.Summary = clip(strings.ToValidUTF8(b.Summary, "\uFFFD"), MaxSummary)
	if len(b.Payload) > MaxPayload {
		b.Payload = b.Payload[:MaxPayload]
	}
	if len(b.Files) > 200 {
		b.Files = b.Files[:200]
	}
	return &b
}

// clip cuts s to at most n bytes without breaking a rune.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// journal lists what the hello reports, oldest first. An attempt whose start is not confirmed yet is not on record.
func (m *Machine) journal() []frame.JournalEntry {
	var out []frame.JournalEntry
	for _, a := range m.sorted() {
		e := frame.JournalEntry{Task: a.key.Task, Epoch: a.key.Epoch}
		switch a.state {
		case interrupted:
			e.State = frame.StateStarted
		case running, unsaved, failedSave:
			e.State = frame.StateRunning
		case finished:
			e.State = frame.StateFinished
		case saving:
			continue // not executed, and dropped once the journal answers, because its connection is gone
		}
		out = append(out, e)
	}
	return out
}

func (m *Machine) sorted() []*attempt {
	all := make([]*attempt, 0, len(m.attempts))
	for _, a := range m.attempts {
		all = append(all, a)
	}
	slices.SortFunc(all, func(a, b *attempt) int {
		return cmp.Or(cmp.Compare(a.key.Task, b.key.Task), cmp.Compare(a.key.Epoch, b.key.Epoch))
	})
	return all
}

// remember keeps the newest epoch of a task; the oldest tasks fall out once there are too many.
func (m *Machine) remember(k Key) {
	old, seen := m.newest[k.Task]
	if !seen {
		m.order = append(m.order, k.Task)
	}
	m.newest[k.Task] = max(old, k.Epoch)
	if len(m.order) > remembered {
		delete(m.newest, m.order[0])
		m.order = m.order[1:]
	}
}
