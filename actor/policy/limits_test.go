package policy

import (
	"strings"
	"testing"
	"time"
)

// TestTooMuch: programs made to exhaust the judge ask, quickly.
func TestTooMuch(t *testing.T) {
	r := strings.Repeat
	for name, cmd := range map[string]string{
		"long": "echo " + r("a", maxProgram), "parens": r("( ", 2000) + "ls" + r(" )", 2000), "substitutions": r("$(", 2000) + "ls" + r(")", 2000),
		"quoted": "echo " + r(`"$(echo `, 2000) + "x" + r(`)"`, 2000), "conditions": r("if ls; then ", 1000) + "ls" + r("; fi", 1000),
		"negations": "[[ " + r("! ", 5000) + "x ]]", "unary": "echo $((" + r("- ", 5000) + "1))", "ternary": "echo $((" + r("1?1:", 9000) + "1))",
		"defaults": "echo " + r("${x:-", 5000) + r("}", 5000), "lists": r("ls && ", 5000) + "ls", "pipes": r("ls | ", 5000) + "ls",
		"braces": "echo " + r("{a,", 9000) + r("}", 9000), "times": r("time ", 5000) + "ls", "wrappers": r("nohup ", 900) + "ls",
		"words": "ls " + r("a ", 20000), "control": "ls\x01", "carriage return": "ls\r\nrm x", "nul": "ls\x00",
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			args := []byte(`{"command":` + quoted(cmd) + `}`)
			if d := Default().Judge(Call{Tool: "bash", Args: args}); d.Verdict != Ask {
				t.Errorf("%s: %s", d.Verdict, d.Reason)
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

// quoted is a JSON string that keeps bytes which are no UTF-8.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\x00", `\u0000`, "\x01", `\u0001`).Replace(s) + `"`
}
