package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/actor"
	"holdfast/actor/errs"
	"holdfast/cmd/holdfast/config"
	"holdfast/interactions"
	"holdfast/worker/engine"
	"holdfast/worker/engine/corewasm"
	"holdfast/worker/host"
)

func (a app) edgeCmd() *cobra.Command {
	var file, engineName string
	cmd := &cobra.Command{
		Use: "edge", Short: "Run the self-hosted edge alone, for a real Discord application", Args: exactly(0),
		Long: "Serves what holdfast.toml describes: Discord's signed interactions, the relay, runners and operators. Put a reverse\n" +
			"proxy with TLS before it. Ctrl-C drains: what was accepted is committed before the process ends.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := config.Load(file, a.env)
			if err != nil {
				return err
			}
			return a.serveEdge(cmd.Context(), c, engineName)
		},
	}
	configFlag(cmd, &file)
	engineFlag(cmd, &engineName)
	return cmd
}

func engineFlag(cmd *cobra.Command, name *string) {
	cmd.Flags().StringVar(name, "engine", "wazero", "how the core runs: wazero (the same core.wasm as on Cloudflare, bounded by fuel) or linked (native, for development)")
}

// newEngine makes the engine of that name. cache is where compiled code is kept between starts.
func newEngine(ctx context.Context, name, cache string, log *slog.Logger) (engine.Engine, error) {
	switch name {
	case "linked":
		return engine.Linked{HandleFunc: actor.Handle, RouteFunc: interactions.Route}, nil
	case "wazero":
		module, err := corewasm.Bytes()
		if err != nil {
			return nil, err
		}
		return engine.NewWazero(ctx, module, engine.WazeroOptions{CacheDir: cache, Log: log})
	}
	return nil, usageError{errs.New(errs.Invalid, "There is no engine %q; --engine takes wazero or linked.", name)}
}

func (a app) serveEdge(ctx context.Context, c *config.Config, engineName string) (err error) {
	log := newLog(a.err, c.Log.Level, c.Log.Format)
	opts, err := hostOptions(c, log)
	if err != nil {
		return err
	}
	if opts.Engine, err = newEngine(ctx, engineName, filepath.Join(c.Edge.Data, cacheData), log); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opts.Engine.Close(context.WithoutCancel(ctx))) }()
	front, err := listen(ctx, c.Edge.Listen)
	if err != nil {
		return err
	}
	h, err := host.New(ctx, opts)
	if err != nil {
		return errors.Join(err, front.listener.Close())
	}
	failed := make(chan error, 1)
	front.serve(h.Handler(), failed)
	log.Info("edge.listen.started", "address", front.listener.Addr().String())
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	return errors.Join(err, drain(ctx, h, front))
}

// drain ends a host in order: what was accepted is committed, what is in flight may come back.
func drain(ctx context.Context, h *host.Host, servers ...*server) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	err := h.Drain(ctx)
	for _, s := range servers {
		err = errors.Join(err, s.stop(ctx))
	}
	return errors.Join(err, h.Close())
}

// hostOptions turns a configuration into what a host needs.
func hostOptions(c *config.Config, log *slog.Logger) (host.Options, error) {
	secret, err := c.DeploymentSecret()
	if err != nil {
		return host.Options{}, err
	}
	bot, err := c.BotToken()
	if err != nil {
		return host.Options{}, err
	}
	missing := []string{}
	for _, need := range []struct {
		name  string
		there bool
	}{
		{"discord.application_id", c.Discord.ApplicationID != ""}, {"discord.public_keys", len(c.Discord.PublicKeys) > 0},
		{"the bot token", bot.Reveal() != ""}, {"the deployment secret", secret.Reveal() != ""}, {"a [model.<name>]", len(c.Models) > 0},
	} {
		if !need.there {
			missing = append(missing, need.name)
		}
	}
	if len(missing) > 0 {
		return host.Options{}, usageError{fmt.Errorf("an edge needs %s; see `holdfast config print`", strings.Join(missing, ", "))}
	}
	o := host.Options{
		Data: c.Edge.Data, Log: log, Least: map[string]int{}, Secrets: []host.Secret{host.Secret(secret.Reveal())},
		Config: actor.Config{ApplicationID: c.Discord.ApplicationID, PublicKeys: c.Discord.PublicKeys,
			AllowedGuilds: c.Discord.AllowedGuilds, Models: map[string]actor.Model{}, DefaultModel: c.Default},
		Targets: map[string]host.Target{"discord": {BaseURL: strings.TrimRight(c.Discord.API, "/"), Credential: host.Secret(bot.Reveal())}},
	}
	if o.Key, err = c.DataKey(); err != nil {
		return host.Options{}, err
	}
	old, err := c.OldSecret()
	if err != nil {
		return host.Options{}, err
	}
	if old.Reveal() != "" {
		o.Secrets = append(o.Secrets, host.Secret(old.Reveal()))
	}
	for subject, n := range c.Least {
		o.Least[subject] = int(n)
	}
	for name, m := range c.Models {
		key, err := c.ModelKey(name)
		if err != nil {
			return host.Options{}, err
		}
		o.Config.Models[name] = actor.Model{Format: m.Format, Model: m.Model, Window: int(m.Window), MaxOutput: int(m.MaxOutput), PriceIn: m.PriceIn, PriceOut: m.PriceOut}
		o.Targets["model:"+name] = host.Target{BaseURL: strings.TrimRight(m.BaseURL, "/"), Credential: host.Secret(key.Reveal()), Format: m.Format}
	}
	return o, nil
}
