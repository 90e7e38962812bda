//go:build mutants

package actor

// Mutant is the name of the defect that is planted, "" for none. It is set before any event is handled.
var Mutant string

func mutant(name string) bool { return name == Mutant }
