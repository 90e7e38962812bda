package actor

import (
	"encoding/json"
	"slices"
	"strings"

	"holdfast/actor/errs"
	"holdfast/actor/store"
)

// Activity is what was observed, beside the lifecycle that the record says (spec 7.3).
const (
	activityProgressing  = "progressing"
	activityNoDetail     = "running_no_detail"
	activityWaiting      = "waiting"
	activityNotAvailable = "not_applicable"
)

// freshEvent is how recent an event must be, in ms, for its turn to count as progressing.
const freshEvent = 30_000

// Job is a submission as the operator sees it.
type Job struct {
	ID           string `json:"id"`
	Conversation int64  `json:"conversation"`
	State        string `json:"state"` // queued, running, done, unanswered
	Activity     string `json:"activity"`
	Reason       string `json:"reason"`
	Author       string `json:"author"`
	Title        string `json:"title"`
	Created      int64  `json:"created"` // unix ms
	Settled      int64  `json:"settled"`
	Tools        int64  `json:"tools"`
	Tokens       int64  `json:"tokens"`
	Micros       int64  `json:"micro_dollars"`
	Restarts     int64  `json:"restarts"`
}

// JobTask is one task of a job.
type JobTask struct {
	ID      int64  `json:"id"`
	Kind    string `json:"kind"`
	Tool    string `json:"tool,omitempty"`
	State   string `json:"state"`
	Epoch   int64  `json:"epoch"`
	Rule    string `json:"rule,omitempty"`
	Started int64  `json:"started"`
	Ended   int64  `json:"ended"`
	Millis  int64  `json:"ms"`
}

// JobEvent is one of an actor's safe events.
type JobEvent struct {
	ID     int64  `json:"id"`
	Name   string `json:"name"`
	Job    string `json:"job,omitempty"`
	Ref    string `json:"ref,omitempty"`
	Detail string `json:"detail,omitempty"`
	At     int64  `json:"at"`
}

// listArgs selects jobs or events.
type listArgs struct {
	ID     string          `json:"id"`
	State  string          `json:"state"` // "", "active" or "failed"
	After  json.RawMessage `json:"after"` // a job's id, or an event's number
	Limit  int64           `json:"limit"`
	Task   int64           `json:"task"`
	Reason string          `json:"reason"`
}

const (
	defaultLimit = 50
	maxLimit     = 200
)

func (a listArgs) limit() int64 {
	if a.Limit < 1 {
		return defaultLimit
	}
	return min(a.Limit, maxLimit)
}

func (a listArgs) afterText() string { return strings.Trim(string(a.After), `"`) }

func (w *work) operator(in Operator) error {
	var args listArgs
	if in.Op != OpConfig && len(in.Args) > 0 {
		if err := json.Unmarshal(in.Args, &args); err != nil {
			return errs.New(errs.Invalid, "the arguments of %s cannot be read: %v", in.Op, err)
		}
	}
	switch in.Op {
	case OpConfig:
		return withArgs(in.Args, func(s Settings) error { return w.putSettings("operator:"+in.Principal.Name, s) })
	case OpStatus:
		return w.statusOp()
	case OpJobs:
		return w.jobsOp(args)
	case OpJob:
		return w.jobOp(args)
	case OpEvents:
		return w.eventsOp(args)
	case OpRecords:
		return w.recordsOp()
	case OpUsage:
		return withArgs(in.Args, w.usageOp)
	case OpReview:
		return withArgs(in.Args, func(a reviewArgs) error { return w.reviewOp(in.Principal, a) })
	case OpStop, OpApprove, OpDeny:
		return w.actOp(in, args)
	}
	return errs.New(errs.Invalid, "a workspace knows no op %q", in.Op)
}

