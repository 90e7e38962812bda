//go:build !mutants

package sim

// CanPlant says whether this build has the defects of package actor.
const CanPlant = false

// Plant chooses the defect of package actor; this build has none.
func Plant(string) {}
