package model

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// chatSchema compiles one schema of OpenAI's description. Two things in it are not JSON Schema 2020-12 as meant:
// nullable is from OpenAPI 3.0, and its oneOf lists overlap.
func chatSchema(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	raw, err := os.ReadFile("testdata/openai-chat.json")
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
	s, err := c.Compile("mem:chat#/components/schemas/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return s
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

func validate(s *jsonschema.Schema, body []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	return s.Validate(v)
}

func TestOpenAIRequestsMatchTheDescription(t *testing.T) {
	s := chatSchema(t, "CreateChatCompletionRequest")
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range 500 {
		r := conversation()
		if i > 0 {
			r = randomRequest(rng)
		}
		body := encode(t, OpenAI, r)
		if err := validate(s, []byte(body)); err != nil {
			t.Fatalf("%s\n%#v", body, err)
		}
	}
}

// The oracle must be able to say no.
func TestTheDescriptionRefusesWrongRequests(t *testing.T) {
	s := chatSchema(t, "CreateChatCompletionRequest")
	for _, body := range []string{
		`{"messages":[{"role":"user","content":"x"}]}`,
		`{"model":"m","messages":[]}`,
		`{"model":"m","messages":[{"role":"tool","content":"x"}]}`,
		`{"model":"m","messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"n","arguments":{}}}]}]}`,
		`{"model":"m","messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"parameters":{}}}]}`,
		`{"model":"m","messages":[{"role":"user","content":"x"}],"max_tokens":"many"}`,
	} {
		if !json.Valid([]byte(body)) {
			t.Fatalf("bad case %s", body)
		}
		if validate(s, []byte(body)) == nil {
			t.Errorf("accepted %s", body)
		}
	}
}
