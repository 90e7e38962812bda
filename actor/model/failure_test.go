package model

import (
	"strings"
	"testing"
)

func TestDecodeFailures(t *testing.T) {
	aErr := func(kind, message string) string {
		return `{"type":"error","error":{"type":"` + kind + `","message":"` + message + `"},"request_id":"req_1"}`
	}
	oErr := func(kind, code, message string) string {
		return `{"error":{"message":"` + message + `","type":"` + kind + `","param":null,"code":` + code + `}}`
	}
	cases := []struct {
		name, format string
		status       int
		headers      map[string]string
		body         string
		kind         string
		after        int64
		says         string // part of the message
	}{
		{"overloaded", Anthropic, 529, nil, aErr("overloaded_error", "Overloaded"), FailRetry, 0, "overloaded"},
		{"rate limit, seconds", Anthropic, 429, map[string]string{"retry-after": "7"}, aErr("rate_limit_error", "slow down"), FailRetry, 7000, "slow down"},
		{"rate limit, ms before s", OpenAI, 429, map[string]string{"Retry-After-Ms": "250", "Retry-After": "9"}, oErr("requests", `"rate_limit_exceeded"`, "slow"), FailRetry, 250, ""},
		{"rate limit, date", OpenAI, 429, map[string]string{"retry-after": "Fri, 28 Nov 2025 10:00:30 GMT", "date": "Fri, 28 Nov 2025 10:00:00 GMT"}, "", FailRetry, 30000, ""},
		{"rate limit, date without a Date", OpenAI, 429, map[string]string{"retry-after": "Fri, 28 Nov 2025 10:00:30 GMT"}, "", FailRetry, 0, ""},
		{"rate limit, absurd", OpenAI, 429, map[string]string{"retry-after": "1e300"}, "", FailRetry, 86400000, ""},
		{"rate limit, nonsense", OpenAI, 429, map[string]string{"retry-after": "-5"}, "", FailRetry, 0, ""},
		{"x-should-retry false", OpenAI, 429, map[string]string{"X-Should-Retry": "false"}, "", FailBilling, 0, "not to try again"},
		{"x-should-retry false", OpenAI, 500, map[string]string{"x-should-retry": "false"}, "", FailInvalid, 0, "not to try again"},
		{"x-should-retry true", OpenAI, 400, map[string]string{"x-should-retry": "true"}, "", FailRetry, 0, ""},
		{"request timeout", OpenAI, 408, nil, "", FailRetry, 0, ""},
		{"conflict", OpenAI, 409, nil, "", FailRetry, 0, ""},
		{"HTML from a proxy", OpenAI, 502, nil, "<html><h1>Bad Gateway</h1></html>", FailRetry, 0, "failed on its side."},
		{"text from a proxy", OpenAI, 503, nil, "upstream connect error", FailRetry, 0, "upstream connect error"},
		{"no status", OpenAI, 0, nil, "", FailRetry, 0, "did not answer"},
		{"redirect", OpenAI, 302, nil, "", FailInvalid, 0, ""},

		{"wrong key", Anthropic, 401, nil, aErr("authentication_error", "invalid x-api-key"), FailAuth, 0, "valid key"},
		{"wrong key, quoted", OpenAI, 401, nil, oErr("invalid_request_error", `"invalid_api_key"`, "Incorrect API key provided: sk-proj-abcdef0123456789. You can find"), FailAuth, 0, "[hidden]"},
		{"not allowed", Anthropic, 403, nil, aErr("permission_error", "no access"), FailAuth, 0, "no access"},
		{"no credit", Anthropic, 400, nil, aErr("invalid_request_error", "Your credit balance is too low to access the Anthropic API."), FailBilling, 0, "billing"},
		{"quota", OpenAI, 429, map[string]string{"retry-after": "1"}, oErr("insufficient_quota", `"insufficient_quota"`, "You exceeded your current quota"), FailBilling, 0, "credit or quota"},
		{"no balance", OpenAI, 402, nil, oErr("unknown_error", "null", "Insufficient Balance"), FailBilling, 0, ""},
		{"overflow", Anthropic, 400, nil, aErr("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"), FailOverflow, 0, "longer than"},
		{"overflow with the output", Anthropic, 400, nil, aErr("invalid_request_error", "input length and max_tokens exceed context limit: 1"), FailOverflow, 0, ""},
		{"body too large", Anthropic, 413, nil, aErr("request_too_large", "x"), FailOverflow, 0, ""},
		{"overflow", OpenAI, 400, nil, oErr("invalid_request_error", `"context_length_exceeded"`, "This model's maximum context length is 8192 tokens."), FailOverflow, 0, ""},
		{"overflow of llama.cpp", OpenAI, 400, nil, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`, FailOverflow, 0, ""},
		{"content policy", OpenAI, 400, nil, oErr("invalid_request_error", `"content_filter"`, "filtered"), FailRefused, 0, "other words"},
		{"content policy", Anthropic, 400, nil, aErr("invalid_request_error", "Output blocked by content filtering policy"), FailRefused, 0, ""},
		{"moderation of OpenRouter", OpenAI, 403, nil, `{"error":{"code":403,"message":"Your input was flagged"}}`, FailRefused, 0, ""},
		{"unknown model", OpenAI, 404, nil, oErr("invalid_request_error", `"model_not_found"`, "The model x does not exist"), FailInvalid, 0, "does not know this model"},
		{"unknown model of Ollama", OpenAI, 404, nil, `{"error":"model 'x' not found"}`, FailInvalid, 0, "model 'x' not found"},
		{"bad request", OpenAI, 400, nil, `{"detail":"nope"}`, FailInvalid, 0, "nope"},
		{"Workers AI", OpenAI, 400, nil, `{"success":false,"errors":[{"code":5007,"message":"No such model"}]}`, FailInvalid, 0, "No such model"},

		{"overloaded in the stream", Anthropic, 200, nil, events(aStart) + aText("0", "x") + "event: error\n" + events(aErr("overloaded_error", "Overloaded")), FailRetry, 0, "overloaded"},
		{"overflow in the stream", Anthropic, 200, nil, events(aErr("invalid_request_error", "prompt is too long")), FailOverflow, 0, ""},
		{"wrong request in the stream", Anthropic, 200, nil, events(aErr("invalid_request_error", "bad schema")), FailInvalid, 0, "bad schema"},
		{"unknown error in the stream", OpenAI, 200, nil, oDelta(`{"content":"x"}`) + events(`{"error":{"message":"Provider disconnected","code":502}}`), FailRetry, 0, "Provider disconnected"},
		{"auth in the stream", OpenAI, 200, nil, events(`{"error":{"message":"no","code":401}}`), FailAuth, 0, ""},
		{"error as plain answer", OpenAI, 200, nil, `{"error":{"message":"busy","type":"server_error"}}`, FailRetry, 0, "busy"},
		{"refusal", Anthropic, 200, nil, events(aStart) + aText("0", "I ") + events(aEnd("refusal"), aStop), FailRefused, 0, "declined"},
		{"refusal", OpenAI, 200, nil, oDelta(`{"refusal":"I can't "}`) + oDelta(`{"refusal":"help"}`) + oEnd("stop"), FailRefused, 0, "I can't help"},
		{"filter", OpenAI, 200, nil, oDelta(`{"content":"I "}`) + oEnd("content_filter"), FailRefused, 0, "content filter"},
		{"error as finish reason", OpenAI, 200, nil, oDelta(`{"content":"I "}`) + oEnd("error"), FailRetry, 0, ""},
		{"all output was thought", OpenAI, 200, nil, oDelta(`{"reasoning_content":"hm"}`) + oEnd("length"), FailLimit, 0, "max_output"},
		{"window full", Anthropic, 200, nil, events(aStart) + aTool("0", "t", "bash", `{"com`) + events(aEnd("model_context_window_exceeded"), aStop), FailOverflow, 0, ""},
		{"no stop reason", Anthropic, 200, nil, events(aStart) + aText("0", "x") + events(aStop), FailRetry, 0, "cut off"},
		{"no finish reason", OpenAI, 200, nil, oDelta(`{"content":"I "}`) + events(oDone), FailRetry, 0, "cut off"},
		{"nothing", OpenAI, 200, nil, "", FailRetry, 0, "cut off"},
		{"garbled", OpenAI, 200, nil, events(`{"choices":[{"delta":`) + oEnd("stop"), FailRetry, 0, "garbled"},
		{"garbled", Anthropic, 200, nil, events(aStart, `{"type":"content_block_delta","index":"no"}`), FailRetry, 0, "garbled"},
		{"a delta of no block", Anthropic, 200, nil, events(aStart, `{"type":"content_block_delta","index":3,"delta":{"type":"text_delta","text":"x"}}`), FailRetry, 0, "garbled"},
		{"a web page", OpenAI, 200, nil, "<!doctype html><title>Sign in</title>", FailRetry, 0, "no model answer"},
		{"another JSON", OpenAI, 200, nil, `{"hello":"world"}`, FailRetry, 0, "no model answer"},
		{"too many calls", OpenAI, 200, nil, strings.Repeat(oDelta(`{"tool_calls":[{"id":"a","function":{"name":"x"}},{"id":"b","function":{"name":"x"}}]}`), 40) + oEnd("tool_calls"), FailInvalid, 0, "too many tools"},
		{"unknown format", "x", 200, nil, "", FailInvalid, 0, "unknown format"},
	}
	for _, c := range cases {
		t.Run(c.format+" "+c.name, func(t *testing.T) {
			a, f := Decode(c.format, c.status, c.headers, []byte(c.body))
			if f == nil {
				t.Fatalf("no failure but %+v", a)
			}
			if f.Kind != c.kind || f.RetryAfter != c.after || !strings.Contains(f.Message, c.says) {
				t.Errorf("got %s, %d ms, %q\nwant %s, %d ms, …%s…", f.Kind, f.RetryAfter, f.Message, c.kind, c.after, c.says)
			}
			if len(f.Message) > 600 || strings.ContainsAny(f.Message, "\n\r\x00") || f.Message == "" {
				t.Errorf("not fit for people: %q", f.Message)
			}
			if a.Text != "" || a.Calls != nil {
				t.Errorf("a failure with an answer: %+v", a)
			}
		})
	}
}

func TestFailureKeepsUsage(t *testing.T) {
	_, f := Decode(Anthropic, 200, nil, []byte(events(aStart)+aText("0", "I ")+events(aEnd("refusal"), aStop)))
	if f == nil || f.Usage.Input != 115 || f.Usage.Output != 20 {
		t.Errorf("usage of a refusal: %+v", f)
	}
}

func TestForPeople(t *testing.T) {
	hidden := []string{"sk-ant-api03-abc", "key:sk-abcdefgh", "(sk-proj-1234***wxyz)", "AIzaSyA1234567", "0123456789abcdef01234567", "Bearer=hf_abcdefgh", "hf1.operator.x"}
	for _, w := range hidden {
		if got := forPeople("the key " + w + " is wrong"); got != "the key [hidden] is wrong" {
			t.Errorf("%s: %s", w, got)
		}
	}
	shown := []string{"claude-sonnet-4-5-20250929", "risk-averse", "meta-llama/Llama-3.3-70B-Instruct-Turbo", "200000", "context_length_exceeded", "supercalifragilisticexpialidocious"}
	for _, w := range shown {
		if got := forPeople("see " + w); got != "see "+w {
			t.Errorf("%s: %s", w, got)
		}
	}
	if got := forPeople("a\n\tb\x00\xffc " + strings.Repeat("x ", 500)); len(got) > maxSaid || strings.ContainsAny(got, "\n\t\x00") {
		t.Errorf("%q", got)
	}
}