const jobColumns = `s.id, s.conversation, s.state, s.reason, s.author_name, c.title, s.created_wall, s.settled_wall, s.turn,
	coalesce(t.tokens, 0), coalesce(t.micros, 0), coalesce(t.restarts, 0),
	(SELECT count(*) FROM task k WHERE k.turn = s.turn AND k.kind = 'tool'),
	(SELECT max(e.created_wall) FROM event e WHERE e.turn = s.turn),
	EXISTS (SELECT 1 FROM task k WHERE k.turn = s.turn AND k.state = 'waiting')`

const jobTables = ` FROM submission s JOIN conversation c ON c.id = s.conversation LEFT JOIN turn t ON t.id = s.turn `

func (w *work) scanJob(r store.Row) Job {
	j := Job{ID: jobName(r.Int(0)), Conversation: r.Int(1), State: r.Str(2), Reason: r.Str(3), Author: r.Str(4), Title: r.Str(5),
		Created: r.Int(6), Settled: r.Int(7), Tokens: r.Int(9), Micros: r.Int(10), Restarts: r.Int(11), Tools: r.Int(12)}
	switch {
	case j.State == "done" || j.State == "unanswered":
		j.Activity = activityNotAvailable
	case j.State == "queued" || r.Int(14) != 0:
		j.Activity = activityWaiting
	case w.wall-r.Int(13) <= freshEvent:
		j.Activity = activityProgressing
	default:
		j.Activity = activityNoDetail
	}
	if j.State == "placed" {
		j.State = "running"
	}
	return j
}

func (w *work) jobsOp(a listArgs) error {
	where := map[string]string{"": "1", "active": "s.state IN ('queued','placed')", "failed": "s.state = 'unanswered'"}[a.State]
	if where == "" {
		return errs.New(errs.Invalid, `state %q; expected "active", "failed" or nothing`, a.State)
	}
	after := jobID(a.afterText())
	if after == 0 {
		after = 1 << 53
	}
	jobs := []Job{}
	for _, row := range w.tx.Rows(`SELECT `+jobColumns+jobTables+`WHERE `+where+` AND s.id < ? ORDER BY s.id DESC LIMIT ?`, after, a.limit()) {
		jobs = append(jobs, w.scanJob(row))
	}
	next := ""
	if int64(len(jobs)) == a.limit() {
		next = jobs[len(jobs)-1].ID
	}
	w.answer(200, map[string]any{"jobs": jobs, "after": next})
	return nil
}

func (w *work) job(name string) (Job, int64, error) {
	row, ok := w.tx.Row(`SELECT `+jobColumns+jobTables+`WHERE s.id = ?`, jobID(name))
	if !ok {
		return Job{}, 0, errs.New(errs.NotFound, "no job %q in this workspace", name).WithHint("List them with: holdfast jobs")
	}
	return w.scanJob(row), row.Int(8), nil
}

func (w *work) jobOp(a listArgs) error {
	j, turn, err := w.job(a.ID)
	if err != nil {
		return err
	}
	tasks := []JobTask{}
	for _, r := range w.tx.Rows(`SELECT id, kind, tool, state, epoch, coalesce(json_extract(nullif(decision, ''), '$.rule'), ''), started_wall, ended_wall, ms
		FROM task WHERE turn = ? ORDER BY id`, turn) {
		tasks = append(tasks, JobTask{ID: r.Int(0), Kind: r.Str(1), Tool: r.Str(2), State: r.Str(3), Epoch: attemptOf(r.Int(4)), Rule: r.Str(5), Started: r.Int(6), Ended: r.Int(7), Millis: r.Int(8)})
	}
	row, _ := w.tx.Row(`SELECT max(answer) FROM turn WHERE id = ?`, turn)
	w.answer(200, map[string]any{"job": j, "tasks": tasks, "answer": row.Str(0)})
	return nil
}

