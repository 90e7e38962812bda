package policy

import (
	"encoding/json"
	"strings"
	"testing"

	"holdfast/actor/errs"
)

func TestParseErrors(t *testing.T) {
	for _, tt := range []struct{ doc, want string }{
		{`{"tools": {}}`, `unknown key "tools"; expected tool, bash, path, external_directory, network or unattended`},
		{"{\n\"bash\": {\n\"ls\": \"allow\",\n\"rm\": \"maybe\"}}", `line 4: bash "rm" must be "allow", "ask" or "deny", not "maybe"`},
		{`{"bash": {"ls": true}}`, `bash "ls" must be "allow", "ask" or "deny", not true`},
		{`{"bash": {"ls": {}}}`, `not an object or a list`},
		{`{"bash": []}`, `bash must be an object`},
		{`{"bash": {"ls": "allow", "ls": "deny"}}`, `pattern "ls" is there twice`},
		{`{"bash": {}, "bash": {}}`, `key "bash" is there twice`},
		{`{"bash": {" ": "allow"}}`, `a pattern is empty`},
		{`{"external_directory": "yes"}`, `external_directory must be`},
		{`{"network": null}`, `network must be`},
		{`{"unattended": "true"}`, `unattended must be true or false, not "true"`},
		{`[]`, `the policy must be an object`},
		{`{"bash": {}} {}`, `unexpected text after the policy`},
		{`{"bash": {`, `no valid JSON (line 1)`},
		{`{"BASH": {}}`, `unknown key "BASH"`},
		{strings.Repeat(" ", MaxDocument) + "{}", `longer than`},
	} {
		_, err := Parse([]byte(tt.doc))
		if err == nil || !strings.Contains(err.Error(), tt.want) || errs.CodeOf(err) != errs.Invalid {
			t.Errorf("%.60s: got %v, want %q", tt.doc, err, tt.want)
		}
	}
}

func TestAbsentPolicyIsTheShippedOne(t *testing.T) {
	for _, raw := range []string{"", " \n", "null"} {
		p, err := Parse([]byte(raw))
		if err != nil || p != Default() {
			t.Errorf("%q: %v", raw, err)
		}
	}
	if _, err := Parse(DefaultJSON()); err != nil {
		t.Error(err)
	}
}

func TestRuleLines(t *testing.T) {
	p := parse(t, "{\n  \"tool\": {\"bash\": \"ask\"},\n  \"bash\": {\n    \"git *\": \"allow\",\n    \"git push*\": \"ask\"\n  }\n}\n")
	if d := p.Judge(bash(t, "git push")); d.Rule != `bash "git push*" → ask (policy line 5)` {
		t.Error(d.Rule)
	}
	if d := parse(t, `{"bash": {"ls": "ask"}}`).Judge(bash(t, "ls")); d.Rule != `bash "ls" → ask` {
		t.Error(d.Rule)
	}
}

// TestOrderDoesNotMatter: the same rules in any order are the same policy.
func TestOrderDoesNotMatter(t *testing.T) {
	rules := []string{`"*": "allow"`, `"git *": "allow"`, `"git push*": "ask"`, `"git push": "deny"`, `"* push": "ask"`}
	want := ""
	for i := range rules {
		doc := `{"bash": {` + strings.Join(append(append([]string{}, rules[i:]...), rules[:i]...), ",") + `}}`
		got := ""
		for _, cmd := range []string{"git push", "git push x", "git status", "svn push", "ls"} {
			d := parse(t, doc).Judge(bash(t, cmd))
			got += d.Rule + "\n"
		}
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("order %d:\n%s\nwant\n%s", i, got, want)
		}
	}
}

