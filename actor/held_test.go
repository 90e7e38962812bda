package actor

import (
	"fmt"
	"strings"
	"testing"
)

// A host that stops keeps back what falls due meanwhile. Nothing was tried, so nothing is given up for it.
func TestWhatAHostKeepsBackIsNoAttempt(t *testing.T) {
	w := newWorld(t)
	w.ask("1300000000000001001", "hello")
	for range 3 * maxModelTries { // the acknowledgement, again and again
		e := w.runUntil(PointAck)
		w.must(EventEffect, Outcome{ID: e.ID, Epoch: e.Epoch, Kind: OutcomeHeld})
	}
	w.want("attempts at the anchor", w.one(`SELECT attempts FROM delivery WHERE kind = 'anchor'`), "0")
	for range 3 * maxModelTries {
		e := w.runUntil(PointModel)
		w.must(EventEffect, Outcome{ID: e.ID, Epoch: e.Epoch, Kind: OutcomeHeld})
	}
	w.want("booked", w.one(`SELECT tokens FROM turn`), "0")
	w.run(60_000)
	w.want("state", w.states(), "done")
	w.want("answers", fmt.Sprint(strings.Count(w.discord.all(), "I heard you.")), "1")
}
