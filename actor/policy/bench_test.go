package policy

import "testing"

func BenchmarkJudge(b *testing.B) {
	c := bash(b, "cd pkg && go test ./... 2>&1 | tail -20")
	for b.Loop() {
		Default().Judge(c)
	}
}

func BenchmarkParse(b *testing.B) {
	raw := DefaultJSON()
	for b.Loop() {
		if _, err := Parse(raw); err != nil {
			b.Fatal(err)
		}
	}
}
