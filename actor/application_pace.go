package actor

import "holdfast/actor/errs"

// The pace of all requests with the bot's token, for hosts whose workspaces run apart (spec 3.5). Discord allows 50 a
// second ("Rate Limits", global rate limit); these times, in ms, and numbers come to 45 in any second.
const (
	paceEvery    = 29    // between two requests that were drawn for: 35 a second
	paceLot      = 10    // at most so many are given at once
	paceAhead    = 5_000 // and none for later than this
	paceAgain    = 1_000 // who got none asks again after so long
	paceLate     = 100   // a permit not used so long after its time is lost: saved up, permits would make a burst
	paceTook     = 1_000 // nobody is given an instant further away for the sake of a slow connection
	shares       = 10    // so many workspaces have a share: they ask once for what they do in ten seconds
	shareEvery   = 1_000 // a share is one request in this time
	sharePermits = 10    // and ends after as many
	shareTime    = shareEvery * sharePermits
)

// PaceGrant answers a draw. The first request may go at At (unix ms), each further one Every ms after the one before it,
// none at Until or later. With no permits, At is when to ask again.
type PaceGrant struct {
	Permits int64 `json:"permits"`
	At      int64 `json:"at"`
	Every   int64 `json:"every"`
	Until   int64 `json:"until"`
	Late    int64 `json:"late"` // a permit is lost so many ms after its time
}

// draw gives a workspace that wants to send something a share when it wants to send one thing and there is one to be had,
// and otherwise the next instants of the pace, not before the answer can be there.
func (w *work) draw(from string, want, took int64) error {
	if want < 1 {
		return errs.New(errs.Invalid, "a draw of %d permits", want)
	}
	if want == 1 && w.takeShare(from) {
		w.answer(200, PaceGrant{Permits: sharePermits, At: w.wall, Every: shareEvery, Until: w.wall + shareTime, Late: shareTime - 1})
		return nil
	}
	row, _ := w.tx.Row(`SELECT coalesce(max(next_wall), 0) FROM pace`)
	next := row.Int(0)
	if next > w.wall+2*paceAhead {
		next = w.wall // the host's clock was set back
	}
	at := max(next, w.wall+min(max(took, 0), paceTook))
	n := min(want, paceLot, (w.wall+paceAhead-at)/paceEvery)
	if n < 1 {
		w.answer(200, PaceGrant{At: w.wall + paceAgain})
		return nil
	}
	next = at + n*paceEvery
	w.tx.Exec(`INSERT INTO pace(id, next_wall) VALUES (1, ?) ON CONFLICT(id) DO UPDATE SET next_wall = excluded.next_wall`, next)
	w.answer(200, PaceGrant{Permits: n, At: at, Every: paceEvery, Until: next, Late: paceLate})
	return nil
}

// takeShare gives a workspace one of the shares. One that is over stays taken for as long as its last request counts.
func (w *work) takeShare(from string) bool {
	w.tx.Exec(`DELETE FROM share WHERE until_wall <= ? OR until_wall > ?`, w.wall-shareEvery, w.wall+shareTime)
	_, given := w.tx.Row(`INSERT INTO share(holder, until_wall) SELECT ?1, ?2
		WHERE (SELECT count(*) FROM share) < ?3 AND NOT EXISTS (SELECT 1 FROM share WHERE holder = ?1) RETURNING 1`, from, w.wall+shareTime, shares)
	return given
}
