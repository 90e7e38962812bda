package config

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const full = `
[discord]
application_id = "1300000000000000001"
public_keys = ["0000000000000000000000000000000000000000000000000000000000000001"]
allowed_guilds = ["1300000000000000100"]

[tokens]
least = { "relay.relay" = 2 }

[edge]
listen = "0.0.0.0:80"

[model.default]
format = "anthropic"
base_url = "https://example.org"
model = "m"
price_in = 3000000

[model.small-one]
format = "openai"
base_url = "http://127.0.0.1:11434/v1"
model = "n"
window = 8000
`

func none(string) string { return "" }

func TestParse(t *testing.T) {
	c, err := Parse("holdfast.toml", []byte(full), none)
	if err != nil {
		t.Fatal(err)
	}
	if c.Discord.ApplicationID != "1300000000000000001" || c.Least["relay.relay"] != 2 || c.Edge.Listen != "0.0.0.0:80" {
		t.Errorf("config %+v", c)
	}
	want := Model{Format: "openai", BaseURL: "http://127.0.0.1:11434/v1", Model: "n", Window: 8000, MaxOutput: 8000}
	if got := c.Models["small-one"]; got != want || c.Models["default"].Window != 200000 || c.Edge.Data != "data" {
		t.Errorf("models %+v, data %q", c.Models, c.Edge.Data)
	}
}

func TestEnvironmentWins(t *testing.T) {
	env := map[string]string{
		"HOLDFAST_EDGE_LISTEN": "127.0.0.1:9", "HOLDFAST_DISCORD_ALLOWED_GUILDS": "1, 2", "HOLDFAST_MODEL_SMALL_ONE_WINDOW": "9",
		"HOLDFAST_TOKENS_LEAST": `{"runner.1/a": 3}`,
	}
	c, err := Parse("holdfast.toml", []byte(full), func(k string) string { return env[k] })
	if err != nil {
		t.Fatal(err)
	}
	if c.Edge.Listen != "127.0.0.1:9" || !reflect.DeepEqual(c.Discord.AllowedGuilds, []string{"1", "2"}) || c.Models["small-one"].Window != 9 || c.Least["runner.1/a"] != 3 {
		t.Errorf("config %+v", c)
	}
}

// Every error of the file at once, each with its line, key, what was expected and an example.
func TestProblems(t *testing.T) {
	const doc = `[discord]
application_id = 7
public_keys = ["zz"]
allowd_guilds = []

[edge]
listen = "nowhere"

[model.Big]
[model.cheap]
format = "gemini"
window = -1

[models]
default = "absent"

[nonsense]
x = 1
`
	env := map[string]string{"HOLDFAST_LOG_LEVEL": "loud"}
	_, err := Parse("holdfast.toml", []byte(doc), func(k string) string { return env[k] })
	var p Problems
	if !errors.As(err, &p) {
		t.Fatalf("error %v", err)
	}
	for _, want := range []string{
		`holdfast.toml:2: discord.application_id: expected a snowflake in quotes, as application_id = "1300000000000000001"`,
		`holdfast.toml:3: discord.public_keys: expected one or two`,
		`holdfast.toml:4: discord.allowd_guilds: expected no such key (did you mean discord.allowed_guilds?)`,
		`holdfast.toml:7: edge.listen: expected host:port`,
		`holdfast.toml:9: model.Big: expected a name`,
		`holdfast.toml:11: model.cheap.format: expected anthropic or openai`,
		`holdfast.toml:12: model.cheap.window: expected a number`,
		`holdfast.toml:10: model.cheap.base_url: expected a value`,
		`holdfast.toml:15: models.default: expected one of cheap`,
		`holdfast.toml:17: nonsense: expected no such key`,
		`HOLDFAST_LOG_LEVEL: log.level: expected debug`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("missing: %s", want)
		}
	}
	if t.Failed() || len(p) != 12 {
		t.Errorf("%d problems:\n%v", len(p), err)
	}
}

