package actor

import "holdfast/actor/errs"

// applicationEvent runs an event of the application directory: what all workspaces of one Discord application share.
// Today that is the circuit breaker: one bot token, one address, one reason to stop.
func (w *work) applicationEvent() error {
	switch w.ev.Type {
	case EventStart, EventWake, EventWithdraw:
		return nil
	case EventActor:
		return with(w.ev.Data, w.circuitAsked)
	}
	return errs.New(errs.Invalid, "the application directory knows no event %q", w.ev.Type)
}

// circuitAsked keeps the latest report, and answers who asks.
func (w *work) circuitAsked(in ActorMessage) error {
	return with(in.Data, func(m circuitMessage) error {
		switch {
		case m.Report != "":
			w.tx.Exec(`INSERT INTO circuit(id, until_wall, why, reported_by) VALUES (1, ?, ?, ?)
				ON CONFLICT(id) DO UPDATE SET until_wall = max(until_wall, excluded.until_wall), why = excluded.why, reported_by = excluded.reported_by`,
				m.UntilWall, m.Report, in.From)
		case m.Ask:
			row, ok := w.tx.Row(`SELECT until_wall, why FROM circuit WHERE id = 1 AND until_wall > ?`, w.wall)
			answer := circuitMessage{Answer: true}
			if ok {
				answer.UntilWall, answer.Why = row.Int(0), row.Str(1)
			}
			w.tell(in.From, answer)
		default:
			return errs.New(errs.Invalid, "expected a report or a question about the circuit")
		}
		return nil
	})
}
