package sim

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"holdfast/actor"
	"holdfast/actor/frame"
	"holdfast/runner/protocol"
)

// runner is a runner process around the real protocol machine: its journal outlives it, what it executes does not.
type runner struct {
	space   *space
	name    string
	machine *protocol.Machine
	journal []protocol.Entry
	socket  string // of the open connection
	life    int    // of the process
	away    bool   // no process
	held    bool   // another runner has the workspace
	asleep  int64  // the process is paused until then, 0: awake
	running map[protocol.Key]bool
	tick    int64
}

func newRunner(s *space, name string) *runner {
	return &runner{space: s, name: name, away: true, running: map[protocol.Key]bool{}}
}

// offered are the tools of every runner here.
var offered = []frame.Tool{{Name: "read", Schema: json.RawMessage(`{}`), Safe: true}, {Name: "bash", Schema: json.RawMessage(`{}`)}}

func (r *runner) launch() {
	r.life++
	r.away, r.held, r.asleep = false, false, 0
	r.running = map[protocol.Key]bool{}
	r.machine = protocol.New(frame.Frame{Runner: r.name, JournalID: "journal-" + r.name, Sandbox: "bwrap", Tools: offered}, slices.Clone(r.journal))
	r.dial()
}

func (r *runner) time() time.Time { return time.UnixMilli(r.space.world.now) }

// dial opens a connection when the edge is there, and tries again otherwise.
func (r *runner) dial() {
	w := r.space.world
	if r.socket != "" || r.away || r.asleep != 0 {
		return
	}
	if !r.space.up || r.held || w.chance("dial-fails", 0.1) {
		wait := w.between("dial", 1_000, 5_000)
		if r.held {
			r.held, wait = false, 120_000
		}
		r.later(wait, r.dial)
		return
	}
	w.serial++
	r.socket = fmt.Sprint("r", w.serial)
	w.covered("runner connects")
	r.act(r.machine.Connected(r.time()))
	if _, ok := r.space.handle(actor.EventRunnerOpen, actor.RunnerSocket{Socket: r.socket}, 0); !ok {
		r.closed(r.socket)
	}
}

// cut ends the connection without a word, as when the edge died.
func (r *runner) cut() {
	if r.socket == "" {
		return
	}
	r.socket = ""
	r.later(0, func() {
		if r.socket == "" {
			r.act(r.machine.Disconnected(r.time()))
			r.later(500, r.dial)
		}
	})
}

// closed is the edge's close of a socket, or the network's; the workspace hears of it.
func (r *runner) closed(socket string) {
	if socket != r.socket || socket == "" {
		return
	}
	r.cut()
	r.space.handle(actor.EventRunnerClose, actor.RunnerSocket{Socket: socket, Code: 1006}, 0)
}

// die ends the process: its executions are gone with it.
func (r *runner) die(back int64) {
	if r.away {
		return
	}
	w := r.space.world
	for _, e := range r.journal {
		if e.Result == nil {
			r.coverDeath(e.Key)
		}
	}
	r.leave()
	life := r.life
	w.after(back, func() {
		if r.life == life {
			r.launch()
		}
	})
}

// leave ends the process for good.
func (r *runner) leave() {
	socket := r.socket
	r.socket, r.away = "", true
	r.life++
	if socket != "" {
		r.space.handle(actor.EventRunnerClose, actor.RunnerSocket{Socket: socket, Code: 1006}, 0)
	}
}

// pause stops the process without ending it, as a laptop's lid does. What runs, runs on unobserved.
func (r *runner) pause(d int64) {
	if r.away || r.asleep != 0 {
		return
	}
	w := r.space.world
	w.note("%s pauses", r.name)
	r.asleep = w.now + d
	life, busy := r.life, len(r.running) > 0
	w.after(d, func() {
		if r.life != life || r.asleep == 0 {
			return
		}
		r.asleep = 0
		if busy && d > 60_000 {
			w.covered("F23 a runner wakes up past its lease")
		}
		r.dial()
	})
}

func (r *runner) heal() {
	r.asleep = min(r.asleep, r.space.world.now)
	switch {
	case r.away:
		r.launch()
	case r.socket == "":
		r.held, r.asleep = false, 0
		r.dial()
	}
}

// receive is a frame from the workspace.
func (r *runner) receive(socket string, message []byte) {
	w := r.space.world
	if socket != r.socket {
		return
	}
	if w.chance("frame-down-lost", 0.005) {
		w.after(0, func() { r.closed(socket) })
		return // lost with its connection
	}
	r.later(w.between("frame", 1, 6), func() {
		if r.socket == socket {
			r.act(r.machine.Received(r.time(), message))
		}
	})
}

