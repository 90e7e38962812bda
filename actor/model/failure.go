package model

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// What a person can do about a failure, without the full stop: what the provider said may follow.
const (
	overflowText = "The conversation is longer than this model can read"
	authText     = "The provider did not accept the key of this model; an operator must set a valid key that may use it"
	billingText  = "The provider refuses for lack of credit or quota; an operator must check the account's billing and limits"
	unknownModel = "The provider does not know this model; an operator must correct its name or choose another"
	busyText     = "The provider is overloaded or limits the rate of requests"
	brokenText   = "The provider failed on its side"
)

// httpFailure classifies an answer whose status is not 2xx. The retry rules are those of the official SDKs: the header
// x-should-retry, else 408, 409, 429 and from 500 on.
func httpFailure(status int, headers map[string]string, head []byte) *Failure {
	if status == 0 {
		return &Failure{Kind: FailRetry, Message: "The provider did not answer."}
	}
	e := explain(head)
	kind, text := classify(status, e)
	switch header(headers, "x-should-retry") {
	case "true":
		if kind != FailOverflow {
			kind = FailRetry
		}
	case "false":
		if kind == FailRetry {
			kind, text = FailInvalid, text+" and asks not to try again"
			if status == 429 {
				kind = FailBilling
			}
		}
	}
	f := &Failure{Kind: kind, Message: text + said(e) + "."}
	if kind == FailRetry {
		f.RetryAfter = retryAfter(headers)
	}
	return f
}

// streamFailure classifies an error that came inside a stream, after a good status. What is not known to be final is
// worth another try: the request itself was accepted.
func streamFailure(data []byte) *Failure {
	e := explain(data)
	kind, text := classify(e.status(), e)
	if kind == FailInvalid && e.status() == 0 && !e.is("invalid_request", "bad_request") {
		kind, text = FailRetry, brokenText
	}
	return &Failure{Kind: kind, Message: text + said(e) + "."}
}

// bodyFailure is the failure that a plain answer with a good status tells of, nil when it tells of none.
func bodyFailure(body []byte) *Failure {
	var o struct {
		Type   string          `json:"type"`
		Error  json.RawMessage `json:"error"`
		Errors []any           `json:"errors"`
	}
	if json.Unmarshal(body, &o) != nil {
		return nil
	}
	if o.Type == "error" || len(o.Errors) > 0 || len(o.Error) > 0 && string(o.Error) != "null" {
		return streamFailure(body)
	}
	return nil
}

// explained is an error body, whatever its shape.
type explained struct {
	kind    string // the provider's type and code, in lower case
	message string
}

// is says whether one of the words is part of the provider's type or code.
func (e explained) is(words ...string) bool { return hasAny(e.kind, words) }

// says is the same for type, code and message, in any case.
func (e explained) says(words ...string) bool {
	return hasAny(e.kind, words) || hasAny(strings.ToLower(e.message), words)
}

func hasAny(s string, words []string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

// status is the HTTP status that an error inside a stream stands for, 0 when it names none.
func (e explained) status() int {
	for _, word := range strings.Fields(e.kind) {
		if n, err := strconv.Atoi(word); err == nil && n >= 400 && n < 600 {
			return n
		}
	}
	switch {
	case e.is("overloaded"):
		return 529
	case e.is("rate_limit", "too_many_requests"):
		return 429
	case e.is("timeout"):
		return 504
	case e.is("api_error", "server_error", "internal"):
		return 500
	}
	return 0
}

// explain reads {"error":{"type","code","message"}} (both formats), {"error":"…"}, {"message"}, {"detail"} and
// Cloudflare's {"errors":[{"code","message"}]}; anything else is taken as text, unless it is a page of HTML.
func explain(body []byte) explained {
	text := strings.TrimSpace(string(body))
	if rest, ok := strings.CutPrefix(text, "data:"); ok {
		text = strings.TrimSpace(rest)
	}
	var o map[string]json.RawMessage
	if json.NewDecoder(strings.NewReader(text)).Decode(&o) != nil {
		if strings.HasPrefix(text, "<") {
			text = ""
		}
		return explained{message: text}
	}
	for _, name := range []string{"error", "errors"} {
		raw := o[name]
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) == nil && len(list) > 0 {
			raw = list[0]
		}
		var inner map[string]json.RawMessage
		if json.Unmarshal(raw, &inner) == nil && inner != nil {
			return explainObject(inner)
		}
		if s := jsonString(raw); s != "" {
			return explained{message: s, kind: scalar(o["code"])}
		}
	}
	return explainObject(o)
}

