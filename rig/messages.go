package rig

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// message is what Discord shows, as far as the rig looks at it.
type message struct {
	ID          string `json:"id"`
	Channel     string `json:"channel_id"`
	Type        int    `json:"type"`
	Author      struct{ ID string }
	Content     string          `json:"content"`
	Embeds      json.RawMessage `json:"embeds"`
	Components  json.RawMessage `json:"components"`
	Flags       int             `json:"flags"`
	EphemeralTo string          `json:"ephemeral_to"`
	Failure     string          `json:"failure"`
}

const (
	flagEphemeral = 1 << 6
	flagLoading   = 1 << 7
)

// written are the types of messages that somebody wrote: a message, a reply, the answer to a command.
var written = []int{0, 19, 20}

// button is a component that can be pressed.
type button struct {
	CustomID string
	Disabled bool
}

// verb is the first part of the custom_id (spec 9.1).
func (b button) verb() string {
	verb, _, _ := strings.Cut(b.CustomID, ":")
	return verb
}

// buttons lists the components that have a custom_id, in any nesting.
func (m message) buttons() []button {
	var tree any
	if json.Unmarshal(m.Components, &tree) != nil {
		return nil
	}
	var list []button
	walk(tree, func(o map[string]any) {
		if id, ok := o["custom_id"].(string); ok {
			list = append(list, button{id, o["disabled"] == true})
		}
	})
	return list
}

// find gives the custom_id of the message's button with a verb that can be pressed, or "".
func (m message) find(verb string) string {
	for _, b := range m.buttons() {
		if b.verb() == verb && !b.Disabled {
			return b.CustomID
		}
	}
	return ""
}

// text is everything that a person reads of a message, the labels of buttons left out.
func (m message) text() string {
	parts := []string{m.Content}
	var tree any
	if json.Unmarshal(m.Embeds, &tree) == nil {
		walk(tree, func(o map[string]any) {
			for _, key := range []string{"title", "name", "description", "value", "text"} {
				if s, ok := o[key].(string); ok {
					parts = append(parts, s)
				}
			}
		})
	}
	return strings.Join(parts, "\n")
}

// walk visits every object of a JSON value, in the order of keys.
func walk(v any, visit func(map[string]any)) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			walk(x, visit)
		}
	case map[string]any:
		visit(v)
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			walk(v[k], visit)
		}
	}
}

// seen is a channel or thread with its messages, oldest first, those that one person sees included.
func (p *Play) seen(ctx context.Context, channel string) ([]message, error) {
	var view struct{ Messages []message }
	err := p.stage.control.call(ctx, "GET", "/channels/"+url.PathEscape(channel), nil, &view)
	return view.Messages, err
}

type thread struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// threads lists them, oldest first.
func (p *Play) threads(ctx context.Context) ([]thread, error) {
	var list struct{ Threads []thread }
	if err := p.stage.control.call(ctx, "GET", "/threads", nil, &list); err != nil {
		return nil, err
	}
	slices.SortFunc(list.Threads, func(a, b thread) int { return byAge(a.ID, b.ID) })
	return list.Threads, nil
}

// byAge orders snowflakes.
func byAge(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }

// everything is all messages of the channel and of its threads, the oldest first.
func (p *Play) everything(ctx context.Context) ([]message, error) {
	all, err := p.seen(ctx, p.stage.Info.Channel)
	if err != nil {
		return nil, err
	}
	threads, err := p.threads(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range threads {
		more, err := p.seen(ctx, t.ID)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	slices.SortStableFunc(all, func(a, b message) int { return byAge(a.ID, b.ID) })
	return all, nil
}

// public are the bot's messages that everybody sees, the oldest first.
func (p *Play) public(ctx context.Context) ([]message, error) {
	all, err := p.everything(ctx)
	return slices.DeleteFunc(all, func(m message) bool {
		return m.Author.ID != p.stage.Info.Application || m.Flags&flagEphemeral != 0 || m.EphemeralTo != "" || m.Failure != "" ||
			!slices.Contains(written, m.Type)
	}), err
}

// newest is the last of the bot's messages that match; it is an error when there is none.
func (p *Play) newest(ctx context.Context, what string, match func(message) bool) (message, error) {
	all, err := p.public(ctx)
	if err != nil {
		return message{}, err
	}
	for _, m := range slices.Backward(all) {
		if match(m) {
			return m, nil
		}
	}
	return message{}, fmt.Errorf("there is no %s; the bot has shown:%s", what, outline(all))
}

// isAnchor: an anchor has the button to stop its turn, or the one for the details of an ended one.
func isAnchor(m message) bool {
	for _, b := range m.buttons() {
		if v := b.verb(); v == "s" || v == "i" {
			return true
		}
	}
	return false
}

// isFinal says that an anchor shows an ended turn.
func isFinal(m message) bool { return m.find("i") != "" }

// outline shows messages in an error.
func outline(list []message) string {
	if len(list) == 0 {
		return " nothing"
	}
	var b strings.Builder
	for _, m := range list {
		var ids []string
		for _, x := range m.buttons() {
			ids = append(ids, x.CustomID)
		}
		fmt.Fprintf(&b, "\n  %s in %s (type %d, flags %d, %v): %.600q", m.ID, m.Channel, m.Type, m.Flags, ids, m.text())
	}
	return b.String()
}
