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
	machine *protocol.Machine
	journal []protocol.Entry
	id      string
	socket  string // of the open connection
	life    int    // of the process
	running map[protocol.Key]bool
	starts  map[int64]int // task → executions that began
	tick    int64
}

func newRunner(s *space) *runner {
	r := &runner{space: s, id: "journal-" + s.name, running: map[protocol.Key]bool{}, starts: map[int64]int{}}
	r.launch()
	return r
}

func (r *runner) launch() {
	r.life++
	r.running = map[protocol.Key]bool{}
	r.machine = protocol.New(frame.Frame{Runner: "box", JournalID: r.id, Sandbox: "bwrap", Tools: []frame.Tool{
		{Name: "read", Schema: json.RawMessage(`{}`), Safe: true}, {Name: "bash", Schema: json.RawMessage(`{}`)}}}, slices.Clone(r.journal))
	r.dial()
}

func (r *runner) time() time.Time { return time.UnixMilli(r.space.world.now) }

// dial opens a connection when the edge is there, and tries again otherwise.
func (r *runner) dial() {
	w := r.space.world
	if r.socket != "" {
		return
	}
	if !r.space.up || w.chance(0.1) {
		life := r.life
		w.after(1_000+w.rng.Int64N(4_000), func() {
			if r.life == life {
				r.dial()
			}
		})
		return
	}
	w.serial++
	r.socket = fmt.Sprint("r", w.serial)
	w.covered("runner connects")
	r.space.handle(actor.EventRunnerOpen, actor.RunnerSocket{Socket: r.socket}, 0)
	r.act(r.machine.Connected(r.time()))
}

// cut ends the connection without a word, as when the edge died.
func (r *runner) cut() {
	if r.socket == "" {
		return
	}
	r.socket = ""
	r.act(r.machine.Disconnected(r.time()))
	life := r.life
	r.space.world.after(500, func() {
		if r.life == life {
			r.dial()
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
func (r *runner) die() {
	w := r.space.world
	w.covered("runner dies")
	for _, e := range r.journal {
		if e.Result == nil {
			w.covered(map[bool]string{true: "F07/F08 runner dies during a tool", false: "F06 runner dies around a start"}[r.running[e.Key]])
		}
	}
	socket := r.socket
	r.socket = ""
	r.life++
	if socket != "" {
		r.space.handle(actor.EventRunnerClose, actor.RunnerSocket{Socket: socket, Code: 1006}, 0)
	}
	away := 500 + w.rng.Int64N(5_000)
	if w.rng.IntN(8) == 0 {
		away = 15 * 60_000
	}
	life := r.life
	w.after(away, func() {
		if r.life == life {
			r.launch()
		}
	})
}

func (r *runner) heal() {
	if r.socket == "" {
		r.launch()
	}
}

// receive is a frame from the workspace.
func (r *runner) receive(socket string, message []byte) {
	w, life := r.space.world, r.life
	if w.chance(0.005) {
		w.after(0, func() { r.closed(socket) })
		return // lost with its connection
	}
	w.after(1+w.rng.Int64N(5), func() {
		if r.socket == socket && r.life == life {
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
	case protocol.Close:
		socket := r.socket
		r.later(0, func() { r.closed(socket) })
	}
}

// later runs f in this process, if it still lives then.
func (r *runner) later(d int64, f func()) {
	life := r.life
	r.space.world.after(d, func() {
		if r.life == life {
			f()
		}
	})
}

// save is the journal's fsync. The process may die before it, or right after it.
func (r *runner) save(e protocol.Entry) {
	w := r.space.world
	if w.chance(0.005) {
		r.die()
		return
	}
	i := slices.IndexFunc(r.journal, func(old protocol.Entry) bool { return old.Key == e.Key })
	if i < 0 {
		r.journal = append(r.journal, e)
	} else {
		r.journal[i] = e
	}
	if w.chance(0.01) {
		r.die()
		return
	}
	r.act(r.machine.Saved(r.time(), e.Key, nil))
}

// execute is a tool that runs. Whether it may is the heart of invariant 3.
func (r *runner) execute(o protocol.Output) {
	w := r.space.world
	r.starts[o.Key.Task]++
	r.running[o.Key] = true
	r.space.checkStart(o.Frame, r.starts[o.Key.Task])
	took := 1 + w.rng.Int64N(3_000)
	if w.rng.IntN(10) == 0 {
		took = w.rng.Int64N(150_000)
	}
	if w.chance(0.02) {
		r.later(took/2, r.die)
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
	w, socket := r.space.world, r.socket
	raw, err := protocol.Encode(f)
	if err != nil {
		panic(err)
	}
	w.after(2, func() {
		if r.socket != socket {
			return
		}
		if w.chance(0.005) {
			r.closed(socket)
			return
		}
		w.covered("frame: " + f.Type)
		if f.Type == frame.TypeResult {
			r.space.coverResult(f)
		}
		r.space.handle(actor.EventRunnerMessage, actor.RunnerMessage{Socket: socket, Frame: raw}, 0)
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
