package render

import (
	"strings"
)

// Approval states; the empty one is open.
const (
	Approved  = "approved"
	Denied    = "denied"
	Expired   = "expired"
	Cancelled = "cancelled"
)

// Colours of an approval card's edge.
const (
	amber = 0xf0b232
	green = 0x23a55a
	red   = 0xda373c
	grey  = 0x80848e
)

// maxPings bounds whom one card may ping (allowed_mentions takes 100 of each kind; nobody wants that).
const maxPings = 20

// ApprovalCard shows what would run, what the policy found in it, and who may decide. An open card pings PingUsers
// and PingRoles when it is created; empty both for an edit, which must never ping. A decided card pings nobody and
// its buttons are dead.
//
// The command is there in full up to 3,900 characters; of a longer one the head and the tail, and how much is not
// shown. Characters that hide or reorder text are spelled out.
func ApprovalCard(a Approval) Message {
	lang := ""
	if a.Tool == "bash" {
		lang = "bash"
	}
	pings := pings(a)
	head := approvalHead(a) + "\n"
	embed := Embed{Color: approvalColor(a.State), Fields: approvalFields(a)}
	room := MaxContent - units(head) - units(pings)
	block := codeBlock(a.Command, lang, 1<<30)
	if units(block) > room {
		// The content must show what would run even where embeds are off; the whole of it is in the embed.
		block = codeBlock(a.Command, lang, min(room, 900))
		embed.Title = "All of it"
		embed.Description = codeBlock(a.Command, lang, maxDescription-100)
		embed.Fields = shorten(embed.Fields, maxEmbed-maxDescription)
	}
	m := text(head + block + pings)
	m.Embeds = []Embed{embed}
	if a.State == "" {
		m.AllowedMentions.Users = firstOf(a.PingUsers)
		m.AllowedMentions.Roles = firstOf(a.PingRoles)
	}
	m.Components = approvalButtons(a)
	return m
}

func approvalHead(a Approval) string {
	about := " · " + escape(oneLine(a.Tool, 40)) + " · job " + inline(a.Job, 40)
	if a.Requester != "" {
		about += " · asked by " + mention(a.Requester)
	}
	by := ""
	if a.By != "" {
		by = " by " + mention(a.By)
	}
	if a.At > 0 {
		by += " " + relative(a.At)
	}
	switch a.State {
	case "":
		return "🔐 **Approval required**" + about
	case Approved:
		return "✅ **Approved**" + by + about
	case Denied:
		return "⛔ **Denied**" + by + about
	case Expired:
		return "⌛ **Expired, so denied**" + by + about
	case Cancelled:
		return "🚫 **Cancelled**" + by + about
	}
	return "**" + escape(oneLine(a.State, 40)) + "**" + by + about
}

func approvalColor(state string) int {
	switch state {
	case "":
		return amber
	case Approved:
		return green
	case Denied:
		return red
	}
	return grey
}

func approvalFields(a Approval) []Field {
	var out []Field
	add := func(name, value string, isInline bool) {
		if strings.TrimFunc(value, blank) != "" {
			out = append(out, Field{Name: name, Value: value, Inline: isInline})
		}
	}
	if a.Reason != "" {
		add("Reason", escapeClip(a.Reason, 500), false)
	}
	add("Runs", lines(a.Runs, func(s string) string { return inline(s, 120) }), false)
	grants := lines(a.Grants, func(s string) string { return "• " + escapeClip(s, 200) })
	if grants == "" {
		grants = "nothing beyond the sandbox"
	}
	add("Grants", grants, false)
	if a.Rule != "" {
		add("Rule", inline(a.Rule, 300), false)
	}
	if a.State == "" {
		add("Approvers", lines(a.Approvers, func(s string) string { return oneLine(s, 100) }), true)
		if a.Expires > 0 {
			add("Expires", relative(a.Expires), true)
		}
	}
	return out
}

func escapeClip(s string, n int) string { return clip(escape(oneLine(s, n)), 2*n) }

// lines are as many as fit into a field, and how many do not.
func lines(list []string, show func(string) string) string {
	var out []string
	room := maxFieldValue - 30
	for i, s := range list {
		line := show(s)
		if strings.TrimFunc(line, blank) == "" {
			continue
		}
		if room -= units(line) + 1; room < 0 || i == 10 {
			out = append(out, "and "+Thousands(int64(len(list)-i))+" more")
			break
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// shorten keeps the fields' texts within n units in all, the last ones losing first.
func shorten(fields []Field, n int) []Field {
	for i, f := range fields {
		n -= units(f.Name)
		if n < 20 {
			return fields[:i]
		}
		fields[i].Value = clip(f.Value, n)
		n -= units(fields[i].Value)
	}
	return fields
}

func approvalButtons(a Approval) []Row {
	over := a.State != ""
	style := func(open int, state string) int {
		if over && a.State != state {
			return Secondary
		}
		return open
	}
	return row(
		Component{Style: style(Success, Approved), Label: "Approve once", CustomID: a.ApproveID, Disabled: over},
		Component{Style: style(Danger, Denied), Label: "Deny", CustomID: a.DenyID, Disabled: over},
		Component{Style: Secondary, Label: "Deny and say why", CustomID: a.WhyID, Disabled: over},
	)
}

// pings is the line that calls the approvers, on an open card only.
func pings(a Approval) string {
	if a.State != "" {
		return ""
	}
	var out []string
	for _, id := range firstOf(a.PingRoles) {
		out = append(out, "<@&"+id+">")
	}
	for _, id := range firstOf(a.PingUsers) {
		out = append(out, mention(id))
	}
	if len(out) == 0 {
		return ""
	}
	return "\n" + strings.Join(out, " ")
}

// firstOf are the first different ids that are ids.
func firstOf(ids []string) []string {
	var out []string
	seen := map[string]bool{}
	for _, id := range ids {
		if len(out) < maxPings && isID(id) && !seen[id] {
			seen[id] = true
			out = append(out, id)
		}
	}
	return out
}

func isID(s string) bool {
	return s != "" && len(s) <= 20 && strings.Trim(s, "0123456789") == ""
}

// mention names a user; what is no id, as an operator's name, is shown as text.
func mention(id string) string {
	if isID(id) {
		return "<@" + id + ">"
	}
	return escapeClip(id, 60)
}
