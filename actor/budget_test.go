package actor

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"holdfast/actor/model"
)

func (w *world) setBudget(b Budget) {
	w.t.Helper()
	w.operator(OpConfig, Settings{Budget: &b})
}

// checkTotals holds after every event: a day's totals are the sums of its calls.
func (w *world) checkTotals() {
	w.t.Helper()
	w.want("running totals that differ from the calls", w.one(`SELECT group_concat(line, ';') FROM (
		SELECT day || ' ' || user || ' ' || model || ' ' || sum(tokens) || ' ' || sum(micros) AS line FROM (
			SELECT day, user, model, tokens, micros FROM spend
			UNION ALL SELECT created_wall / 86400000, user, model, -input - output, -micros FROM usage)
		GROUP BY day, user, model HAVING sum(tokens) <> 0 OR sum(micros) <> 0)`), "")
}

func (w *world) totals() string {
	w.t.Helper()
	return w.one(`SELECT coalesce(sum(tokens), 0) || ' ' || coalesce(sum(micros), 0) FROM spend`)
}

// administer runs a slash command of somebody and gives what they are told.
func (w *world) administer(user, kind, sub string, options map[string]string) string {
	w.t.Helper()
	w.must(EventInteraction, Interaction{Key: fmt.Sprint("admin-", w.seq), Kind: kind, User: User{ID: user, Name: user}, Place: Place{Guild: guildID, Channel: channelID},
		Sub: sub, Options: options})
	var told struct {
		Data struct {
			Content string `json:"content"`
			Flags   int    `json:"flags"`
		} `json:"data"`
	}
	if err := json.Unmarshal(w.reply.Body, &told); err != nil || told.Data.Flags&64 == 0 {
		w.t.Fatalf("told %s, want an ephemeral answer", w.reply.Body)
	}
	return told.Data.Content
}

func TestF27_RefusedBeforeTheCallWithWordsAPersonCanActUpon(t *testing.T) {
	for name, tt := range map[string]struct {
		budget Budget
		want   []string
	}{
		"tokens of the workspace": {Budget{Workspace: Limit{Tokens: 1001}}, []string{"this workspace is 1,001 tokens a day", "0 are used"}},
		"money of the workspace":  {Budget{Workspace: Limit{Micros: 2001}}, []string{"this workspace is $0.002001 a day", "$0.00 are used"}},
		"tokens of a person":      {Budget{User: Limit{Tokens: 1}}, []string{"<@" + maya + "> here is 1 tokens a day"}},
		"money of a person":       {Budget{Workspace: Limit{Micros: 1_000_000}, User: Limit{Micros: 10_000}}, nil},
		"money of a poor person":  {Budget{Workspace: Limit{Micros: 1_000_000}, User: Limit{Micros: 100}}, []string{"<@" + maya + "> here is $0.0001 a day"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.setBudget(tt.budget)
			w.ask("1", "hello")
			w.run(60_000)
			if tt.want == nil {
				w.want("state", w.one(`SELECT state FROM submission`), "done")
				return
			}
			w.want("state", w.one(`SELECT state || ' ' || reason FROM submission`), "unanswered budget")
			w.want("calls", fmt.Sprint(w.calls), "0")
			w.want("booked", w.totals(), "0 0")
			answer := w.discord.originals["token-1"].body.Content
			for _, part := range append(tt.want, "midnight UTC (<t:1764547200:R>)", "`/workspace budget`", "budget has no room") {
				if !strings.Contains(answer, part) {
					t.Errorf("the answer does not say %q: %s", part, answer)
				}
			}
		})
	}
}

