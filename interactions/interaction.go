package interactions

import (
	"strings"

	"holdfast/actor"
)

// Interaction types (Discord, "Interaction Type").
const (
	typePing         = 1
	typeCommand      = 2
	typeComponent    = 3
	typeAutocomplete = 4
	typeModal        = 5
)

// AckDeadline is how long, in ms, the front waits for an actor's word before it answers an interaction by itself.
// Discord gives up after 3 s (spec 6.1).
const AckDeadline = 2000

// What people are told without an actor's word.
const (
	sayPrivate   = "Holdfast works in a server's channels only, where it was installed for the server."
	sayGuild     = "This Holdfast does not serve this server. Whoever runs it can add the server to `allowed_guilds`."
	sayUnknown   = "I do not know this command. The list of commands may be older than I am: try again in a minute."
	sayBlank     = "There is nothing in the prompt. Say what to do, or ask something."
	sayComponent = "I do not know this button any more."
	sayForeign   = "This button belongs to another server."
	sayLate      = "Not accepted, nothing was started. Please try again."
	sayPending   = "Not confirmed yet: look at the card in a moment."
	sayUnsure    = "Not confirmed in time. Look whether it happened before you try again."
	sayDamaged   = "This workspace's database is damaged, so nothing can be accepted; trying again does not help. An operator has to restore a backup."
	sayUnbound   = "This channel belongs to no workspace yet. An operator binds it with " +
		"`PUT /v1/workspaces/<server>/<workspace>/config` and `{\"bindings\": [\"<this channel's id>\"]}`."
)

// The same for every interaction, so written once. Nobody changes them.
var (
	tooLate  = whisper(sayLate)
	pending  = whisper(sayPending)
	notSure  = whisper(sayUnsure)
	notBound = whisper(sayUnbound)
	damaged  = whisper(sayDamaged)
)

// interaction answers POST /interactions. The signature comes first: not a byte of JSON is read before it holds.
func interaction(r Request, body []byte) (Verdict, error) {
	if r.Method != "POST" {
		return wrongMethod("POST"), nil
	}
	if !authentic(r, body) {
		return Verdict{Reply: Unsigned()}, nil
	}
	doc, bad := parse(body)
	if bad != nil {
		return malformed(bad), nil
	}
	kind := doc.field("type").integer(99)
	key := doc.field("id").id()
	if app := doc.field("application_id"); app.id() != r.Config.ApplicationID {
		app.fail("the id of this application")
	}
	if doc.doc.err != nil {
		return malformed(doc.doc.err), nil
	}
	switch kind {
	case typePing:
		return Verdict{Reply: jsonReply(200, callback{Type: callbackPong})}, nil
	case typeCommand, typeComponent, typeAutocomplete, typeModal:
		return admitted(r.Config, doc, kind, key)
	}
	doc.field("type").fail("a type of interaction from 1 to 5")
	return malformed(doc.doc.err), nil
}

// admitted goes on with an interaction that is authentic: is it from a place we serve, and what is it?
func admitted(config actor.Config, doc value, kind int64, key string) (Verdict, error) {
	quiet := kind == typeAutocomplete // has no way to show a sentence
	if !inGuild(doc) {
		return sayOr(quiet, doc, sayPrivate), nil
	}
	in := actor.Interaction{Key: key, Token: tokenOf(doc.field("token")), User: member(doc.field("member")), Place: place(doc)}
	if doc.doc.err != nil {
		return malformed(doc.doc.err), nil
	}
	if !allowed(config, in.Place.Guild) {
		return sayOr(quiet, doc, sayGuild), nil
	}
	data := doc.field("data")
	if !data.present() {
		data.fail("the interaction's data")
	}
	switch kind {
	case typeCommand:
		return command(in, data)
	case typeAutocomplete:
		return autocomplete(in, data)
	case typeComponent:
		return press(in, doc, data)
	}
	return submit(in, doc, data)
}

func sayOr(quiet bool, doc value, text string) Verdict {
	switch {
	case doc.doc.err != nil:
		return malformed(doc.doc.err)
	case quiet:
		return Verdict{Reply: noChoices()}
	}
	return say(text)
}

func allowed(config actor.Config, guild string) bool {
	for _, g := range config.AllowedGuilds {
		if g == guild {
			return true
		}
	}
	return false
}

// inGuild says whether the interaction is from a guild that the application is installed in: not a direct message,
// a private channel, or a person's own installation (Discord, "Authorizing Integration Owners Object").
func inGuild(doc value) bool {
	guild := doc.field("guild_id").optID()
	if c := doc.field("context"); c.present() && c.integer(99) != 0 {
		return false
	}
	owners := doc.field("authorizing_integration_owners")
	return guild != "" && (!owners.present() || owners.field("0").optText(20) == guild)
}

// tokenOf reads an interaction's token. It becomes part of a URL's path, so it must have no say in where that leads.
func tokenOf(v value) string {
	t := v.text(1000)
	for _, c := range t {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("-_.:=+~", c) {
			v.fail("an interaction token")
			return ""
		}
	}
	if strings.Trim(t, ".") == "" {
		v.fail("an interaction token")
	}
	return t
}

// member is the user behind an interaction in a guild.
func member(v value) actor.User {
	u := user(v.field("user"))
	u.Roles = v.field("roles").ids()
	if p := v.field("permissions"); p.present() {
		if u.Permissions = p.text(30); !digits(u.Permissions) {
			p.fail("a bit set as a decimal number in quotes")
		}
	}
	return u
}

// user is a Discord user, called as people see them: the global name, or else the user name.
func user(v value) actor.User {
	u := actor.User{ID: v.field("id").id(), Name: v.field("global_name").optText(100)}
	if u.Name == "" {
		u.Name = v.field("username").optText(100)
	}
	return u
}

// place is where an interaction happened. Only a thread's parent is known, not its parent's category.
func place(doc value) actor.Place {
	p := actor.Place{Guild: doc.field("guild_id").id(), Channel: doc.field("channel_id").id()}
	c := doc.field("channel")
	if !c.present() {
		return p
	}
	if id := c.field("id"); id.id() != p.Channel {
		id.fail("the same as channel_id")
	}
	p.Type = int(c.field("type").integer(99))
	if p.Thread() {
		p.Parent = c.field("parent_id").optID()
	} else {
		p.Category = c.field("parent_id").optID()
	}
	return p
}

// deliver sends an interaction to the workspace of its place.
func deliver(in actor.Interaction, late, unbound *actor.Reply) (Verdict, error) {
	id := in.Key
	if in.Place.Thread() {
		id = in.Place.Channel // the binding that held when the thread began decides (spec 2.3)
	}
	data, err := actor.Encode(in)
	d := Delivery{Resolve: &actor.ResolveArgs{Place: in.Place, ID: id}, Type: actor.EventInteraction, Data: data}
	v := Verdict{Mode: ModeOne, Deliver: []Delivery{d}, DeadlineMS: AckDeadline, Late: late, Unbound: unbound}
	if in.Kind != actor.KindComplete {
		v.Damaged = damaged
	}
	return v, err
}

// deliverTo sends an interaction to the workspace that its custom_id names.
func deliverTo(c CustomID, in actor.Interaction) (Verdict, error) {
	data, err := actor.Encode(in)
	d := Delivery{Actor: "workspace:" + c.Guild + "/" + c.Workspace, Type: actor.EventInteraction, Data: data}
	return Verdict{Mode: ModeOne, Deliver: []Delivery{d}, DeadlineMS: AckDeadline, Late: pending, Damaged: damaged}, err
}
