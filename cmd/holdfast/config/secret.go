package config

import (
	"encoding/hex"
	"fmt"
	"os"
	"strings"
)

// Secret is a value that is never printed, logged or stored: String shows whether it is there.
type Secret struct{ value string }

// NewSecret makes a Secret of s.
func NewSecret(s string) Secret { return Secret{s} }

// Reveal gives the value itself, for the one place that uses it.
func (s Secret) Reveal() string { return s.value }

func (s Secret) String() string {
	if s.value == "" {
		return "(not set)"
	}
	return "(set)"
}

// GoString is String, so that no format prints the value.
func (s Secret) GoString() string { return s.String() }

// MarshalText is String.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// BotToken is Discord's bot token: HOLDFAST_DISCORD_BOT_TOKEN, or the file that discord.bot_token_file names.
func (c *Config) BotToken() (Secret, error) {
	return c.secret("discord.bot_token", c.Discord.BotTokenFile)
}

// DeploymentSecret is what all keys are derived from: HOLDFAST_SECRET, or the file of edge.secret_file.
func (c *Config) DeploymentSecret() (Secret, error) {
	return c.secret("secret", c.Edge.SecretFile)
}

// OldSecret is the deployment secret before the present one, while keys are being replaced: HOLDFAST_SECRET_OLD.
func (c *Config) OldSecret() (Secret, error) { return c.secret("secret.old", "") }

// ModelKey is a model's key: HOLDFAST_MODEL_KEY_<NAME>, or the file of its key_file. A local model may have none.
func (c *Config) ModelKey(name string) (Secret, error) {
	return c.secret("model.key."+name, c.Models[name].KeyFile)
}

// RunnerToken is the runner's key: HOLDFAST_RUNNER_TOKEN, or the file of runner.token_file.
func (c *Config) RunnerToken() (Secret, error) {
	return c.secret("runner.token", c.Runner.TokenFile)
}

// DataKey is what the databases are encrypted with: HOLDFAST_DATA_KEY, or the file of edge.key_file; nil for none.
func (c *Config) DataKey() ([]byte, error) {
	s, err := c.secret("data.key", c.Edge.KeyFile)
	if err != nil || s.value == "" {
		return nil, err
	}
	return dataKey(s, "the key of the databases")
}

// ReadDataKey reads a file with a key of the databases. No name gives no key.
func ReadDataKey(file string) ([]byte, error) {
	if file == "" {
		return nil, nil
	}
	s, err := ReadSecret(file)
	if err != nil {
		return nil, err
	}
	return dataKey(s, file)
}

// dataKeySize is two keys of AES-256, in bytes.
const dataKeySize = 64

func dataKey(s Secret, where string) ([]byte, error) {
	key, err := hex.DecodeString(s.value)
	if err != nil || len(key) != dataKeySize {
		return nil, fmt.Errorf("%s should hold %d hex digits, as `openssl rand -hex %d` prints them", where, 2*dataKeySize, dataKeySize)
	}
	return key, nil
}

func (c *Config) secret(key, file string) (Secret, error) {
	if s := c.env(EnvName(key)); s != "" {
		return Secret{s}, nil
	}
	if file == "" {
		return Secret{}, nil
	}
	return ReadSecret(file)
}

// ReadSecret reads a secret's file. It refuses one that others may read.
func ReadSecret(file string) (Secret, error) {
	info, err := os.Stat(file)
	if err != nil {
		return Secret{}, fmt.Errorf("read a secret: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return Secret{}, fmt.Errorf("%s holds a secret and others may read it (mode %04o): chmod 600 %s", file, info.Mode().Perm(), file)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return Secret{}, fmt.Errorf("read a secret: %w", err)
	}
	s := strings.TrimSpace(string(raw))
	if s == "" {
		return Secret{}, fmt.Errorf("%s is empty; it should hold a secret", file)
	}
	return Secret{s}, nil
}
