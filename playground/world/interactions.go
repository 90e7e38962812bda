package world

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

const (
	// AnswerIn is how long an application has for its first response.
	AnswerIn = 3 * time.Second
	// tokenLife is how long an interaction's token lives.
	tokenLife = 15 * time.Minute
)

// Ask is what a user does: a command, a component, a query for choices or a form.
type Ask struct {
	Type    int
	User    string // id
	Channel string
	Name    string // command
	Message string // that the component is on
	Trigger string // interaction that opened the form
	Data    obj    // Discord's data object
}

// Begin records an interaction and returns it with the payload that Discord would post.
func (w *World) Begin(a Ask) (Interaction, json.RawMessage, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, u := w.channels[a.Channel], w.users[a.User]
	if c == nil {
		return Interaction{}, nil, ErrUnknownChannel
	}
	if u == nil {
		return Interaction{}, nil, ErrUnknownUser
	}
	if c.Archived && a.Type == Command {
		return Interaction{}, nil, ErrArchived
	}
	id := w.mint()
	noise := make([]byte, 48)
	if _, err := w.opt.Entropy.Read(noise); err != nil {
		return Interaction{}, nil, fmt.Errorf("interaction token: %w", err)
	}
	i := &Interaction{ID: id, Type: a.Type, User: u.ID, Channel: c.ID, Name: a.Name, Message: a.Message,
		Trigger: a.Trigger, At: w.now(), State: Pending,
		Token: base64.RawURLEncoding.EncodeToString(append([]byte("interaction:"+id+":"), noise...))}
	payload := w.interactionJSON(i, c, u, a.Data)
	w.put(i)
	return *i, payload, w.flush()
}

// interactionJSON is the body of the request to the interactions endpoint.
func (w *World) interactionJSON(i *Interaction, c *Channel, u *User, data obj) json.RawMessage {
	perms := bits(w.permissions(u))
	member := w.memberJSON(u)
	member["user"], member["permissions"] = w.userJSON(u), perms
	channel := w.channelJSON(c)
	channel["permissions"] = perms
	delete(channel, "permission_overwrites")
	o := obj{"id": i.ID, "application_id": w.meta.Application, "type": i.Type, "token": i.Token, "version": 1,
		"app_permissions": bits(BotPermissions), "locale": "en-US", "guild_locale": "en-US", "entitlements": []any{},
		"attachment_size_limit": maxFile, "guild_id": w.meta.Guild,
		"guild":  obj{"id": w.meta.Guild, "locale": "en-US", "features": []any{}},
		"member": member, "channel_id": c.ID, "channel": channel, "context": 0,
		"authorizing_integration_owners": obj{"0": w.meta.Guild}, "data": data}
	if m := w.messages[i.Message]; m != nil {
		o["message"] = w.messageJSON(m)
	}
	raw, _ := json.Marshal(o) // built here from plain values
	return raw
}

// Callback is an application's first response.
type Callback struct {
	Type int             `json:"type"`
	Data json.RawMessage `json:"data"`
}

// Callback types.
const (
	CallbackMessage     = 4
	CallbackThinking    = 5
	CallbackDeferUpdate = 6
	CallbackUpdate      = 7
	CallbackChoices     = 8
	CallbackModal       = 9
)

// allowed lists the callback types that each kind of interaction takes.
var allowed = map[int][]int{
	Command:      {CallbackMessage, CallbackThinking, CallbackModal},
	Component:    {CallbackMessage, CallbackThinking, CallbackDeferUpdate, CallbackUpdate, CallbackModal},
	Autocomplete: {CallbackChoices},
	ModalSubmit:  {CallbackMessage, CallbackThinking, CallbackDeferUpdate, CallbackUpdate},
}