func TestSyntaxProblem(t *testing.T) {
	_, err := Parse("holdfast.toml", []byte("[edge]\nlisten = \n"), none)
	if err == nil || !strings.HasPrefix(err.Error(), "holdfast.toml:2: syntax: ") {
		t.Errorf("error %v", err)
	}
}

func TestLoad(t *testing.T) {
	t.Chdir(t.TempDir())
	if _, err := Load(DefaultPath, none); err != nil {
		t.Errorf("without a file: %v", err)
	}
	if _, err := Load("other.toml", none); err == nil {
		t.Error("a file that was asked for and is not there is no error")
	}
}

func TestSecrets(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	env := map[string]string{"HOLDFAST_SECRET": "from the environment"}
	c := &Config{env: func(k string) string { return env[k] }, Models: map[string]Model{}}
	c.Edge.SecretFile = write("ignored", "x", 0o600)
	c.Discord.BotTokenFile = write("bot", "token\n", 0o600)
	c.Runner.TokenFile = write("open", "token", 0o644)
	if s, err := c.DeploymentSecret(); err != nil || s.Reveal() != "from the environment" {
		t.Errorf("%q, %v", s.Reveal(), err)
	}
	if s, err := c.BotToken(); err != nil || s.Reveal() != "token" {
		t.Errorf("%q, %v", s.Reveal(), err)
	}
	if _, err := c.RunnerToken(); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file that others may read: %v", err)
	}
	if _, err := ReadSecret(write("empty", " \n", 0o600)); err == nil {
		t.Error("an empty file holds no secret")
	}
	if _, err := c.ModelKey("any"); err != nil {
		t.Errorf("a model without a key: %v", err)
	}
}

// No way of printing shows a secret.
func TestSecretsStayHidden(t *testing.T) {
	s := NewSecret("hunter2")
	for _, text := range []string{fmt.Sprint(s), fmt.Sprintf("%v %+v %#v %s %q", s, s, s, s, s), fmt.Sprintf("%+v", struct{ S Secret }{s})} {
		if strings.Contains(text, "hunter2") {
			t.Errorf("shown as %s", text)
		}
	}
	c, err := Parse("holdfast.toml", []byte(full), func(k string) string {
		if strings.HasSuffix(k, "_TOKEN") || strings.HasPrefix(k, "HOLDFAST_MODEL_KEY_") || strings.HasSuffix(k, "_SECRET") {
			return "hunter2"
		}
		return ""
	})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := c.Print(&out); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "hunter2") || !strings.Contains(out.String(), "# HOLDFAST_SECRET: (set)") {
		t.Errorf("printed:\n%s", out.String())
	}
}

// What is printed is a configuration again, the same one.
func TestPrintRoundTrip(t *testing.T) {
	c, err := Parse("holdfast.toml", []byte(full), none)
	if err != nil {
		t.Fatal(err)
	}
	var first, second bytes.Buffer
	if err := c.Print(&first); err != nil {
		t.Fatal(err)
	}
	again, err := Parse("printed", first.Bytes(), none)
	if err != nil {
		t.Fatalf("%v\n%s", err, first.String())
	}
	if err := again.Print(&second); err != nil {
		t.Fatal(err)
	}
	if first.String() != second.String() {
		t.Errorf("printed\n%s\nthen\n%s", first.String(), second.String())
	}
}

// Whatever a file holds, it is a configuration or a list of problems that all say where they are.
func FuzzParse(f *testing.F) {
	f.Add(full)
	f.Add("[model]\nx = 1\n[[edge]]\n")
	f.Add("model.a.b.c = 1\n\"edge.listen\" = 2")
	f.Fuzz(func(t *testing.T, doc string) {
		c, err := Parse("f.toml", []byte(doc), none)
		var p Problems
		if (c == nil) == (err == nil) || err != nil && !errors.As(err, &p) {
			t.Fatalf("%v, %v", c, err)
		}
		for _, x := range p {
			if !strings.HasPrefix(x.Where, "f.toml") || x.Key == "" || x.Want == "" {
				t.Errorf("problem %+v", x)
			}
		}
	})
}
