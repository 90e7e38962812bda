package rig

import (
	"context"
	"encoding/json"
	"path/filepath"
	"sync"

	"holdfast/worker/edge/workerd"
)

// WorkerdHost runs the Cloudflare edge in the runtime that Cloudflare uses.
type WorkerdHost struct{ Programs }

// Name is Workerd.
func (WorkerdHost) Name() string { return Workerd }

type workerdEdge struct {
	process *workerd.Process
	log     *tail
	down    chan struct{}
	once    sync.Once
	err     error
}

// Start runs workerd on the stage's storage.
func (h WorkerdHost) Start(ctx context.Context, s *Stage, t Trap) (Edge, error) {
	models, err := json.Marshal(map[string]any{modelName: map[string]any{
		"format": s.model().Format, "base_url": s.ModelURL + "/v1", "model": s.model().Model, "window": s.model().Window,
		"max_output": s.model().MaxOutput, "price_in": s.model().PriceIn, "price_out": s.model().PriceOut,
	}})
	if err != nil {
		return nil, err
	}
	env := map[string]string{
		"HOLDFAST_DISCORD_APPLICATION_ID": s.Info.Application,
		"HOLDFAST_DISCORD_PUBLIC_KEYS":    s.Info.PublicKey,
		"HOLDFAST_DISCORD_ALLOWED_GUILDS": s.Info.Guild,
		"HOLDFAST_DISCORD_BOT_TOKEN":      s.Info.Token,
		"HOLDFAST_DISCORD_API":            s.Info.API,
		"HOLDFAST_SECRET":                 secret,
		"HOLDFAST_MODELS":                 string(models),
		"HOLDFAST_MODELS_DEFAULT":         modelName,
	}
	if t.Kill != "" {
		env["HOLDFAST_RIG_KILL"] = t.Kill
	}
	if t.Stall != "" {
		env["HOLDFAST_RIG_STALL"] = t.Stall + " " + t.For.String()
	}
	e := &workerdEdge{log: &tail{}, down: make(chan struct{})}
	e.process, err = workerd.Start(context.WithoutCancel(ctx), workerd.Options{
		Bin: h.Workerd, Dir: filepath.Join(s.Dir, "edge"), Port: s.Port, CoreWasm: h.Core, Env: env, Rig: true, Log: e.log,
	})
	if err != nil {
		return nil, err
	}
	go func() {
		select {
		case <-e.process.Rig(): // it stands at its trap and does nothing more
		case <-e.process.Done():
		}
		_ = e.Kill() // kept in e.err
	}()
	return e, ready(ctx, s, e, t)
}

// Down is closed when the process is gone.
func (e *workerdEdge) Down() <-chan struct{} { return e.down }

// Kill ends the process by SIGKILL.
func (e *workerdEdge) Kill() error {
	e.once.Do(func() {
		e.err = e.process.Kill()
		close(e.down)
	})
	<-e.down
	return e.err
}

// Said is what the Worker printed.
func (e *workerdEdge) Said() string { return e.log.String() }
