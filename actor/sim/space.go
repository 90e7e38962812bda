package sim

import (
	"encoding/json"
	"fmt"
	"strings"

	"holdfast/actor"
)

const (
	guild = "1300000000000000100"
	appID = "1300000000000000001"
	maya  = "1300000000000000011" // admin
	sam   = "1300000000000000012" // member
	kim   = "1300000000000000013" // nobody
)

// The workspace's policy, and a stricter one that an operator changes it to and back.
const (
	usualPolicy  = `{"tool":{"*":"deny","read":"allow","bash":"allow"},"bash":{"*":"allow","git push*":"ask","rm *":"deny"}}`
	strictPolicy = `{"tool":{"*":"deny","read":"ask","bash":"ask"},"bash":{"*":"ask","rm *":"deny"}}`
)

// The decisions that -every-commit forces in turn.
const (
	killBeforeCommit = "kill-before-commit"
	killAfterCommit  = "kill-after-commit"
	killBeforeEffect = "kill-before-effect"
	killAfterEffect  = "kill-after-effect"
)

// maxAttempts is how often a host tries an event that makes the core trap (docs/protocol.md, "Attempts").
const maxAttempts = 4

// space is a workspace and the host that serves it.
type space struct {
	world   *world
	name    string
	channel string
	db      *database
	conn    *faultyConn
	owner   string
	up      bool
	gen     int // of the process: what an earlier one launched finds nobody
	alarm   *int64
	alarmAt int64     // serial of the newest alarm
	runners []*runner // the workspace's own, and a second one that sometimes comes
	starts  map[int64]int
	sent    map[string]int // task frames, by task and epoch
	backup  *backup
	life    int   // restores so far
	resumed int64 // when a conversation was last resumed
	// unsure: a restore rolled back where answers went, so that they cannot be found: a /resume moved the conversation,
	// a message joined a turn whose anchor is older than it, or an answer was shown as a new message.
	unsure bool
	told   map[int64]bool // tasks whose result has left the workspace's own runner
	book   book
	budget actor.Budget
}

var config = actor.Config{
	ApplicationID: appID, DefaultModel: "m", AllowedGuilds: []string{guild},
	Models: map[string]actor.Model{"m": {Format: "openai", Model: "m", Window: 100_000, MaxOutput: 1000, PriceIn: 1, PriceOut: 1}},
}

func newSpace(w *world, name string, i int) *space {
	s := &space{world: w, name: name, channel: fmt.Sprintf("13000000000000002%02d", i), db: workspaces.take(),
		starts: map[int64]int{}, sent: map[string]int{}, told: map[int64]bool{}, book: newBook()}
	s.conn = &faultyConn{db: s.db, poison: map[string]bool{}}
	s.boot()
	yes := true
	s.budget = w.budgets()
	s.configure(actor.Settings{Policy: json.RawMessage(usualPolicy), SelfApprove: &yes, Budget: &s.budget,
		ApprovalExpiryMS: []int64{0, 40_000, 120_000}[w.pick("setup", 3)],
		Members:          []actor.Member{{User: maya, Roles: []string{"admin"}}, {User: sam, Roles: []string{"member"}}}})
	s.runners = []*runner{newRunner(s, "box"), newRunner(s, "rival")}
	s.runners[0].launch()
	return s
}

func (s *space) configure(settings actor.Settings) bool {
	args, _ := json.Marshal(settings)
	_, ok := s.handle(actor.EventOperator, actor.Operator{Op: actor.OpConfig, Args: args}, 0)
	return ok
}

// boot starts a process: a new owner, whose first event is start.
func (s *space) boot() {
	s.world.owner++
	s.owner, s.up, s.gen = fmt.Sprintf("owner-%d", s.world.owner), true, s.gen+1
	if _, ok := s.handle(actor.EventStart, nil, 0); !ok && s.up {
		s.down("its start failed", 2_000)
	}
}

// down ends the process at once: nothing in memory is left. It comes back by itself after away ms, as a supervisor
// would have it.
func (s *space) down(why string, away int64) {
	s.coverKill()
	s.up, s.alarm = false, nil
	s.gen++
	s.world.note("%s down: %s", s.name, why)
	s.world.covered("kill: " + why)
	for _, r := range s.runners {
		r.cut()
	}
	s.world.after(away, s.restart)
}

// outage is usually short, sometimes longer than a lease or an approval.
func (s *space) outage() int64 {
	switch s.world.pick("outage", 10) {
	case 0:
		return 20 * 60_000
	case 1, 2: // longer than Discord remembers a nonce
		return s.world.between("outage", 80_000, 330_000)
	}
	return s.world.between("outage", 100, 5_000)
}

func (s *space) restart() {
	if s.up {
		return
	}
	s.boot()
	for _, r := range s.runners {
		if s.up {
			r.dial()
		}
	}
}

// heal ends the workspace's troubles for good.
func (s *space) heal() {
	s.conn.full = false
	s.restart()
	s.review()
	s.runners[1].leave()
	s.runners[0].heal()
}

