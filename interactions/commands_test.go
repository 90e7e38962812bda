package interactions

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

var commandName = regexp.MustCompile(`^[-_'\p{L}\p{N}]{1,32}$`)

// The limits are Discord's ("Application Command Structure" and "Option Structure").
func TestCommandsWithinLimits(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range append(Commands(), GuildCommands()...) {
		total := checkName(t, c.Name, c.Description)
		if len(c.Options) > 25 || c.Type != 1 {
			t.Errorf("/%s has %d options, type %d", c.Name, len(c.Options), c.Type)
		}
		total += checkOptions(t, "/"+c.Name, c.Options)
		if total > 8000 {
			t.Errorf("/%s has %d characters", c.Name, total)
		}
		seen[c.Name] = true
	}
	for _, name := range []string{"ask", "resume", "stop", "usage", "workspace"} {
		if !seen[name] {
			t.Errorf("/%s is missing", name)
		}
	}
}

func checkOptions(t *testing.T, of string, list []Option) (total int) {
	t.Helper()
	options, optional := map[string]bool{}, false
	for _, o := range list {
		total += checkName(t, o.Name, o.Description)
		switch {
		case options[o.Name]:
			t.Errorf("%s has %s twice", of, o.Name)
		case o.Required && optional:
			t.Errorf("%s: required %s comes after an optional one", of, o.Name)
		case o.Autocomplete && (o.Type != optionString || len(o.Choices) > 0):
			t.Errorf("%s: %s cannot complete itself", of, o.Name)
		case o.MaxLength < 0 || o.MaxLength > 6000 || o.MaxLength > 0 && o.Type != optionString:
			t.Errorf("%s: %s has max_length %d", of, o.Name, o.MaxLength)
		case len(o.Options) > 25 || len(o.Choices) > 25 || len(o.Options) > 0 && o.Type != optionSub:
			t.Errorf("%s: %s has %d options and %d choices", of, o.Name, len(o.Options), len(o.Choices))
		}
		for _, c := range o.Choices {
			total += utf8.RuneCountInString(c.Name) + utf8.RuneCountInString(c.Value)
		}
		total += checkOptions(t, of+" "+o.Name, o.Options)
		options[o.Name], optional = true, optional || !o.Required
	}
	return total
}

func checkName(t *testing.T, name, description string) int {
	t.Helper()
	n := utf8.RuneCountInString(description)
	if !commandName.MatchString(name) || name != strings.ToLower(name) || n < 1 || n > 100 {
		t.Errorf("%q with a description of %d characters", name, n)
	}
	return utf8.RuneCountInString(name) + n
}

// Contexts and integration types are for global commands alone.
func TestGuildCommands(t *testing.T) {
	global, err := json.Marshal(Commands())
	if err != nil {
		t.Fatal(err)
	}
	guild, err := json.Marshal(GuildCommands())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(global), `"contexts":[0]`) || strings.Contains(string(guild), "contexts") || strings.Contains(string(guild), "integration_types") {
		t.Errorf("global %s\nguild %s", global, guild)
	}
}