// act does what the machine asks for.
func (r *runner) act(outputs []protocol.Output) {
	for _, o := range outputs {
		r.do(o)
	}
	r.schedule()
}

func (r *runner) do(o protocol.Output) {
	switch o.Kind {
	case protocol.Send:
		r.send(o.Frame)
	case protocol.SaveStarted:
		r.later(1, func() { r.save(protocol.Entry{Key: o.Key}) })
	case protocol.SaveFinished:
		r.later(1, func() { r.save(protocol.Entry{Key: o.Key, Result: o.Result}) })
	case protocol.Forget:
		r.journal = slices.DeleteFunc(r.journal, func(e protocol.Entry) bool { return e.Key == o.Key })
	case protocol.Start:
		r.execute(o)
	case protocol.Kill:
		r.later(5, func() { r.finished(o.Key, protocol.Result{Status: frame.StatusKilled, Summary: "killed"}) })
	case protocol.GatherFacts:
		r.later(5, func() { r.act(r.machine.Facts(r.time(), frame.Frame{Hash: "f", Branch: "main"})) })
	case protocol.RefusedByPeer:
		r.held = true
		r.space.world.covered("F33 a second runner is told who has the workspace")
	case protocol.Close:
		socket := r.socket
		r.later(0, func() { r.closed(socket) })
	}
}

// later runs f in this process, if it still lives then, and not before it is awake.
func (r *runner) later(d int64, f func()) {
	life := r.life
	r.space.world.after(d, func() {
		switch {
		case r.life != life:
		case r.asleep > r.space.world.now:
			r.later(r.asleep-r.space.world.now, f)
		default:
			f()
		}
	})
}

// execute is a tool that runs. Whether it may is the heart of invariant 3.
func (r *runner) execute(o protocol.Output) {
	w := r.space.world
	r.running[o.Key] = true
	r.space.checkStart(o.Frame)
	if w.opts.Mutant == mutantTwice {
		r.space.checkStart(o.Frame)
	}
	took := w.between("tool", 1, 3_000)
	if w.pick("tool", 10) == 0 {
		took = w.between("tool", 1, 150_000)
	}
	if w.chance("runner-dies-during-tool", 0.02) {
		r.later(took/2, func() { r.die(w.between("runner-back", 500, 5_000)) })
	}
	r.later(took, func() {
		r.finished(o.Key, protocol.Result{Status: frame.StatusOK, Summary: fmt.Sprintf("ran %d", o.Key.Task), Millis: took})
	})
}

func (r *runner) finished(k protocol.Key, result protocol.Result) {
	if r.running[k] {
		delete(r.running, k)
		r.act(r.machine.Finished(r.time(), k, result))
	}
}

// send is a frame to the workspace, in order; its connection may break meanwhile.
func (r *runner) send(f frame.Frame) {
	w, s, socket := r.space.world, r.space, r.socket
	raw, err := protocol.Encode(f)
	if err != nil {
		panic(err)
	}
	if f.Type == frame.TypeResult && f.Status == frame.StatusOK && r == s.runners[0] && s.one(`SELECT 1 FROM task WHERE id = ? AND epoch = ?`, f.Task, f.Epoch) != "" {
		s.told[f.Task] = true
	}
	w.after(2, func() {
		if r.socket != socket || socket == "" {
			return
		}
		if w.chance("frame-up-lost", 0.005) {
			r.closed(socket)
			return
		}
		w.covered("frame: " + f.Type)
		w.note("%s %s says %s %d/%d %s", s.name, r.name, f.Type, f.Task, f.Epoch, f.Status)
		s.coverFrame(f)
		ok := s.fenced(s.staleFrame(r, f), fmt.Sprintf("%s of task %d under epoch %d by %s", f.Type, f.Task, f.Epoch, r.name), func() bool {
			_, ok := s.handle(actor.EventRunnerMessage, actor.RunnerMessage{Socket: socket, Frame: raw}, 0)
			return ok
		})
		if !ok {
			r.closed(socket) // as the host does: a frame that was not taken must not be followed by others
		}
	})
}

func (r *runner) schedule() {
	next, ok := r.machine.Next()
	if !ok {
		return
	}
	r.tick++
	tick := r.tick
	r.later(max(1, next.UnixMilli()-r.space.world.now), func() {
		if r.tick == tick {
			r.act(r.machine.Tick(r.time()))
		}
	})
}
