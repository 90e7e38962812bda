package sim

import (
	"encoding/json"
	"fmt"
	"strings"

	"holdfast/actor"
	"holdfast/actor/store"
	"holdfast/worker/host/sqlite"
)

const (
	guild   = "1300000000000000100"
	appID   = "1300000000000000001"
	maya    = "1300000000000000011" // admin
	sam     = "1300000000000000012" // member
	kim     = "1300000000000000013" // nobody
	askRule = `{"tool":{"*":"deny","read":"allow","bash":"allow"},"bash":{"*":"allow","git push*":"ask","rm *":"deny"}}`
)

// space is a workspace and the host that serves it.
type space struct {
	world   *world
	name    string
	channel string
	db      *sqlite.DB
	conn    *faultyConn
	owner   string
	up      bool
	gen     int // of the process: what an earlier one launched finds nobody
	alarm   *int64
	alarmAt int64 // serial of the newest alarm
	runner  *runner
	settled map[string]bool // jobs that were seen settled
	entries int64
}

var config = actor.Config{
	ApplicationID: appID, DefaultModel: "m", AllowedGuilds: []string{guild},
	Models: map[string]actor.Model{"m": {Format: "openai", Model: "m", Window: 100_000, MaxOutput: 1000, PriceIn: 1, PriceOut: 1}},
}

func newSpace(w *world, name string, i int) *space {
	db, err := sqlite.Open(":memory:")
	if err != nil {
		panic(err)
	}
	s := &space{world: w, name: name, channel: fmt.Sprintf("13000000000000002%02d", i), db: db, settled: map[string]bool{}}
	s.conn = &faultyConn{db: db}
	s.boot()
	yes := true
	settings, _ := json.Marshal(actor.Settings{Policy: json.RawMessage(askRule), SelfApprove: &yes,
		Members: []actor.Member{{User: maya, Roles: []string{"admin"}}, {User: sam, Roles: []string{"member"}}}})
	if _, ok := s.quiet(actor.EventOperator, actor.Operator{Op: actor.OpConfig, Args: settings}); !ok {
		panic("the workspace cannot be set up")
	}
	s.runner = newRunner(s)
	return s
}

func (s *space) close() { s.db.Close() }

// boot starts a process: a new owner, whose first event is start.
func (s *space) boot() {
	s.world.owner++
	s.owner, s.up, s.gen = fmt.Sprintf("owner-%d", s.world.owner), true, s.gen+1
	if _, ok := s.quiet(actor.EventStart, nil); !ok && s.up {
		s.down("its start failed")
	}
}

// down ends the process at once: nothing in memory is left. It comes back by itself, as a supervisor would have it.
func (s *space) down(why string) {
	s.up, s.alarm = false, nil
	s.gen++
	s.world.note("%s down: %s", s.name, why)
	s.world.covered("kill: " + why)
	s.coverKill()
	if s.runner != nil {
		s.runner.cut()
	}
	s.world.after(100+s.world.rng.Int64N(s.outage()), s.restart)
}

// outage is usually short, sometimes longer than a lease or an approval.
func (s *space) outage() int64 {
	if s.world.rng.IntN(10) == 0 {
		return 20 * 60_000
	}
	return 5_000
}

func (s *space) restart() {
	if s.up {
		return
	}
	s.boot()
	if s.up && s.runner != nil {
		s.runner.dial()
	}
}

// heal ends the workspace's troubles for good.
func (s *space) heal() {
	s.conn.failIn = 0
	s.restart()
	s.runner.heal()
}

// quiet handles an event without faults.
func (s *space) quiet(kind string, data any) (*actor.Result, bool) {
	held := s.world.opts.Faults
	s.world.opts.Faults = 0
	defer func() { s.world.opts.Faults = held }()
	return s.handle(kind, data, 0)
}

