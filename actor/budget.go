package actor

import (
	"fmt"
	"strings"
	"time"

	"holdfast/actor/errs"
	"holdfast/actor/render"
)

// Limit is what may be spent in a day; 0 is no limit.
type Limit struct {
	Tokens int64 `json:"tokens,omitempty"`
	Micros int64 `json:"micro_dollars,omitempty"` // by the prices in the configuration
}

// Budget is the workspace's limit of a day and that of each person in it. A day is one of the host's clock in UTC: a
// workspace's people live in many zones, and the clock of rule 7 (spec 3.1) may run ahead of what they read.
type Budget struct {
	Workspace Limit `json:"workspace"`
	User      Limit `json:"user"`
}

// maxLimit of a budget, in tokens or micro-dollars (a billion dollars): sums stay below 2^53.
const maxBudget = 1_000_000_000_000_000

const dayMS = 86_400_000

// dayOf is the day of a time in unix ms, counted from 1970.
func dayOf(wall int64) int64 { return wall / dayMS }

func dateOf(day int64) string { return time.UnixMilli(day * dayMS).UTC().Format(time.DateOnly) }

func (b Budget) check() error {
	for _, limit := range []struct {
		name string
		n    int64
	}{{"workspace.tokens", b.Workspace.Tokens}, {"workspace.micro_dollars", b.Workspace.Micros},
		{"user.tokens", b.User.Tokens}, {"user.micro_dollars", b.User.Micros}} {
		if limit.n < 0 || limit.n > maxBudget {
			return errs.New(errs.Invalid, "budget.%s: %d; expected 0 (no limit) to %d a day", limit.name, limit.n, int64(maxBudget))
		}
	}
	return nil
}

func (w *work) budget() Budget {
	if b := w.settings().Budget; b != nil {
		return *b
	}
	return Budget{}
}

// changeBudget replaces the budget in s, with an audit row that says from what to what.
func (w *work) changeBudget(who string, s *Settings, to Budget) error {
	if err := to.check(); err != nil {
		return err
	}
	old := w.budget()
	s.Budget = &to
	w.audit(who, "budget.changed", "", encode(old)+" → "+encode(to))
	return nil
}

// spent are the totals of a day with all reservations: the workspace's and one user's.
func (w *work) spent(day int64, user string) (all, own Limit) {
	row, _ := w.tx.Row(`SELECT coalesce(sum(tokens), 0), coalesce(sum(micros), 0), coalesce(sum(tokens) FILTER (WHERE user = ?2), 0),
		coalesce(sum(micros) FILTER (WHERE user = ?2), 0) FROM spend WHERE day = ?1`, day, user)
	return Limit{row.Int(0), row.Int(1)}, Limit{row.Int(2), row.Int(3)}
}

// overBudget says, for people, why a call that costs most must not be made; "" lets it be made. What is spent and
// reserved never passes a limit by a call that this let through.
func (w *work) overBudget(user string, most charge) string {
	b := w.budget()
	if b == (Budget{}) {
		return ""
	}
	all, own := w.spent(dayOf(w.wall), user)
	why := refusal("this workspace", b.Workspace, all, most)
	if why == "" {
		why = refusal("<@"+user+"> here", b.User, own, most)
	}
	if why == "" {
		return ""
	}
	return fmt.Sprintf("%s It starts anew at midnight UTC (<t:%d:R>); an admin can raise it with `/workspace budget`.", why, w.tomorrow()/1000)
}

// tomorrow is when today's budgets start anew, in unix ms.
func (w *work) tomorrow() int64 { return (dayOf(w.wall) + 1) * dayMS }

// refusal is empty when the call fits into both limits.
func refusal(whose string, limit, used Limit, most charge) string {
	switch {
	case limit.Tokens > 0 && used.Tokens+most.tokens() > limit.Tokens:
		return fmt.Sprintf("The budget of %s is %s tokens a day; %s are used or reserved, and the next model call may take up to %s.",
			whose, render.Thousands(limit.Tokens), render.Thousands(used.Tokens), render.Thousands(most.tokens()))
	case limit.Micros > 0 && used.Micros+most.Micros > limit.Micros:
		return fmt.Sprintf("The budget of %s is %s a day; %s are used or reserved, and the next model call may cost up to %s.",
			whose, Dollars(limit.Micros), Dollars(used.Micros), Dollars(most.Micros))
	}
	return ""
}

// against shows what is spent beside its limit.
func against(used, limit Limit) string {
	tokens, money := render.Thousands(used.Tokens)+" tokens", Dollars(used.Micros)
	if limit.Tokens > 0 {
		tokens = fmt.Sprintf("%s of %s tokens", render.Thousands(used.Tokens), render.Thousands(limit.Tokens))
	}
	if limit.Micros > 0 {
		money += " of " + Dollars(limit.Micros)
	}
	return tokens + " · " + money
}

func (l Limit) String() string {
	var parts []string
	if l.Tokens > 0 {
		parts = append(parts, render.Thousands(l.Tokens)+" tokens")
	}
	if l.Micros > 0 {
		parts = append(parts, Dollars(l.Micros))
	}
	if len(parts) == 0 {
		return "no limit"
	}
	return strings.Join(parts, " and ") + " a day"
}

// Dollars writes micro-dollars exactly, with at least the cents: $5.00, $0.0312.
func Dollars(micros int64) string {
	fraction := strings.TrimRight(fmt.Sprintf("%06d", micros%1_000_000), "0")
	return fmt.Sprintf("$%s.%s", render.Thousands(micros/1_000_000), fraction+"00"[min(len(fraction), 2):])
}

// parseDollars reads what Dollars writes, and the same without "$" and "," or with fewer decimals, as micro-dollars.
func parseDollars(s string) (int64, bool) {
	whole, fraction, point := strings.Cut(strings.ReplaceAll(strings.TrimPrefix(strings.TrimSpace(s), "$"), ",", ""), ".")
	if !digits(whole, 10) || point && !digits(fraction, 6) {
		return 0, false
	}
	return parseInt(whole)*1_000_000 + parseInt((fraction + "000000")[:6]), true
}

// parseTokens reads a whole number, with or without commas.
func parseTokens(s string) (int64, bool) {
	s = strings.ReplaceAll(strings.TrimSpace(s), ",", "")
	return parseInt(s), digits(s, 16)
}

// digits says whether s is one to most decimal digits.
func digits(s string, most int) bool {
	return s != "" && len(s) <= most && strings.Trim(s, "0123456789") == ""
}
