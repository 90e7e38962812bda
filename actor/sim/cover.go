package sim

import (
	"fmt"
	"sort"
	"strings"

	"holdfast/actor"
	"holdfast/actor/frame"
	"holdfast/runner/protocol"
)

// rows are the failure matrix (spec 3.4) as far as it concerns an actor, each with what counts as reaching it. Rows
// F20 to F22 are the relay's own.
var rows = []string{"F01", "F02", "F03", "F04", "F05", "F06", "F07", "F08", "F09", "F10", "F11", "F12", "F13", "F14", "F15", "F16",
	"F17", "F18", "F19", "F23", "F24", "F25", "F26", "F27", "F28", "F29", "F30", "F31", "F32", "F33", "F34", "F35", "F36"}

// Unreached lists the rows of the failure matrix that no run came to.
func Unreached(total map[string]int) []string {
	var missing []string
	for _, row := range rows {
		if !reached(total, row) {
			missing = append(missing, row)
		}
	}
	return missing
}

func reached(total map[string]int, row string) bool {
	for name, n := range total {
		if n > 0 && strings.HasPrefix(name, row+" ") {
			return true
		}
	}
	return false
}

// Table is the coverage of many runs, a line each: the failure matrix first.
func Table(total map[string]int) string {
	names := make([]string, 0, len(total))
	for name := range total {
		names = append(names, name)
	}
	for _, row := range Unreached(total) {
		names = append(names, row+" NOT REACHED")
	}
	matrix := func(name string) bool { return len(name) > 3 && name[0] == 'F' && name[3] == ' ' }
	sort.Slice(names, func(i, j int) bool {
		if matrix(names[i]) != matrix(names[j]) {
			return matrix(names[i])
		}
		return names[i] < names[j]
	})
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "%-58s %9d\n", name, total[name])
	}
	return b.String()
}

// interrupted is what a kill may interrupt, by the rows of the failure matrix.
var interrupted = []struct{ row, sql string }{
	{"F03 killed with an anchor to send", `SELECT 1 FROM delivery WHERE kind = 'anchor' AND state = 'pending'`},
	{"F04 killed with an anchor in flight", `SELECT 1 FROM delivery WHERE kind = 'anchor' AND state = 'sending'`},
	{"F05 killed during a model call", `SELECT 1 FROM task WHERE kind = 'generation' AND state = 'running'`},
	{"F06 killed with a tool to start", `SELECT 1 FROM task WHERE kind = 'tool' AND state IN ('ready','running') AND coalesce(json_extract(checkpoint, '$.started'), 0) = 0`},
	{"F09 killed with a tool running", `SELECT 1 FROM task WHERE kind = 'tool' AND state = 'running' AND json_extract(checkpoint, '$.started')`},
	{"F10 killed after a result", `SELECT 1 FROM task g JOIN task t ON t.turn = g.turn AND t.kind = 'tool' AND t.state = 'done' WHERE g.kind = 'generation' AND g.state = 'ready'`},
	{"F11 killed with a final edit to make", `SELECT 1 FROM delivery WHERE kind = 'edit' AND final = 1 AND due IS NOT NULL`},
	{"F12 killed while an approval is pending", `SELECT 1 FROM task WHERE kind = 'approval' AND state = 'waiting'`},
	{"F13 killed between approval and start", `SELECT 1 FROM task WHERE kind = 'tool' AND state = 'ready' AND approved <> ''`},
	{"F27 killed between call and settlement", `SELECT 1 FROM usage WHERE state = 'reserved'`},
}

// coverKill says what a kill interrupted.
func (s *space) coverKill() {
	for _, i := range interrupted {
		if s.one(i.sql+` LIMIT 1`) == "1" {
			s.world.covered(i.row)
		}
	}
	if s.world.discord.outage != "" {
		s.world.covered("killed during an outage of Discord")
	}
}

// coverCommit says what a kill right before or after a commit was about.
func (s *space) coverCommit(when, kind string, res *actor.Result) {
	w := s.world
	for _, t := range res.Trace {
		if t.Name == actor.PointAdmit && when == "before" {
			w.covered("F01 killed before the admission")
		}
		if t.Name == actor.PointDecision && when == "after" {
			w.covered("F13 killed right after a decision")
		}
	}
	if kind == actor.EventWake || kind == actor.EventStart {
		w.covered("F16 killed " + when + " the commit of an alarm or a start")
	}
}

// coverStates counts the states in which everything ended.
func (s *space) coverStates() {
	for _, r := range s.query(`SELECT 'state: task ' || kind || ' ' || state, count(*) FROM task GROUP BY 1
		UNION ALL SELECT 'state: delivery ' || kind || ' ' || state, count(*) FROM delivery GROUP BY 1
		UNION ALL SELECT 'state: thread ' || state, count(*) FROM thread GROUP BY 1`) {
		s.world.cover[r.Str(0)] += int(r.Int(1))
	}
	if s.one(`SELECT 1 FROM submission WHERE reason = 'no_runner'`) != "" {
		s.world.covered("F33 settled for want of a runner")
	}
}

// coverTrace names the rows that show in what a commit says of itself.
var coverTrace = map[string]string{
	"task.parked":           "F17 parked after three starts",
	"row.parked":            "F17 a row that makes the core trap is parked",
	"event.rejected":        "F35 an event is rejected at its fourth attempt",
	"generation.stale":      "F05 a late answer is dropped",
	"generation.retried":    "F26 a provider's trouble is waited for",
	"budget.refused":        "F27 refused before the call",
	"generation.orphaned":   "F27 a crashed call is settled at its reservation",
	"original.lost":         "F24 @original is given up for a message of our own",
	"delivery.adopted":      "F04 looked up and found",
	"delivery.absent":       "F04 looked up and proven absent",
	"tool.waits_for_runner": "F33 a call waits for a runner",
	"tool.late_result":      "F08 a late result is told after all",
	"thread.deleted":        "F28 a conversation moves out of its thread",
}

func (s *space) coverDecision(outcome string, overdue int64) {
	s.world.covered("decision: " + outcome)
	if outcome == "expired" && overdue > 5_000 {
		s.world.covered("F14 a deadline passed while everything was down")
	}
}

// coverDeath says what the end of a runner's process interrupted.
func (r *runner) coverDeath(k protocol.Key) {
	s := r.space
	switch {
	case !r.running[k]:
		s.world.covered("F06 runner dies around a start")
	case s.one(`SELECT safe FROM task WHERE id = ?`, k.Task) == "1":
		s.world.covered("F07 runner dies during a safe tool")
	default:
		s.world.covered("F08 runner dies during an unsafe tool")
	}
}

func (s *space) coverFrame(f frame.Frame) {
	if f.Type == frame.TypeResult && s.one(`SELECT 1 FROM task WHERE id = ? AND state <> 'running'`, f.Task) != "" {
		s.world.covered("F09 a result comes again, or late")
	}
}
