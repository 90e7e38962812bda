//go:build !mutants

package actor

// mutant says whether a named defect is planted. Here none is, and the compiler drops what hangs on it; the simulator
// builds with the tag "mutants" to see whether its invariants catch them.
func mutant(string) bool { return false }
