package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"

	"holdfast/actor"
	"holdfast/interactions"
	"holdfast/worker/engine"
	"holdfast/worker/host"
)

// serveHost is the self-hosted edge as `holdfast edge` runs it, with either engine.
func serveHost(t task, ready func(http.Handler) error) error {
	var args hostArgs
	if err := json.Unmarshal(t.Args, &args); err != nil {
		return err
	}
	ctx := context.Background()
	e, err := newEngine(ctx, args)
	if err != nil {
		return err
	}
	h, err := host.New(ctx, host.Options{
		Data: t.Data, Engine: e, Config: args.Config, Secrets: []host.Secret{secret},
		Targets: map[string]host.Target{
			"discord":            {BaseURL: args.Discord, Credential: botToken},
			"model:" + modelName: {BaseURL: args.Model + "/v1", Format: args.Config.Models[modelName].Format},
		},
	})
	if err != nil {
		return err
	}
	return errors.Join(ready(h.Handler()), h.Close(), e.Close(ctx))
}

func newEngine(ctx context.Context, args hostArgs) (engine.Engine, error) {
	switch args.Engine {
	case "linked":
		return engine.Linked{HandleFunc: actor.Handle, RouteFunc: interactions.Route}, nil
	case "wazero":
		module, err := os.ReadFile(args.Core)
		if err != nil {
			return nil, err
		}
		return engine.NewWazero(ctx, module, engine.WazeroOptions{CacheDir: args.Cache})
	}
	return nil, fmt.Errorf("no engine is called %q", args.Engine)
}
