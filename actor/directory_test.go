package actor

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"holdfast/worker/host/sqlite"
)

// directory drives a guild's directory, or another actor without effects on the world.
type directory struct {
	t    *testing.T
	db   *sqlite.DB
	name string
}

// event hands one event to the actor and gives its whole result.
func (d directory) event(kind string, data any) string {
	d.t.Helper()
	body, _ := json.Marshal(data)
	ev := Event{V: 1, ID: "1", Type: kind, Attempt: 1, Now: 1764470000000, Owner: "o", Config: ConfigRef{Hash: "h"}, Actor: d.name, Data: body}
	if kind == EventStart {
		ev.Config.Full = &Config{}
	}
	raw, _ := json.Marshal(ev)
	out, _ := handleIn(d.t, d.db, raw)
	return string(out)
}

// op is an operator's event; op "" is the start. It gives the reply's body, or the error and 1.
func (d directory) op(op string, args any) (body string, rc int) {
	d.t.Helper()
	if op == "" {
		return d.event(EventStart, nil), 0
	}
	data, _ := json.Marshal(args)
	out := d.event(EventOperator, Operator{Op: op, Args: data})
	var r Result
	if json.Unmarshal([]byte(out), &r) == nil && r.Reply != nil {
		return string(r.Reply.Body), 0
	}
	return out, 1
}

func TestDirectoryResolvesByChannelParentAndCategory(t *testing.T) {
	d := directory{t, openDB(t), "directory:" + guildID}
	d.op("", nil)
	d.op(OpBind, BindArgs{Workspace: "alpha", Channels: []string{"200"}})
	d.op(OpBind, BindArgs{Workspace: "beta", Channels: []string{"900"}})
	for _, c := range []struct {
		place Place
		want  string
	}{
		{Place{Channel: "200"}, "alpha"},
		{Place{Channel: "300", Parent: "200"}, "alpha"},
		{Place{Channel: "400", Category: "900"}, "beta"},
		{Place{Channel: "300", Parent: "200", Category: "900"}, "alpha"},
		{Place{Channel: "999"}, "not_found"},
	} {
		body, _ := d.op(OpResolve, ResolveArgs{Place: c.place, ID: "1300000000000001001"})
		if !strings.Contains(body, c.want) {
			t.Errorf("%+v: got %s, want %s", c.place, body, c.want)
		}
	}
}

// A message below a binding's snowflake belongs to the earlier workspace for ever (spec 2.3).
func TestDirectoryResolvesByTheTimeOfTheMessage(t *testing.T) {
	d := directory{t, openDB(t), "directory:" + guildID}
	d.op("", nil)
	for since, workspace := range map[string]string{"1000": "first", "20000": "second", "300000": "third"} {
		if _, err := d.db.Do(`INSERT INTO binding VALUES ('200', ?, ?, 0)`, []any{since, workspace}); err != nil {
			t.Fatal(err)
		}
	}
	for id, want := range map[string]string{"999": "first", "1000": "first", "19999": "first", "20000": "second", "299999": "second", "300000": "third", "9999999": "third"} {
		if body, _ := d.op(OpResolve, ResolveArgs{Place: Place{Channel: "200"}, ID: id}); !strings.Contains(body, fmt.Sprintf("%q", want)) {
			t.Errorf("id %s: got %s, want %s", id, body, want)
		}
	}
}

func TestDirectoryListsItsWorkspacesOnce(t *testing.T) {
	d := directory{t, openDB(t), "directory:" + guildID}
	d.op("", nil)
	if body, _ := d.op(OpWorkspaces, nil); body != `{"workspaces":[]}` {
		t.Errorf("before any binding: %s", body)
	}
	for _, b := range []BindArgs{{"beta", []string{"900"}}, {"alpha", []string{"200", "201"}}, {"gamma", nil}, {"beta", []string{"901"}}} {
		d.op(OpBind, b)
	}
	if body, _ := d.op(OpWorkspaces, nil); body != `{"workspaces":["alpha","beta"]}` {
		t.Errorf("got %s", body)
	}
}

func TestDirectoryRefusesABoundChannelAndABadName(t *testing.T) {
	d := directory{t, openDB(t), "directory:" + guildID}
	d.op("", nil)
	d.op(OpBind, BindArgs{Workspace: "alpha", Channels: []string{"200"}})
	if body, rc := d.op(OpBind, BindArgs{Workspace: "alpha", Channels: []string{"200"}}); rc != 0 {
		t.Errorf("binding it again: %s", body)
	}
	for name, want := range map[string]string{"beta": "conflict", "Not A Name": "invalid", "": "invalid", "-a": "invalid"} {
		if body, rc := d.op(OpBind, BindArgs{Workspace: name, Channels: []string{"200"}}); rc != 1 || !strings.Contains(body, want) {
			t.Errorf("workspace %q: got %d %s, want %s", name, rc, body, want)
		}
	}
}
