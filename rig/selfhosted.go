package rig

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/BurntSushi/toml"

	"holdfast/worker/host"
)

// SelfhostedHost runs the real program, killed by a real SIGKILL.
type SelfhostedHost struct{ Programs }

// Name is Selfhosted.
func (SelfhostedHost) Name() string { return Selfhosted }

// Start runs `holdfast edge`.
func (h SelfhostedHost) Start(ctx context.Context, s *Stage, t Trap) (Edge, error) {
	data := filepath.Join(s.Dir, "edge")
	if err := h.shareCache(data); err != nil {
		return nil, err
	}
	config, err := s.writeConfig("edge.toml", map[string]any{
		"discord": map[string]any{
			"application_id": s.Info.Application, "public_keys": []string{s.Info.PublicKey},
			"allowed_guilds": []string{s.Info.Guild}, "api": s.Info.API,
		},
		"edge": map[string]any{"listen": fmt.Sprintf("127.0.0.1:%d", s.Port), "data": data},
		"model": map[string]any{modelName: map[string]any{
			"format": s.model().Format, "base_url": s.ModelURL + "/v1", "model": s.model().Model, "window": s.model().Window,
			"max_output": s.model().MaxOutput, "price_in": s.model().PriceIn, "price_out": s.model().PriceOut,
		}},
		"models": map[string]any{"default": modelName},
		"log":    map[string]any{"level": "debug", "format": "text"},
	})
	if err != nil {
		return nil, err
	}
	env := []string{"HOLDFAST_SECRET=" + secret, "HOLDFAST_DISCORD_BOT_TOKEN=" + s.Info.Token}
	if t.Kill != "" {
		env = append(env, "HOLDFAST_RIG_KILL="+t.Kill)
	}
	if t.Stall != "" {
		env = append(env, "HOLDFAST_RIG_STALL="+t.Stall+" "+t.For.String())
	}
	p, err := startProcess(s.Dir, h.Holdfast, []string{"edge", "--config", config}, env)
	if err != nil {
		return nil, err
	}
	return p, ready(ctx, s, p, t)
}

// shareCache lets an edge find the code that an earlier one compiled.
func (h SelfhostedHost) shareCache(data string) error {
	if err := os.MkdirAll(data, 0o700); err != nil {
		return err
	}
	err := os.Symlink(h.Cache, filepath.Join(data, "cache"))
	if os.IsExist(err) {
		return nil
	}
	return err
}

// writeConfig writes a configuration file and gives its path.
func (s *Stage) writeConfig(name string, config map[string]any) (string, error) {
	var text bytes.Buffer
	if err := toml.NewEncoder(&text).Encode(config); err != nil {
		return "", err
	}
	path := filepath.Join(s.Dir, name)
	return path, os.WriteFile(path, text.Bytes(), 0o600)
}

// StartRunner runs `holdfast runner` beside the stage's project; name tells runners of one stage apart.
func (h Programs) StartRunner(s *Stage, name string) (Runner, error) {
	config, err := s.writeConfig(name+".toml", map[string]any{
		"runner": map[string]any{
			"project": s.Project, "url": s.URL() + "/v1/workspaces/" + s.WorkspaceID(),
			"data": filepath.Join(s.Dir, name),
		},
		"log": map[string]any{"level": "debug", "format": "text"},
	})
	if err != nil {
		return nil, err
	}
	token, err := s.Token(host.KindRunner, s.WorkspaceID())
	if err != nil {
		return nil, err
	}
	return startProcess(s.Dir, h.Holdfast, []string{"runner", "--config", config}, []string{"HOLDFAST_RUNNER_TOKEN=" + token})
}
