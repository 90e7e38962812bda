package sim

import (
	"slices"

	"holdfast/runner/protocol"
)

// save is the journal's fsync. The process may die before it, or right after it.
func (r *runner) save(e protocol.Entry) {
	w := r.space.world
	if w.opts.Mutant == mutantLateJournal && e.Result == nil || w.opts.Mutant == mutantEarlyResult && e.Result != nil {
		r.act(r.machine.Saved(r.time(), e.Key, nil))
		r.later(1, func() { r.saveLate(e) })
		return
	}
	if w.chance("runner-dies-before-journal", 0.005) {
		r.die(w.between("runner-back", 500, 5_000))
		return
	}
	r.write(e)
	if w.chance("runner-dies-after-journal", 0.01) {
		r.die(w.between("runner-back", 500, 5_000))
		return
	}
	r.act(r.machine.Saved(r.time(), e.Key, nil))
}

// saveLate is the journal of a mutant: what it should prove has happened already, and the process may die before it.
func (r *runner) saveLate(e protocol.Entry) {
	w := r.space.world
	if w.chance("runner-dies-before-journal", 0.02) {
		r.die(w.between("runner-back", 500, 5_000))
		return
	}
	if e.Result == nil && r.running[e.Key] || slices.ContainsFunc(r.journal, func(old protocol.Entry) bool { return old.Key == e.Key }) {
		r.write(e)
	}
}

func (r *runner) write(e protocol.Entry) {
	i := slices.IndexFunc(r.journal, func(old protocol.Entry) bool { return old.Key == e.Key })
	if i < 0 {
		r.journal = append(r.journal, e)
	} else {
		r.journal[i] = e
	}
}
