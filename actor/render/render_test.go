package render

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// check returns what Discord would refuse in a message (developer documentation: Create Message).
func check(m Message) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	if n := units(m.Content); n > 2000 {
		fault("content has %d units", n)
	}
	if strings.TrimFunc(m.Content, blank) == "" && len(m.Embeds) == 0 {
		fault("the message is empty")
	}
	if strings.Count(m.Content, fence)%2 != 0 {
		fault("content leaves a block open")
	}
	total := 0
	for _, e := range m.Embeds {
		total += units(e.Title) + units(e.Description)
		if units(e.Title) > 256 || units(e.Description) > 4096 || len(e.Fields) > 25 {
			fault("embed too large: title %d, description %d, %d fields", units(e.Title), units(e.Description), len(e.Fields))
		}
		if strings.Count(e.Description, fence)%2 != 0 {
			fault("a description leaves a block open")
		}
		for _, f := range e.Fields {
			total += units(f.Name) + units(f.Value)
			if f.Name == "" || units(f.Name) > 256 || strings.TrimFunc(f.Value, blank) == "" || units(f.Value) > 1024 {
				fault("field %q has %d units", f.Name, units(f.Value))
			}
		}
	}
	if total > 6000 {
		fault("embeds have %d units", total)
	}
	ids := map[string]bool{}
	for _, r := range m.Components {
		if r.Type != 1 || len(r.Components) < 1 || len(r.Components) > 5 {
			fault("row of type %d with %d buttons", r.Type, len(r.Components))
		}
		for _, c := range r.Components {
			if c.Type != 2 || c.Style < 1 || c.Style > 4 || c.Label == "" || units(c.Label) > 80 || c.CustomID == "" || len(c.CustomID) > 100 || ids[c.CustomID] {
				fault("button %+v", c)
			}
			ids[c.CustomID] = true
		}
	}
	if m.AllowedMentions.Parse == nil || len(m.AllowedMentions.Parse) > 0 || m.Embeds == nil || m.Components == nil {
		fault("a list is null, or mentions are parsed")
	}
	if len(m.AllowedMentions.Users) > 100 || len(m.AllowedMentions.Roles) > 100 {
		fault("too many mentions")
	}
	return faults
}

var openCard = Approval{
	Job: "7a4", Tool: "bash", Requester: "42", Command: "git push origin fix/auth-refresh", Runs: []string{"git push origin fix/auth-refresh"},
	Grants: []string{"network and push credential for origin, this call only"}, Rule: `bash "git push*" → ask (policy line 7)`,
	Approvers: []string{"role <@&9>", "<@7>"}, PingRoles: []string{"9"}, PingUsers: []string{"7"}, Expires: 1764470900000,
	ApproveID: "a:1/p:1764460000.12", DenyID: "d:1/p:1764460000.12", WhyID: "w:1/p:1764460000.12",
}

func decided(state, by, reason string) Approval {
	a := openCard
	a.State, a.By, a.Reason, a.At = state, by, reason, 1764470100000
	return a
}

// cards are the golden messages: every card in every state.
func cards() map[string][]Message {
	one := func(m Message) []Message { return []Message{m} }
	edited := openCard
	edited.PingRoles, edited.PingUsers = nil, nil
	hostile := openCard
	hostile.Command = "echo ``` @everyone <@&1>\n```\u202e\u200b\x1b[31m rm -rf x `"
	long := openCard
	long.Command = "go test ./... && " + strings.Repeat("echo some more text; ", 400) + "rm -rf build"
	write := openCard
	write.Tool, write.Command, write.Runs, write.Grants = "write", `{"path":"../x"}`, nil, nil
	run := Run{Job: "7a4", Started: 1764470000000, Phase: "waiting for approval", StopID: "s:1/p:1764460000.3", Steps: []Step{
		{Tool: "read", Detail: "src/auth.go", State: StepOK, Millis: 12}, {Tool: "bash", Detail: "go test ./…", State: StepOK, Millis: 4100},
		{Tool: "bash", Detail: "go vet ./…", State: StepError, Millis: 900, Note: "exit 1"}, {Tool: "bash", Detail: "git push", State: StepWaiting},
	}}
	busy := run
	busy.Phase, busy.Joined, busy.Restarts, busy.Tokens, busy.MicroDollars = "thinking", 1, 2, 12400, 41_000
	busy.Notice, busy.UserNote = "The runner is not connected.", "local agent: no model configured"
	busy.Steps = nil
	for i := range 30 {
		busy.Steps = append(busy.Steps, Step{Tool: "grep", Detail: fmt.Sprintf("pattern %d `x`", i), State: []string{StepOK, StepRunning, StepDenied, StepInterrupted, StepCancelled, StepQueued}[i%6]})
	}
	final := Final{Job: "7a4", Text: "The refresh failed because `exp` was compared in seconds (`src/auth.go:41`).\n\nFixed, tests pass.", Tools: 3, Millis: 42_000, Tokens: 12_400, MicroDollars: 41_000, Conversation: 42, DetailsID: "i:1/p:1764460000.3"}
	survived := final
	survived.Restarts, survived.Notice, survived.MicroDollars = 1, "local agent: no model configured", 0
	survived.Text = "Here:\n\n```go\n" + strings.Repeat("\tx := f(1, 2, 3)\n", 200) + "```\nThat is all."
	return map[string][]Message{
		"approval-open": one(ApprovalCard(openCard)), "approval-open-edit": one(ApprovalCard(edited)),
		"approval-approved": one(ApprovalCard(decided(Approved, "7", ""))), "approval-denied": one(ApprovalCard(decided(Denied, "7", "Not on a *Friday* <@&9>"))),
		"approval-denied-nobody": one(ApprovalCard(decided(Denied, "", "Nobody may approve this."))),
		"approval-expired":       one(ApprovalCard(decided(Expired, "", ""))), "approval-cancelled": one(ApprovalCard(decided(Cancelled, "", ""))),
		"approval-hostile": one(ApprovalCard(hostile)), "approval-long": one(ApprovalCard(long)), "approval-write": one(ApprovalCard(write)),
		"run-start": one(RunCard(Run{Job: "7a4", Started: 1764470000000, Phase: "thinking", StopID: "s:1/p:1764460000.3"})),
		"run-steps": one(RunCard(run)), "run-busy": one(RunCard(busy)),
		"answer": Answer(final), "answer-long": Answer(survived), "answer-empty": Answer(Final{Conversation: 1}),
		"ephemeral": one(Ephemeral("You may not ask here.")), "note": one(Note("This thread continues conversation 42.")),
	}
}

