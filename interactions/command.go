package interactions

import (
	"strings"

	"holdfast/actor"
)

// Limits of an attachment's description; far beyond what Discord sends.
const (
	maxOptions  = 25
	maxFileName = 260
	maxURL      = 4096
	maxFileSize = 1 << 40 // bytes; who fetches it has a tighter limit
)

// Component types (Discord, "Component Types").
const (
	componentButton = 2
	componentInput  = 4
	componentLabel  = 18
)

// command decodes a slash command.
func command(in actor.Interaction, data value) (Verdict, error) {
	name := data.field("name").text(32)
	if t := data.field("type"); t.present() && t.integer(99) != dataChatInput {
		name = ""
	}
	options := optionsOf(data)
	late := notSure
	switch name {
	case actor.KindAsk:
		ask(&in, data, options)
		late = tooLate
	case actor.KindResume:
		in.Conversation = options["conversation"].typed("conversation", maxOption)
	case actor.KindStop, actor.KindUsage:
	case actor.KindWorkspace:
		subcommand(&in, data)
	default:
		return sayOr(false, data, sayUnknown), nil
	}
	if data.doc.err != nil || data.doc.told != "" {
		return sayOr(false, data, data.doc.told), nil
	}
	in.Kind = name
	v, err := deliver(in, late, notBound)
	if name == actor.KindAsk {
		v.Withdraw = in.Key
	}
	return v, err
}

func ask(in *actor.Interaction, data value, options map[string]value) {
	prompt := options["prompt"]
	in.Prompt = prompt.typed("prompt", maxPrompt)
	if strings.TrimSpace(in.Prompt) == "" {
		prompt.tell(sayBlank)
	}
	in.Model = options["model"].typed("model", maxOption)
	if a, ok := options["attachment"]; ok {
		file := data.field("resolved").field("attachments").field(a.id())
		in.Attachments = []actor.Attachment{attachment(file)}
	}
}

// maxOption is the longest option but a prompt, in characters.
const maxOption = 100

// subcommand reads which one of a command's was chosen, and its options, all of them text.
func subcommand(in *actor.Interaction, data value) {
	chosen := data.field("options").list(maxOptions)
	if len(chosen) != 1 {
		data.field("options").fail("one subcommand")
		return
	}
	in.Sub = chosen[0].field("name").text(32)
	in.Options = map[string]string{}
	for _, o := range chosen[0].field("options").list(maxOptions) {
		name := o.field("name").text(32)
		in.Options[name] = o.field("value").typed(name, maxOption)
	}
}

// optionsOf gives the values of a command's options by name; absent ones are values that are not present.
func optionsOf(data value) map[string]value {
	options := map[string]value{}
	for _, o := range data.field("options").list(maxOptions) {
		options[o.field("name").text(32)] = o.field("value")
	}
	for _, name := range []string{"prompt", "conversation", "model"} {
		if _, ok := options[name]; !ok {
			options[name] = data.missing(".options." + name)
		}
	}
	return options
}

func attachment(v value) actor.Attachment {
	return actor.Attachment{
		ID:   v.field("id").id(),
		Name: v.field("filename").text(maxFileName),
		Type: v.field("content_type").optText(maxFileName),
		Size: v.field("size").integer(maxFileSize),
		URL:  v.field("url").text(maxURL),
	}
}

// autocomplete decodes what is typed so far. It never fails loudly: people see choices, or none.
func autocomplete(in actor.Interaction, data value) (Verdict, error) {
	in.Kind = actor.KindComplete
	for _, o := range data.field("options").list(maxOptions) {
		if o.field("focused").flag() {
			in.Query = o.field("value").typed("", maxPrompt)
		}
	}
	if name := data.field("name").text(32); name != actor.KindResume || data.doc.err != nil || data.doc.told != "" {
		return sayOr(true, data, ""), nil
	}
	return deliver(in, noChoices(), noChoices())
}

// press decodes a button.
func press(in actor.Interaction, doc, data value) (Verdict, error) {
	c, v := target(&in, doc, data)
	if v != nil {
		return *v, nil
	}
	if data.field("component_type").integer(99) != componentButton {
		return sayOr(false, data, sayComponent), nil
	}
	if c.Verb == "w" {
		return Verdict{Reply: reasonModal(c)}, nil
	}
	in.Kind = actor.KindPress
	return deliverTo(c, in)
}

// submit decodes the modal of "Deny and say why".
func submit(in actor.Interaction, doc, data value) (Verdict, error) {
	c, v := target(&in, doc, data)
	if v != nil {
		return *v, nil
	}
	if c.Verb != "w" {
		return say(sayComponent), nil
	}
	in.Kind = actor.KindReason
	in.Reason = reason(data)
	if data.doc.err != nil || data.doc.told != "" {
		return sayOr(false, data, data.doc.told), nil
	}
	return deliverTo(c, in)
}

// target reads which record a component or modal is about, or gives the verdict that ends it.
func target(in *actor.Interaction, doc, data value) (CustomID, *Verdict) {
	id := data.field("custom_id").text(MaxCustomID)
	in.Message = doc.field("message").field("id").optID()
	if data.doc.err != nil {
		v := malformed(data.doc.err)
		return CustomID{}, &v
	}
	c, ok := ParseCustomID(id)
	switch {
	case !ok:
		v := say(sayComponent)
		return c, &v
	case c.Guild != in.Place.Guild:
		v := say(sayForeign)
		return c, &v
	}
	in.Verb, in.Target = c.Verb, c.Target
	return c, nil
}

const (
	reasonField = "reason"
	maxReason   = 500 // characters; a reason is a sentence or two on a card
)

// reasonModal asks why. Its custom_id is the button's, so the answer finds the same card.
func reasonModal(c CustomID) *actor.Reply {
	type input struct {
		Type        int    `json:"type"`
		CustomID    string `json:"custom_id"`
		Style       int    `json:"style"` // 2: several lines
		MinLength   int    `json:"min_length"`
		MaxLength   int    `json:"max_length"`
		Required    bool   `json:"required"`
		Placeholder string `json:"placeholder"`
	}
	type label struct {
		Type      int    `json:"type"`
		Label     string `json:"label"`
		Component input  `json:"component"`
	}
	type modal struct {
		CustomID   string  `json:"custom_id"`
		Title      string  `json:"title"`
		Components []label `json:"components"`
	}
	field := input{componentInput, reasonField, 2, 1, maxReason, true, "The model reads this and can do better."}
	return jsonReply(200, callback{callbackModal, modal{
		CustomID: c.String(), Title: "Deny and say why",
		Components: []label{{componentLabel, "Why not?", field}},
	}})
}

// reason finds the text of the modal, in its present form (a label around it) and the older one (a row of inputs).
func reason(data value) string {
	for _, c := range data.field("components").list(5) {
		inputs := c.field("components").list(5)
		if c.field("component").present() {
			inputs = append(inputs, c.field("component"))
		}
		for _, in := range inputs {
			if in.field("custom_id").optText(MaxCustomID) == reasonField {
				return in.field("value").typed(reasonField, maxReason)
			}
		}
	}
	data.field("components").fail("a text input named " + reasonField)
	return ""
}
