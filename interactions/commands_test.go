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
		options, optional := map[string]bool{}, false
		for _, o := range c.Options {
			total += checkName(t, o.Name, o.Description)
			switch {
			case options[o.Name]:
				t.Errorf("/%s has %s twice", c.Name, o.Name)
			case o.Required && optional:
				t.Errorf("/%s: required %s comes after an optional one", c.Name, o.Name)
			case o.Autocomplete && o.Type != optionString:
				t.Errorf("/%s: %s cannot complete itself", c.Name, o.Name)
			case o.MaxLength < 0 || o.MaxLength > 6000 || o.MaxLength > 0 && o.Type != optionString:
				t.Errorf("/%s: %s has max_length %d", c.Name, o.Name, o.MaxLength)
			}
			options[o.Name], optional = true, optional || !o.Required
		}
		if total > 8000 {
			t.Errorf("/%s has %d characters", c.Name, total)
		}
		seen[c.Name] = true
	}
	for _, name := range []string{"ask", "resume", "stop"} {
		if !seen[name] {
			t.Errorf("/%s is missing", name)
		}
	}
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
