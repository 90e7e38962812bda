package interactions

import (
	"strings"
)

// CustomID is what a component's custom_id says (spec 9.1): <verb>:<guild>/<workspace>:<incarnation>.<id>[:<arg>].
type CustomID struct {
	Verb      string // one letter of Verbs
	Guild     string
	Workspace string
	Target    string // "<incarnation>.<id>"
	Arg       string
}

// Verbs of buttons: approve, deny, deny with reason, stop, details, answer a question, continue.
const Verbs = "adwsiqc"

// MaxCustomID is Discord's limit in characters.
const MaxCustomID = 100

// ParseCustomID takes a custom_id apart. It reports false for one that is not ours.
func ParseCustomID(s string) (CustomID, bool) {
	parts := strings.SplitN(s, ":", 4)
	if len(s) > MaxCustomID || len(parts) < 3 {
		return CustomID{}, false
	}
	c := CustomID{Verb: parts[0], Target: parts[2]}
	var slash, dot bool
	c.Guild, c.Workspace, slash = strings.Cut(parts[1], "/")
	incarnation, id, dot := strings.Cut(c.Target, ".")
	if len(parts) == 4 {
		c.Arg = parts[3]
	}
	ok := slash && dot && len(c.Verb) == 1 && strings.Contains(Verbs, c.Verb) &&
		snowflake(c.Guild) && workspaceName(c.Workspace) && snowflake(incarnation) && jobID(id)
	return c, ok
}

// String is the custom_id; ParseCustomID gives c back.
func (c CustomID) String() string {
	s := c.Verb + ":" + c.Guild + "/" + c.Workspace + ":" + c.Target
	if c.Arg != "" {
		s += ":" + c.Arg
	}
	return s
}

// workspaceName says whether s names a workspace inside its guild: [a-z0-9][a-z0-9-]{0,31} (spec 9.1).
func workspaceName(s string) bool {
	return len(s) >= 1 && len(s) <= 32 && s[0] != '-' && only(s, "-")
}

// jobID says whether s can be the id of a record: lower-case letters and digits.
func jobID(s string) bool { return len(s) >= 1 && len(s) <= 20 && only(s, "") }

// only says whether s has nothing but lower-case letters, digits and the characters of extra.
func only(s, extra string) bool {
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune(extra, r) {
			return false
		}
	}
	return true
}
