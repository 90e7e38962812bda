package sim

// Mutant is a planted defect and what makes it one. Those whose name begins with "runner:" are in the simulator's own
// runner; the others are in package actor, in builds with the tag "mutants".
type Mutant struct{ Name, Defect string }

const (
	mutantLateJournal = "runner: the journal is written after the start"
	mutantEarlyResult = "runner: a result leaves before the journal has it"
	mutantTwice       = "runner: a call is executed twice"
)

// Mutants are all planted defects.
var Mutants = []Mutant{
	{"no fence", "owner and epoch are left out of the claim's WHERE"},
	{"no expiry", "the lease's end is left out of it"},
	{"renewed after its expiry", "an expired claim renews itself"},
	{"a late answer counts", "the outcome of a delivery's lost attempt is taken"},
	{"no nonce", "creates carry none"},
	{"nonce not enforced", "enforce_nonce is false"},
	{"nonce without the workspace", "two workspaces make the same ones"},
	{"no dedupe", "the same key is admitted again"},
	{"a deadline is ignored", "an event is recorded after the front has answered for it"},
	{"withdrawn without a tombstone", "a late admission finds nothing"},
	{"works in silence", "the model is asked before the anchor is confirmed"},
	{"placed inside a round", "a person's message comes between a call and its result"},
	{"no limit of turns", "all turns run at once"},
	{"what is queued never starts", "the end of a turn starts nothing"},
	{"settled without its edit", "a turn ends and asks for no edit"},
	{"no verifying edit", "a final edit that was overtaken stays overtaken"},
	{"a token is kept", "an interaction's token stays after its use"},
	{"an unsafe tool runs again", "after its runner died"},
	{"interrupted without a word", "an interrupted call has no result"},
	{"a result counts twice", "and one that comes again changes the call"},
	{"a result is not acknowledged", "so the runner keeps it"},
	{"nobody is asked", "what needs an approval runs without"},
	{"an expiry approves", "instead of denying"},
	{"two decisions", "the second press decides again"},
	{"anybody approves", "no right is needed"},
	{"a decided card is not edited", "it goes on asking"},
	{"the alarm is late", "a minute after what is due"},
	{"not kept awake", "no alarm while an effect is in flight"},
	{"an orphan is not taken back", "a model call of a dead owner stays claimed"},
	{"a restart forgets what is unknown", "a create that may have been made is made anew"},
	{"an empty listing is trusted", "and counts as proof of absence"},
	{"a refused look-up sends again", "the create itself, unproven"},
	{"a look-up begins at the newest message", "which may be newer than what it looks for"},
	{"never parked", "a task kills its host for ever"},
	{"a booking is forgotten", "a stopped call of a dead host stays reserved"},
	{"a budget is ignored", "a call is made that has no room in it"},
	{"a reservation is forgotten", "a call counts only when it has ended"},
	{"a crashed call costs nothing", "instead of its reservation"},
	{"nonce without the incarnation", "a restored workspace makes the same ones again"},
	{"a restore repeats epochs", "a runner takes a new attempt for an old one"},
	{"a restored workspace runs by itself", "nobody looks what was answered since the backup"},
	{"the clock goes back", "with the host's"},
	{mutantLateJournal, "so a call that ran may run again"},
	{mutantEarlyResult, "so a result that was sent may be lost"},
	{mutantTwice, "whatever the journal says"},
}