// handle runs one event in a transaction, with whatever goes wrong around its commit. It is false when the caller
// learns nothing, or an error.
func (s *space) handle(kind string, data any, deadline int64) (*actor.Result, bool) {
	w := s.world
	if !s.up {
		return nil, false
	}
	raw := s.envelope(kind, data, deadline)
	if w.chance(0.004) {
		s.conn.failIn, s.conn.code = 1+w.rng.IntN(40), []store.Code{store.Full, store.IO}[w.rng.IntN(2)]
	}
	if err := s.db.Begin(); err != nil {
		panic(err)
	}
	out, rc := actor.Handle(s.conn, raw)
	s.conn.failIn = 0
	w.note("%s %s rc %d %s", s.name, kind, rc, digest(out))
	if rc != 0 {
		s.must(s.db.Rollback())
		w.covered("event failed: " + kind)
		return nil, false
	}
	var res actor.Result
	if err := json.Unmarshal(out, &res); err != nil {
		w.fail("a result is no JSON: %v", err)
	}
	return &res, s.commit(kind, &res)
}

// commit makes it durable, or dies before or after doing so.
func (s *space) commit(kind string, res *actor.Result) bool {
	w := s.world
	switch {
	case w.chance(0.006):
		s.must(s.db.Rollback())
		s.down("before a commit")
		return false
	case w.chance(0.002): // its outcome is uncertain: the instance is dropped (spec 3.1, rule 5)
		if w.rng.IntN(2) == 0 {
			s.must(s.db.Commit())
		} else {
			s.must(s.db.Rollback())
		}
		s.down("an uncertain commit")
		return false
	}
	s.must(s.db.Commit())
	w.covered("event: " + kind)
	for _, t := range res.Trace {
		w.covered("trace: " + t.Name)
	}
	s.check()
	if w.chance(0.006) {
		s.down("after a commit")
		return false
	}
	s.setAlarm(res.Alarm)
	for _, e := range res.Effects {
		s.launch(e)
		if !s.up {
			return false
		}
	}
	return true
}

func (s *space) must(err error) {
	if err != nil {
		panic(err)
	}
}

func (s *space) envelope(kind string, data any, deadline int64) []byte {
	w := s.world
	body, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	w.serial++
	ev := actor.Event{V: 1, ID: fmt.Sprint(w.serial), Type: kind, Attempt: 1, Now: w.now + w.skew, Entropy: fmt.Sprintf("%064x", w.rng.Uint64()),
		Owner: s.owner, Sockets: []string{}, Deadline: deadline, Config: actor.ConfigRef{Version: 1, Hash: "h"},
		Actor: "workspace:" + guild + "/" + s.name, Data: body}
	if s.runner != nil && s.runner.socket != "" {
		ev.Sockets = append(ev.Sockets, s.runner.socket)
	}
	if kind == actor.EventStart {
		ev.Config.Full = &config
	}
	raw, err := json.Marshal(ev)
	if err != nil {
		panic(err)
	}
	return raw
}

// setAlarm wakes the actor at its time, by the host's clock.
func (s *space) setAlarm(at *int64) {
	s.alarm = at
	s.alarmAt++
	if at == nil {
		return
	}
	serial, gen := s.alarmAt, s.gen
	s.world.after(max(0, *at-s.world.skew-s.world.now), func() {
		if s.up && s.gen == gen && s.alarmAt == serial {
			if _, ok := s.handle(actor.EventWake, nil, 0); !ok && s.up {
				s.world.after(1_000, func() { s.rewake(gen) }) // as the host does with a wake that failed
			}
		}
	})
}

func (s *space) rewake(gen int) {
	if !s.up || s.gen != gen {
		return
	}
	if _, ok := s.handle(actor.EventWake, nil, 0); !ok && s.up {
		s.world.after(1_000, func() { s.rewake(gen) })
	}
}

