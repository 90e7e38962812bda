package actor

import (
	"encoding/json"
	"fmt"

	"holdfast/actor/store"
)

// Task kinds and states (spec 3.2).
const (
	kindGeneration = "generation"
	kindTool       = "tool"
	kindApproval   = "approval"

	stateReady       = "ready"
	stateRunning     = "running"
	stateWaiting     = "waiting"
	stateDone        = "done"
	stateFailed      = "failed"
	stateInterrupted = "interrupted"
	stateCancelled   = "cancelled"
	stateParked      = "parked"
)

// task is a durable state machine with a checkpoint after each step.
type task struct {
	ID, Conversation, Turn, Parent, Round int64
	Kind, State                           string
	Due                                   int64
	Owner                                 string // who holds the claim: a host's start, or a runner's journal
	Epoch                                 int64  // raised by each claim; the fence
	LeaseExpires                          int64
	Starts                                int64 // claims since the last outcome
	Tool, CallID, Args, ArgsHash          string
	Safe                                  bool
	Decision                              string // policy.Decision as JSON
	Approved                              string // the hash that a person approved
	Checkpoint                            string
	StartedWall, Millis                   int64
}

const taskColumns = `id, conversation, turn, parent, round, kind, state, due, owner, epoch, lease_expires, starts,
	tool, call_id, args, args_hash, safe, decision, approved, checkpoint, started_wall, ms`

func scanTask(r store.Row) task {
	return task{
		ID: r.Int(0), Conversation: r.Int(1), Turn: r.Int(2), Parent: r.Int(3), Round: r.Int(4),
		Kind: r.Str(5), State: r.Str(6), Due: r.Int(7), Owner: r.Str(8), Epoch: r.Int(9), LeaseExpires: r.Int(10),
		Starts: r.Int(11), Tool: r.Str(12), CallID: r.Str(13), Args: r.Str(14), ArgsHash: r.Str(15),
		Safe: r.Int(16) != 0, Decision: r.Str(17), Approved: r.Str(18), Checkpoint: r.Str(19),
		StartedWall: r.Int(20), Millis: r.Int(21),
	}
}

func (w *work) taskByID(id int64) (task, bool) {
	row, ok := w.tx.Row(`SELECT `+taskColumns+` FROM task WHERE id = ?`, id)
	if !ok {
		return task{}, false
	}
	return scanTask(row), true
}

func (w *work) mustTask(id int64) task {
	t, ok := w.taskByID(id)
	if !ok {
		panic(fmt.Sprintf("task %d vanished inside a transaction", id))
	}
	return t
}

// claim gives the task to owner until lease ms from now. It fails when the task is not ready.
func (w *work) claim(t *task, owner string, lease int64) bool {
	row, ok := w.tx.Row(`UPDATE task SET state = 'running', owner = ?, epoch = max(epoch, ?) + 1, lease_expires = ?, due = ?,
		starts = starts + 1, started_wall = coalesce(started_wall, ?)
		WHERE id = ? AND state = 'ready' RETURNING epoch, starts`, owner, w.firstEpoch(), w.now+lease, w.now+lease, w.wall, t.ID)
	if !ok {
		return false
	}
	t.State, t.Owner, t.Epoch, t.Starts, t.LeaseExpires = stateRunning, owner, row.Int(0), row.Int(1), w.now+lease
	return true
}

// held is the fence: the claim of owner under epoch, unexpired. Every write about an attempt carries it in its own
// WHERE; one that changes no row has lost the claim and must stop (spec 3.2).
func held() string {
	switch {
	case mutant("no fence"):
		return ` AND state = 'running' AND (owner = ? OR epoch = ? OR 1) AND lease_expires > ?`
	case mutant("no expiry"):
		return ` AND state = 'running' AND owner = ? AND epoch = ? AND (lease_expires > ? OR 1)`
	}
	return ` AND state = 'running' AND owner = ? AND epoch = ? AND lease_expires > ?`
}

// renew extends a claim that still holds.
func (w *work) renew(id int64, owner string, epoch, lease int64) bool {
	alive := w.now
	if mutant("renewed after its expiry") {
		alive = 0
	}
	return w.tx.Changed(`UPDATE task SET lease_expires = ?, due = ? WHERE id = ?`+held()+` RETURNING id`,
		w.now+lease, w.now+lease, id, owner, epoch, alive)
}

// settle ends a task under its claim.
func (w *work) settle(id int64, state, owner string, epoch int64) bool {
	return w.tx.Changed(`UPDATE task SET state = ?, due = NULL, ended_wall = ? WHERE id = ?`+held()+` RETURNING id`,
		state, w.wall, id, owner, epoch, w.now)
}

// giveBack makes a claimed task ready again at due, under its claim. The host survived, so starts begins anew.
func (w *work) giveBack(id int64, owner string, epoch, due int64, checkpoint any) bool {
	return w.tx.Changed(`UPDATE task SET state = 'ready', due = ?, starts = 0, checkpoint = ? WHERE id = ?`+held()+` RETURNING id`,
		due, encode(checkpoint), id, owner, epoch, w.now)
}

// close ends a task that nobody has claimed.
func (w *work) closeUnclaimed(id int64, state string) bool {
	return w.tx.Changed(`UPDATE task SET state = ?, due = NULL, ended_wall = ? WHERE id = ? AND state IN ('ready','waiting') RETURNING id`,
		state, w.wall, id)
}

// nudge makes an open, unclaimed task due now.
func (w *work) nudge(id int64, state string) {
	w.tx.Exec(`UPDATE task SET state = ?, due = ? WHERE id = ? AND state IN ('ready','waiting')`, state, w.now, id)
}

// delay moves an open row's due without changing its state.
func (w *work) delay(id, by int64) {
	w.tx.Exec(`UPDATE task SET due = ? WHERE id = ? AND due IS NOT NULL`, w.now+by, id)
}

func encode(v any) string {
	raw, err := marshal(v)
	if err != nil {
		panic(err) // our own types always encode
	}
	return string(raw)
}

// marshal uses the generated code of the types that have some.
func marshal(v any) ([]byte, error) {
	if v, ok := v.(encoder); ok {
		return Encode(v)
	}
	return json.Marshal(v)
}

// decode reads JSON of our own making; damage gives the zero value, which every reader treats as the beginning.
func decode[T any](s string) T {
	var v, zero T
	var err error
	if into, ok := any(&v).(Decoder); ok {
		err = Decode([]byte(s), into)
	} else {
		err = json.Unmarshal([]byte(s), &v)
	}
	if err != nil {
		return zero
	}
	return v
}
