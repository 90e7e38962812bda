package rig

import (
	"os"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	s, err := Parse("F08_x.txtar", []byte(`# F08 a tool dies
hosts: linked workerd
patience: 90s
-- steps --
# nothing
as maya: ask "say \"hi\""

on linked, workerd: advance 16m
on workerd: expect tool bash ran 1
kill edge after commit decision
model: !tool bash {"command": "echo bash >> ran"}
race: as maya: press approve | as sam: press deny because "no: never"
-- policy.json --
{}
-- project/a/b.txt --
text
`))
	if err != nil {
		t.Fatal(err)
	}
	if s.Name != "F08_x" || s.Row != "F08" || s.Title != "F08 a tool dies" || s.Patience != 90*time.Second || s.For(Selfhosted) || !s.For(Workerd) {
		t.Errorf("header: %+v", s)
	}
	want := []struct {
		line    int
		pattern string
		args    string
		linked  bool
	}{
		{2, "as USER: ask TEXT", `maya|say "hi"`, true},
		{4, "advance DURATION", "16m", true},
		{5, "expect tool TOOL ran N", "bash|1", false},
		{6, "kill edge WHEN WHAT POINT", "after|commit|decision", true},
		{7, "model: REST", `!tool bash {"command": "echo bash >> ran"}`, true},
		{8, "race: REST", `as maya: press approve | as sam: press deny because "no: never"`, true},
	}
	if len(s.Steps) != len(want) {
		t.Fatalf("%d steps, want %d", len(s.Steps), len(want))
	}
	for i, w := range want {
		got := s.Steps[i]
		if got.Line != w.line || got.form.pattern != w.pattern || strings.Join(got.args, "|") != w.args || got.For(Linked) != w.linked {
			t.Errorf("step %d: line %d %s %q, for linked %v", i, got.Line, got.form.pattern, got.args, got.For(Linked))
		}
	}
	if s.Files["policy.json"] != "{}\n" || s.Files["project/a/b.txt"] != "text\n" {
		t.Errorf("files: %q", s.Files)
	}
}

func TestParseTellsEveryMistake(t *testing.T) {
	cases := []struct{ name, file, say string }{
		{"no header", "-- steps --\nstart edge\n", "header"},
		{"no steps", "# x\n", "no steps"},
		{"empty steps", "# x\n-- steps --\n\n# nothing\n", "no steps"},
		{"unknown step", "# x\n-- steps --\nfly\n", `steps:1: "fly" is no step`},
		{"second mistake too", "# x\n-- steps --\nfly\nswim\n", `steps:2: "swim"`},
		{"unknown user", "# x\n-- steps --\nas bob: ask \"x\"\n", `"bob", expected one of maya`},
		{"unknown point", "# x\n-- steps --\nkill edge before commit lunch\n", `"lunch"`},
		{"no number", "# x\n-- steps --\nexpect messages many\n", `"many", expected a number`},
		{"no duration", "# x\n-- steps --\nadvance 16\n", `"16", expected a duration`},
		{"open quote", "# x\n-- steps --\nas maya: ask \"x\n", "not closed"},
		{"text without quotes", "# x\n-- steps --\nas maya: ask x\n", "is no step"},
		{"unknown host", "# x\nhosts: moon\n-- steps --\nstart edge\n", `host "moon"`},
		{"unknown host of a step", "# x\n-- steps --\non moon: start edge\n", `host "moon"`},
		{"unknown key", "# x\nhots: linked\n-- steps --\nstart edge\n", "hots"},
		{"patience", "# x\npatience: long\n-- steps --\nstart edge\n", "patience"},
		{"fault", "# x\n-- steps --\ndiscord: 200 next 1\n", `"200"`},
		{"race of machines", "# x\n-- steps --\nrace: kill edge | start edge\n", "between people"},
		{"stray file", "# x\n-- steps --\nstart edge\n-- polcy.json --\n{}\n", "polcy.json"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Parse("x.txtar", []byte(c.file)); err == nil || !strings.Contains(err.Error(), c.say) {
				t.Errorf("error %v, want one that says %q", err, c.say)
			}
		})
	}
}

func TestParseFault(t *testing.T) {
	cases := []struct {
		text string
		ok   bool
	}{
		{"429 next 3", true}, {"429 next 3 bare global retry 0.5", true}, {"500 next 1 after POST /channels/*/messages", true},
		{"404 next 9 code 10015 PATCH /webhooks/*/*/messages/@original", true}, {"cut next 2", true}, {"delay 300 next 1", true},
		{"drop event 1", true}, {"duplicate event 2", true}, {"clear", true},
		{"", false}, {"429", false}, {"429 next", false}, {"429 next x", false}, {"429 next 0", false}, {"302 next 1", false},
		{"drop 1", false}, {"delay next 1", false}, {"429 next 1 soon", false}, {"429 next 1 retry", false}, {"429 next 1 retry x", false},
	}
	for _, c := range cases {
		if _, _, err := parseFault(c.text); (err == nil) != c.ok {
			t.Errorf("%q: error %v", c.text, err)
		}
	}
}

// The whole language is in the package's documentation, and nothing else is.
func TestLanguageIsDocumented(t *testing.T) {
	raw, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for line := range strings.Lines(string(raw)) {
		if text, ok := strings.CutPrefix(line, "//\t"); ok {
			pattern, _, _ := strings.Cut(strings.TrimSpace(text), "  ")
			documented[pattern] = true
		}
	}
	known := map[string]bool{}
	for _, f := range forms {
		known[f.pattern] = true
		if !documented[f.pattern] {
			t.Errorf("doc.go does not show %q", f.pattern)
		}
	}
	for pattern := range documented {
		first, _, _ := strings.Cut(pattern, " ")
		switch first {
		case "as", "kill", "wait", "start", "stall", "expect", "delete", "lock", "archive", "advance", "race:", "model:", "discord:":
			if !known[pattern] {
				t.Errorf("doc.go shows %q, which is no step", pattern)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	files, err := os.ReadDir("testdata")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		if raw, err := os.ReadFile("testdata/" + file.Name()); err == nil && strings.HasSuffix(file.Name(), ".txtar") {
			f.Add(raw)
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := Parse("fuzz.txtar", raw)
		if err != nil {
			return
		}
		for _, step := range s.Steps {
			again, err := parseStep(step.Text)
			if err != nil || again.form != step.form || strings.Join(again.args, "\x00") != strings.Join(step.args, "\x00") {
				t.Errorf("%q is read differently the second time: %v", step.Text, err)
			}
		}
	})
}
