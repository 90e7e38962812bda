package model

import (
	"reflect"
	"strings"
	"testing"
)

// same decodes a body with and without patterns. They must not be told apart.
func same(t *testing.T, format string, body []byte) {
	t.Helper()
	quick, full := NewDecoder(format), NewDecoder(format)
	full.full = true
	quick.Write(body)
	full.Write(body)
	a, f := quick.Finish(200, nil)
	b, g := full.Finish(200, nil)
	if !reflect.DeepEqual(a, b) || !reflect.DeepEqual(f, g) {
		t.Fatalf("%s: with patterns %+v %v\nin full %+v %v\nof %q", format, a, f, b, g, body)
	}
}

// Events of one shape with strings that need care, and other events between them.
func TestPatternsChangeNothing(t *testing.T) {
	strs := []string{`a`, ``, `\"`, `\n\u00fc`, `ü`, `\ud83d\ude00`, `\ud83d`, "\xff", "\x01", `"`, `\`, `x","content":"y`, `}`}
	shapes := map[string][]string{
		OpenAI: {`{"choices":[{"delta":{"content":"%"}}]}`, `{"choices":[{"delta":{"content": "%"},"finish_reason":null}],"usage":null}`, `{"choices":[{"delta":{"reasoning_content":"%","content":null}}]}`,
			`{"choices":[{"delta":{"reasoning":"%"}}]}`, `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"%"}}]}}]}`, `{"choices":[{"delta":{"content":"%","Content":"a"}}]}`,
			`{"choices":[{"delta":{"content":"%"},"finish_reason":"stop"}]}`, `{"choices":[{"delta":{"content":"%","reasoning":"a"}}]}`, `{"choices":[{"index":1,"delta":{"content":"%"}}]}`, `{"choices":[{"delta":{"refusal":"%"}}]}`, `{"error":{"message":"%"}}`},
		Anthropic: {`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"%"}}`, `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"%"}}`,
			`{"type":"content_block_delta","index":2,"delta":{"type":"thinking_delta","thinking":"%"}}`, `{"type":"content_block_delta","index":2,"delta":{"type":"signature_delta","signature":"%","thinking":"a"}}`, `{"type":"news","text":"%"}`},
	}
	start := events(`{"type":"content_block_start","index":0,"content_block":{"type":"text"}}`, `{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"n"}}`, `{"type":"content_block_start","index":2,"content_block":{"type":"thinking","thinking":""}}`)
	for format, list := range shapes {
		end := events(aEnd("end_turn"), aStop)
		if format == OpenAI {
			start, end = "", oEnd("stop")
		}
		for _, one := range list {
			for _, two := range list {
				for _, s := range strs {
					fill := func(shape, s string) string { return strings.ReplaceAll(shape, "%", s) }
					body := start + events(fill(one, "a"), fill(one, s), fill(one, "b"), fill(two, "a"), fill(two, s), fill(one, s), fill(one, s)) + end
					same(t, format, []byte(body))
				}
			}
		}
	}
}

func TestPatternsAreUsed(t *testing.T) {
	for format, event := range map[string]string{
		OpenAI:    `{"choices":[{"delta":{"content":"%"}}]}`,
		Anthropic: `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"%"}}`,
	} {
		d := NewDecoder(format)
		if format == Anthropic {
			d.Write([]byte(events(`{"type":"content_block_start","index":0,"content_block":{"type":"text"}}`)))
		}
		d.Write([]byte(events(strings.ReplaceAll(event, "%", "o"), strings.ReplaceAll(event, "%", "ne "))))
		if !d.last.take(&d.s.Got, []byte(strings.ReplaceAll(event, "%", "two"))) {
			t.Errorf("%s: the third event is decoded in full", format)
		}
		if got := d.s.Got.text(); got != "one two" {
			t.Errorf("%s: %q", format, got)
		}
	}
}