func TestGolden(t *testing.T) {
	all := cards()
	for name, messages := range all {
		t.Run(name, func(t *testing.T) {
			for _, m := range messages {
				for _, f := range check(m) {
					t.Error(f)
				}
			}
			var b bytes.Buffer
			enc := json.NewEncoder(&b)
			enc.SetEscapeHTML(false)
			enc.SetIndent("", "  ")
			if err := enc.Encode(messages); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", name+".json")
			if *update {
				if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(want, b.Bytes()) {
				t.Errorf("differs from %s (run with -update when that is meant):\n%s", path, b.Bytes())
			}
		})
	}
	files, _ := filepath.Glob("testdata/*.json")
	for _, f := range files {
		if name := strings.TrimSuffix(filepath.Base(f), ".json"); all[name] == nil {
			t.Errorf("%s belongs to no card", f)
		}
	}
}

// TestMentions: only a new, open approval card pings, and only whom it names.
func TestMentions(t *testing.T) {
	for name, messages := range cards() {
		for _, m := range messages {
			pings := len(m.AllowedMentions.Users) + len(m.AllowedMentions.Roles)
			may := strings.HasPrefix(name, "approval-") && slices.Contains([]string{"approval-open", "approval-hostile", "approval-long", "approval-write"}, name)
			if pings > 0 != may {
				t.Errorf("%s pings %d", name, pings)
			}
		}
	}
}

// TestDecidedButtonsAreDead: nobody can press a decided card.
func TestDecidedButtonsAreDead(t *testing.T) {
	for _, state := range []string{"", Approved, Denied, Expired, Cancelled} {
		for _, c := range ApprovalCard(decided(state, "7", "")).Components[0].Components {
			if c.Disabled != (state != "") {
				t.Errorf("state %q, button %q: disabled is %v", state, c.Label, c.Disabled)
			}
		}
	}
}

// TestCommandIsShown: every character of a command is somewhere on its card, up to what an embed holds.
func TestCommandIsShown(t *testing.T) {
	for _, n := range []int{1, 500, 1500, 3000, 3900} {
		command := strings.Repeat("a", n-1) + "z"
		m := ApprovalCard(Approval{Tool: "bash", Command: command})
		if !strings.Contains(m.Content+m.Embeds[0].Description, "\n"+command+"\n") {
			t.Errorf("a command of %d characters is not shown", n)
		}
	}
	m := ApprovalCard(Approval{Tool: "bash", Command: strings.Repeat("a", 9000) + "z"})
	if d := m.Embeds[0].Description; !strings.Contains(d, "characters are not shown") || !strings.HasSuffix(d, "az\n```") {
		t.Errorf("a command that is too long does not say so: %.80q…", d)
	}
}

// FuzzCards: no text, however long or strange, makes a card that Discord refuses.
func FuzzCards(f *testing.F) {
	f.Add("git push", 1, 3)
	f.Add("```", 900, 40)
	f.Add("😀`\u202e", 2000, 30)
	f.Add("", 0, 0)
	f.Fuzz(func(t *testing.T, s string, times, items int) {
		s = strings.Repeat(s, min(max(times, 0), 9000/(len(s)+1)))
		list := make([]string, min(max(items, 0), 60))
		steps := make([]Step, len(list))
		for i := range list {
			list[i], steps[i] = s, Step{Tool: s, Detail: s, Note: s, State: s, Millis: int64(times)}
		}
		messages := Answer(Final{Job: s, Text: s, Notice: s, Millis: int64(times), Tokens: int64(items), DetailsID: "x"})
		messages = append(messages, RunCard(Run{Job: s, Phase: s, Steps: steps, Notice: s, UserNote: s, StopID: "x"}), Ephemeral(s), Note(s))
		for _, state := range []string{"", Denied} {
			messages = append(messages, ApprovalCard(Approval{Job: s, Tool: s, Requester: s, Command: s, Runs: list, Grants: list, Rule: s, Approvers: list, PingUsers: list, By: s, Reason: s, State: state, ApproveID: "a", DenyID: "d"}))
		}
		for i, m := range messages {
			for _, fault := range check(m) {
				t.Errorf("message %d: %s", i, fault)
			}
		}
	})
}

func TestNumbers(t *testing.T) {
	for got, want := range map[string]string{
		Thousands(1234567): "1,234,567", Thousands(999): "999", Thousands(-1234): "-1,234", tokens(812): "812 tokens", tokens(12_400): "12.4k tokens", tokens(3_140_000): "3.1M tokens",
		tokens(1): "1 token", tokens(999_960): "1.0M tokens", money(41_000): "$0.04", money(3): "<$0.01", money(12_345_678): "$12.34", duration(400): "0.4 s", duration(42_000): "42 s",
		duration(185_000): "3 min 5 s", duration(180_000): "3 min", duration(7_800_000): "2 h 10 min", duration(59_700): "1 min", duration(9_960): "10 s",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
