package actor

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"holdfast/actor/errs"
	"holdfast/actor/model"
)

// maxParts bounds the pieces of one answer: MaxBody.
const maxParts = MaxBody / MaxInlineBody

// outcome routes what became of an effect to the row that asked for it.
func (w *work) outcome(o Outcome) error {
	kind, id := effectRow(o.ID)
	switch kind {
	case "t":
		if t, ok := w.taskByID(id); ok && t.Kind == kindGeneration {
			w.generationOutcome(t, o)
		}
	case "d":
		if d, ok := w.deliveryByID(id); ok {
			w.deliveryOutcome(d, o)
		}
	}
	if kind == "r" {
		w.reviewOutcome(id, o)
	}
	w.tx.Exec(`DELETE FROM part WHERE effect = ? AND epoch <= ?`, o.ID, o.Epoch)
	return nil
}

// effectRow takes an effect's id apart: "t17" is task 17, "d9" delivery 9.
func effectRow(id string) (kind string, n int64) {
	if len(id) < 2 {
		return "", 0
	}
	return id[:1], parseInt(id[1:])
}

// outcomePart decodes a piece of a long model answer as it comes, so that no event has to decode all of it. Nothing
// else is long enough to come in parts.
func (w *work) outcomePart(p OutcomePart) error {
	if p.Seq < 0 || p.Seq >= maxParts {
		return errs.New(errs.Invalid, "part %d of %s; expected 0 to %d", p.Seq, p.ID, maxParts-1)
	}
	data, err := base64.StdEncoding.DecodeString(p.BodyB64)
	if err != nil {
		return errs.New(errs.Invalid, "part %d of %s is no base64", p.Seq, p.ID)
	}
	kind, id := effectRow(p.ID)
	t, ok := w.taskByID(id)
	if kind != "t" || !ok || t.Kind != kindGeneration {
		return nil
	}
	d, next := w.decoder(t, p.ID, p.Epoch)
	if p.Seq != next {
		return nil // seen before; one that is missing shows in the outcome's count
	}
	d.Write(data)
	w.tx.Exec(`INSERT INTO part(effect, epoch, seq, state) VALUES (?, ?, ?, ?)
		ON CONFLICT(effect, epoch) DO UPDATE SET seq = excluded.seq, state = excluded.state`, p.ID, p.Epoch, p.Seq, encode(d))
	return nil
}

// decoder takes up the decoding of a task's answer, and says which part comes next.
func (w *work) decoder(t task, effect string, epoch int64) (*model.Decoder, int) {
	d := model.NewDecoder(w.cfg.Models[decode[generationState](t.Checkpoint).Model].Format)
	row, ok := w.tx.Row(`SELECT seq, state FROM part WHERE effect = ? AND epoch = ?`, effect, epoch)
	if !ok {
		return d, 0
	}
	if err := json.Unmarshal(row.Bytes(1), d); err != nil {
		panic(fmt.Sprintf("the decoder of %s cannot be taken up: %v", effect, err)) // written by encode
	}
	return d, int(row.Int(0)) + 1
}

// modelAnswer decodes a provider's answer, or says why there is none.
func (w *work) modelAnswer(t task, o Outcome) (model.Answer, *model.Failure) {
	switch o.Kind {
	case OutcomeRefused:
		return model.Answer{}, &model.Failure{Kind: model.FailInvalid, Message: "the answer could not be taken: " + o.Detail}
	case OutcomeResponse:
	default:
		return model.Answer{}, &model.Failure{Kind: model.FailRetry, Message: "the provider could not be reached (" + o.Kind + ")"}
	}
	d, parts := w.decoder(t, o.ID, o.Epoch)
	if parts != o.Parts {
		return model.Answer{}, &model.Failure{Kind: model.FailRetry, Message: "a part of the answer is missing"}
	}
	d.Write(outcomeBody(o))
	return d.Finish(o.Status, o.Headers)
}

// outcomeBody is the body that an outcome carries itself.
func outcomeBody(o Outcome) []byte {
	if o.BodyB64 == "" {
		return []byte(o.Body)
	}
	body, _ := base64.StdEncoding.DecodeString(o.BodyB64) // damaged is empty, which no decoder takes for an answer
	return body
}

// progress renews the claim of a long call whose answer is coming.
func (w *work) progress(p Progress) error {
	kind, id := effectRow(p.ID)
	if kind == "t" && !w.renew(id, w.ev.Owner, p.Epoch, modelLease) {
		w.event("generation.stale", 0, fmt.Sprint(id), "progress")
	}
	return nil
}
