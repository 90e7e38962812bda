package main

import (
	"net/http"

	"holdfast/actor"
	"holdfast/playground/localagent"
	"holdfast/playground/scripted"
	"holdfast/worker/host"
)

// Models that this process serves itself, on a loopback listener of its own, for when there is no other.
const (
	modelLocal    = "local"    // understands a few requests in plain English
	modelScripted = "scripted" // follows the lines of the question that begin with "!": for tests
)

// ownModels describes them; base is the listener's address. Each says in every answer that it is no model.
func ownModels(base string) map[string]chosenModel {
	own := func(name, label, notice string) chosenModel {
		return chosenModel{
			label:  label,
			model:  actor.Model{Format: "openai", Model: name, Window: 32_000, MaxOutput: 4_000, Notice: notice},
			target: host.Target{BaseURL: base + "/" + name + "/v1", Format: "openai"},
		}
	}
	return map[string]chosenModel{
		modelLocal: own(modelLocal, "local agent (no model found: set ANTHROPIC_API_KEY or OPENAI_API_KEY, or start Ollama)",
			"local agent: no model configured"),
		modelScripted: own(modelScripted, "scripted provider, for tests", "scripted provider: for tests"),
	}
}

// ownModelHandler serves them.
func ownModelHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/"+modelLocal+"/", http.StripPrefix("/"+modelLocal, localagent.New()))
	mux.Handle("/"+modelScripted+"/", http.StripPrefix("/"+modelScripted, scripted.New()))
	return mux
}