func TestOffered(t *testing.T) {
	p := parse(t, `{"tool": {"*": "deny", "read": "allow", "deploy_*": "ask"}, "bash": {"git *": "allow"}}`)
	none := parse(t, `{"tool": {"*": "deny"}, "bash": {"rm *": "deny"}}`)
	all := parse(t, `{"tool": {"*": "allow"}}`)
	alone := parse(t, `{"tool": {"*": "ask", "read": "allow"}, "bash": {"git *": "ask"}, "unattended": true}`)
	for _, tt := range []struct {
		name string
		p    *Policy
		tool string
		want bool
	}{
		{"allowed", p, "read", true}, {"denied", p, "write", false}, {"bash by its rules", p, "bash", true}, {"custom by name", p, "deploy_x", true},
		{"bash without permissive rules", none, "bash", false}, {"unknown", all, "mcp_x", false}, {"known", all, "todo", true},
		{"nobody to ask", alone, "bash", false}, {"nobody to ask, allowed", alone, "read", true}, {"shipped", Default(), "bash", true}, {"shipped unknown", Default(), "x", false},
	} {
		if got := tt.p.Offered(tt.tool); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
	if d := all.Judge(Call{Tool: "mcp_x", Args: json.RawMessage(`{}`)}); d.Verdict != Deny {
		t.Errorf("an unknown tool: %s", d.Verdict)
	}
}

func TestUnattended(t *testing.T) {
	p := parse(t, `{"bash": {"ls": "allow"}, "unattended": true}`)
	if d := p.Judge(bash(t, "git push")); d.Verdict != Deny || !strings.Contains(d.Reason, "unattended") {
		t.Errorf("%+v", d)
	}
	if d := p.Judge(bash(t, "ls")); d.Verdict != Allow {
		t.Errorf("%+v", d)
	}
}

func TestPathTools(t *testing.T) {
	p := parse(t, `{"tool": {"*": "allow", "write": "ask"}, "path": {"*": "allow", "*.env": "deny", "*.env.example": "allow", "secrets": "deny", "gen/*": "deny", "gen/ok*": "allow", "~/.ssh/*": "deny"}}`)
	for _, tt := range []struct {
		tool, args string
		want       Verdict
	}{
		{"read", `{"path": "main.go"}`, Allow}, {"read", `{"path": "a/../main.go"}`, Allow}, {"read", `{"path": ".env"}`, Deny}, {"read", `{"path": "a/b/../prod.env"}`, Deny},
		{"read", `{"path": "A.ENV"}`, Deny}, {"read", `{"path": ".env.example"}`, Allow}, {"read", `{"path": "../x"}`, Ask}, {"read", `{"path": "a/../../x"}`, Ask},
		{"read", `{"path": "/etc/passwd"}`, Ask}, {"read", `{"path": "~/x"}`, Ask}, {"read", `{"path": "~/.ssh/id"}`, Deny}, {"read", `{"path": "~/a/../.ssh/id"}`, Deny}, {"read", `{"path": "~/.ssh"}`, Deny},
		{"read", `{"path": "secrets/a/b"}`, Deny}, {"read", `{"path": "x/secrets/a"}`, Deny}, {"read", `{"path": "gen/x"}`, Deny}, {"read", `{"path": "gen/ok.go"}`, Allow}, {"read", `{"path": "/dev/null"}`, Allow},
		{"write", `{"path": "main.go"}`, Ask}, {"write", `{"path": ".env"}`, Deny}, {"edit", `{"path": "main.go"}`, Allow}, {"grep", `{"pattern": "/etc"}`, Allow}, {"grep", `{"path": "/etc", "pattern": "x"}`, Ask},
		{"glob", `{"pattern": "../**"}`, Ask}, {"glob", `{"pattern": "/etc/*"}`, Allow}, {"glob", `{"pattern": "**/*.go"}`, Allow}, {"read", `{}`, Allow}, {"read", ``, Allow},
		{"read", `{"path": 1}`, Deny}, {"read", `{"Path": ".env"}`, Deny}, {"read", `{"path": "a", "PATH": ".env"}`, Deny}, {"read", `{"path": "a", "path": ".env"}`, Deny}, {"read", `[]`, Deny}, {"read", `{"path": "a"`, Deny},
		{"read", `{"path": "a\u0000b"}`, Deny}, {"patch", `{"diff": "--- a/x.go\n+++ b/prod.env\n"}`, Deny}, {"patch", `{"diff": "--- a/x.go\n+++ b/x.go\n"}`, Allow}, {"patch", `{"diff": "--- /dev/null\n+++ b/../x\n"}`, Ask},
		{"bash", `{"command": "ls", "Command": "rm x"}`, Deny}, {"bash", `{"command": "ls", "cwd": "/etc"}`, Ask}, {"bash", `{"command": "cat ../x", "cwd": "pkg"}`, Allow}, {"bash", `{"command": "cat ../../x", "cwd": "pkg"}`, Ask},
		{"bash", `{"command": "cat x", "cwd": "secrets"}`, Deny}, {"bash", `{"command": ["ls"]}`, Deny}, {"bash", `{}`, Deny},
	} {
		if d := p.Judge(Call{Tool: tt.tool, Args: json.RawMessage(tt.args)}); d.Verdict != tt.want {
			t.Errorf("%s %s: got %s by %s (%s), want %s", tt.tool, tt.args, d.Verdict, d.Rule, d.Reason, tt.want)
		}
	}
}

func TestGrants(t *testing.T) {
	for _, tt := range []struct {
		cmd  string
		want []Grant
	}{
		{"git push", []Grant{{"git-push", "origin"}}}, {"git push origin main", []Grant{{"git-push", "origin"}}}, {"git push -u upstream HEAD", []Grant{{"git-push", "upstream"}}},
		{"git -C a push --force fork x", []Grant{{"git-push", "fork"}}}, {"git push -o ci.skip up", []Grant{{"git-push", "up"}}}, {"git push --repo=up", []Grant{{"git-push", "up"}}},
		{"git push a && git push b", []Grant{{"git-push", "a"}, {"git-push", "b"}}}, {"git push; git push", []Grant{{"git-push", "origin"}}}, {"bash -c 'git push up'", []Grant{{"git-push", "up"}}},
		{`git push "$X"`, nil}, {"git status", nil}, {"echo git push", nil}, {"git push https://x/y.git", []Grant{{"git-push", "https://x/y.git"}}},
	} {
		d := Default().Judge(bash(t, tt.cmd))
		if len(d.Grants) != len(tt.want) {
			t.Errorf("%s: %v", tt.cmd, d.Grants)
			continue
		}
		for i := range tt.want {
			if d.Grants[i] != tt.want[i] {
				t.Errorf("%s: %v", tt.cmd, d.Grants)
			}
		}
	}
}

// TestExplain: the decision names what was found where.
func TestExplain(t *testing.T) {
	d := Default().Judge(bash(t, "cd sub && bash -c 'git push' > log.txt"))
	raw, err := json.Marshal(d.Commands)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Commands) != 3 || d.Commands[1].Text != "git push" || d.Commands[1].Via != "bash -c" || d.Commands[1].Verdict != Ask {
		t.Errorf("%s", raw)
	}
	if len(d.Paths) != 1 || d.Paths[0].Path != "log.txt" || !d.Paths[0].Write || d.Verdict != Ask || d.Reason == "" {
		t.Errorf("%+v", d)
	}
}
