package actor

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// pacer is an application directory whose clock the test sets.
type pacer struct{ directory }

func newPacer(t *testing.T) pacer {
	p := pacer{directory{t, openDB(t), "application"}}
	p.op("", nil)
	return p
}

// draw gives what a workspace is granted at a time.
func (p pacer) draw(now int64, from string, want int64) (g PaceGrant) {
	return p.drawSlowly(now, from, want, 0)
}

func (p pacer) drawSlowly(now int64, from string, want, took int64) (g PaceGrant) {
	p.t.Helper()
	data, _ := json.Marshal(ActorMessage{ID: "1", From: from, Data: json.RawMessage(fmt.Sprintf(`{"draw":%d,"took":%d}`, want, took))})
	raw, _ := json.Marshal(Event{V: 1, ID: "1", Type: EventActor, Attempt: 1, Now: now, Owner: "o", Config: ConfigRef{Hash: "h"}, Actor: p.name, Data: data})
	out, rc := handleIn(p.t, p.db, raw)
	var r Result
	if err := json.Unmarshal(out, &r); rc != 0 || err != nil || r.Reply == nil {
		p.t.Fatalf("rc %d, %v: %s", rc, err, out)
	}
	if err := json.Unmarshal(r.Reply.Body, &g); err != nil {
		p.t.Fatal(err)
	}
	return g
}

const paceStart = 1764470000000

func TestPaceGrants(t *testing.T) {
	share := func(at int64) PaceGrant {
		return PaceGrant{Permits: sharePermits, At: at, Every: shareEvery, Until: at + shareTime, Late: shareTime - 1}
	}
	lot := func(at, n int64) PaceGrant {
		return PaceGrant{Permits: n, At: at, Every: paceEvery, Until: at + n*paceEvery, Late: paceLate}
	}
	p := newPacer(t)
	for i, step := range []struct {
		after int64
		from  string
		want  int64
		grant PaceGrant
	}{
		{0, "a", 1, share(paceStart)},
		{0, "a", 1, lot(paceStart, 1)},                     // more than its share
		{10, "b", 3, lot(paceStart+paceEvery, 3)},          // behind it
		{20, "c", 99, lot(paceStart+4*paceEvery, paceLot)}, // no more than a lot
		{5000, "b", 2, lot(paceStart+5000, 2)},             // what nobody drew is not saved
		{shareTime, "a", 1, lot(paceStart+shareTime, 1)},   // its last request may have been just now
		{shareTime + shareEvery, "a", 1, share(paceStart + shareTime + shareEvery)},
		{-3_600_000, "b", 2, lot(paceStart-3_600_000, 2)}, // the host's clock was set back
		{-3_600_000, "a", 1, share(paceStart - 3_600_000)},
	} {
		if g := p.draw(paceStart+step.after, step.from, step.want); g != step.grant {
			t.Errorf("step %d: %+v, want %+v", i, g, step.grant)
		}
	}
}

func TestPaceHasNoMoreSharesThanThereAre(t *testing.T) {
	p := newPacer(t)
	for i := range shares + 1 {
		if g := p.draw(paceStart, fmt.Sprint("w", i), 1); (g.Permits == sharePermits) != (i < shares) {
			t.Errorf("workspace %d: %+v", i, g)
		}
	}
}

func TestPaceDoesNotReachFarAhead(t *testing.T) {
	p := newPacer(t)
	var given int64
	for range 2 * paceAhead / paceEvery {
		g := p.draw(paceStart, "a", paceLot)
		if given += g.Permits; g.Permits == 0 {
			if g.At != paceStart+paceAgain || given != paceAhead/paceEvery {
				t.Errorf("after %d permits: %+v", given, g)
			}
			return
		}
	}
	t.Error("it never ran out")
}

func TestPaceReckonsWithTheWay(t *testing.T) {
	p := newPacer(t)
	for i, step := range []struct{ took, at int64 }{{300, 300}, {0, 300 + 2*paceEvery}, {paceTook + 500, paceTook}, {-7, paceTook + 2*paceEvery}} {
		if g := p.drawSlowly(paceStart, "a", 2, step.took); g.At != paceStart+step.at || g.Permits != 2 {
			t.Errorf("step %d: %+v, want it to begin after %d ms", i, g, step.at)
		}
	}
}

func TestPaceRefusesADrawOfNothing(t *testing.T) {
	p := newPacer(t)
	data := json.RawMessage(`{"draw":-1}`)
	if out := p.event(EventActor, ActorMessage{ID: "1", From: "a", Data: data}); !json.Valid([]byte(out)) || len(out) == 0 || out[:8] != `{"code":` {
		t.Errorf("answered %s", out)
	}
}

// The law: whatever workspaces draw and however late within their time they use it, no second has more requests than
// Discord takes.
func TestPaceLaw(t *testing.T) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 1))
		p := newPacer(t)
		var sent []int64
		last := map[string]int64{} // a share's requests keep their distance
		now := int64(paceStart)
		for range 400 {
			now += r.Int64N(60)
			from := fmt.Sprint("w", r.IntN(30))
			g := p.drawSlowly(now, from, 1+r.Int64N(1+r.Int64N(12)), r.Int64N(1+r.Int64N(300)))
			for i := range g.Permits {
				at := g.At + i*g.Every + r.Int64N(min(g.Late, 300)+1)
				if g.Every == shareEvery {
					if at = max(at, last[from]+g.Every); at >= g.Until {
						break
					}
					last[from] = at
				}
				sent = append(sent, at)
			}
		}
		slices.Sort(sent)
		const most = 50
		for i := most; i < len(sent); i++ {
			if sent[i]-sent[i-most] < 1000 {
				t.Fatalf("seed %d: %d requests within %d ms", seed, most+1, sent[i]-sent[i-most])
			}
		}
		if span := sent[len(sent)-1] - sent[0]; int64(len(sent))*1000 < 25*span {
			t.Errorf("seed %d: %d requests in %d ms are few", seed, len(sent), span)
		}
	}
}
