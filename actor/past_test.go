package actor

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/actor/frame"
	"holdfast/worker/host/sqlite"
)

// past is a world with a backup: what happens after it is rolled back by restore, except in Discord and on the runner.
type past struct {
	*world
	dir    string
	copies int
	seen   map[string]int // nonces, and attempts sent to the runner, in both times
}

func newPast(t *testing.T) *past {
	t.Helper()
	dir := t.TempDir()
	p := &past{dir: dir, seen: map[string]int{}}
	p.world = newWorldOn(t, p.open("first"))
	p.discord.fail = p.look
	return p
}

func (p *past) open(name string) *sqlite.DB {
	db, err := sqlite.Open(filepath.Join(p.dir, name))
	if err != nil {
		panic(err)
	}
	return db
}

// look answers reads as Discord does, and remembers what was created.
func (p *past) look(e Effect) (int, string, bool) {
	var body struct {
		Nonce string `json:"nonce"`
	}
	_ = json.Unmarshal(e.Body, &body)
	if body.Nonce != "" {
		p.seen["nonce "+body.Nonce]++
	}
	u, _ := url.Parse(e.Path)
	parts := strings.Split(u.Path, "/")
	switch {
	case e.Method != "GET":
		return 0, "", false
	case len(parts) == 5:
		if m := p.discord.messages[parts[4]]; m != nil {
			return 200, p.show(m), true
		}
		return 404, `{"code":10008,"message":"Unknown Message"}`, true
	case parts[2] != channelID && !p.discord.threads[parts[2]]:
		return 404, `{"code":10003,"message":"Unknown Channel"}`, true
	}
	shown := []string{}
	for _, m := range p.discord.in(parts[2]) {
		if parseInt(m.id) > parseInt(u.Query().Get("after")) {
			shown = append([]string{p.show(m)}, shown...) // the newest first
		}
	}
	return 200, "[" + strings.Join(shown, ",") + "]", true
}

func (p *past) show(m *fakeMessage) string {
	of := ""
	for token, original := range p.discord.originals {
		if original == m {
			of = strings.TrimPrefix(token, "token-")
		}
	}
	components, _ := json.Marshal(m.body.Components)
	return fmt.Sprintf(`{"id":%q,"content":%q,"author":{"id":%q},"components":%s,"interaction_metadata":{"id":%q}}`, m.id, m.body.Content, appID, components, of)
}

// backup keeps the database as it is now.
func (p *past) backup() {
	p.t.Helper()
	p.copies++
	if err := p.db.CopyTo(filepath.Join(p.dir, fmt.Sprint("copy", p.copies))); err != nil {
		p.t.Fatal(err)
	}
}

// restore goes back to the last backup, as the host's restore does.
func (p *past) restore() {
	p.t.Helper()
	for _, e := range p.effects {
		p.sent(e)
	}
	if err := p.db.Close(); err != nil {
		p.t.Fatal(err)
	}
	p.now += 86_400_000
	p.db = p.open(fmt.Sprint("copy", p.copies))
	p.t.Cleanup(func() { p.db.Close() })
	for key, value := range map[string]string{"review": ReviewRestored, "incarnation": fmt.Sprint(p.now / 1000)} {
		p.one(`INSERT INTO meta(key, value) VALUES (?1, ?2) ON CONFLICT(key) DO UPDATE SET value = ?2`, key, value)
	}
	p.kill()
}

// sent remembers an attempt that was sent to the runner.
func (p *past) sent(e Effect) {
	var f frame.Frame
	if json.Unmarshal(e.Message, &f) == nil && f.Type == frame.TypeTask {
		p.seen[fmt.Sprintf("task %d epoch %d", f.Task, f.Epoch)]++
	}
}

// rest is run, and watches what the runner gets.
func (p *past) rest() {
	p.t.Helper()
	end := p.now + 3_600_000
	for p.alarm != nil && *p.alarm <= end || len(p.effects) > 0 {
		if len(p.effects) == 0 {
			p.now = max(p.now+1, *p.alarm)
			p.must(EventWake, nil)
			continue
		}
		e := p.effects[0]
		p.effects = p.effects[1:]
		p.sent(e)
		p.now += 5
		p.perform(e)
	}
	for what, n := range p.seen {
		if n > 1 {
			p.t.Fatalf("%s came %d times", what, n)
		}
	}
}

func (p *past) decide(id, decision string) (Review, error) {
	p.t.Helper()
	args, _ := json.Marshal(reviewArgs{ID: id, Decision: decision})
	err := p.event(EventOperator, Operator{Op: OpReview, Principal: Principal{Name: "op", Roles: []string{"approve"}}, Args: args})
	var r Review
	if err == nil {
		_ = json.Unmarshal(p.reply.Body, &r)
	}
	return r, err
}

func (p *past) mustDecide(id, decision string) Review {
	p.t.Helper()
	r, err := p.decide(id, decision)
	if err != nil {
		p.t.Fatalf("%s %s: %v", decision, id, err)
	}
	return r
}

func (p *past) verdicts() string {
	p.t.Helper()
	return p.one(`SELECT coalesce(group_concat(verdict, ' ' ORDER BY id), '') FROM review`)
}

func (p *past) messages() string { return fmt.Sprint(len(p.discord.messages)) }

// lose lets the time that will be rolled back go on to just before its answer is shown.
func (p *past) lose() {
	p.t.Helper()
	p.discord.fail = func(e Effect) (int, string, bool) {
		if e.Point == PointEdit {
			return 500, "", true
		}
		return p.look(e)
	}
	for range 200 {
		if len(p.effects) == 0 {
			if p.alarm == nil || p.one(`SELECT state FROM submission`) == "done" {
				break
			}
			p.now = max(p.now+1, *p.alarm)
			p.must(EventWake, nil)
			continue
		}
		e := p.effects[0]
		p.effects = p.effects[1:]
		p.sent(e)
		p.now += 5
		p.perform(e)
	}
	p.want("the lost time's answer", p.one(`SELECT state FROM submission`), "done")
	p.discord.fail = p.look
}
