package actor

import (
	"encoding/json"
	"fmt"

	"holdfast/actor/errs"
)

// Times of the circuit breaker, in ms (spec 3.5).
const (
	circuitOpen    = 600_000   // for how long it opens first; doubled while it keeps failing
	circuitLongest = 3_600_000 // at most
	circuitAnswer  = 5_000     // how long the application directory is waited for before a probe
	forbiddenIn    = 600_000   // this many 403 within that time open it
	forbiddenMax   = 20
)

// circuit is the bucket of all requests to Discord.
const circuit = "all"

// bucketOf is what Discord limits together: an operation in a channel. Its own bucket names are opaque, and not known
// before the first answer.
func bucketOf(d delivery) string { return d.Op + ":" + d.Channel }

// heldUntil is when a delivery may be sent: its bucket and the circuit must be free.
func (w *work) heldUntil(d delivery) int64 {
	row, _ := w.tx.Row(`SELECT max(until) FROM hold WHERE bucket IN (?, ?)`, bucketOf(d), circuit)
	return row.Int(0)
}

// hold keeps a bucket from being asked until then, and moves what waits for it.
func (w *work) hold(bucket string, until int64, why string) {
	w.tx.Exec(`INSERT INTO hold(bucket, until, why) VALUES (?, ?, ?)
		ON CONFLICT(bucket) DO UPDATE SET until = max(until, excluded.until), why = excluded.why, strikes = strikes + 1`, bucket, until, why)
}

// limited reads a 429: of one bucket, of all, or, where it is no JSON, of Discord's own front, which blocks the
// address and opens the circuit.
func (w *work) limited(d delivery, o Outcome, a discordAnswer) {
	wait := retryAfter(o, a)
	switch {
	case a.Message == "" && a.RetryAfter == 0:
		w.openCircuit("Discord's front answers with a page: the address is limited")
		wait = max(wait, circuitOpen)
	case a.Global:
		w.hold(circuit, w.now+wait, "global rate limit")
	default:
		w.hold(bucketOf(d), w.now+wait, "rate limited")
	}
	w.retryDelivery(d.ID, d.stateAgain(), w.now+wait, "rate limited")
	w.tx.Exec(`UPDATE delivery SET attempts = attempts - 1 WHERE id = ?`, d.ID)
}

// unauthorized is a 401 for the bot's token: nothing helps but an operator.
func (w *work) unauthorized(d delivery) {
	w.openCircuit("Discord refuses the bot token")
	w.retryDelivery(d.ID, d.stateAgain(), w.now+circuitOpen, "Discord refuses the bot token")
}

// forbidden counts 403s: many of them in a short time get an application banned.
func (w *work) forbidden(d delivery) {
	w.event("discord.forbidden", d.Turn, fmt.Sprint(d.ID), d.Kind)
	row, _ := w.tx.Row(`SELECT count(*) FROM event WHERE name = 'discord.forbidden' AND created_wall > ?`, w.wall-forbiddenIn)
	if row.Int(0) >= forbiddenMax {
		w.openCircuit(fmt.Sprintf("%d requests were forbidden within ten minutes", row.Int(0)))
	}
}

// openCircuit stops everything to Discord here, and tells the application directory, which others ask.
func (w *work) openCircuit(why string) {
	row, _ := w.tx.Row(`SELECT coalesce(max(strikes), 0) FROM hold WHERE bucket = ?`, circuit)
	open := min(int64(circuitOpen)<<min(row.Int(0), 8), circuitLongest)
	w.hold(circuit, w.now+open, why)
	w.event("circuit.opened", 0, "", why)
	w.tell("application", circuitMessage{Report: why, UntilWall: w.wall + open})
}

// circuitMessage is spoken between workspaces and the application directory.
type circuitMessage struct {
	Report    string `json:"report,omitempty"` // a workspace met a reason to stop
	Ask       bool   `json:"ask,omitempty"`    // a workspace's own time is over: may it go on?
	Answer    bool   `json:"answer,omitempty"`
	UntilWall int64  `json:"until_wall,omitempty"` // unix ms; 0: closed
	Why       string `json:"why,omitempty"`
}

// tell sends a message to another actor. One that gets lost is told again when the reason for it comes again.
func (w *work) tell(to string, m circuitMessage) {
	w.do(Effect{Type: EffectActor, ID: fmt.Sprintf("m%d.%d", w.now, len(w.effects)), Lane: "actor:" + to, Actor: to, Data: raw(m)})
}

// mayProbe is asked when the circuit's time is over. The application directory may know of a newer reason; when it
// does not answer within some seconds, the next request is the probe.
func (w *work) mayProbe() bool {
	row, held := w.tx.Row(`SELECT until, why FROM hold WHERE bucket = ?`, circuit)
	switch {
	case !held:
		return true
	case row.Str(1) == "asked" && row.Int(0) <= w.now:
		return true
	}
	w.tx.Exec(`UPDATE hold SET until = ?, why = 'asked' WHERE bucket = ?`, w.now+circuitAnswer, circuit)
	w.tell("application", circuitMessage{Ask: true})
	return false
}

// actorMessage is what another actor says.
func (w *work) actorMessage(in ActorMessage) error {
	var m circuitMessage
	if err := json.Unmarshal(in.Data, &m); err != nil || !m.Answer || in.From != "application" {
		return errs.New(errs.Invalid, "a workspace understands no such message of %q", in.From)
	}
	if m.UntilWall > w.wall {
		w.hold(circuit, w.now+m.UntilWall-w.wall, m.Why)
		return nil
	}
	w.tx.Exec(`UPDATE hold SET until = ? WHERE bucket = ? AND why = 'asked'`, w.now, circuit)
	w.tx.Exec(`UPDATE delivery SET due = ? WHERE state IN ('pending','unknown') AND due IS NOT NULL AND due <= ?`, w.now, w.now+circuitAnswer)
	return nil
}

// delivered closes what an answer of Discord's proves to be open.
func (w *work) delivered() {
	w.tx.Exec(`DELETE FROM hold WHERE until <= ?`, w.now)
}
