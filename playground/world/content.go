package world

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"unicode/utf8"
)

// Draft is the body of a create or an edit. A nil pointer or slice means that the field was absent.
type Draft struct {
	Content     *string           `json:"content"`
	Embeds      []json.RawMessage `json:"embeds"`
	Components  []json.RawMessage `json:"components"`
	Flags       *int              `json:"flags"`
	Mentions    *AllowedMentions  `json:"allowed_mentions"`
	Nonce       json.RawMessage   `json:"nonce"`
	Enforce     bool              `json:"enforce_nonce"`
	Reference   *DraftReference   `json:"message_reference"`
	Attachments []DraftAttachment `json:"attachments"`
	Files       []File            `json:"-"` // that came beside the JSON
}

// DraftReference asks for a reply.
type DraftReference struct {
	Message string `json:"message_id"`
	Fail    *bool  `json:"fail_if_not_exists"`
}

// DraftAttachment keeps an attachment (an edit), or describes the file whose index is its id (a new one).
type DraftAttachment struct {
	ID          string `json:"id"`
	Name        string `json:"filename"`
	Description string `json:"description"`
}

// File is an uploaded file.
type File struct {
	Index string // n of files[n]
	Name  string
	Type  string
	Data  []byte
}

// AllowedMentions says whom a message may ping.
type AllowedMentions struct {
	Parse       []string `json:"parse"`
	Users       []string `json:"users"`
	Roles       []string `json:"roles"`
	RepliedUser bool     `json:"replied_user"`
}

var mention = regexp.MustCompile(`<@(&|!)?(\d+)>|@everyone|@here`)

// mentions sets whom m pings. parse is what counts when the author said nothing.
func (w *World) mentions(m *Message, allowed *AllowedMentions, parse []string) error {
	if allowed == nil {
		allowed = &AllowedMentions{Parse: parse, RepliedUser: true}
	}
	if slices.Contains(allowed.Parse, "users") && len(allowed.Users) > 0 ||
		slices.Contains(allowed.Parse, "roles") && len(allowed.Roles) > 0 {
		return Invalid("allowed_mentions", "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE", "parse and an id list exclude each other")
	}
	m.Users, m.Roles, m.Everyone = nil, nil, false
	for _, hit := range mention.FindAllStringSubmatch(m.Content, -1) {
		id := hit[2]
		switch {
		case id == "":
			m.Everyone = m.Everyone || slices.Contains(allowed.Parse, "everyone") && w.mayEveryone(m.Author)
		case hit[1] == "&":
			if w.roles[id] != nil && (slices.Contains(allowed.Parse, "roles") || slices.Contains(allowed.Roles, id)) {
				m.Roles = addOnce(m.Roles, id)
			}
		case w.users[id] != nil && (slices.Contains(allowed.Parse, "users") || slices.Contains(allowed.Users, id)):
			m.Users = addOnce(m.Users, id)
		}
	}
	if m.Type == MsgReply && allowed.RepliedUser {
		if r := w.messages[m.Reference.Message]; r != nil {
			m.Users = addOnce(m.Users, r.Author)
		}
	}
	return nil
}

// mayEveryone asks for MENTION_EVERYONE, which only the owner has here.
func (w *World) mayEveryone(user string) bool { return w.permissions(w.users[user])&(1<<17) != 0 }

func addOnce(s []string, v string) []string {
	if slices.Contains(s, v) {
		return s
	}
	return append(s, v)
}

// fill puts a draft into m, checks it, and leaves out what was absent.
func (w *World) fill(m *Message, d Draft, parse []string) error {
	if d.Content != nil {
		m.Content = *d.Content
	}
	if d.Embeds != nil {
		if err := embedSizes(d.Embeds); err != nil {
			return err
		}
		m.Embeds = nil
		for _, e := range d.Embeds {
			m.Embeds = append(m.Embeds, normal(e, embedShape))
		}
	}
	if d.Components != nil {
		parts, err := components(d.Components)
		if err != nil {
			return err
		}
		m.Components = parts
	}
	if d.Flags != nil {
		const mayChange = FlagSuppressEmbeds | FlagSilent | FlagComponentsV2
		m.Flags = m.Flags&^FlagSuppressEmbeds | *d.Flags&mayChange
	}
	if m.Flags&FlagComponentsV2 != 0 && (m.Content != "" || len(m.Embeds) > 0) {
		return Invalid("content", "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2", "The 'content' and 'embeds' fields cannot be used with MessageFlags.IS_COMPONENTS_V2")
	}
	if err := w.attach(m, d); err != nil {
		return err
	}
	if m.Content == "" && len(m.Embeds)+len(m.Components)+len(m.Attachments) == 0 && m.Flags&FlagLoading == 0 {
		return ErrEmptyMessage
	}
	return w.mentions(m, d.Mentions, parse)
}

// embedSizes checks the sum that no schema can: 6000 characters over all embeds of a message.
func embedSizes(embeds []json.RawMessage) error {
	total := 0
	for _, raw := range embeds {
		var e struct {
			Title, Description string
			Fields             []struct{ Name, Value string }
			Footer             struct{ Text string }
			Author             struct{ Name string }
		}
		if err := json.Unmarshal(raw, &e); err != nil {
			return Invalid("embeds", "MODEL_TYPE_CONVERT", "not an embed")
		}
		for _, s := range []string{e.Title, e.Description, e.Footer.Text, e.Author.Name} {
			total += utf8.RuneCountInString(s)
		}
		for _, f := range e.Fields {
			total += utf8.RuneCountInString(f.Name) + utf8.RuneCountInString(f.Value)
		}
	}
	if total > 6000 {
		return Invalid("embeds", "MAX_EMBED_SIZE_EXCEEDED", "Embed size exceeds maximum size of 6000")
	}
	return nil
}

// components checks custom_ids and gives every part an id, as Discord does.
func components(raw []json.RawMessage) ([]json.RawMessage, error) {
	n, seen := 0, map[string]bool{}
	var out []json.RawMessage
	for i, r := range raw {
		var problem error
		part := normal(r, func(o obj) {
			n++
			if o["id"] == nil {
				o["id"] = n
			}
			id, _ := o["custom_id"].(string)
			if id != "" && seen[id] {
				problem = Invalid(fmt.Sprintf("components.%d", i), "COMPONENT_CUSTOM_ID_DUPLICATED", "Component custom id cannot be duplicated")
			}
			seen[id] = true
			if fmt.Sprint(o["type"]) == "2" && problem == nil {
				problem = button(o, fmt.Sprintf("components.%d", i))
			}
		})
		if problem != nil {
			return nil, problem
		}
		out = append(out, part)
	}
	return out, nil
}

// button checks what depends on the style: a link has a url, anything else a custom_id.
func button(o obj, field string) error {
	url, id := o["url"], o["custom_id"]
	if fmt.Sprint(o["style"]) == "5" {
		if url == nil || id != nil {
			return Invalid(field, "BASE_TYPE_BAD_URL", "A link button needs a url and no custom_id")
		}
	} else if id == nil && fmt.Sprint(o["style"]) != "6" {
		return Invalid(field, "BASE_TYPE_REQUIRED", "A custom id is required")
	}
	if o["label"] == nil && o["emoji"] == nil && fmt.Sprint(o["style"]) != "6" {
		return Invalid(field, "BUTTON_COMPONENT_INVALID", "A button must have a label or an emoji")
	}
	return nil
}
