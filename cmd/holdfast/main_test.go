package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// result is what a command line printed and came to.
type result struct {
	out, err string
	code     int
}

// holdfast runs one command line with nothing but env in the environment.
func holdfast(t *testing.T, env map[string]string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	code := execute(ctx, args, app{out: &out, err: &errs, env: func(k string) string { return env[k] }})
	return result{out.String(), errs.String(), code}
}

func TestExitCodes(t *testing.T) {
	dir := t.TempDir()
	answers := map[string]int{"/ok": 200, "/missing": 404, "/refused": 403, "/conflict": 409, "/down": 503}
	edge := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		job := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/'):]
		w.WriteHeader(answers[job])
		code := map[int]string{404: "not_found", 403: "unauthorized", 409: "conflict", 503: "unavailable"}[answers[job]]
		if code != "" {
			_, _ = w.Write([]byte(`{"error":{"code":"` + code + `","message":"so it is","hint":"do this"}}`))
			return
		}
		_, _ = w.Write([]byte(`{"job":{"id":"ok"},"tasks":[]}`))
	}))
	defer edge.Close()
	env := map[string]string{"HOLDFAST_URL": edge.URL, "HOLDFAST_TOKEN": "hf1.x", "HOLDFAST_WORKSPACE": "1/main"}
	if err := os.WriteFile(filepath.Join(dir, "broken.toml"), []byte("[edge]\nlistn = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		line string
		code int
		say  string
	}{
		{"version", 0, ""},
		{"job ok", 0, ""},
		{"job missing", 3, "do this"},
		{"job refused", 4, "so it is"},
		{"job conflict", 4, ""},
		{"job down", 1, ""},
		{"job", 2, "accepts 1 arg"},
		{"job --nonsense x", 2, "unknown flag"},
		{"nonsense", 2, "unknown command"},
		{"policy nonsense", 2, "unknown command"},
		{"jobs --active --failed", 2, "take one"},
		{"config print --config DIR/broken.toml", 2, "broken.toml:2: edge.listn"},
		{"config print --config DIR/absent.toml", 1, "absent.toml"},
		{"register", 2, "HOLDFAST_DISCORD_BOT_TOKEN"},
		{"token relay", 2, "HOLDFAST_SECRET"},
		{"run --listen 0.0.0.0:80", 2, "loopback"},
		{"run --engine steam --data DIR/d --model local", 2, "wazero or linked"},
		{"run --model abacus --data DIR/d", 2, "--model takes"},
		{"edge", 2, "an edge needs discord.application_id"},
	}
	for _, c := range cases {
		t.Run(c.line, func(t *testing.T) {
			r := holdfast(t, env, strings.Fields(strings.ReplaceAll(c.line, "DIR", dir))...)
			if r.code != c.code || !strings.Contains(r.err, c.say) {
				t.Errorf("exit code %d, want %d; it said: %s", r.code, c.code, r.err)
			}
		})
	}
}

// Without flags and environment the verbs talk to the `holdfast run` of this user, and say so when there is none.
func TestLocalAccess(t *testing.T) {
	home := t.TempDir()
	env := map[string]string{"XDG_DATA_HOME": home}
	if r := holdfast(t, env, "jobs"); r.code != exitNotFound || !strings.Contains(r.err, "holdfast run") {
		t.Errorf("%+v", r)
	}
	var asked string
	edge := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Header.Get("Authorization") + " " + r.URL.String()
		_, _ = w.Write([]byte(`{"jobs":[{"id":"7a4","state":"unanswered","reason":"budget","activity":"not_applicable","author":"ma\u001b[31mya","title":"Fix it","tools":3}]}`))
	}))
	defer edge.Close()
	dir := filepath.Join(home, "holdfast", "run")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := (access{URL: edge.URL, Token: "t", Workspace: "1/main"}).save(dir); err != nil {
		t.Fatal(err)
	}
	r := holdfast(t, env, "jobs", "--failed")
	if asked != "Bearer t /v1/workspaces/1/main/jobs?state=failed" {
		t.Errorf("asked %q", asked)
	}
	if r.code != 0 || !strings.Contains(r.out, "unanswered: budget") || !strings.Contains(r.out, "7a4") {
		t.Errorf("%+v", r)
	}
	if strings.Contains(r.out, "\x1b") {
		t.Errorf("a name coloured the terminal: %q", r.out)
	}
	if info, err := os.Stat(filepath.Join(dir, accessFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%s: %v %v", accessFile, info.Mode(), err)
	}
}

// A command that changes something and gets no answer has an unknown outcome.
func TestUnknownOutcome(t *testing.T) {
	gone := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer gone.Close()
	c := &client{access: access{URL: gone.URL}, http: gone.Client()}
	if got := exitCode(c.do(t.Context(), "POST", "/x", nil, nil)); got != exitUnknown {
		t.Errorf("a POST without an answer: exit code %d", got)
	}
	if got := exitCode(c.do(t.Context(), "GET", "/x", nil, nil)); got != exitFailed {
		t.Errorf("a GET without an answer: exit code %d", got)
	}
}

func TestToken(t *testing.T) {
	const secret = "0123456789abcdef0123456789abcdef"
	env := map[string]string{"HOLDFAST_SECRET": secret}
	key := func(message string) string {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(message))
		return hex.EncodeToString(mac.Sum(nil))
	}
	for line, want := range map[string]string{
		"token relay":                         "hf1.relay.relay.1." + key("v1|relay|1"),
		"token relay --n 4":                   "hf1.relay.relay.4." + key("v1|relay|4"),
		"token runner 1300/main":              "hf1.runner.1300/main.1." + key("v1|runner|1300/main|1"),
		"token operator ops read admin --n 2": "hf1.operator.ops+read+admin.2." + key("v1|operator|ops|read,admin|2"),
	} {
		if r := holdfast(t, env, strings.Fields(line)...); strings.TrimSpace(r.out) != want || r.code != 0 {
			t.Errorf("%s printed %q (%s)", line, r.out, r.err)
		}
	}
	if r := holdfast(t, env, "token", "operator", "ops", "king"); r.code != exitUsage {
		t.Errorf("an unknown role: %+v", r)
	}
}

func TestPolicyTest(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "p.json"), []byte(`{"tool":{"bash":"ask","read":"allow"},"bash":{"git status*":"allow","rm *":"deny"},"path":{"*.env":"deny"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		say  string
	}{
		{[]string{"git status"}, "allow"},
		{[]string{"git push"}, "ask"},
		{[]string{"git status; rm -r x"}, "deny"},
		{[]string{"--tool", "read", "prod.env"}, "deny"},
	} {
		r := holdfast(t, nil, append([]string{"policy", "test", "--policy", filepath.Join(dir, "p.json")}, c.args...)...)
		if r.code != 0 || !strings.HasPrefix(r.out, c.say+" ") {
			t.Errorf("%q: %+v", c.args, r)
		}
	}
	if r := holdfast(t, nil, "policy", "test", "--json", "ls"); !strings.HasPrefix(r.out, `{"verdict":"`) {
		t.Errorf("JSON: %+v", r)
	}
	if err := os.WriteFile(filepath.Join(dir, "bad.json"), []byte(`{"tol":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := holdfast(t, nil, "policy", "test", "--policy", filepath.Join(dir, "bad.json"), "ls"); r.code != exitUsage {
		t.Errorf("a policy that is none: %+v", r)
	}
}
