package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"holdfast/actor"
	"holdfast/actor/errs"
	"holdfast/worker/host"
)

// chosenModel is the model that `run` works with.
type chosenModel struct {
	label  string // for people
	model  actor.Model
	target host.Target
}

// provider is somewhere that `run` can find a model. Name is what --model calls it.
type provider struct {
	name   string
	format string
	base   string
	keyEnv string // the environment variable that holds its key
	envURL string // the one that may hold another address
	model  string // the default; "" asks the provider
	list   string // path that lists a local provider's models
	window int    // tokens
	in     int64  // micro-dollars per million tokens, as published by the provider in late 2025; 0 for a local one
	out    int64
}

var providers = []provider{
	{name: "anthropic", format: "anthropic", base: "https://api.anthropic.com", keyEnv: "ANTHROPIC_API_KEY", envURL: "ANTHROPIC_BASE_URL",
		model: "claude-sonnet-4-5", window: 200_000, in: 3_000_000, out: 15_000_000},
	{name: "openai", format: "openai", base: "https://api.openai.com/v1", keyEnv: "OPENAI_API_KEY", envURL: "OPENAI_BASE_URL",
		model: "gpt-5-mini", window: 272_000, in: 250_000, out: 2_000_000},
	{name: "ollama", format: "openai", base: "http://127.0.0.1:11434/v1", list: "/models", window: 8_192},
	{name: "llama", format: "openai", base: "http://127.0.0.1:8080/v1", list: "/models", window: 8_192},
}

// maxOutput is the longest answer asked for, in tokens.
const maxOutput = 8_000

// modelNames is what --model takes.
const modelNames = "auto, anthropic, openai, ollama, llama, local or scripted (for tests); a provider's own name for a model may follow a colon, as ollama:qwen3"

// probeTimeout is how long a local model server may take to say that it is there.
const probeTimeout = 300 * time.Millisecond

// chooseModel finds the model that the flag names. "auto" takes the first key in the environment, then a model server
// on this machine, then the local agent. own are the models that this process serves.
func (a app) chooseModel(ctx context.Context, flag string, own map[string]chosenModel) (chosenModel, error) {
	name, model, _ := strings.Cut(flag, ":")
	if c, ok := own[flag]; ok {
		return c, nil
	}
	known := false
	for _, p := range providers {
		if name != "auto" && name != p.name {
			continue
		}
		known = true
		c, err := a.try(ctx, p, model)
		if err == nil || name != "auto" {
			return c, err
		}
	}
	if name != "auto" && !known {
		return chosenModel{}, usageError{errs.New(errs.Invalid, "There is no model %q.", flag).WithHint("--model takes %s.", modelNames)}
	}
	return own[modelLocal], nil
}

// try sees whether a provider can be used.
func (a app) try(ctx context.Context, p provider, model string) (chosenModel, error) {
	base := p.base
	if u := a.env(p.envURL); p.envURL != "" && u != "" {
		base = strings.TrimRight(u, "/")
	}
	key := ""
	if p.keyEnv != "" {
		if key = a.env(p.keyEnv); key == "" {
			return chosenModel{}, errs.New(errs.Invalid, "%s needs a key.", p.name).WithHint("Set %s.", p.keyEnv)
		}
	}
	model = first(model, p.model)
	if p.list != "" {
		served, err := firstModel(ctx, base+p.list)
		if err != nil {
			return chosenModel{}, errs.Wrap(errs.Unavailable, err, "No %s answers at %s.", p.name, base)
		}
		model = first(model, served)
	}
	return chosenModel{
		label:  p.name + " " + model,
		model:  actor.Model{Format: p.format, Model: model, Window: p.window, MaxOutput: min(maxOutput, p.window/2), PriceIn: p.in, PriceOut: p.out},
		target: host.Target{BaseURL: base, Credential: host.Secret(key), Format: p.format},
	}, nil
}

// firstModel asks a local server for the models it has, as OpenAI's list of models.
func firstModel(ctx context.Context, url string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(&list); err != nil {
		return "", err
	}
	if res.StatusCode != http.StatusOK || len(list.Data) == 0 || list.Data[0].ID == "" {
		return "", errors.New("it has no model")
	}
	return list.Data[0].ID, nil
}
