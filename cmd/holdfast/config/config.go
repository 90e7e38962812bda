// Package config reads holdfast.toml and its twins in the environment, and says everything that is wrong at once.
package config

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// Config is the effective configuration of a deployment. Secrets are not in it: see Secret.
type Config struct {
	Discord Discord
	Least   map[string]int64 // of [tokens]: "<kind>.<subject>" to the least number of a key that still counts
	Edge    Edge
	Models  map[string]Model
	Default string // of [models]: the name of the model that a conversation starts with
	Runner  Runner
	Log     Log

	env func(string) string
}

// Discord is the application that people talk to.
type Discord struct {
	ApplicationID string
	PublicKeys    []string
	AllowedGuilds []string // none: no guild is served
	BotTokenFile  string
	API           string // base URL of the REST API
}

// Edge is the self-hosted edge.
type Edge struct {
	Listen     string
	Data       string
	PublicURL  string
	SecretFile string
	KeyFile    string // encrypts the databases in Data
}

// Model is one [model.<name>].
type Model struct {
	Format    string
	BaseURL   string
	Model     string
	Window    int64 // tokens
	MaxOutput int64 // tokens
	PriceIn   int64 // micro-dollars per million tokens
	PriceOut  int64
	KeyFile   string
}

// Runner is a runner beside a project.
type Runner struct {
	Project   string
	URL       string
	TokenFile string
	Sandbox   string
	Data      string
}

// Log is what the process says about itself.
type Log struct {
	Level  string
	Format string
}

// Problem is one thing that is wrong with the configuration.
type Problem struct {
	Where   string // "holdfast.toml:12", or the name of an environment variable
	Key     string
	Want    string // what was expected
	Example string
}

func (p Problem) String() string {
	s := p.Where + ": " + p.Key + ": expected " + p.Want
	if p.Example != "" {
		s += ", as " + p.Example
	}
	return s
}

// Problems is the error of Load: everything that is wrong, in the order of the file.
type Problems []Problem

func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, x := range p {
		lines[i] = x.String()
	}
	return strings.Join(lines, "\n")
}

// Load reads the file at path, then the environment, which wins. A file that is not there counts as empty when path is
// DefaultPath: everything may come from the environment.
func Load(path string, env func(string) string) (*Config, error) {
	raw, err := os.ReadFile(path)
	if err != nil && (path != DefaultPath || !os.IsNotExist(err)) {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	return Parse(path, raw, env)
}

// DefaultPath is where the configuration is looked for.
const DefaultPath = "holdfast.toml"

// Parse reads a configuration. name is what problems call the file.
func Parse(name string, raw []byte, env func(string) string) (*Config, error) {
	var tree map[string]any
	if _, err := toml.Decode(string(raw), &tree); err != nil {
		return nil, syntaxProblem(name, err)
	}
	c := &Config{Least: map[string]int64{}, Models: map[string]Model{}, env: env}
	l := loader{name: name, lines: lineNumbers(string(raw)), env: env}
	models := l.models(tree)
	keys := c.keys(models)
	l.file("", tree, keys)
	for _, k := range keys {
		l.environment(k)
		l.check(k)
	}
	for n, m := range models {
		c.Models[n] = *m
	}
	l.whole(c)
	if len(l.problems) > 0 {
		slices.SortStableFunc(l.problems, func(a, b Problem) int { return l.line(a.Key) - l.line(b.Key) })
		return nil, l.problems
	}
	return c, nil
}

func syntaxProblem(name string, err error) Problems {
	where, message := name, err.Error()
	if p, ok := err.(toml.ParseError); ok {
		where, message = fmt.Sprintf("%s:%d", name, p.Position.Line), p.Message
	}
	return Problems{{Where: where, Key: "syntax", Want: "TOML (" + message + ")", Example: `key = "value"`}}
}
