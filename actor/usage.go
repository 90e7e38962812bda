package actor

import (
	"crypto/sha256"
	"encoding/binary"

	"holdfast/actor/model"
)

// reserve books a model call before it is made, at its greatest cost: a crashed call settles at that (F27).
func (w *work) reserve(t task, turn turn, name string, m Model, r model.Request) {
	in, out := int64(model.EstimateTokens(r)), int64(r.MaxOutput)
	w.tx.Exec(`INSERT INTO usage(task, epoch, turn, user, model, state, input, output, micros, created_wall)
		VALUES (?, ?, ?, ?, ?, 'reserved', ?, ?, ?, ?)`, t.ID, t.Epoch, turn.ID, turn.Requester, name, in, out, cost(m, in, out), w.wall)
}

// settleUsage replaces a reservation by what the provider counted, also when the answer itself comes too late. A
// call that failed without an answer cost nothing that we know of.
func (w *work) settleUsage(t task, epoch int64, m Model, a model.Answer, f *model.Failure) {
	in, out := a.Usage.Input, a.Usage.Output
	if f != nil {
		in, out = 0, 0
	}
	micros := cost(m, in, out)
	if !w.tx.Changed(`UPDATE usage SET state = 'settled', input = ?, output = ?, micros = ? WHERE task = ? AND epoch = ? AND state = 'reserved' RETURNING id`,
		in, out, micros, t.ID, epoch) {
		return
	}
	w.tx.Exec(`UPDATE turn SET tokens = tokens + ?, micros = micros + ? WHERE id = ?`, in+out, micros, t.Turn)
}

// cost is in micro-dollars, rounded up; prices are per million tokens.
func cost(m Model, in, out int64) int64 {
	return (in*m.PriceIn + out*m.PriceOut + 999_999) / 1_000_000
}

// random draws from the event's entropy: the same event gives the same number for the same use.
func (w *work) random(use string) int64 {
	sum := sha256.Sum256([]byte(w.ev.Entropy + "|" + use))
	return int64(binary.BigEndian.Uint64(sum[:8]) >> 1)
}