func (w *work) eventsOp(a listArgs) error {
	var turn int64
	if a.ID != "" {
		_, of, err := w.job(a.ID)
		if err != nil {
			return err
		}
		turn = of
	}
	events := []JobEvent{}
	last := rowID(a.afterText())
	where := `? = 0`
	if turn != 0 {
		where = `turn = ?`
	}
	for _, r := range w.tx.Rows(`SELECT id, name, turn, ref, detail, created_wall FROM event WHERE id > ? AND `+where+` ORDER BY id LIMIT ?`, last, turn, a.limit()) {
		e := JobEvent{ID: r.Int(0), Name: r.Str(1), Ref: r.Str(3), Detail: r.Str(4), At: r.Int(5)}
		if !r.Null(2) {
			e.Job = jobName(r.Int(2))
		}
		events = append(events, e)
		last = e.ID
	}
	w.answer(200, map[string]any{"events": events, "after": last})
	return nil
}

func (w *work) statusOp() error {
	row, _ := w.tx.Row(`SELECT count(*) FILTER (WHERE state = 'queued'), count(*) FILTER (WHERE state = 'placed'), min(created_wall) FROM (
		SELECT state, created_wall FROM submission WHERE state = 'queued'
		UNION ALL SELECT state, created_wall FROM submission WHERE state = 'placed' AND turn IN (SELECT id FROM turn WHERE ended_wall IS NULL))`)
	r := w.runner()
	w.answer(200, map[string]any{
		"workspace": w.guild + "/" + w.name, "now": w.wall, "incarnation": parseInt(w.meta["incarnation"]),
		"storage": storageText(w.ev.Peek), "review": w.reviewState(),
		"queued": row.Int(0), "running": row.Int(1), "oldest_unsettled": row.Int(2),
		"runner": map[string]any{"connected": r.connected(w.ev.Sockets), "name": r.Name, "version": r.Version, "project": r.Project, "sandbox": r.Sandbox, "since": r.Since},
	})
	return nil
}

// actOp decides about a job as an operator: the principal's roles are what its key says, checked by the same
// functions as a button.
func (w *work) actOp(in Operator, a listArgs) error {
	who := User{ID: "operator:" + in.Principal.Name}
	if slices.Contains(in.Principal.Roles, "approve") || slices.Contains(in.Principal.Roles, "admin") {
		who.Permissions = "8" // what its key grants stands for Discord's administrator bit
	}
	_, turnID, err := w.job(a.ID)
	if err != nil {
		return err
	}
	if in.Op == OpStop {
		t, live := w.turn(turnID)
		if !live {
			return errs.New(errs.Conflict, "job %s is not running", a.ID)
		}
		if err := w.stop(t, who); err != nil {
			return err
		}
		w.answer(200, map[string]string{"state": "stopped"})
		return nil
	}
	verb := map[string]string{OpApprove: "a", OpDeny: "d"}[in.Op]
	id, err := w.openApproval(turnID, a.Task)
	if err != nil {
		return err
	}
	state, won, err := w.press(id, verb, who, a.Reason)
	if err != nil {
		return err
	}
	if !won {
		return errs.New(errs.Conflict, "already %s", orCancelled(state.Outcome))
	}
	w.answer(200, map[string]string{"state": state.Outcome})
	return nil
}

// openApproval is the approval named, or the only open one of the job.
func (w *work) openApproval(turn, id int64) (int64, error) {
	if id != 0 {
		if _, ok := w.tx.Row(`SELECT id FROM task WHERE id = ? AND turn = ? AND kind = 'approval'`, min(max(id, 0), store.MaxInt), turn); !ok {
			return 0, errs.New(errs.NotFound, "the job has no approval %d", id)
		}
		return id, nil
	}
	rows := w.tx.Rows(`SELECT id FROM task WHERE turn = ? AND kind = 'approval' AND due IS NOT NULL ORDER BY id LIMIT 2`, turn)
	if len(rows) != 1 {
		return 0, errs.New(errs.NotFound, "the job has %d open approvals", len(rows)).WithHint("Name the approval's task.")
	}
	return rows[0].Int(0), nil
}

func splitList(s string) []string {
	if s == "" {
		return []string{}
	}
	return strings.Split(s, ",")
}
