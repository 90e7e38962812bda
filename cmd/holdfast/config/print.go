package config

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Print writes the effective configuration as TOML. Of secrets it says only whether they are set.
func (c *Config) Print(w io.Writer) error {
	models := map[string]*Model{}
	for name, m := range c.Models {
		models[name] = &m
	}
	table := ""
	for _, k := range c.keys(models) {
		dot := strings.LastIndexByte(k.name, '.')
		if k.name[:dot] != table {
			table = k.name[:dot]
			if _, err := fmt.Fprintf(w, "\n[%s]\n", table); err != nil {
				return err
			}
		}
		line := k.name[dot+1:] + " = " + shown(k.to)
		if s, ok := k.to.(*string); ok && *s == "" {
			line = "# " + k.name[dot+1:] + " is not set"
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return c.printSecrets(w)
}

func (c *Config) printSecrets(w io.Writer) error {
	type secret struct {
		key string
		get func() (Secret, error)
	}
	secrets := []secret{{"discord.bot_token", c.BotToken}, {"secret", c.DeploymentSecret}, {"runner.token", c.RunnerToken}}
	for _, name := range slices.Sorted(maps.Keys(c.Models)) {
		secrets = append(secrets, secret{"model.key." + name, func() (Secret, error) { return c.ModelKey(name) }})
	}
	for _, s := range secrets {
		v, err := s.get()
		state := v.String()
		if err != nil {
			state = err.Error()
		}
		if _, err := fmt.Fprintf(w, "\n# %s: %s", EnvName(s.key), state); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w)
	return err
}

func shown(v any) string {
	switch p := v.(type) {
	case *string:
		return strconv.Quote(*p)
	case *int64:
		return strconv.FormatInt(*p, 10)
	case *[]string:
		quoted := make([]string, len(*p))
		for i, s := range *p {
			quoted[i] = strconv.Quote(s)
		}
		return "[" + strings.Join(quoted, ", ") + "]"
	case *map[string]int64:
		pairs := []string{}
		for _, k := range slices.Sorted(maps.Keys(*p)) {
			pairs = append(pairs, strconv.Quote(k)+" = "+strconv.FormatInt((*p)[k], 10))
		}
		return "{" + strings.Join(pairs, ", ") + "}"
	}
	return `""`
}
