package world

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// commandName is Discord's pattern for chat input commands and their options.
var commandName = regexp.MustCompile(`^[-_'\p{L}\p{N}\p{Devanagari}\p{Thai}]{1,32}$`)

// PutCommands replaces all commands of a scope (guild "" is the global one) and keeps the ids of those that stay.
func (w *World) PutCommands(guild string, bodies []json.RawMessage) ([]obj, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	old := w.scope(guild)
	keep := map[string]bool{}
	var made []*AppCommand
	for i, b := range bodies {
		c, err := w.command(guild, b, fmt.Sprintf("%d", i))
		if err != nil {
			return nil, err
		}
		keep[c.ID] = true
		made = append(made, c)
	}
	for _, c := range old {
		if !keep[c.ID] {
			w.dropCommand(c)
		}
	}
	for _, c := range made {
		w.put(c)
	}
	w.change(Change{Type: "commands"})
	return w.commandList(guild), w.flush()
}

// UpsertCommand creates a command or replaces the one of that name and type.
func (w *World) UpsertCommand(guild string, body json.RawMessage) (command obj, created bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, err := w.command(guild, body, "_")
	if err != nil {
		return nil, false, err
	}
	created = w.commands[c.ID] == nil
	w.put(c)
	w.change(Change{Type: "commands"})
	return w.commandJSON(c), created, w.flush()
}

// Commands lists a scope by name.
func (w *World) Commands(guild string) []obj {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.commandList(guild)
}

// AppCommandByID returns one command of a scope.
func (w *World) AppCommandByID(guild, id string) (obj, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.commands[id]; c != nil && c.Guild == guild {
		return w.commandJSON(c), nil
	}
	return nil, ErrUnknownCommand
}

// DeleteCommand removes one command of a scope.
func (w *World) DeleteCommand(guild, id string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.commands[id]
	if c == nil || c.Guild != guild {
		return ErrUnknownCommand
	}
	w.dropCommand(c)
	w.change(Change{Type: "commands"})
	return w.flush()
}

func (w *World) dropCommand(c *AppCommand) {
	delete(w.commands, c.ID)
	w.drop("command/" + c.ID)
}

func (w *World) scope(guild string) []*AppCommand {
	var out []*AppCommand
	for _, c := range w.commands {
		if c.Guild == guild {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b *AppCommand) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func (w *World) commandList(guild string) []obj {
	out := []obj{}
	for _, c := range w.scope(guild) {
		out = append(out, w.commandJSON(c))
	}
	return out
}

// command checks a definition and makes a record of it, with the id of the command it replaces.
func (w *World) command(guild string, body json.RawMessage, field string) (*AppCommand, error) {
	var d struct {
		Name    string
		Type    int
		Options []option
	}
	if err := decode(body, &d); err != nil {
		return nil, err
	}
	if d.Type == 0 {
		d.Type = 1
	}
	if d.Type == 1 {
		if err := checkName(d.Name, field+".name"); err != nil {
			return nil, err
		}
	}
	if err := checkOptions(d.Options, field+".options"); err != nil {
		return nil, err
	}
	c := &AppCommand{Guild: guild, Name: d.Name, Type: d.Type, Body: shown(body, d.Type)}
	for _, old := range w.scope(guild) {
		if old.Name == c.Name && old.Type == c.Type {
			c.ID, c.Version = old.ID, old.Version
			if bytes.Equal(old.Body, c.Body) {
				return c, nil
			}
		}
	}
	c.Version = w.mint()
	if c.ID == "" {
		c.ID = w.mint()
	}
	return c, nil
}

// option is the part of an option that needs a look.
type option struct {
	Name         string
	Type         int
	Required     bool
	Autocomplete bool
	Choices      []json.RawMessage
	Options      []option
}

func checkName(name, field string) error {
	if !commandName.MatchString(name) || strings.ToLower(name) != name {
		return Invalid(field, "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid")
	}
	return nil
}

func checkOptions(options []option, field string) error {
	seen, optional := map[string]bool{}, false
	for i, o := range options {
		at := fmt.Sprintf("%s.%d", field, i)
		if err := checkName(o.Name, at+".name"); err != nil {
			return err
		}
		switch {
		case seen[o.Name]:
			return Invalid(at, "APPLICATION_COMMAND_OPTIONS_NAME_ALREADY_EXISTS", "Option name already exists")
		case o.Required && optional:
			return Invalid(at, "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID", "Required options must be placed before non-required options")
		case o.Autocomplete && len(o.Choices) > 0:
			return Invalid(at, "APPLICATION_COMMAND_AUTOCOMPLETE_CHOICES", "Autocomplete and choices exclude each other")
		}
		seen[o.Name] = true
		optional = optional || !o.Required
		if err := checkOptions(o.Options, at+".options"); err != nil {
			return err
		}
	}
	return nil
}

// shown is a definition as the API gives it back: no nulls, defaults filled in.
func shown(body json.RawMessage, kind int) json.RawMessage {
	o := object(body)
	denull(o)
	o["type"] = kind
	if o["description"] == nil {
		o["description"] = ""
	}
	delete(o, "id")
	out, _ := json.Marshal(o)
	return out
}

func denull(v any) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			denull(x)
		}
	case obj:
		for k, x := range v {
			if x == nil {
				delete(v, k)
			}
			denull(x)
		}
	}
}

func (w *World) commandJSON(c *AppCommand) obj {
	o := object(c.Body)
	o["id"], o["application_id"], o["version"] = c.ID, w.meta.Application, c.Version
	if o["default_member_permissions"] == nil {
		o["default_member_permissions"] = nil
	} else {
		o["default_member_permissions"] = fmt.Sprint(o["default_member_permissions"])
	}
	if c.Guild != "" {
		o["guild_id"] = c.Guild
	}
	return o
}

// lookup finds the chat command that a user of the guild gets by that name: the guild's own first.
func (w *World) lookup(name string) *AppCommand {
	for _, guild := range []string{w.meta.Guild, ""} {
		for _, c := range w.scope(guild) {
			if c.Name == name && c.Type == 1 {
				return c
			}
		}
	}
	return nil
}
