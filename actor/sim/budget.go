package sim

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"holdfast/actor"
)

// bill is the least that a model call can have cost, by the simulator's own account.
type bill struct {
	day            int64
	user           string
	tokens, micros int64
}

// A call that may have been worked for: the longest answer, and at least so much of a question; the price is one
// micro-dollar a call.
const (
	longestAnswer = 1000
	leastCall     = longestAnswer + 10
)

// budgets are what a workspace may spend: mostly all it wants, sometimes enough for a few calls.
func (w *world) budgets() actor.Budget {
	few := []actor.Budget{
		{Workspace: actor.Limit{Tokens: 4_000}},
		{Workspace: actor.Limit{Tokens: 9_000}, User: actor.Limit{Tokens: 3_000}},
		{Workspace: actor.Limit{Micros: 9}},
		{User: actor.Limit{Micros: 4}},
	}
	if n := w.pick("budget", 5*len(few)); n < len(few) {
		return few[n]
	}
	return actor.Budget{}
}

func billKey(id string, epoch int64) string { return fmt.Sprintf("%s~%d", id, epoch) }

// readBudget takes over what somebody may have changed.
func (s *space) readBudget() {
	s.budget = actor.Budget{}
	_ = json.Unmarshal([]byte(s.one(`SELECT json_extract(body, '$.budget') FROM document WHERE name = 'settings'`)), &s.budget)
}

// reopenBills takes over what a restored database knows of; the rest is forgotten with the time that was rolled back.
func (s *space) reopenBills() {
	s.readBudget()
	for _, r := range s.query(`SELECT 't' || task, epoch, created_wall / 86400000, user, input + output, micros FROM usage`) {
		s.book.bills[billKey(r.Str(0), r.Int(1))] = bill{r.Int(2), r.Str(3), r.Int(4), r.Int(5)}
	}
}

// checkBills is invariant 6: no call is made that, at its greatest cost, could pass a limit of its day; and one whose
// end nobody learned stays at that.
func (s *space) checkBills(data any, res *actor.Result) {
	switch in := data.(type) {
	case actor.Outcome:
		s.settleBill(in)
	case actor.Interaction:
		if in.Kind == actor.KindWorkspace {
			s.readBudget()
		}
	}
	lost := slices.ContainsFunc(res.Trace, func(t actor.Trace) bool { return t.Name == "owner.changed" || t.Name == "generation.orphaned" })
	if lost {
		s.checkBooked()
	}
	for _, e := range res.Effects {
		if e.Point != actor.PointModel {
			continue
		}
		user := s.one(`SELECT t.requester FROM task k JOIN turn t ON t.id = k.turn WHERE k.id = ?`, e.ID[1:])
		b := bill{(s.world.now + s.world.skew) / 86_400_000, user, leastCall, 1}
		s.book.bills[billKey(e.ID, e.Epoch)] = b
		s.checkLimits(b)
	}
}

// settleBill lowers a call's bill to what the provider has said, or to nothing when it was never worked for.
func (s *space) settleBill(o actor.Outcome) {
	key := billKey(o.ID, o.Epoch)
	b, open := s.book.bills[key]
	whole := o.Status == 200 && strings.Contains(o.Body, `"finish_reason":"`) // a stream that is cut behind it is an answer, too
	switch {
	case !open || o.Kind == actor.OutcomeTimeout || o.Kind == actor.OutcomeNetwork, o.Status == 200 && !whole && o.Parts == 0:
		return
	case whole && strings.Contains(o.Body, `"usage"`):
		b.tokens = min(b.tokens, 15)
	default:
		b.tokens, b.micros = 0, 0
	}
	s.book.bills[key] = b
}

func (s *space) checkLimits(newest bill) {
	var all, own actor.Limit
	for _, b := range s.book.bills {
		if b.day != newest.day {
			continue
		}
		all.Tokens, all.Micros = all.Tokens+b.tokens, all.Micros+b.micros
		if b.user == newest.user {
			own.Tokens, own.Micros = own.Tokens+b.tokens, own.Micros+b.micros
		}
	}
	for _, l := range []struct {
		what        string
		spent, most int64
	}{
		{"tokens in " + s.name, all.Tokens, s.budget.Workspace.Tokens}, {"micro-dollars in " + s.name, all.Micros, s.budget.Workspace.Micros},
		{"tokens of " + newest.user, own.Tokens, s.budget.User.Tokens}, {"micro-dollars of " + newest.user, own.Micros, s.budget.User.Micros},
	} {
		if l.most > 0 && l.spent > l.most {
			s.world.fail("invariant 6: %d %s are spent or reserved, at most %d", l.spent, l.what, l.most)
		}
	}
	if s.budget != (actor.Budget{}) {
		s.world.covered("a call within a budget")
	}
}

// checkBooked holds the actor's books to the bills, and its running totals to its own rows.
func (s *space) checkBooked() {
	for _, r := range s.query(`SELECT 't' || task, epoch, input + output FROM usage`) {
		if b := s.book.bills[billKey(r.Str(0), r.Int(1))]; r.Int(2) < b.tokens {
			s.world.fail("invariant 6: the call %s of epoch %d cost at least %d tokens and is booked at %d", r.Str(0), r.Int(1), b.tokens, r.Int(2))
		}
	}
	if wrong := s.one(`SELECT group_concat(day || ' ' || user) FROM (SELECT day, user FROM (
			SELECT day, user, model, tokens, micros FROM spend
			UNION ALL SELECT created_wall / 86400000, user, model, -input - output, -micros FROM usage)
		GROUP BY day, user, model HAVING sum(tokens) <> 0 OR sum(micros) <> 0)`); wrong != "" {
		s.world.fail("invariant 6: the totals of %s are not the sums of their calls", wrong)
	}
}

// administers looks at what was spent, and sometimes changes what may be.
func (p *people) administers(d *deed) {
	s := d.space(p.world)
	in := actor.Interaction{Kind: actor.KindWorkspace, Sub: actor.SubBudget, User: d.who(), Place: d.place(s)}
	limit := func(scope, unit, amount string) {
		in.Options = map[string]string{actor.OptionScope: scope, unit: amount}
	}
	switch d.IntN(8) {
	case 0:
		limit(actor.ScopeWorkspace, actor.OptionTokens, "6,000")
	case 1:
		limit(actor.ScopeUser, actor.OptionDollars, "0.000006")
	case 2:
		limit(actor.ScopeWorkspace, actor.OptionTokens, "none")
	case 3:
		limit(actor.ScopeUser, actor.OptionDollars, "much")
	case 4:
		in.Sub = actor.SubShow
	default:
		in = actor.Interaction{Kind: actor.KindUsage, User: in.User, Place: in.Place}
	}
	reply := p.interact(d, s, in)
	if strings.Contains(reply, "It holds from the next model call on") {
		p.world.covered("a budget is changed")
	}
}
