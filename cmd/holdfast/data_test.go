package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"syscall"
	"testing"

	"holdfast/actor/errs"
)

func TestFolder(t *testing.T) {
	dir := t.TempDir()
	f, err := openFolder(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openFolder(dir, true); errs.CodeOf(err) != errs.Conflict {
		t.Errorf("a second process: %v", err)
	}
	second := &folder{}
	if second.lock, err = os.Open(f.in(lockFile)); err != nil {
		t.Fatal(err)
	}
	if err := second.hold(func() bool { return syscall.Flock(int(f.lock.Fd()), syscall.LOCK_UN) == nil }); err != nil {
		t.Errorf("while the other one ends: %v", err)
	}
	secret, err := f.secret()
	if err != nil || len(secret.Reveal()) != 64 {
		t.Fatalf("secret of %d characters, %v", len(secret.Reveal()), err)
	}
	if info, err := os.Stat(f.in(secretFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("secret file: %v %v", info.Mode(), err)
	}
	if again, err := f.secret(); err != nil || again != secret {
		t.Errorf("the secret did not stay: %v", err)
	}
	if err := os.WriteFile(f.in("somebody-else.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.close(); err != nil {
		t.Fatal(err)
	}
	second.close()
	f, err = openFolder(dir, true)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	if _, err := os.Stat(f.in(secretFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("--fresh kept the secret: %v", err)
	}
	if _, err := os.Stat(f.in("somebody-else.txt")); err != nil {
		t.Errorf("--fresh deleted what is not ours: %v", err)
	}
}

// An open secret file is refused, not silently used.
func TestSecretThatOthersRead(t *testing.T) {
	f, err := openFolder(t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	if err := os.WriteFile(f.in(secretFile), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := f.secret(); err == nil {
		t.Error("it was read")
	}
}

func TestChooseModel(t *testing.T) {
	own := map[string]chosenModel{"local": {label: "local"}}
	choose := func(env map[string]string, flag string) (chosenModel, error) {
		a := app{env: func(k string) string { return env[k] }}
		return a.chooseModel(t.Context(), flag, own)
	}
	both := map[string]string{"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "o", "OPENAI_BASE_URL": "http://127.0.0.1:1/v1/"}
	c, err := choose(both, "auto")
	if err != nil || c.model.Format != "anthropic" || string(c.target.Credential) != "a" || c.target.BaseURL != "https://api.anthropic.com" {
		t.Errorf("with both keys: %+v %v", c, err)
	}
	c, err = choose(both, "openai:gpt-9")
	if err != nil || c.model.Model != "gpt-9" || c.target.BaseURL != "http://127.0.0.1:1/v1" {
		t.Errorf("named: %+v %v", c, err)
	}
	if c, err = choose(both, "local"); err != nil || c.label != "local" {
		t.Errorf("local: %+v %v", c, err)
	}
	if _, err = choose(nil, "anthropic"); errs.CodeOf(err) != errs.Invalid {
		t.Errorf("without its key: %v", err)
	}
	if _, err = choose(nil, "abacus"); exitCode(err) != exitUsage {
		t.Errorf("unknown: %v", err)
	}
}

func TestFirstModel(t *testing.T) {
	body := `{"data":[{"id":"qwen"},{"id":"other"}]}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }))
	defer server.Close()
	if got, err := firstModel(t.Context(), server.URL); err != nil || got != "qwen" {
		t.Errorf("%q %v", got, err)
	}
	for _, body = range []string{`{"data":[]}`, `<html>`, `{}`} {
		if got, err := firstModel(t.Context(), server.URL); err == nil {
			t.Errorf("%s gives %q", body, got)
		}
	}
}
