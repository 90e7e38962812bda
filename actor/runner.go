package actor

import (
	"encoding/json"
	"fmt"
	"slices"

	"holdfast/actor/frame"
)

// runnerState is the document "runner": whom the workspace's lease belongs to, and what it offers. It outlives the
// connection: a model may call the tools of a runner that is away for a moment.
//
//easyjson:json
type runnerState struct {
	Socket  string       `json:"socket"` // "" when it is gone
	Journal string       `json:"journal"`
	Name    string       `json:"name"`
	Version string       `json:"version"`
	Project string       `json:"project"`
	Sandbox string       `json:"sandbox"`
	Tools   []frame.Tool `json:"tools"`
	Since   int64        `json:"since"` // wall
}

func (r *runnerState) connected(sockets []string) bool {
	return r.Socket != "" && slices.Contains(sockets, r.Socket)
}

func (r *runnerState) tool(name string) (frame.Tool, bool) {
	for _, t := range r.Tools {
		if t.Name == name {
			return t, true
		}
	}
	return frame.Tool{}, false
}

func (r *runnerState) names() []string {
	var names []string
	for _, t := range r.Tools {
		names = append(names, t.Name)
	}
	return names
}

func (w *work) runner() *runnerState {
	if w.tools == nil {
		r := document[runnerState](w, "runner")
		w.tools = &r
	}
	return w.tools
}

// facts are the project's, as its runner last told them.
func (w *work) facts() frame.Frame { return document[frame.Frame](w, "facts") }

// runnerMessage handles one frame. A frame that is no JSON object of the right shape closes the socket with 4400;
// an unknown type is ignored (spec 9.6).
func (w *work) runnerMessage(in RunnerMessage) error {
	var f frame.Frame
	if err := json.Unmarshal(in.Frame, &f); err != nil || f.Type == "" {
		w.closeSocket(in.Socket, frame.CloseProtocol, "expected a JSON object with a type")
		return nil
	}
	if f.Type == frame.TypeHello {
		w.hello(in.Socket, f)
		return nil
	}
	r := w.runner()
	if r.Socket != in.Socket {
		w.closeSocket(in.Socket, frame.CloseProtocol, "expected hello first")
		return nil
	}
	switch f.Type {
	case frame.TypeStarted:
		w.toolStarted(f, r.Journal)
	case frame.TypeRenew, frame.TypeProgress:
		if !w.renew(f.Task, r.Journal, f.Epoch, toolLease) {
			w.send(in.Socket, "", frame.Frame{Type: frame.TypeCancel, Task: f.Task, Epoch: f.Epoch})
		}
	case frame.TypeResult:
		w.toolResult(f, r.Journal)
	case frame.TypeFacts:
		w.setDocument("facts", frame.Frame{Hash: f.Hash, AgentsMD: headAndTail(f.AgentsMD, 32_000), Branch: f.Branch, Head: f.Head})
	case frame.TypeChunk:
		w.chunk(in.Socket, f)
	}
	return nil
}

// rejectFrame lets the runner forget a result on which the core fails each time: its call ends when its lease does. A hello
// is taken without a look at its journal.
func (w *work) rejectFrame(in RunnerMessage) {
	var f frame.Frame
	switch {
	case json.Unmarshal(in.Frame, &f) != nil:
	case f.Type == frame.TypeHello:
		w.hello(in.Socket, f)
	case f.Type == frame.TypeResult && w.runner().Socket == in.Socket:
		w.ackRunner(f)
	}
}

// hello gives the lease to this runner, or says who has it, and squares its journal with our claims (spec 3.6).
func (w *work) hello(socket string, f frame.Frame) {
	r := w.runner()
	if r.connected(w.ev.Sockets) && r.Socket != socket && r.Journal != f.JournalID {
		w.send(socket, "", frame.Frame{Type: frame.TypeRefused, Holder: r.Name})
		w.closeSocket(socket, 1000, "another runner holds this workspace")
		w.event("runner.refused", 0, f.Runner, r.Name)
		return
	}
	if r.connected(w.ev.Sockets) && r.Socket != socket {
		w.closeSocket(r.Socket, 1000, "this runner connected again")
	}
	*r = runnerState{Socket: socket, Journal: f.JournalID, Name: f.Runner, Version: f.Version, Project: f.Project,
		Sandbox: f.Sandbox, Tools: f.Tools, Since: w.wall}
	w.setDocument("runner", r)
	w.event("runner.connected", 0, f.Runner, f.Sandbox)
	w.send(socket, "", frame.Frame{Type: frame.TypeWelcome, Lease: toolLease, Policy: json.RawMessage(w.settings().policyJSON()), PolicyVersion: w.settings().PolicyVersion})
	w.send(socket, "", frame.Frame{Type: frame.TypeAskFacts})
	if w.ev.Attempt < 4 {
		w.reconcile(f)
	} else {
		w.forget(f)
	}
	w.wakeTools()
}

// forget is for a journal that the core fails on each time: its runner is admitted all the same, and what does not run any
// more ends with its lease.
func (w *work) forget(f frame.Frame) {
	for _, e := range f.Journal {
		if e.State != frame.StateRunning {
			w.ackRunner(frame.Frame{Task: e.Task, Epoch: e.Epoch})
		}
	}
}

