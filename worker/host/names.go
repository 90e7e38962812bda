package host

import (
	"regexp"
	"strings"
)

// Names of actors, and of what they are made of (spec 9.1).
var (
	actorName     = regexp.MustCompile(`^(application|directory:[0-9]{1,20}|workspace:[0-9]{1,20}/[a-z0-9][a-z0-9-]{0,31})$`)
	guildName     = regexp.MustCompile(`^[0-9]{1,20}$`)
	workspaceName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)
)

// What a data directory holds.
const (
	actorsDir  = "actors"
	alarmsFile = "alarms.db"
	markEnding = ".damaged" // behind an actor's file name: what was found in it
)

// fileName is an actor's database file. Names hold no underscore, so no two actors share one.
func fileName(actor string) string {
	return strings.NewReplacer(":", "_", "/", "_").Replace(actor) + ".db"
}