// The limit holds to the token while every call is counted, and the next day begins with nothing spent.
func TestF27_SpentUntilNothingFitsAndAnewTheNextDay(t *testing.T) {
	w := newWorld(t)
	w.ask("0", "hello")
	w.runUntil(PointModel)
	most := parseInt(w.one(`SELECT input + output FROM usage`))
	w = newWorld(t)
	w.setBudget(Budget{Workspace: Limit{Tokens: most + 250}})
	for i := range 5 {
		w.ask(fmt.Sprint(i), "hello")
		w.run(60_000)
	}
	w.want("calls", fmt.Sprint(w.calls), "3") // with 0, 110 and 220 spent
	w.want("settled", w.one(`SELECT group_concat(state || reason, ' ' ORDER BY id) FROM submission`), "done done done unansweredbudget unansweredbudget")
	w.want("spent", w.one(`SELECT sum(tokens) FROM spend`), "330")
	w.now += dayMS
	w.ask("tomorrow", "hello")
	w.run(60_000)
	w.want("calls", fmt.Sprint(w.calls), "4")
	w.want("days", w.one(`SELECT group_concat(tokens, ' ' ORDER BY day) FROM spend`), "330 110")
}

func TestF27_ACrashedCallStaysAtItsReservationAndItsRetryIsGated(t *testing.T) {
	for name, tt := range map[string]struct {
		room  int64 // beside twice the reservation
		state string
		calls string
	}{
		"room for both": {0, "done", "1"},
		"room for one":  {-1, "unanswered", "0"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.ask("1", "hello")
			w.runUntil(PointModel)
			most, micros := parseInt(w.one(`SELECT input + output FROM usage`)), parseInt(w.one(`SELECT micros FROM usage`))
			w.want("booked", w.totals(), fmt.Sprint(most, " ", micros))
			w.setBudget(Budget{Workspace: Limit{Tokens: 2*most + tt.room}})
			w.kill()
			w.run(60_000)
			w.want("state", w.one(`SELECT state FROM submission`), tt.state)
			w.want("calls", fmt.Sprint(w.calls), tt.calls)
			w.want("of the turn", w.one(`SELECT tokens || ' ' || micros FROM turn`), w.totals())
			w.want("the crashed call", w.one(`SELECT state || ' ' || (input + output) FROM usage ORDER BY id LIMIT 1`), fmt.Sprint("settled ", most))
		})
	}
}

func TestF27_CallsInFlightAreReserved(t *testing.T) {
	w := newWorld(t)
	w.ask("1", "hello")
	w.runUntil(PointModel)
	most := parseInt(w.one(`SELECT input + output FROM usage`))
	w.setBudget(Budget{Workspace: Limit{Tokens: 2*most - 1}})
	w.ask("2", "hello")
	w.run(10_000)
	w.want("states", w.one(`SELECT group_concat(state || reason, ' ' ORDER BY id) FROM submission`), "placed unansweredbudget")
	w.want("calls", fmt.Sprint(w.calls), "0")
}

// A call that timed out may have been worked for, one that was turned away was not; each try is one call.
func TestF27_EveryTryGoesThroughTheSameGate(t *testing.T) {
	w := newWorld(t)
	w.model = func(call int, _ string) (int, string) {
		return map[int]int{1: 429, 2: 0, 3: 0}[call], ""
	}
	w.setBudget(Budget{User: Limit{Tokens: 3000}})
	w.ask("1", "hello")
	w.run(3_600_000)
	w.want("state", w.one(`SELECT state || ' ' || reason FROM submission`), "unanswered budget")
	w.want("calls", fmt.Sprint(w.calls), "3")
	w.want("the first", w.one(`SELECT input + output FROM usage ORDER BY id LIMIT 1`), "0")
	if spent := parseInt(w.one(`SELECT sum(tokens) FROM spend`)); spent > 3000 || spent < 2000 {
		t.Errorf("%d tokens are spent, want the reservations of two calls", spent)
	}
}

