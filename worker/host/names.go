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

// actorOf is the actor that a database file belongs to; "" for any other file.
func actorOf(file string) string {
	name, ok := strings.CutSuffix(file, ".db")
	if !ok {
		return ""
	}
	name = strings.Replace(strings.Replace(name, "_", ":", 1), "_", "/", 1)
	if !actorName.MatchString(name) || fileName(name) != file {
		return ""
	}
	return name
}

// What a data directory holds.
const (
	actorsDir  = "actors"
	alarmsFile = "alarms.db"
	markEnding = ".damaged"  // behind an actor's file name: what was found in it
	restoring  = "restoring" // while a restore has not ended
	lockFile   = "holdfast.lock"
)

const workspacePrefix = "workspace:"

// fileName is an actor's database file. Names hold no underscore, so no two actors share one.
func fileName(actor string) string {
	return strings.NewReplacer(":", "_", "/", "_").Replace(actor) + ".db"
}
