package chat

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"holdfast/actor/model"
)

// schema compiles one schema of OpenAI's description, with its OpenAPI 3.0 habits made plain (see actor/model).
func schema(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	raw, err := os.ReadFile("../../actor/model/testdata/openai-chat.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:chat", loosen(doc)); err != nil {
		t.Fatal(err)
	}
	return c.MustCompile("mem:chat#/components/schemas/" + name)
}

func loosen(v any) any {
	switch o := v.(type) {
	case []any:
		for i := range o {
			o[i] = loosen(o[i])
		}
	case map[string]any:
		for k := range o {
			o[k] = loosen(o[k])
		}
		if list, ok := o["oneOf"]; ok {
			delete(o, "oneOf")
			o["anyOf"] = list
		}
		if o["nullable"] == true {
			delete(o, "nullable")
			return map[string]any{"anyOf": []any{o, map[string]any{"type": "null"}}}
		}
	}
	return v
}

func TestAnswersMatchTheDescription(t *testing.T) {
	a := Answer{Text: "Look.", Calls: []model.Call{call("c1", `{"path":"a"}`)}}
	_, body, err := serve(t, model.OpenAI, Request{Request: transcript(), Stream: true, Usage: true}, a)
	if err != nil {
		t.Fatal(err)
	}
	s, n := schema(t, "CreateChatCompletionStreamResponse"), 0
	for _, line := range strings.Split(string(body), "\n") {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		n++
		check(t, s, data)
	}
	if n < 5 {
		t.Errorf("only %d chunks in %s", n, body)
	}
	for _, a := range []Answer{a, {Text: "Hello"}} {
		_, body, err = serve(t, model.OpenAI, Request{Request: transcript()}, a)
		if err != nil {
			t.Fatal(err)
		}
		check(t, schema(t, "CreateChatCompletionResponse"), string(body))
	}
}

func check(t *testing.T, s *jsonschema.Schema, text string) {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(v); err != nil {
		t.Errorf("%s\n%v", text, err)
	}
}