// launch performs an effect. The process may die before it, and after it with its outcome unknown.
func (s *space) launch(e actor.Effect) {
	w := s.world
	w.covered("effect: " + e.Type + " " + e.Point)
	if strings.Contains(string(e.Body)+string(e.Message), "token-") {
		w.fail("invariant 7: an interaction's token leaves in a body: %s %s", e.Method, e.Path)
	}
	if w.chance(0.004) {
		s.down("before an effect")
		return
	}
	gen := s.gen
	switch e.Type {
	case actor.EffectRunnerSend:
		s.runner.receive(e.Socket, e.Message)
	case actor.EffectRunnerClose:
		s.runner.closed(e.Socket)
	case actor.EffectHTTP:
		w.after(w.latency(), func() { s.arrive(e, gen) })
	default:
		w.fail("an effect of unknown type %q", e.Type)
	}
	if w.chance(0.004) {
		s.down("after an effect")
	}
}

// latest is how much later than it was sent a request may still be applied, in ms, beside the latency of its way.
const latest = 25_000

// arrive is the request at its target, the response on its way back, and the host's own time-out.
func (s *space) arrive(e actor.Effect, gen int) {
	w := s.world
	o := actor.Outcome{ID: e.ID, Epoch: e.Epoch, Kind: actor.OutcomeResponse, Headers: map[string]string{}}
	back := w.latency()
	switch {
	case w.chance(0.01):
		o.Kind = actor.OutcomeUnsent
	case w.chance(0.01): // it timed out here, and is applied there later: it may overtake what follows (F34)
		o.Kind = actor.OutcomeTimeout
		back = e.TimeoutMS
		w.covered("late request")
		w.after(latest-w.rng.Int64N(latest/2), func() { s.target(e) })
	default:
		o.Status, o.Body = s.target(e)
		if w.chance(0.02) {
			o = actor.Outcome{ID: e.ID, Epoch: e.Epoch, Kind: actor.OutcomeNetwork}
			w.covered("answer lost")
		}
	}
	if o.Kind == actor.OutcomeResponse && o.Status == 0 {
		o.Kind, back = actor.OutcomeTimeout, e.TimeoutMS
	}
	w.after(back, func() { s.outcome(o, gen, 0) })
}

func (s *space) target(e actor.Effect) (status int, body string) {
	if strings.HasPrefix(e.Target, "model:") {
		return s.world.model.serve(s, string(e.Body))
	}
	return s.world.discord.serve(s, e)
}

// outcome feeds an outcome back; one that meets a full disk is tried again.
func (s *space) outcome(o actor.Outcome, gen, try int) {
	if !s.up || s.gen != gen {
		return
	}
	_, ok := s.handle(actor.EventEffect, o, 0)
	switch {
	case !ok && s.up && s.gen == gen && try < 5:
		s.world.after(1_000<<try, func() { s.outcome(o, gen, try+1) })
	case ok && s.world.chance(0.02):
		s.world.after(s.world.latency(), func() { s.stale(o, gen) })
	}
}

// stale delivers an outcome once more: it must change nothing (invariant 5).
func (s *space) stale(o actor.Outcome, gen int) {
	if !s.up || s.gen != gen {
		return
	}
	if s.alarm != nil && *s.alarm <= s.world.now+s.world.skew+5 {
		return // the event would also act on what is due, which is no fault
	}
	before := s.records()
	if _, ok := s.quiet(actor.EventEffect, o); ok && s.up {
		s.world.covered("duplicate outcome")
		if after := s.records(); after != before {
			s.world.fail("invariant 5: a repeated outcome of %s changed the records:\n%s\n%s", o.ID, before, after)
		}
	}
}

func digest(b []byte) string {
	const most = 2000
	if len(b) > most {
		return string(b[:most])
	}
	return string(b)
}

// faultyConn fails the n-th statement from now.
type faultyConn struct {
	db     *sqlite.DB
	failIn int
	code   store.Code
}

func (c *faultyConn) Do(sql string, args []store.Value) ([]store.Row, error) {
	if c.failIn > 0 {
		if c.failIn--; c.failIn == 0 {
			return nil, &store.Error{Code: c.code, Message: "planted by the simulator"}
		}
	}
	return c.db.Do(sql, args)
}
