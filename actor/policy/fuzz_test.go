package policy

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

// wraps are ways to hide or carry a command; each must contain exactly one %s.
var wraps = []string{
	"%s", "true && %s", "true; %s", "false || %s", "%s; true", "%s && true", "ls | %s", "%s | cat", "! %s", "%s &",
	"( %s )", "{ %s; }", "echo $( %s )", "echo \"$( %s )\"", "cat <( %s )", "ls > >( %s )", "if %s; then ls; fi",
	"if true; then %s; fi", "while %s; do break; done", "for i in 1; do %s; done", "case x in x) %s;; esac",
	"f() { %s; }; f", "f() { %s\n}; f", "X=1 %s", "X=$( %s )", "cat <<EOF\n$( %s )\nEOF", "echo $((1 + $( %s )))",
	"[[ -n $( %s ) ]]", "coproc %s", "time %s", "# comment\n%s", "\n\n%s\n", "cd sub && %s", "set -e; %s", "echo ${x:-$( %s )}",
	"nohup %s", "timeout 5 %s", "nice -n 5 %s", "setsid %s", "env A=b %s", "command %s", "exec %s", "stdbuf -oL %s", "busybox %s",
	"sudo %s", "sudo -u x %s", "xargs %s", "xargs -n1 %s", "find . -exec %s \\;", "anywrapper %s", "anywrapper -x %s",
}

// quotes are programs that carry a command as text.
var quotes = []string{"bash -c %s", "sh -c %s", "bash -lc %s", "bash -euo pipefail -c %s", "eval %s", "env bash -c %s", "trap %s EXIT", "nohup sh -c %s", "find . -exec sh -c %s \\;"}

const permissive = `{"tool": {"*": "allow"}, "bash": {"*": "allow", "rm *": "deny", "rm": "deny", "git push*": "deny", "touch secret": "deny"}, "path": {"*.env": "deny"}, "external_directory": "allow"}`

// notAllowed is the law: what is denied stays not allowed, however it is wrapped (spec 4.1).
func notAllowed(t *testing.T, p *Policy, denied string, steps []byte) {
	t.Helper()
	cmd := denied
	for i, b := range steps {
		if i == 6 {
			break
		}
		n := int(b) % (len(wraps) + len(quotes))
		if n < len(wraps) {
			cmd = fmt.Sprintf(wraps[n], cmd)
		} else if q, err := syntax.Quote(cmd, syntax.LangBash); err == nil {
			cmd = fmt.Sprintf(quotes[n-len(wraps)], q)
		}
	}
	if d := p.judge(bash(t, cmd)); d.Verdict == Allow {
		t.Errorf("%q is denied but %q is allowed by %s", denied, cmd, d.Rule)
	}
}

// TestWrappingNeverAllows tries every pair of wrappings of some denied commands, under a policy that allows all else.
func TestWrappingNeverAllows(t *testing.T) {
	for p, list := range map[*Policy][]string{
		parse(t, permissive): {"r''m x", "git -C a push", "cat prod.env", "/bin/rm x"},
		Default():            {"rm -rf x", "git push"},
	} {
		for _, denied := range list {
			if d := p.Judge(bash(t, denied)); d.Verdict == Allow {
				t.Fatalf("%q is allowed", denied)
			}
			for a := range len(wraps) + len(quotes) {
				for b := range len(wraps) + len(quotes) {
					notAllowed(t, p, denied, []byte{byte(a), byte(b)})
				}
			}
		}
	}
}

func FuzzWrapping(f *testing.F) {
	f.Add("rm x", []byte{1, 40, 7})
	f.Add("git push origin", []byte{55, 12})
	f.Add("cat prod.env", []byte{3, 3, 3})
	p := parse(f, permissive)
	f.Fuzz(func(t *testing.T, cmd string, steps []byte) {
		if d := p.judge(bash(t, cmd)); d.Verdict != Deny || d.Rule == "no command → deny" || strings.ContainsAny(cmd, "\\\n#") || !closed(cmd) {
			return // a text that ends in a comment or an open quote swallows what is around it
		}
		notAllowed(t, p, cmd, steps)
	})
}

