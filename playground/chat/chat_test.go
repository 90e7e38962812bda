package chat

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"holdfast/actor/model"
)

func call(id, args string) model.Call {
	return model.Call{ID: id, Name: "read", Args: json.RawMessage(args)}
}

func transcript() model.Request {
	return model.Request{
		Model: "m", System: "Be short.", MaxOutput: 100,
		Tools: []model.Tool{{Name: "read", Description: "Reads", Schema: json.RawMessage(`{"type":"object"}`)}},
		Messages: []model.Message{
			{Role: model.User, Text: "a?"},
			{Role: model.Assistant, Text: "Look.", Calls: []model.Call{call("c1", `{"path":"a"}`), call("c2", `{}`)}},
			{Role: model.ToolRole, Results: []model.Result{{CallID: "c1", Text: "A"}, {CallID: "c2", Text: "B"}}},
			{Role: model.User, Text: "b?"},
			{Role: model.User, Text: "[system] late news"},
		},
	}
}

var readers = map[string]func([]byte) (Request, error){model.Anthropic: ReadAnthropic, model.OpenAI: ReadOpenAI}

// What the encoder writes, the strict reader reads as the same request.
func TestReadWhatTheEncoderWrites(t *testing.T) {
	for format, read := range readers {
		w, err := model.Encode(format, transcript())
		if err != nil {
			t.Fatal(err)
		}
		got, err := read(w.Body)
		if err != nil {
			t.Fatalf("%s: %v\n%s", format, err, w.Body)
		}
		if !reflect.DeepEqual(got.Request, transcript()) || !got.Stream || !got.Usage {
			t.Errorf("%s:\n got %+v\nwant %+v", format, got.Request, transcript())
		}
		if text, n := got.Question(); text != "b?" || n != 0 {
			t.Errorf("question %q, %d answers", text, n)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	const user = `{"role":"user","content":"x"}`
	bad := map[string][]string{
		model.OpenAI: {
			``, `[]`, `{}`, `{"model":"m","messages":[]}`,
			`{"model":"m","messages":[` + user + `],"maxtokens":1}`,
			`{"model":"m","messages":[` + user + `]} x`,
			`{"model":"m","messages":[` + user + `],"max_tokens":1,"max_completion_tokens":1}`,
			`{"model":"m","messages":[` + user + `],"stream_options":{"include_usage":true}}`,
			`{"model":"m","messages":[{"role":"robot","content":"x"}]}`,
			`{"model":"m","messages":[` + user + `,{"role":"assistant"}]}`,
			`{"model":"m","messages":[` + user + `,{"role":"tool","tool_call_id":"c","content":"x"}]}`,
			`{"model":"m","messages":[` + user + `,{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"n","arguments":"{}"}}]},` + user + `]}`,
			`{"model":"m","messages":[` + user + `,{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"n","arguments":"{"}}]},{"role":"tool","tool_call_id":"c","content":"x"}]}`,
			`{"model":"m","messages":[` + user + `,{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"n","arguments":"{}"}}]}]}`,
			`{"model":"m","messages":[` + user + `],"tools":[{"type":"function","function":{"name":"a b"}}]}`,
			`{"model":"m","messages":[{"role":"user","content":[{"type":"image_url"}]}]}`,
		},
		model.Anthropic: {
			``, `{"model":"m","messages":[` + user + `]}`, `{"model":"m","max_tokens":1,"messages":[]}`,
			`{"model":"m","max_tokens":1,"messages":[` + user + `],"max_completion_tokens":1}`,
			`{"model":"m","max_tokens":1,"messages":[` + user + `,` + user + `]}`,
			`{"model":"m","max_tokens":1,"messages":[{"role":"assistant","content":"x"}]}`,
			`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":" "}]}]}`,
			`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":"x","colour":1}]}]}`,
			`{"model":"m","max_tokens":1,"messages":[` + user + `,{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"n","input":{}}]}]}`,
			`{"model":"m","max_tokens":1,"messages":[` + user + `,{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"n","input":{}}]},` + user + `]}`,
			`{"model":"m","max_tokens":1,"tools":[{"name":"n","input_schema":{"type":"object"}}],"messages":[` + user + `,{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"n","input":{}}]},{"role":"user","content":[{"type":"text","text":"x"},{"type":"tool_result","tool_use_id":"c","content":"x"}]}]}`,
			`{"model":"m","max_tokens":1,"messages":[` + user + `,{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"n","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"x"}]}]}`,
			`{"model":"m","max_tokens":1,"messages":[` + user + `,{"role":"assistant","content":[{"type":"thinking","thinking":"x"}]},` + user + `]}`,
			`{"model":"m","max_tokens":1,"tools":[{"name":"n","input_schema":{"type":"string"}}],"messages":[` + user + `]}`,
		},
	}
	for format, bodies := range bad {
		for _, b := range bodies {
			if _, err := readers[format]([]byte(b)); !errors.Is(err, ErrRequest) {
				t.Errorf("%s: %v for %s", format, err, b)
			}
		}
	}
}

// serve answers every request with a, and returns the raw answer to r.
func serve(t *testing.T, format string, r Request, a Answer) (*http.Response, []byte, error) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { Write(w, format, r, a) }))
	defer s.Close()
	resp, err := http.Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp, body, err
}

