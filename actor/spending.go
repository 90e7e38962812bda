package actor

import (
	"fmt"
	"strings"
	"time"

	"holdfast/actor/errs"
)

// Spend is what one person spent on one model in a day, reservations included.
type Spend struct {
	User   string `json:"user"`
	Model  string `json:"model"` // its name in the configuration
	Tokens int64  `json:"tokens"`
	Micros int64  `json:"micro_dollars"`
}

// Spending answers OpUsage: a day against the budgets as they are now.
type Spending struct {
	Day      string  `json:"day"`    // UTC
	Resets   int64   `json:"resets"` // when the budgets start anew, unix ms
	Tokens   int64   `json:"tokens"` // of all
	Micros   int64   `json:"micro_dollars"`
	Reserved Limit   `json:"reserved"` // of it, by calls in flight now
	Budget   Budget  `json:"budget"`
	Spend    []Spend `json:"spend"` // most tokens first, at most 200
}

func (w *work) spending(day int64) Spending {
	all, _ := w.spent(day, "")
	s := Spending{Day: dateOf(day), Resets: w.tomorrow(), Tokens: all.Tokens, Micros: all.Micros, Budget: w.budget(), Spend: []Spend{}}
	open, _ := w.tx.Row(`SELECT coalesce(sum(input + output), 0), coalesce(sum(micros), 0) FROM usage WHERE state = 'reserved' AND created_wall / 86400000 = ?`, day)
	s.Reserved = Limit{open.Int(0), open.Int(1)}
	for _, r := range w.tx.Rows(`SELECT user, model, tokens, micros FROM spend WHERE day = ? ORDER BY tokens DESC, user, model LIMIT ?`, day, maxLimit) {
		s.Spend = append(s.Spend, Spend{User: r.Str(0), Model: r.Str(1), Tokens: r.Int(2), Micros: r.Int(3)})
	}
	return s
}

// usageArgs choose a day of the past; "" is today.
type usageArgs struct {
	Day string `json:"day"`
}

func (w *work) usageOp(a usageArgs) error {
	day := dayOf(w.wall)
	if a.Day != "" {
		t, err := time.Parse(time.DateOnly, a.Day)
		if err != nil {
			return errs.New(errs.Invalid, "day %q; expected a date as %s", a.Day, dateOf(day))
		}
		day = dayOf(t.UnixMilli())
	}
	w.answer(200, w.spending(day))
	return nil
}

// usageLines is how many people and models /usage lists.
const usageLines = 15

// usageCommand is /usage: today, by person and model, against the budgets.
func (w *work) usageCommand(in Interaction) error {
	if !w.may(in.User, canAsk) {
		w.ephemeral("You are not a member of this workspace. An admin can add you.")
		return nil
	}
	day := dayOf(w.wall)
	s := w.spending(day)
	_, own := w.spent(day, in.User.ID)
	lines := []string{
		fmt.Sprintf("**Today**, %s UTC; budgets start anew <t:%d:R>", s.Day, s.Resets/1000),
		"This workspace: " + against(Limit{s.Tokens, s.Micros}, s.Budget.Workspace),
		"You: " + against(own, s.Budget.User),
	}
	if s.Reserved.Tokens > 0 {
		lines = append(lines, "Of it reserved by calls in flight: "+against(s.Reserved, Limit{}))
	}
	for i, one := range s.Spend {
		if i == usageLines {
			lines = append(lines, "… and more")
			break
		}
		lines = append(lines, fmt.Sprintf("- <@%s>, %s: %s", one.User, oneLine(one.Model, 40), against(Limit{one.Tokens, one.Micros}, Limit{})))
	}
	w.ephemeral("%s", strings.Join(lines, "\n"))
	return nil
}
