//go:build mutants

package sim

import "holdfast/actor"

// CanPlant says whether this build has the defects of package actor.
const CanPlant = true

// Plant chooses the defect of package actor, for all runs; "" is none. No run may be under way.
func Plant(name string) { actor.Mutant = name }
