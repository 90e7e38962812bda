package world

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Given is what a user typed into a command: option names to JSON values. An attachment's value is
// {"name","type","data"} with data in base64.
type Given map[string]json.RawMessage

// AskCommand builds a chat command as the client sends it. name may be "group sub" for a subcommand. With focused
// set it is the query for choices of that option.
func (w *World) AskCommand(user, channel, name string, given Given, focused string) (Ask, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	words := strings.Fields(strings.TrimPrefix(name, "/"))
	if len(words) == 0 {
		return Ask{}, ErrUnknownCommand
	}
	c := w.lookup(words[0])
	if c == nil || !w.mayUse(user, c) {
		return Ask{}, ErrUnknownCommand
	}
	defs, wrap, err := descend(c.Body, words[1:])
	if err != nil {
		return Ask{}, err
	}
	resolved := obj{}
	options, err := w.options(channel, defs, given, focused, resolved)
	if err != nil {
		return Ask{}, err
	}
	data := obj{"id": c.ID, "name": c.Name, "type": c.Type, "options": wrap(options)}
	if c.Guild != "" {
		data["guild_id"] = c.Guild
	}
	if len(resolved) > 0 {
		data["resolved"] = resolved
	}
	a := Ask{Type: Command, User: user, Channel: channel, Name: strings.Join(words, " "), Data: data}
	if focused != "" {
		a.Type = Autocomplete
	}
	return a, nil
}

// mayUse applies default_member_permissions, all of which the user must have; "0" is for administrators only.
func (w *World) mayUse(user string, c *AppCommand) bool {
	raw := object(c.Body)["default_member_permissions"]
	u := w.users[user]
	if raw == nil || u == nil {
		return u != nil
	}
	need, err := strconv.ParseUint(fmt.Sprint(raw), 10, 64)
	if need == 0 {
		need = 1 << 3
	}
	return err == nil && w.permissions(u)&need == need
}

// definition is one option of a registered command.
type definition struct {
	Type         int          `json:"type"`
	Name         string       `json:"name"`
	Required     bool         `json:"required"`
	Autocomplete bool         `json:"autocomplete"`
	Options      []definition `json:"options"`
}

// descend finds the options of a subcommand, and how to wrap their values again.
func descend(body json.RawMessage, words []string) ([]definition, func([]obj) []obj, error) {
	var d definition
	if err := json.Unmarshal(body, &d); err != nil {
		return nil, nil, fmt.Errorf("command body: %w", err)
	}
	type level struct {
		name string
		kind int
	}
	var levels []level
	for _, word := range words {
		found := false
		for _, o := range d.Options {
			if o.Name == word && o.Type <= 2 {
				d, found = o, true
				levels = append(levels, level{o.Name, o.Type})
				break
			}
		}
		if !found {
			return nil, nil, ErrUnknownCommand
		}
	}
	if len(d.Options) > 0 && d.Options[0].Type <= 2 {
		return nil, nil, Invalid("name", "BASE_TYPE_REQUIRED", "this command has subcommands: name one")
	}
	wrap := func(options []obj) []obj {
		for i := len(levels) - 1; i >= 0; i-- {
			options = []obj{{"name": levels[i].name, "type": levels[i].kind, "options": options}}
		}
		return options
	}
	return d.Options, wrap, nil
}

// options checks what the client checks, and resolves what Discord resolves.
func (w *World) options(channel string, defs []definition, given Given, focused string, resolved obj) ([]obj, error) {
	out, known := []obj{}, map[string]bool{}
	for _, d := range defs {
		known[d.Name] = true
		raw, ok := given[d.Name]
		if !ok || isNull(raw) {
			if d.Required && focused == "" {
				return nil, Invalid("options."+d.Name, "BASE_TYPE_REQUIRED", "This field is required")
			}
			if d.Name == focused {
				out = append(out, obj{"name": d.Name, "type": d.Type, "value": "", "focused": true})
			}
			continue
		}
		v, err := w.value(channel, d, raw, resolved)
		if err != nil {
			return nil, err
		}
		o := obj{"name": d.Name, "type": d.Type, "value": v}
		if d.Name == focused {
			if !d.Autocomplete {
				return nil, Invalid("options."+d.Name, "BASE_TYPE_BAD", "this option has no autocomplete")
			}
			o["focused"] = true
		}
		out = append(out, o)
	}
	for name := range given {
		if !known[name] {
			return nil, Invalid("options."+name, "BASE_TYPE_BAD", "the command has no such option")
		}
	}
	return out, nil
}

// Option types whose value is an id.
const (
	optInteger    = 4
	optBoolean    = 5
	optUser       = 6
	optChannel    = 7
	optRole       = 8
	optNumber     = 10
	optAttachment = 11
)

