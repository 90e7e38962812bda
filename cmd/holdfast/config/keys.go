package config

import (
	"encoding/hex"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
)

// key is one setting: where it goes, what it may be, and an example for whoever got it wrong.
type key struct {
	name    string // "edge.listen"
	to      any    // *string, *[]string, *int64 or *map[string]int64
	absent  any    // the value when nothing says otherwise; nil: the zero value
	want    string
	example string
	valid   func(string) bool // of a string, or of each string in a list; nil: anything
}

func (c *Config) keys(models map[string]*Model) []key {
	keys := []key{
		{"discord.application_id", &c.Discord.ApplicationID, nil, "a snowflake in quotes", `"1300000000000000001"`, snowflake},
		{"discord.public_keys", &c.Discord.PublicKeys, nil, "one or two Ed25519 keys of 64 hex digits", `["8f3a…"]`, publicKey},
		{"discord.allowed_guilds", &c.Discord.AllowedGuilds, nil, "a list of server ids", `["1300000000000000100"]`, snowflake},
		{"discord.bot_token_file", &c.Discord.BotTokenFile, nil, "a file", `"/etc/holdfast/bot-token"`, nil},
		{"discord.api", &c.Discord.API, "https://discord.com/api/v10", "an address", `"https://discord.com/api/v10"`, address},
		{"tokens.least", &c.Least, nil, "a table of numbers", `{ "relay.relay" = 2 }`, nil},
		{"edge.listen", &c.Edge.Listen, "127.0.0.1:8700", "host:port", `"127.0.0.1:8700"`, hostPort},
		{"edge.data", &c.Edge.Data, "data", "a folder", `"/var/lib/holdfast"`, filled},
		{"edge.public_url", &c.Edge.PublicURL, nil, "an address", `"https://holdfast.example.org"`, address},
		{"edge.secret_file", &c.Edge.SecretFile, nil, "a file", `"/etc/holdfast/secret"`, nil},
		{"edge.key_file", &c.Edge.KeyFile, nil, "a file with a key of 128 hex digits", `"/etc/holdfast/data-key"`, nil},
		{"models.default", &c.Default, "default", "the name of a [model.<name>]", `"default"`, filled},
		{"runner.project", &c.Runner.Project, nil, "a folder with a git repository", `"/home/me/app"`, nil},
		{"runner.url", &c.Runner.URL, nil, "the workspace's address", `"https://holdfast.example.org/v1/workspaces/1300000000000000100/platform"`, address},
		{"runner.token_file", &c.Runner.TokenFile, nil, "a file", `"/etc/holdfast/runner-token"`, nil},
		{"runner.sandbox", &c.Runner.Sandbox, "bwrap", "bwrap or none", `"bwrap"`, among("bwrap", "none")},
		{"runner.data", &c.Runner.Data, "runner-data", "a folder", `"/var/lib/holdfast-runner"`, filled},
		{"log.level", &c.Log.Level, "info", "debug, info, warn or error", `"info"`, among("debug", "info", "warn", "error")},
		{"log.format", &c.Log.Format, "json", "json or text", `"json"`, among("json", "text")},
	}
	for _, name := range slices.Sorted(maps.Keys(models)) {
		keys = append(keys, modelKeys("model."+name+".", models[name])...)
	}
	return keys
}

func modelKeys(prefix string, m *Model) []key {
	return []key{
		{prefix + "format", &m.Format, nil, "anthropic or openai", `"anthropic"`, among("anthropic", "openai")},
		{prefix + "base_url", &m.BaseURL, nil, "an address", `"https://api.anthropic.com"`, address},
		{prefix + "model", &m.Model, nil, "the provider's name for it", `"claude-sonnet-4-5"`, filled},
		{prefix + "window", &m.Window, int64(200_000), "a number of tokens", "200000", nil},
		{prefix + "max_output", &m.MaxOutput, int64(8_000), "a number of tokens", "8000", nil},
		{prefix + "price_in", &m.PriceIn, nil, "micro-dollars per million tokens", "3000000", nil},
		{prefix + "price_out", &m.PriceOut, nil, "micro-dollars per million tokens", "15000000", nil},
		{prefix + "key_file", &m.KeyFile, nil, "a file", `"/etc/holdfast/model-key"`, nil},
	}
}

func filled(s string) bool { return s != "" }

func among(words ...string) func(string) bool {
	return func(s string) bool { return slices.Contains(words, s) }
}

func snowflake(s string) bool {
	return len(s) >= 1 && len(s) <= 20 && s[0] != '0' && strings.Trim(s, "0123456789") == ""
}

func publicKey(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == 32
}

func address(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil
}

func hostPort(s string) bool {
	_, port, err := net.SplitHostPort(s)
	return err == nil && port != ""
}