// Respond applies the first response, within AnswerIn of the interaction.
func (w *World) Respond(id string, cb Callback, files []File) (Interaction, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := w.interactions[id]
	switch {
	case i == nil || i.State == Failed:
		return Interaction{}, ErrUnknownInteract
	case i.State == Acked:
		return Interaction{}, ErrAlreadyAcked
	case w.now()-i.At > AnswerIn.Milliseconds():
		return Interaction{}, ErrUnknownInteract
	case !slices.Contains(allowed[i.Type], cb.Type) || needsMessage(cb.Type) && w.messages[i.Message] == nil:
		return Interaction{}, Invalid("type", "INTERACTION_CALLBACK_TYPE_INVALID", fmt.Sprintf("Callback type %d does not answer interaction type %d", cb.Type, i.Type))
	}
	next := *i
	next.State, next.Answer = Acked, cb.Type
	if err := w.apply(&next, cb, files); err != nil {
		return Interaction{}, err
	}
	*i = next
	w.put(i)
	return *i, w.flush()
}

func needsMessage(callback int) bool {
	return callback == CallbackDeferUpdate || callback == CallbackUpdate
}

func (w *World) apply(i *Interaction, cb Callback, files []File) error {
	var d Draft
	if cb.Type == CallbackMessage || cb.Type == CallbackThinking || cb.Type == CallbackUpdate {
		if err := decode(cb.Data, &d); err != nil {
			return err
		}
		d.Files = files
	}
	switch cb.Type {
	case CallbackMessage, CallbackThinking:
		return w.reply(i, d, cb.Type == CallbackThinking)
	case CallbackDeferUpdate:
		i.Original = i.Message
	case CallbackUpdate:
		i.Original = i.Message
		return w.edit(w.messages[i.Message], d, []string{"users"})
	case CallbackChoices:
		i.Choices = cb.Data
	case CallbackModal:
		i.Modal = numbered(cb.Data)
	}
	return nil
}

// numbered gives the parts of a form their ids.
func numbered(form json.RawMessage) json.RawMessage {
	n, o := 0, object(form)
	visit(o["components"], func(part obj) {
		if n++; part["id"] == nil {
			part["id"] = n
		}
	})
	out, _ := json.Marshal(o) // came from JSON
	return out
}

// reply makes the message that answers an interaction.
func (w *World) reply(i *Interaction, d Draft, thinking bool) error {
	c := w.channels[i.Channel]
	if c == nil {
		return ErrUnknownChannel
	}
	m := &Message{Author: w.meta.Application, Channel: c.ID, Type: MsgCommand, Interaction: i.ID}
	if w.messages[i.Message] != nil {
		m.Type, m.Reference = MsgReply, &Reference{Message: i.Message, Channel: i.Channel}
	}
	if d.Flags != nil && *d.Flags&FlagEphemeral != 0 {
		m.Flags, m.For = FlagEphemeral, i.User
	}
	if thinking {
		m.Flags |= FlagLoading
		d = Draft{}
	}
	if err := w.fill(m, d, []string{"users"}); err != nil {
		return err
	}
	w.interactions[i.ID] = i // the message names it
	w.add(m, c)
	i.Original = m.ID
	return nil
}

// Fail ends an interaction that got no valid response in time. Its token is void.
func (w *World) Fail(id, why string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := w.interactions[id]
	if i == nil || i.State != Pending {
		return nil
	}
	w.fail(i, why)
	return w.flush()
}

func (w *World) fail(i *Interaction, why string) {
	i.State, i.Why = Failed, why
	w.put(i)
	if i.Type == Command {
		w.note(i, "The application did not respond")
	}
}

// settle ends what a killed process was still waiting for, and forgets interactions that nothing shows any more.
func (w *World) settle() error {
	shown := map[string]bool{}
	for _, m := range w.messages {
		shown[m.Interaction] = true
	}
	for _, i := range w.interactions {
		shown[i.Trigger] = true
	}
	for _, i := range w.interactions {
		if i.State == Pending {
			w.fail(i, "the playground was stopped")
		} else if !shown[i.ID] && w.now()-i.At > tokenLife.Milliseconds() {
			delete(w.interactions, i.ID)
			w.drop("interaction/" + i.ID)
		}
	}
	return w.flush()
}

// Interaction returns one by its id.
func (w *World) Interaction(id string) (Interaction, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := w.interactions[id]; i != nil {
		return *i, true
	}
	return Interaction{}, false
}