// reconcile reads the journal: a call it does not know never started; one that was started and is no longer known
// to run is interrupted; one that runs or has finished keeps its claim. The proof counts only from the very journal
// the task was sent to.
func (w *work) reconcile(f frame.Frame) {
	known := map[int64]frame.JournalEntry{}
	for _, e := range f.Journal {
		known[e.Task] = e
	}
	for _, row := range w.tx.Rows(`SELECT ` + taskColumns + ` FROM task INDEXED BY task_due WHERE due IS NOT NULL AND kind = 'tool' AND state = 'running' ORDER BY id`) {
		t := scanTask(row)
		e, listed := known[t.ID]
		mine := listed && e.Epoch == t.Epoch && t.Owner == f.JournalID
		switch {
		case t.Owner == f.JournalID && !mine:
			w.neverStarted(t)
		case mine && (e.State == frame.StateRunning || e.State == frame.StateFinished):
			w.tx.Exec(`UPDATE task SET lease_expires = ?, due = ? WHERE id = ? AND epoch = ? AND state = 'running'`, w.now+toolLease, w.now+toolLease, t.ID, t.Epoch)
		default:
			w.undecided(t)
		}
	}
	for _, e := range f.Journal {
		if t, ok := w.taskByID(e.Task); e.State == frame.StateStarted || !ok || t.Epoch != e.Epoch {
			w.send(w.runner().Socket, "", frame.Frame{Type: frame.TypeAck, Task: e.Task, Epoch: e.Epoch})
		}
	}
}

// neverStarted makes a call ready again that the runner's journal proves untouched (F06).
func (w *work) neverStarted(t task) {
	if decode[toolState](t.Checkpoint).Started {
		w.undecided(t) // the journal forgot what it once said: not to be trusted
		return
	}
	w.tx.Exec(`UPDATE task SET starts = max(starts - 1, 0) WHERE id = ?`, t.ID)
	w.rerun(t)
}

// wakeTools lets calls that waited for a runner begin.
func (w *work) wakeTools() {
	w.tx.Exec(`UPDATE task SET due = ? WHERE due IS NOT NULL AND kind = 'tool' AND state = 'ready'`, w.now)
}

func (w *work) toolStarted(f frame.Frame, journal string) {
	t, ok := w.taskByID(f.Task)
	if !ok || !w.renew(f.Task, journal, f.Epoch, toolLease) {
		w.send(w.runner().Socket, "", frame.Frame{Type: frame.TypeCancel, Task: f.Task, Epoch: f.Epoch})
		return
	}
	cp := decode[toolState](t.Checkpoint)
	cp.Started = true
	w.tx.Exec(`UPDATE task SET checkpoint = ? WHERE id = ? AND epoch = ?`, encode(cp), t.ID, f.Epoch)
	w.point(PointStarted, fmt.Sprint(t.ID))
	w.event("tool.started", t.Turn, fmt.Sprint(t.ID), "")
}

// maxBlobChunks bounds a payload to 64 MiB at 256 KiB a chunk.
const maxBlobChunks = 256

// blobDays is how long a payload is kept, in days (spec 3.2: by age).
const blobDays = 7

// chunk keeps one piece of a payload; the result that names its hash comes after the last one.
func (w *work) chunk(socket string, f frame.Frame) {
	c := f.Blobs
	if c == nil || c.Seq < 0 || c.Total < 1 || c.Total > maxBlobChunks || c.Seq >= c.Total || len(c.Hash) != 64 {
		w.closeSocket(socket, frame.CloseProtocol, "expected chunk{hash, seq, total, data}")
		return
	}
	day := w.wall / 86_400_000
	w.tx.Exec(`DELETE FROM blob WHERE day < ?`, day-blobDays)
	w.tx.Exec(`INSERT INTO blob(hash, seq, total, data, day) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET day = excluded.day`, c.Hash, c.Seq, c.Total, []byte(c.Data), day)
}

func (w *work) runnerClosed(in RunnerSocket) error {
	r := w.runner()
	if r.Socket != in.Socket {
		return nil
	}
	r.Socket = ""
	w.setDocument("runner", r)
	w.event("runner.disconnected", 0, r.Name, fmt.Sprint(in.Code))
	return nil
}

func (w *work) cancelOnRunner(t task) {
	if r := w.runner(); r.connected(w.ev.Sockets) {
		w.send(r.Socket, "", frame.Frame{Type: frame.TypeCancel, Task: t.ID, Epoch: t.Epoch})
	}
}

func (w *work) ackRunner(f frame.Frame) {
	w.send(w.runner().Socket, "", frame.Frame{Type: frame.TypeAck, Task: f.Task, Epoch: f.Epoch})
}

func (w *work) send(socket, point string, f frame.Frame) {
	raw, err := json.Marshal(f)
	if err != nil {
		panic(err) // args are JSON that was parsed before
	}
	w.do(Effect{Type: EffectRunnerSend, Lane: "runner", Point: point, Socket: socket, Message: raw})
}

func (w *work) closeSocket(socket string, code int, reason string) {
	w.do(Effect{Type: EffectRunnerClose, Socket: socket, Code: code, Reason: reason})
}
