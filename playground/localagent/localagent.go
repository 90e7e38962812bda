// Package localagent is the model provider that needs no account: a rule-driven agent that understands a few dozen
// requests in plain English. It is no language model and says so when it does not understand.
//
// It speaks OpenAI Chat Completions at /v1/chat/completions, calls only tools that the request offers, and composes
// its answers from the results it finds in the transcript. It keeps no state: each request is planned anew from its
// transcript, and what was done before is found there.
package localagent

import (
	"net/http"

	"holdfast/actor/model"
	"holdfast/playground/chat"
)

// Name is the model's name in /v1/models. Any name is answered.
const Name = "local-agent"

// New makes the provider.
func New() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/chat/completions", serve)
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(`{"object":"list","data":[{"id":"` + Name + `","object":"model","created":0,"owned_by":"local"}]}`))
	})
	return mux
}

func serve(w http.ResponseWriter, r *http.Request) {
	body, ok := chat.Body(w, r, model.OpenAI)
	if !ok {
		return
	}
	q, err := chat.ReadOpenAI(body)
	if err != nil {
		chat.Fail(w, model.OpenAI, http.StatusBadRequest, err.Error())
		return
	}
	chat.Write(w, model.OpenAI, q, Answer(q))
}

// Answer is the next step of the conversation: tool calls, or the answer. Equal transcripts get equal answers.
func Answer(q chat.Request) chat.Answer {
	t := newTurn(q)
	plan := parse(t.question)
	if len(plan.intents) == 1 && plan.intents[0].name == "again" {
		plan = parse(t.before)
	}
	parts := t.run(plan.intents)
	switch {
	case len(t.pending) > maxCalls-t.done:
		return chat.Answer{Text: "I stop here: this would take more tool calls than I make in one turn."}
	case len(t.pending) > 0:
		return chat.Answer{Calls: t.pending}
	}
	return chat.Answer{Text: compose(parts, plan.unknown)}
}