// closed: the text is a program of one simple statement by itself, so that putting it inside another keeps it whole.
func closed(cmd string) bool {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(cmd), "")
	if err != nil || len(file.Stmts) != 1 || len(file.Stmts[0].Redirs) > 0 {
		return false
	}
	_, simple := file.Stmts[0].Cmd.(*syntax.CallExpr)
	return simple && !file.Stmts[0].Background && !file.Stmts[0].Negated
}

// FuzzJudge: no input panics, the answer is a verdict, is the same twice, and every simple command was looked at.
func FuzzJudge(f *testing.F) {
	for _, cmd := range []string{"ls", "a && b | c", "x=$((1+$(rm)))", "for i in {1..3}; do [[ $i -eq 2 ]]; done", "git -c a=b push", "sed 's/a/b/' f",
		"xargs -I{} sh -c '{}'", "find . -exec a {} + -delete", "cat <<E\n`x`\nE", "{a,b}{c,$d}", "timeout", "env -S", "bash -", "git -C", "$'\\x", "awk -F", "sed -e"} {
		f.Add(cmd, "")
	}
	f.Add("cat ../x", "a/b")
	p := parse(f, permissive)
	f.Fuzz(func(t *testing.T, cmd, dir string) {
		args, _ := json.Marshal(map[string]string{"command": cmd, "cwd": dir})
		for _, p := range []*Policy{p, Default()} {
			d := p.judge(Call{Tool: "bash", Args: args})
			again := p.judge(Call{Tool: "bash", Args: args})
			a, _ := json.Marshal(d)
			b, _ := json.Marshal(again)
			if string(a) != string(b) {
				t.Fatalf("two answers for %q: %s %s", cmd, a, b)
			}
			if d.Verdict != Allow && d.Verdict != Ask && d.Verdict != Deny || d.Rule == "" || d.Reason == "" {
				t.Fatalf("%q: %s", cmd, a)
			}
			everyCommandSeen(t, cmd, d)
		}
	})
}

// everyCommandSeen compares with the parser's own walk over the tree.
func everyCommandSeen(t *testing.T, cmd string, d Decision) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(cmd), "")
	if err != nil || tooMuch(cmd) != "" {
		return
	}
	n := 0
	syntax.Walk(file, func(node syntax.Node) bool {
		if c, ok := node.(*syntax.CallExpr); ok && len(c.Args) > 0 && len(expandWords(c.Args)) > 0 {
			n++
		}
		return true
	})
	if n > len(d.Commands) && len(d.Commands) < maxCommands {
		t.Errorf("%q holds %d commands, judged were %d: %+v", cmd, n, len(d.Commands), d.Commands)
	}
}

// TestUnquotingAgainstBash: bash itself says what the words of a command are.
func TestUnquotingAgainstBash(t *testing.T) {
	path, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash on this machine")
	}
	for _, src := range []string{
		`r""m`, `r\m`, `$'\x72m'`, `$'\162m'`, `$'a\x00b'c`, `$'a\0b'`, `$'\u0072\U00000073'`, `$'\cA'`, `$'\q\'\"\?'`, `$'\e[0m'`,
		`"a\"b\$c\d\\e"`, `'a\b'`, `a\ b`, `"a` + "\\\n" + `b"`, `{a,b}c`, `{a,{b,c}d}`, `x{,y}`, `{a}`, `{a,b`, `"{a,b}"`, `\{a,b}`, `a{b,"c d"}e`,
		`$'\x'`, `$'\400'`, `$'\u20ac'`, `""`, `a""`, `-e\xec`, `--f"i"le=x`, `$'\1234'`, `$'\xgg'`, `'$x'`, `\$x`, `"\$x"`, `\"`, `"'"`,
	} {
		out, err := exec.Command(path, "-c", "printf '%s\\0' "+src).Output()
		if err != nil {
			t.Fatalf("%s: %v", src, err)
		}
		want := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader("x "+src), "")
		if err != nil {
			t.Fatal(err)
		}
		got := texts(expandWords(file.Stmts[0].Cmd.(*syntax.CallExpr).Args))[1:]
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Errorf("%s: got %q, bash says %q", src, got, want)
		}
	}
}
