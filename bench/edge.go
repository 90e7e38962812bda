package main

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// edge is a running edge of any kind, and what is needed to talk to it.
type edge struct {
	url   string
	world *world
	admin *client
	named int // workspaces so far
}

// space is a workspace with its channel.
type space struct{ name, channel string }

func newEdge(url string, w *world) *edge { return &edge{url: url, world: w, admin: newClient()} }

// operator asks the operator API.
func (e *edge) operator(ctx context.Context, method, path string, in, out any) error {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return err
		}
	}
	header := http.Header{"Authorization": {"Bearer " + token("operator", "bench", "read", "admin")}, "Content-Type": {"application/json"}}
	_, answer, err := e.admin.do(ctx, request{method: method, url: e.url + path, header: header, body: body})
	if err != nil || out == nil {
		return err
	}
	return json.Unmarshal(answer, out)
}

// open makes n workspaces, each with a channel of its own, and lets the front find each of them once.
func (e *edge) open(ctx context.Context, n int) ([]space, error) {
	spaces := make([]space, n)
	for i := range spaces {
		e.named++
		s := space{fmt.Sprintf("w%d", e.named), e.world.id()}
		members := []map[string]any{}
		for _, u := range users {
			members = append(members, map[string]any{"user": u, "roles": []string{"member", "approver", "admin"}})
		}
		settings := map[string]any{"members": members, "bindings": []string{s.channel}}
		if err := e.operator(ctx, "PUT", "/v1/workspaces/"+guild+"/"+s.name+"/config", settings, nil); err != nil {
			return nil, err
		}
		if _, _, err := e.admin.do(ctx, e.stop(s)); err != nil {
			return nil, err
		}
		spaces[i] = s
	}
	return spaces, nil
}

// ask is a signed /ask that starts a turn: the interaction whose acknowledgement must be durable.
func (e *edge) ask(s space, user int, prompt string) request {
	return e.command(s, user, map[string]any{"id": "1300000000000000600", "name": "ask", "type": 1,
		"options": []map[string]any{{"name": "prompt", "type": 3, "value": prompt}}})
}

// asks are n of them for each workspace, taking turns. Each workspace runs four turns at once, two of each person.
func (e *edge) asks(spaces []space, n int) (list []request) {
	for i := range n {
		for _, s := range spaces {
			r := e.ask(s, i/2, "Why does the build fail on main?")
			r.want = `"type":5`
			list = append(list, r)
		}
	}
	return list
}

// stop is a signed /stop where nothing runs: a small event that is committed and may be repeated for ever.
func (e *edge) stop(s space) request {
	r := e.command(s, 0, map[string]any{"id": "1300000000000000601", "name": "stop", "type": 1})
	r.want = `"type":4`
	return r
}

// command signs an application command as Discord does.
func (e *edge) command(s space, user int, data map[string]any) request {
	id := users[user%len(users)]
	return e.sign(map[string]any{
		"id": e.world.id(), "application_id": application, "type": 2, "token": "token-" + e.world.id(), "version": 1,
		"app_permissions": "442368", "locale": "en-US", "entitlements": []any{}, "attachment_size_limit": 10485760,
		"guild_id": guild, "channel_id": s.channel, "context": 0, "authorizing_integration_owners": map[string]string{"0": guild},
		"channel": map[string]any{"id": s.channel, "type": 0, "guild_id": guild, "name": "agents", "parent_id": nil, "permissions": "311385246720"},
		"member": map[string]any{"roles": []string{}, "permissions": "311385246720", "joined_at": "2026-01-02T03:04:05.678000+00:00",
			"user": map[string]any{"id": id, "username": "sample_user", "global_name": "Sample User", "discriminator": "0"}},
		"data": data,
	})
}

// ping is what Discord sends to find out whether an edge is there: verified and answered without an actor.
func (e *edge) ping() request {
	r := e.sign(map[string]any{"id": e.world.id(), "application_id": application, "type": 1, "token": "t", "version": 1})
	r.want = `"type":1`
	return r
}

// stops are n of them for each workspace.
func (e *edge) stops(spaces []space, n int) (list []request) {
	for range n {
		for _, s := range spaces {
			list = append(list, e.stop(s))
		}
	}
	return list
}

// sign makes the request that Discord sends for an interaction.
func (e *edge) sign(interaction map[string]any) request {
	body, err := json.Marshal(interaction)
	if err != nil {
		panic(err) // plain data
	}
	stamp := strconv.FormatInt(time.Now().Unix(), 10)
	signature := ed25519.Sign(e.world.key, append([]byte(stamp), body...))
	return request{method: "POST", url: e.url + "/interactions", body: body, header: http.Header{
		"Content-Type": {"application/json"}, "X-Signature-Timestamp": {stamp}, "X-Signature-Ed25519": {hex.EncodeToString(signature)}}}
}

// at sends the same requests somewhere else.
func at(url string, list []request) []request {
	moved := make([]request, len(list))
	for i, r := range list {
		r.url, r.want = url+"/interactions", `"type":5`
		moved[i] = r
	}
	return moved
}

// metrics reads the numbers that a self-hosted edge shows, by name with labels as they are written there.
func (e *edge) metrics(ctx context.Context) (map[string]float64, error) {
	_, body, err := e.admin.do(ctx, request{method: "GET", url: e.url + "/metrics",
		header: http.Header{"Authorization": {"Bearer " + token("operator", "bench", "read")}}})
	if err != nil {
		return nil, err
	}
	values := map[string]float64{}
	lines := bufio.NewScanner(strings.NewReader(string(body)))
	for lines.Scan() {
		if name, number, ok := strings.Cut(lines.Text(), " "); ok && !strings.HasPrefix(name, "#") {
			if v, err := strconv.ParseFloat(number, 64); err == nil {
				values[name] = v
			}
		}
	}
	return values, lines.Err()
}

// total adds up all series of a metric.
func total(values map[string]float64, name string) (sum float64) {
	for series, v := range values {
		if bare, _, _ := strings.Cut(series, "{"); bare == name {
			sum += v
		}
	}
	return sum
}