func TestCounted(t *testing.T) {
	most := charge{100, 1000, 77}
	said := model.Usage{Input: 90, Output: 8}
	ok := Outcome{Kind: OutcomeResponse, Status: 200}
	for name, tt := range map[string]struct {
		o    Outcome
		a    model.Answer
		f    *model.Failure
		want charge
	}{
		"counted":                     {ok, model.Answer{Usage: said}, nil, charge{90, 8, 77}},
		"a provider that never says":  {ok, model.Answer{Text: "four little words here"}, nil, charge{100, 20, 77}},
		"never sent":                  {Outcome{Kind: OutcomeUnsent}, model.Answer{}, &model.Failure{Kind: model.FailRetry}, charge{}},
		"no such target":              {Outcome{Kind: OutcomeRefused}, model.Answer{}, &model.Failure{Kind: model.FailInvalid}, charge{}},
		"an answer that was too long": {Outcome{Kind: OutcomeRefused, Status: 200}, model.Answer{}, &model.Failure{Kind: model.FailInvalid}, most},
		"too many requests":           {Outcome{Kind: OutcomeResponse, Status: 429}, model.Answer{}, &model.Failure{Kind: model.FailRetry}, charge{}},
		"a gateway's time-out":        {Outcome{Kind: OutcomeResponse, Status: 504}, model.Answer{}, &model.Failure{Kind: model.FailRetry}, most},
		"timed out":                   {Outcome{Kind: OutcomeTimeout}, model.Answer{}, &model.Failure{Kind: model.FailRetry}, most},
		"the connection broke":        {Outcome{Kind: OutcomeNetwork}, model.Answer{}, &model.Failure{Kind: model.FailRetry}, most},
		"cut off":                     {ok, model.Answer{}, &model.Failure{Kind: model.FailRetry, Usage: said}, most},
		"refused by the model":        {ok, model.Answer{}, &model.Failure{Kind: model.FailRefused, Usage: said}, charge{90, 8, 77}},
		"no sense, and no count":      {ok, model.Answer{}, &model.Failure{Kind: model.FailInvalid}, most},
		"a mad count":                 {ok, model.Answer{Usage: model.Usage{Input: 1 << 60, Output: -5}}, nil, charge{maxCounted, 0, 77}},
	} {
		if got := counted(most, tt.o, tt.a, tt.f); got.Input != tt.want.Input || !near(got.Output, tt.want.Output) {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
	if c := cost(Model{PriceIn: 1 << 60, PriceOut: 1 << 60}, maxCounted, maxCounted); c <= 0 || c > 1<<53 {
		t.Errorf("the greatest cost is %d", c)
	}
}

// near allows an estimate a few tokens.
func near(got, want int64) bool { return got >= want-8 && got <= want+8 }

func TestBudgetByCommandAndByConfiguration(t *testing.T) {
	w := newWorld(t)
	for _, tt := range []struct {
		user, sub string
		options   map[string]string
		says      string
		budget    string
	}{
		{sam, SubBudget, map[string]string{"scope": "workspace", "tokens": "1"}, "Only an admin", ""},
		{sam, SubShow, nil, "Only an admin", ""},
		{maya, SubBudget, map[string]string{"scope": "everybody", "tokens": "1"}, "Whose budget", ""},
		{maya, SubBudget, map[string]string{"scope": "workspace"}, "of the workspace: no limit; of each person: no limit", ""},
		{maya, SubBudget, map[string]string{"scope": "workspace", "tokens": "200,000", "dollars": "$12.5"}, "of the workspace: 200,000 tokens and $12.50 a day", `{"workspace":{"tokens":200000,"micro_dollars":12500000},"user":{}}`},
		{maya, SubBudget, map[string]string{"scope": "user", "dollars": "0.05"}, "of each person: $0.05 a day", `{"workspace":{"tokens":200000,"micro_dollars":12500000},"user":{"micro_dollars":50000}}`},
		{maya, SubBudget, map[string]string{"scope": "workspace", "tokens": "None"}, "of the workspace: $12.50 a day", `{"workspace":{"micro_dollars":12500000},"user":{"micro_dollars":50000}}`},
		{maya, SubBudget, map[string]string{"scope": "workspace", "tokens": "-5"}, "no number of tokens", ""},
		{maya, SubBudget, map[string]string{"scope": "workspace", "dollars": "1e9"}, "no sum of money", ""},
		{maya, SubBudget, map[string]string{"scope": "workspace", "tokens": "9999999999999999"}, "expected 0", ""},
		{maya, SubShow, nil, "of the workspace: $12.50 a day; of each person: $0.05 a day", ""},
		{maya, "bind", nil, "not known", ""},
	} {
		before := w.one(`SELECT count(*) FROM audit`)
		told := w.administer(tt.user, KindWorkspace, tt.sub, tt.options)
		if !strings.Contains(told, tt.says) {
			t.Errorf("%s %v: told %q, want %q", tt.sub, tt.options, told, tt.says)
		}
		if tt.budget == "" {
			w.want("audit rows", w.one(`SELECT count(*) FROM audit`), before)
			continue
		}
		w.want("budget", w.one(`SELECT json_extract(body, '$.budget') FROM document WHERE name = 'settings'`), tt.budget)
		w.want("audit", w.one(`SELECT actor || ' ' || action FROM audit ORDER BY id DESC LIMIT 1`), maya+" budget.changed")
		if detail := w.one(`SELECT detail FROM audit ORDER BY id DESC LIMIT 1`); !strings.HasSuffix(detail, " → "+tt.budget) {
			t.Errorf("audited as %s", detail)
		}
	}
	w.setBudget(Budget{User: Limit{Tokens: 7}})
	w.want("by configuration", w.one(`SELECT json_extract(body, '$.budget') FROM document WHERE name = 'settings'`), `{"workspace":{},"user":{"tokens":7}}`)
	w.operator(OpConfig, Settings{Instructions: "be brief"})
	w.want("an absent key", w.one(`SELECT json_extract(body, '$.budget.user.tokens') FROM document WHERE name = 'settings'`), "7")
	args, _ := json.Marshal(Settings{Budget: &Budget{Workspace: Limit{Micros: -1}}})
	if err := w.event(EventOperator, Operator{Op: OpConfig, Args: args}); err == nil || !strings.Contains(err.Error(), "budget.workspace.micro_dollars: -1") {
		t.Errorf("a negative budget: %v", err)
	}
}

func TestUsageIsShownAgainstTheBudgets(t *testing.T) {
	w := newWorld(t)
	w.setBudget(Budget{Workspace: Limit{Tokens: 5_000, Micros: 2_000_000}, User: Limit{Micros: 1_000_000}})
	w.ask("1", "hello")
	w.run(60_000)
	told := w.administer(sam, KindUsage, "", nil)
	for _, line := range []string{"**Today**, 2025-11-30 UTC; budgets start anew <t:1764547200:R>", "This workspace: 110 of 5,000 tokens · $0.00012 of $2.00",
		"You: 0 tokens · $0.00 of $1.00", "- <@" + maya + ">, m: 110 tokens · $0.00012"} {
		if !strings.Contains(told, line+"\n") && !strings.HasSuffix(told, line) {
			t.Errorf("/usage lacks %q:\n%s", line, told)
		}
	}
	if told := w.administer("1300000000000000013", KindUsage, "", nil); !strings.Contains(told, "not a member") {
		t.Errorf("a stranger is told %q", told)
	}
	w.ask("2", "more")
	w.runUntil(PointModel)
	var s Spending
	if err := json.Unmarshal([]byte(w.operator(OpUsage, usageArgs{})), &s); err != nil {
		t.Fatal(err)
	}
	if s.Day != "2025-11-30" || s.Resets != 1764547200000 || len(s.Spend) != 1 || s.Tokens != 110+s.Reserved.Tokens || s.Reserved.Tokens < 1000 || s.Budget.User.Micros != 1_000_000 {
		t.Errorf("usage %+v", s)
	}
	w.now += dayMS
	for day, want := range map[string]int{"": 0, "2025-11-30": 1, "2025-11-29": 0} {
		if err := json.Unmarshal([]byte(w.operator(OpUsage, usageArgs{Day: day})), &s); err != nil || len(s.Spend) != want {
			t.Errorf("day %q: %+v, %v, want %d rows", day, s, err, want)
		}
	}
	if err := w.event(EventOperator, Operator{Op: OpUsage, Args: json.RawMessage(`{"day":"yesterday"}`)}); err == nil || !strings.Contains(err.Error(), "expected a date") {
		t.Errorf("a day that is none: %v", err)
	}
}

func FuzzDollars(f *testing.F) {
	for _, s := range []string{"5", "12.50", "$1,000.000001", "0.1234567", ".5", "5.", "-1", "", "99999999999", "1.2.3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, ok := parseDollars(s)
		if !ok {
			return
		}
		if back, ok := parseDollars(Dollars(n)); !ok || back != n || n < 0 {
			t.Errorf("%q is %d, shown as %s, which is %d", s, n, Dollars(n), back)
		}
	})
}