// handle runs one event as a host does: each attempt in a transaction, whatever goes wrong around its commit. It is
// false when the caller learns nothing, or an error.
func (s *space) handle(kind string, data any, deadline int64) (*actor.Result, bool) {
	w := s.world
	if !s.up {
		return nil, false
	}
	w.serial++
	id := fmt.Sprint(w.serial)
	for attempt := 1; attempt <= maxAttempts; attempt++ {
		ev := encode(s.event(id, kind, attempt, data, deadline))
		s.plant()
		s.db.begin()
		out, rc, trapped := s.call(ev)
		s.conn.failIn, s.conn.trapIn = 0, 0
		w.note("%s %s %d rc %d %v %s", s.name, kind, attempt, rc, trapped, digest(out))
		switch {
		case trapped:
			s.db.rollback()
			w.covered(fmt.Sprintf("the core traps: attempt %d", attempt))
			continue
		case rc != 0:
			s.db.rollback()
			w.covered("event failed: " + kind)
			if strings.Contains(string(out), `"code":"internal"`) {
				w.fail("an event of %s fails for a reason of the core's own: %s", kind, out)
			}
			return nil, false
		case deadline != 0 && w.now+w.skew > deadline:
			w.fail("invariant 1: an event is recorded after its deadline, when the front has answered for it")
		}
		if attempt > 1 {
			w.covered("F18 the core traps, the event is tried again")
		}
		var res actor.Result
		if err := json.Unmarshal(out, &res); err != nil {
			w.fail("a result is no JSON: %v", err)
		}
		return &res, s.commit(kind, data, &res, attempt)
	}
	return nil, false
}

// call runs the core; a trap that was planted is none of its defects.
func (s *space) call(ev []byte) (out []byte, rc int, trapped bool) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case planted:
			trapped = true
		default:
			panic(r)
		}
	}()
	out, rc = actor.Handle(s.conn, ev)
	return out, rc, false
}

// commit makes it durable, or dies before or after doing so.
func (s *space) commit(kind string, data any, res *actor.Result, attempt int) bool {
	w := s.world
	switch {
	case w.chance(killBeforeCommit, 0.006):
		s.db.rollback()
		s.coverCommit("before", kind, res)
		s.down("before a commit", s.outage())
		return false
	case w.chance("uncertain-commit", 0.002): // its outcome is uncertain: the instance is dropped (spec 3.1, rule 5)
		if w.pick("uncertain", 2) == 0 {
			s.db.commit()
			s.checkBills(data, res)
		} else {
			s.db.rollback()
		}
		s.down("an uncertain commit", s.outage())
		return false
	}
	s.db.commit()
	w.covered("event: " + kind)
	for _, t := range res.Trace {
		w.covered("trace: " + t.Name)
		if row := coverTrace[t.Name]; row != "" {
			w.covered(row)
		}
	}
	s.check(kind, data, res, attempt)
	if w.chance(killAfterCommit, 0.006) {
		s.coverCommit("after", kind, res)
		s.down("after a commit", s.outage())
		return false
	}
	s.setAlarm(res.Alarm)
	for _, e := range res.Effects {
		if s.launch(e); !s.up {
			return false
		}
	}
	if w.chance("poison-row", 0.0006) {
		s.poisonRow()
	}
	if w.chance("poison-queued", 0.002) {
		s.poisonQueued()
	}
	return true
}

func (s *space) event(id, kind string, attempt int, data any, deadline int64) actor.Event {
	w := s.world
	ev := actor.Event{V: 1, ID: id, Type: kind, Attempt: attempt, Now: w.now + w.skew, Entropy: fmt.Sprintf("%064x", w.dice("entropy").Uint64()),
		Owner: s.owner, Sockets: []string{}, Deadline: deadline, Config: actor.ConfigRef{Version: 1, Hash: "h"},
		Actor: "workspace:" + guild + "/" + s.name, Data: encode(data)}
	for _, r := range s.runners {
		if r.socket != "" {
			ev.Sockets = append(ev.Sockets, r.socket)
		}
	}
	if kind == actor.EventStart {
		ev.Config.Full = &config
	}
	return ev
}

func encode(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

// setAlarm wakes the actor at its time, by the host's clock, or a little later than that.
func (s *space) setAlarm(at *int64) {
	s.alarm = at
	s.alarmAt++
	if at == nil {
		return
	}
	delay := max(0, *at-s.world.skew-s.world.now)
	if s.world.chance("late-wake", 0.01) {
		delay += s.world.between("late-wake", 1_000, 90_000)
	}
	serial, gen := s.alarmAt, s.gen
	s.world.after(delay, func() {
		if s.alarmAt == serial {
			s.wake(gen, 0)
		}
	})
}

// wake is tried again when it fails, later each time, as the host does.
func (s *space) wake(gen, failures int) {
	if !s.up || s.gen != gen {
		return
	}
	if _, ok := s.handle(actor.EventWake, nil, 0); !ok && s.up && s.gen == gen {
		serial := s.alarmAt
		s.world.after(1_000<<min(failures, 6), func() {
			if s.alarmAt == serial {
				s.wake(gen, failures+1)
			}
		})
	}
}

func digest(b []byte) string {
	const most = 2000
	if len(b) > most {
		return string(b[:most])
	}
	return string(b)
}