func (w *World) value(channel string, d definition, raw json.RawMessage, resolved obj) (any, error) {
	bad := Invalid("options."+d.Name, "BASE_TYPE_BAD", "the value does not fit the option's type")
	put := func(kind, id string, v obj) {
		if resolved[kind] == nil {
			resolved[kind] = obj{}
		}
		resolved[kind].(obj)[id] = v
	}
	switch d.Type {
	case optInteger, optNumber:
		var n json.Number
		if json.Unmarshal(raw, &n) != nil || d.Type == optInteger && strings.ContainsAny(n.String(), ".eE") {
			return nil, bad
		}
		return n, nil
	case optBoolean:
		var b bool
		if json.Unmarshal(raw, &b) != nil {
			return nil, bad
		}
		return b, nil
	case optAttachment:
		var f struct {
			Name, Type string
			Data       []byte
		}
		if json.Unmarshal(raw, &f) != nil {
			return nil, bad
		}
		a, err := w.store(File{Name: f.Name, Type: f.Type, Data: f.Data}, f.Name)
		if err != nil {
			return nil, err
		}
		a.Ephemeral = true
		put("attachments", a.ID, w.attachmentJSON(channel, a))
		return a.ID, nil
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return nil, bad
	}
	switch d.Type {
	case optUser:
		u := w.users[s]
		if u == nil {
			return nil, bad
		}
		put("users", s, w.userJSON(u))
		m := w.memberJSON(u)
		m["permissions"] = bits(w.permissions(u))
		delete(m, "mute")
		delete(m, "deaf")
		put("members", s, m)
	case optChannel:
		c := w.channels[s]
		if c == nil {
			return nil, bad
		}
		put("channels", s, obj{"id": s, "name": c.Name, "type": c.Type, "permissions": bits(permEveryone)})
	case optRole:
		r := w.roles[s]
		if r == nil {
			return nil, bad
		}
		put("roles", s, w.roleJSON(r))
	}
	return s, nil
}

func (w *World) roleJSON(r *Role) obj {
	return obj{"id": r.ID, "name": r.Name, "permissions": bits(r.Permissions), "position": r.Position,
		"color": r.Color, "colors": obj{"primary_color": r.Color, "secondary_color": nil, "tertiary_color": nil},
		"hoist": r.Position > 0, "managed": false, "mentionable": true, "icon": nil, "unicode_emoji": nil, "flags": 0}
}

// AskComponent builds the press of a button, or a choice from a select.
func (w *World) AskComponent(user, message, customID string, values []string) (Ask, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.messages[message]
	if m == nil || m.For != "" && m.For != user {
		return Ask{}, ErrUnknownMessage
	}
	for _, raw := range m.Components {
		var found obj
		visit(object(raw), func(o obj) {
			if o["custom_id"] == customID {
				found = o
			}
		})
		if found == nil {
			continue
		}
		if found["disabled"] == true {
			return Ask{}, Invalid("custom_id", "COMPONENT_DISABLED", "the component is disabled")
		}
		data := obj{"custom_id": customID, "component_type": found["type"], "id": found["id"]}
		if values != nil {
			data["values"] = values
		}
		return Ask{Type: Component, User: user, Channel: m.Channel, Message: m.ID, Data: data}, nil
	}
	return Ask{}, Invalid("custom_id", "COMPONENT_UNKNOWN", "the message has no such component")
}

// AskModal builds the submission of the form that an interaction opened.
func (w *World) AskModal(user, interaction string, values map[string]string) (Ask, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := w.interactions[interaction]
	if i == nil || i.User != user || i.Answer != CallbackModal {
		return Ask{}, ErrUnknownInteract
	}
	form := object(i.Modal)
	parts, _ := form["components"].([]any)
	var problem error
	fillForm(parts, values, &problem)
	if problem != nil {
		return Ask{}, problem
	}
	return Ask{Type: ModalSubmit, User: user, Channel: i.Channel, Message: i.Message, Trigger: i.ID,
		Data: obj{"custom_id": form["custom_id"], "components": parts}}, nil
}

// fillForm turns the parts of a form into the parts of its submission, in place.
func fillForm(parts []any, values map[string]string, problem *error) {
	for _, p := range parts {
		o, ok := p.(obj)
		if !ok {
			continue
		}
		if inner, ok := o["component"]; ok {
			fillForm([]any{inner}, values, problem)
		}
		if inner, ok := o["components"].([]any); ok {
			fillForm(inner, values, problem)
		}
		id, _ := o["custom_id"].(string)
		v := values[id]
		if id != "" && v == "" && o["required"] != false {
			*problem = Invalid(id, "BASE_TYPE_REQUIRED", "This field is required")
		}
		switch fmt.Sprint(o["type"]) {
		case "4":
			o["value"] = v
		case "3", "5", "6", "7", "8":
			o["values"] = []string{v}
		}
		for k := range o {
			switch k {
			case "type", "id", "custom_id", "value", "values", "component", "components":
			default:
				delete(o, k)
			}
		}
	}
}