func explainObject(o map[string]json.RawMessage) explained {
	e := explained{kind: strings.ToLower(strings.TrimSpace(scalar(o["type"]) + " " + scalar(o["code"]) + " " + scalar(o["status"])))}
	for _, name := range []string{"message", "detail", "msg"} {
		if s := jsonString(o[name]); s != "" {
			e.message = s
			break
		}
	}
	return e
}

// scalar is a JSON string or number as text, "" for anything else.
func scalar(raw json.RawMessage) string {
	if s := jsonString(raw); s != "" {
		return s
	}
	if _, err := strconv.ParseFloat(string(raw), 64); err == nil {
		return string(raw)
	}
	return ""
}

// classify finds the kind by what the provider says first, and by the status only then: providers use 400, 403, 413
// and 429 for very different things.
func classify(status int, e explained) (kind, text string) {
	switch {
	case isOverflow(status, e):
		return FailOverflow, overflowText
	case status == 402 || e.is("billing", "insufficient_quota", "insufficient_balance", "credits_exhausted") ||
		e.says("credit balance is too low", "insufficient balance", "exceeded your current quota", "insufficient credits"):
		return FailBilling, billingText
	case e.is("content_filter", "content_policy", "responsibleai", "refusal") ||
		e.says("content filtering policy", "content management policy", "flagged"):
		return FailRefused, "The provider's content filter refused the request; say it in other words"
	case status == 401 || status == 403 || e.is("authentication", "permission", "invalid_api_key"):
		return FailAuth, authText
	case status == 408 || status == 409 || status >= 500:
		if status == 529 || status == 503 {
			return FailRetry, busyText
		}
		return FailRetry, brokenText
	case status == 429:
		return FailRetry, busyText
	case status == 404 || e.is("model_not_found", "not_found"):
		return FailInvalid, unknownModel
	}
	return FailInvalid, "The provider refused the request as wrong"
}

// isOverflow knows how the providers say that a request is too long: OpenAI's and llama.cpp's codes, the sentences of
// Anthropic, OpenAI, vLLM, OpenRouter, Gemini, Groq, xAI and Workers AI.
func isOverflow(status int, e explained) bool {
	if status == 413 || e.is("context_length", "exceed_context", "request_too_large", "string_above_max_length", "context_window") {
		return true
	}
	if status != 0 && (status < 400 || status == 401 || status == 402 || status == 403) {
		return false
	}
	return e.says("prompt is too long", "maximum context length", "context window", "exceed context limit", "exceeds the context",
		"exceeds the available context", "input is too long", "maximum prompt length", "exceeds the maximum number of tokens",
		"reduce the length of the messages", "too many input tokens")
}

func refused(what, why string) *Failure {
	return &Failure{Kind: FailRefused, Message: what + "; say it in other words, or take another model" + said(explained{message: why}) + "."}
}

// said quotes the provider, "" when it said nothing.
func said(e explained) string {
	m := strings.TrimRight(forPeople(e.message), ".")
	if m == "" {
		return ""
	}
	return fmt.Sprintf(" (it said: %s)", m)
}

// retryAfter is how long the provider asks to wait, in ms. A date counts from the answer's own Date, for this package
// has no clock; without it the date is not used. More than a day is a day.
func retryAfter(headers map[string]string) int64 {
	const day = 24 * 3600 * 1000
	if ms, err := strconv.ParseFloat(header(headers, "retry-after-ms"), 64); err == nil && ms >= 0 {
		return int64(min(ms, day))
	}
	v := header(headers, "retry-after")
	if s, err := strconv.ParseFloat(v, 64); err == nil && s >= 0 {
		return int64(min(s*1000, day))
	}
	at, err1 := time.Parse(time.RFC1123, v)
	from, err2 := time.Parse(time.RFC1123, header(headers, "date"))
	if err1 != nil || err2 != nil || at.Before(from) {
		return 0
	}
	return min(at.Sub(from).Milliseconds(), day)
}

func header(headers map[string]string, name string) string {
	if v, ok := headers[name]; ok {
		return strings.TrimSpace(v)
	}
	found := ""
	for k, v := range headers {
		if strings.EqualFold(k, name) && (found == "" || v < found) { // not by the map's order
			found = v
		}
	}
	return strings.TrimSpace(found)
}
