package actor

import "holdfast/actor/errs"

// applicationEvent runs an event of the application directory: what all workspaces of one Discord application share.
// Those are the circuit breaker (one bot token, one address, one reason to stop) and the pace.
func (w *work) applicationEvent() error {
	switch w.ev.Type {
	case EventStart, EventWake, EventWithdraw:
		return nil
	case EventActor:
		return with(w.ev.Data, w.applicationMessage)
	}
	return errs.New(errs.Invalid, "the application directory knows no event %q", w.ev.Type)
}

// applicationMessage keeps the latest report, and answers who asks about the circuit or draws from the pace.
func (w *work) applicationMessage(in ActorMessage) error {
	type message struct {
		circuitMessage
		Draw int64 `json:"draw"` // requests that wait to be sent
		Took int64 `json:"took"` // ms that the last draw took, there and back
	}
	return withArgs(in.Data, func(m message) error {
		switch {
		case m.Draw != 0:
			return w.draw(in.From, m.Draw, m.Took)
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
			return errs.New(errs.Invalid, "expected a report, a question about the circuit, or a draw")
		}
		return nil
	})
}
