package actor

import (
	"crypto/sha256"
	"encoding/binary"

	"holdfast/actor/model"
	"holdfast/actor/store"
)

// charge is what one model call costs, or may cost at most.
type charge struct {
	Input, Output int64 // tokens
	Micros        int64 // micro-dollars
}

func (c charge) tokens() int64 { return c.Input + c.Output }

// booking is a row of usage: one call, at its greatest cost until its outcome is known.
type booking struct {
	ID, Turn, Day int64
	User, Model   string
	charge
}

const bookingColumns = `id, turn, created_wall, user, model, input, output, micros`

func scanBooking(r store.Row) booking {
	return booking{ID: r.Int(0), Turn: r.Int(1), Day: dayOf(r.Int(2)), User: r.Str(3), Model: r.Str(4), charge: charge{r.Int(5), r.Int(6), r.Int(7)}}
}

// mostOf is the greatest cost of a call: what goes in, by an estimate on the high side, and the longest answer.
func mostOf(m Model, r model.Request) charge {
	c := charge{Input: int64(model.EstimateTokens(r)), Output: int64(r.MaxOutput)}
	c.Micros = cost(m, c.Input, c.Output)
	return c
}

// reserve books a model call before it is made, in the commit of its claim, at its greatest cost: a call whose end
// nobody learns stays at that (F27).
func (w *work) reserve(t task, turn turn, name string, most charge) {
	w.tx.Exec(`INSERT INTO usage(task, epoch, turn, user, model, state, input, output, micros, created_wall)
		VALUES (?, ?, ?, ?, ?, 'reserved', ?, ?, ?, ?)`, t.ID, t.Epoch, turn.ID, turn.Requester, name, most.Input, most.Output, most.Micros, w.wall)
	if !mutant("a reservation is forgotten") {
		w.book(dayOf(w.wall), turn.Requester, name, most)
	}
}

// book adds to the running totals of a day, so that no sum has to look at more than the day's people and models.
func (w *work) book(day int64, user, name string, c charge) {
	w.tx.Exec(`INSERT INTO spend(day, user, model, tokens, micros) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT(day, user, model) DO UPDATE SET tokens = tokens + excluded.tokens, micros = micros + excluded.micros`, day, user, name, c.tokens(), c.Micros)
}

// settleUsage replaces a reservation by what the call came to, also when the answer itself comes too late. It counts
// for the day of the reservation.
func (w *work) settleUsage(t task, o Outcome, a model.Answer, f *model.Failure) {
	row, ok := w.tx.Row(`SELECT `+bookingColumns+` FROM usage WHERE task = ? AND epoch = ? AND state = 'reserved'`, t.ID, o.Epoch)
	if !ok {
		return
	}
	b := scanBooking(row)
	real := counted(b.charge, o, a, f)
	if m, configured := w.cfg.Models[b.Model]; configured && real != b.charge {
		real.Micros = cost(m, real.Input, real.Output)
	}
	w.tx.Exec(`UPDATE usage SET state = 'settled', input = ?, output = ?, micros = ? WHERE id = ?`, real.Input, real.Output, real.Micros, b.ID)
	if mutant("a reservation is forgotten") {
		b.charge = charge{}
	}
	w.book(b.Day, b.User, b.Model, charge{Input: real.Input - b.Input, Output: real.Output - b.Output, Micros: real.Micros - b.Micros})
	w.tx.Exec(`UPDATE turn SET tokens = tokens + ?, micros = micros + ? WHERE id = ?`, real.tokens(), real.Micros, b.Turn)
}

// settleLost settles calls whose outcome nobody will tell: at their reservation, which the day's totals hold already and
// the turn's do not. Where says which rows.
func (w *work) settleLost(where string, args ...any) {
	if !mutant("a crashed call costs nothing") {
		w.tx.Exec(`UPDATE turn SET tokens = turn.tokens + lost.tokens, micros = turn.micros + lost.micros FROM (
			SELECT turn, sum(input + output) AS tokens, sum(micros) AS micros FROM usage WHERE state = 'reserved' AND `+where+` GROUP BY turn) AS lost
			WHERE turn.id = lost.turn`, args...)
		w.tx.Exec(`UPDATE usage SET state = 'settled' WHERE state = 'reserved' AND `+where, args...)
		return
	}
	for _, row := range w.tx.Rows(`UPDATE usage SET state = 'settled' WHERE state = 'reserved' AND `+where+` RETURNING `+bookingColumns, args...) {
		b := scanBooking(row)
		w.tx.Exec(`UPDATE usage SET input = 0, output = 0, micros = 0 WHERE id = ?`, b.ID)
		w.book(b.Day, b.User, b.Model, charge{-b.Input, -b.Output, -b.Micros})
	}
}

// counted is what a call came to, in tokens: nothing when the provider certainly did no work for it, what the provider
// counted when it said so, and the reservation when nobody can know.
func counted(most charge, o Outcome, a model.Answer, f *model.Failure) charge {
	said := a.Usage
	if f != nil {
		said = f.Usage
	}
	switch {
	case unworked(o):
		return charge{}
	case f != nil && f.Kind == model.FailRetry: // cut off, lost or timed out: the provider may have counted more than it said
		return most
	case said.Input > 0 || said.Output > 0:
		return charge{Input: bounded(said.Input), Output: bounded(said.Output), Micros: most.Micros}
	case f == nil: // a provider that does not count
		answer := model.EstimateTokens(model.Request{Messages: []model.Message{{Role: model.Assistant, Text: a.Text, Calls: a.Calls}}})
		return charge{Input: most.Input, Output: min(most.Output, int64(answer)), Micros: most.Micros}
	}
	return most
}

// unworked says that no model worked for a call: it never left, or was turned away. A gateway's time-out is no such
// answer: the model behind it may have gone on.
func unworked(o Outcome) bool {
	switch o.Kind {
	case OutcomeUnsent, OutcomeHeld:
		return true
	case OutcomeRefused:
		return o.Status == 0 // otherwise there was an answer, and it was too long
	case OutcomeResponse:
		timedOut := o.Status == 408 || o.Status == 504 || o.Status == 524
		return (o.Status < 200 || o.Status > 299) && !timedOut
	}
	return false
}

// maxCounted bounds what a provider may claim of one call, in tokens, so that no sum of money overflows.
const maxCounted = 1 << 30

func bounded(tokens int64) int64 { return min(max(tokens, 0), maxCounted) }

// cost is in micro-dollars, rounded up; prices are per million tokens.
func cost(m Model, in, out int64) int64 {
	return (in*bounded(m.PriceIn) + out*bounded(m.PriceOut) + 999_999) / 1_000_000
}

// random draws from the event's entropy: the same event gives the same number for the same use.
func (w *work) random(use string) int64 {
	sum := sha256.Sum256([]byte(w.ev.Entropy + "|" + use))
	return int64(binary.BigEndian.Uint64(sum[:8]) >> 1)
}
