package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"holdfast/cmd/holdfast/config"
	"holdfast/interactions"
)

// discord keeps the commands it was given, as Discord does.
type discord struct {
	commands json.RawMessage
	puts     int
	path     string
}

func (d *discord) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.path = r.URL.Path
	if r.Header.Get("Authorization") != "Bot token" || !strings.HasPrefix(r.Header.Get("User-Agent"), "DiscordBot (") {
		w.WriteHeader(401)
		_, _ = io.WriteString(w, `{"message":"401: Unauthorized","code":0}`)
		return
	}
	if r.Method == http.MethodPut {
		d.puts++
		d.commands, _ = io.ReadAll(r.Body)
	}
	_, _ = w.Write(d.commands)
}

func TestRegister(t *testing.T) {
	d := &discord{commands: json.RawMessage(`[{"name":"old","type":1,"description":"x"},{"name":"stop","type":1,"description":"another text"}]`)}
	server := httptest.NewServer(d)
	defer server.Close()
	r := registrar{api: server.URL, application: "1", token: config.NewSecret("token"), http: server.Client()}
	want := "added      /ask|added      /resume|changed    /stop|added      /usage|added      /workspace|removed    /old"
	for _, dry := range []bool{true, false} {
		lines, err := r.register(t.Context(), dry)
		if err != nil || strings.Join(lines, "|") != want {
			t.Errorf("dry %v: %q %v", dry, lines, err)
		}
	}
	if d.puts != 1 || d.path != "/applications/1/commands" {
		t.Errorf("%d writes, the last to %s", d.puts, d.path)
	}
	lines, err := r.register(t.Context(), false)
	if err != nil || d.puts != 1 || strings.Join(lines, "|") != "unchanged  /ask|unchanged  /resume|unchanged  /stop|unchanged  /usage|unchanged  /workspace" {
		t.Errorf("a second time: %q %v, %d writes", lines, err, d.puts)
	}
	r.guild = "7"
	if _, err := r.register(t.Context(), false); err != nil || d.path != "/applications/1/guilds/7/commands" || d.puts != 2 {
		t.Errorf("for a guild: %v, to %s", err, d.path)
	}
	if strings.Contains(string(d.commands), "contexts") {
		t.Error("a guild's commands were sent with contexts")
	}
	var kept []interactions.Command
	if err := json.Unmarshal(d.commands, &kept); err != nil || len(kept) != len(interactions.GuildCommands()) {
		t.Errorf("Discord has %s", d.commands)
	}
}

func TestRegisterRefused(t *testing.T) {
	server := httptest.NewServer(&discord{})
	defer server.Close()
	r := registrar{api: server.URL, application: "1", token: config.NewSecret("wrong"), http: server.Client()}
	_, err := r.register(t.Context(), false)
	if exitCode(err) != exitRefused || !strings.Contains(err.Error(), "401") {
		t.Errorf("error %v", err)
	}
}
