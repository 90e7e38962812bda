package actor

import (
	"encoding/base64"
	"fmt"

	"holdfast/actor/errs"
)

// maxParts bounds the pieces of one answer: MaxBody.
const maxParts = MaxBody / MaxInlineBody

// outcomePart keeps a piece of a long answer until its outcome comes.
func (w *work) outcomePart(p OutcomePart) error {
	if p.Seq < 0 || p.Seq >= maxParts {
		return errs.New(errs.Invalid, "part %d of %s; expected 0 to %d", p.Seq, p.ID, maxParts-1)
	}
	data, err := base64.StdEncoding.DecodeString(p.BodyB64)
	if err != nil {
		return errs.New(errs.Invalid, "part %d of %s is no base64", p.Seq, p.ID)
	}
	w.tx.Exec(`INSERT INTO part(effect, epoch, seq, data) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`, p.ID, p.Epoch, p.Seq, data)
	return nil
}

// outcomeBody puts an answer together.
func (w *work) outcomeBody(o Outcome) []byte {
	switch {
	case o.Parts > 0:
		var body []byte
		for _, row := range w.tx.Rows(`SELECT data FROM part WHERE effect = ? AND epoch = ? ORDER BY seq`, o.ID, o.Epoch) {
			body = append(body, row.Bytes(0)...)
		}
		return body
	case o.BodyB64 != "":
		body, _ := base64.StdEncoding.DecodeString(o.BodyB64) // damaged is empty, which no decoder takes for an answer
		return body
	}
	return []byte(o.Body)
}

// progress renews the claim of a long call whose answer is coming.
func (w *work) progress(p Progress) error {
	kind, id := effectRow(p.ID)
	if kind == "t" && !w.renew(id, w.ev.Owner, p.Epoch, modelLease) {
		w.event("generation.stale", 0, fmt.Sprint(id), "progress")
	}
	return nil
}
