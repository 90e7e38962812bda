package model

import (
	"strings"
	"testing"
)

// BenchmarkDecode reads a long streamed answer: 4,000 chunks of a few characters, as providers send them.
func BenchmarkDecode(b *testing.B) {
	chunk := oDelta(`{"content":"some words"}`)
	openai := oDelta(`{"role":"assistant"}`) + strings.Repeat(chunk, 4000) + oEnd("stop")
	delta := events(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"some words"}}`)
	anthropic := events(aStart) + aText("0", "x") + strings.Repeat(delta, 4000) + events(aEnd("end_turn"), aStop)
	for format, body := range map[string]string{OpenAI: openai, Anthropic: anthropic} {
		b.Run(format, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				if _, f := Decode(format, 200, nil, []byte(body)); f != nil {
					b.Fatal(f)
				}
			}
		})
	}
}