// What the server writes, the decoder reads as the same answer, streamed or not.
func TestWriteWhatTheDecoderReads(t *testing.T) {
	answers := []Answer{
		{Text: "Hello, wörld: " + strings.Repeat("many words ", 30)},
		{Text: "Look.", Calls: []model.Call{call("c1", `{"path":"a long path that is cut into pieces <&>"}`), call("c2", `{}`)}},
		{Calls: []model.Call{{ID: "c1", Name: "read", Broken: `{"pa`}}},
		{},
	}
	for _, format := range []string{model.Anthropic, model.OpenAI} {
		for _, a := range answers {
			for _, stream := range []bool{true, false} {
				_, body, err := serve(t, format, Request{Request: transcript(), Stream: stream, Usage: true}, a)
				if err != nil {
					t.Fatal(err)
				}
				got, f := model.Decode(format, 200, nil, body)
				if f != nil {
					t.Fatalf("%s: %v\n%s", format, f, body)
				}
				broken := len(a.Calls) > 0 && a.Calls[0].Broken != ""
				if broken != (len(got.Calls) > 0 && got.Calls[0].Broken != "") || got.Text != a.Text || !broken && !reflect.DeepEqual(got.Calls, a.Calls) {
					t.Errorf("%s, stream %v: got %+v\nwant %+v", format, stream, got, a)
				}
				if got.Usage.Input == 0 || got.Usage.Output == 0 {
					t.Errorf("%s, stream %v: usage %+v", format, stream, got.Usage)
				}
			}
		}
	}
}

func TestCutStreams(t *testing.T) {
	for _, format := range []string{model.Anthropic, model.OpenAI} {
		for _, a := range []Answer{{Text: "Hello", Cut: true}, {Cut: true}, {Calls: []model.Call{call("c", `{"path":"a long path that is cut into pieces"}`)}, Cut: true}} {
			_, body, err := serve(t, format, Request{Request: transcript(), Stream: true}, a)
			if err == nil {
				t.Errorf("%s: the connection did not break", format)
			}
			if got, f := model.Decode(format, 200, nil, body); f == nil || f.Kind != model.FailRetry {
				t.Errorf("%s: %+v, %v from %s", format, got, f, body)
			}
		}
	}
}

func TestFailIsWhatTheDecoderExpects(t *testing.T) {
	for status, kind := range map[int]string{401: model.FailAuth, 402: model.FailBilling, 413: model.FailOverflow, 429: model.FailRetry, 500: model.FailRetry, 529: model.FailRetry, 400: model.FailInvalid} {
		for _, format := range []string{model.Anthropic, model.OpenAI} {
			w := httptest.NewRecorder()
			Fail(w, format, status, "because")
			_, f := model.Decode(format, w.Code, nil, w.Body.Bytes())
			if f == nil || f.Kind != kind || !strings.Contains(f.Message, "because") {
				t.Errorf("%s, %d: %v", format, status, f)
			}
		}
	}
}
