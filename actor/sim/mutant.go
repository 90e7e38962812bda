package sim

// Defects planted in the simulator's own runner, which uses the real protocol machine.
const (
	mutantLateJournal = "runner: the journal is written after the start"
	mutantEarlyResult = "runner: the result leaves before the journal has it"
)
