package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"holdfast/actor/errs"
	"holdfast/cmd/holdfast/config"
	"holdfast/interactions"
)

func (a app) registerCmd() *cobra.Command {
	var file, guild string
	var dry bool
	cmd := &cobra.Command{
		Use: "register", Short: "Register the slash commands with Discord and print what changed", Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := config.Load(file, a.env)
			if err != nil {
				return err
			}
			token, err := c.BotToken()
			if err != nil {
				return err
			}
			if c.Discord.ApplicationID == "" || token.Reveal() == "" {
				return usageError{errs.New(errs.Invalid, "Registering takes discord.application_id and the bot token.").
					WithHint("Set them in %s or as %s and %s.", file, config.EnvName("discord.application_id"), config.EnvName("discord.bot_token"))}
			}
			r := registrar{api: c.Discord.API, application: c.Discord.ApplicationID, guild: guild, token: token, http: &http.Client{Timeout: 30 * time.Second}}
			changes, err := r.register(cmd.Context(), dry)
			for _, line := range changes {
				fmt.Fprintln(a.out, line)
			}
			return err
		},
	}
	configFlag(cmd, &file)
	cmd.Flags().StringVar(&guild, "guild", "", "register for this server alone, where it takes effect at once (default: globally)")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only print what would change")
	return cmd
}

// registrar puts the commands where Discord keeps them.
type registrar struct {
	api, application, guild string
	token                   config.Secret
	http                    *http.Client
}

// register replaces the application's commands by interactions.Commands and tells, a line for each, what that changed.
// Nothing is sent when nothing differs.
func (r registrar) register(ctx context.Context, dry bool) ([]string, error) {
	path, want := "/applications/"+r.application+"/commands", interactions.Commands()
	if r.guild != "" {
		path, want = "/applications/"+r.application+"/guilds/"+r.guild+"/commands", interactions.GuildCommands()
	}
	var have []interactions.Command
	if err := r.do(ctx, "GET", path, nil, &have); err != nil {
		return nil, err
	}
	lines, differ := difference(have, want)
	if !differ || dry {
		return lines, nil
	}
	return lines, r.do(ctx, "PUT", path, want, nil)
}

// difference tells what putting want over have does.
func difference(have, want []interactions.Command) (lines []string, differ bool) {
	named := func(list []interactions.Command, name string) int {
		return slices.IndexFunc(list, func(c interactions.Command) bool { return c.Name == name })
	}
	for _, c := range want {
		switch i := named(have, c.Name); {
		case i < 0:
			lines, differ = append(lines, "added      /"+c.Name), true
		case !reflect.DeepEqual(have[i], c):
			lines, differ = append(lines, "changed    /"+c.Name), true
		default:
			lines = append(lines, "unchanged  /"+c.Name)
		}
	}
	for _, c := range have {
		if named(want, c.Name) < 0 {
			lines, differ = append(lines, "removed    /"+c.Name), true
		}
	}
	return lines, differ
}

func (r registrar) do(ctx context.Context, method, path string, in, out any) error {
	raw, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, r.api+path, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	if method == http.MethodGet {
		req.Body, req.ContentLength = http.NoBody, 0
	}
	req.Header.Set("Authorization", "Bot "+r.token.Reveal())
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "DiscordBot (holdfast, "+version()+")")
	res, err := r.http.Do(req)
	if err != nil {
		return errs.Wrap(errs.Unavailable, err, "Discord does not answer.")
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return errs.Wrap(errs.Unavailable, err, "Discord's answer ended early.")
	}
	if res.StatusCode/100 != 2 {
		return discordError(res.StatusCode, answer)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(answer, out)
}

// discordError is what Discord says went wrong, as one of our codes.
func discordError(status int, answer []byte) error {
	var body struct {
		Message string          `json:"message"`
		Code    int             `json:"code"`
		Errors  json.RawMessage `json:"errors"` // which fields are wrong, and how
	}
	_ = json.Unmarshal(answer, &body) // a body that is no JSON leaves the status to speak
	code := errs.Internal
	switch {
	case status == 401 || status == 403:
		code = errs.Unauthorized
	case status == 404:
		code = errs.NotFound
	case status == 429 || status >= 500:
		code = errs.Unavailable
	}
	return errs.New(code, "Discord answered %d: %s (code %d). %s", status, printable(body.Message), body.Code, printable(string(body.Errors)))
}
