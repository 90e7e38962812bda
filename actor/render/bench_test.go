package render

import (
	"strings"
	"testing"
)

func BenchmarkAnswer(b *testing.B) {
	f := Final{Text: strings.Repeat("Some words of an answer, with `code` in it.\n", 400), Tools: 3, Conversation: 1}
	for b.Loop() {
		Answer(f)
	}
}

func BenchmarkApprovalCard(b *testing.B) {
	a := openCard
	a.Command = strings.Repeat("echo some text; ", 400)
	for b.Loop() {
		ApprovalCard(a)
	}
}

func BenchmarkRunCard(b *testing.B) {
	r := Run{Job: "7a4", Phase: "thinking"}
	for range 40 {
		r.Steps = append(r.Steps, Step{Tool: "bash", Detail: strings.Repeat("go test ./... ", 10), State: StepOK, Millis: 1200})
	}
	for b.Loop() {
		RunCard(r)
	}
}
