package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// keyOf makes a file with a key of the databases.
func keyOf(t *testing.T, digits string, mode os.FileMode) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(digits+"\n"), mode); err != nil {
		t.Fatal(err)
	}
	return file
}

// What was open when the backup was made and answered before the restore is found in Discord and answered no more.
func TestF36_BackupRestoreReview(t *testing.T) {
	key := keyOf(t, strings.Repeat("0af1", 32), 0o600)
	dir := t.TempDir()
	file := filepath.Join(t.TempDir(), "backup.tar")
	before := upWith(t, dir, key)
	before.ask("maya", "!say An old answer.")
	before.eventually("An old answer.")
	before.ask("maya", "!slow 1500\n!say Said once.")
	before.eventually("Working")
	if r := before.verb("backup", "--to", file); r.code != 0 || !strings.Contains(r.out, "databases") {
		t.Fatalf("backup: %+v", r)
	}
	if r := before.verb("backup", "--to", file); r.code != exitRefused {
		t.Errorf("over a file that is there: %+v", r)
	}
	before.eventually("Said once.")
	before.ask("maya", "!say Of the lost time.")
	shown := len(before.eventually("Of the lost time."))
	before.down()

	raw, err := os.ReadFile(file)
	if err != nil || bytes.Contains(raw, []byte("An old answer.")) {
		t.Errorf("the backup of encrypted databases can be read (%v)", err)
	}
	edge := filepath.Join(dir, edgeData)
	for name, args := range map[string][]string{
		"into what is there": {"restore", "--from", file, "--data", edge, "--key-file", key},
		"without the key":    {"restore", "--from", file, "--data", filepath.Join(dir, "x")},
		"with another":       {"restore", "--from", file, "--data", filepath.Join(dir, "x"), "--key-file", keyOf(t, strings.Repeat("0af2", 32), 0o600)},
		"with an open one":   {"restore", "--from", file, "--data", filepath.Join(dir, "x"), "--key-file", keyOf(t, strings.Repeat("0af1", 32), 0o644)},
		"with half a one":    {"restore", "--from", file, "--data", filepath.Join(dir, "x"), "--key-file", keyOf(t, "0af1", 0o600)},
		"from nowhere":       {"restore", "--from", file + "x", "--data", filepath.Join(dir, "x"), "--key-file", key},
	} {
		if r := holdfast(t, nil, args...); r.code == 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if err := os.RemoveAll(edge); err != nil {
		t.Fatal(err)
	}
	if r := holdfast(t, nil, "restore", "--from", file, "--data", edge, "--key-file", key); r.code != 0 || !strings.Contains(r.out, "holdfast review") {
		t.Fatalf("restore: %+v", r)
	}

	after := upWith(t, dir, key)
	defer after.down()
	after.poll("a verdict", func() bool { return strings.Contains(after.verb("review").out, "answered") })
	if r := after.verb("status"); !strings.Contains(r.out, "restored and in review") {
		t.Errorf("status: %+v", r)
	}
	after.ask("maya", "!say Too early.")
	after.eventually("restored from a backup")
	if r := after.verb("review", "zz", "--stop"); r.code != exitNotFound {
		t.Errorf("an input that is not there: %+v", r)
	}
	if r := after.verb("review", "--continue"); r.code != 0 || !strings.Contains(r.out, "is released") {
		t.Fatalf("release: %+v", r)
	}
	after.ask("maya", "!say A new answer.")
	all := strings.Join(after.eventually("A new answer."), "\n")
	for _, text := range []string{"An old answer.", "Said once.", "Of the lost time.", "A new answer."} {
		if n := strings.Count(all, text); n != 1 {
			t.Errorf("%q is shown %d times", text, n)
		}
	}
	if strings.Contains(all, "Too early.") || len(after.contents()) != shown+2 { // the refusal and the new answer
		t.Errorf("the channel shows %q", all)
	}
}

func TestBackupNeedsADeployment(t *testing.T) {
	file := filepath.Join(t.TempDir(), "b.tar")
	for name, r := range map[string]result{
		"nowhere to": holdfast(t, nil, "backup", "--data", t.TempDir()),
		"nobody":     holdfast(t, map[string]string{"HOLDFAST_URL": "http://127.0.0.1:1", "HOLDFAST_TOKEN": "x"}, "backup", "--to", file),
		"two words":  holdfast(t, nil, "review", "7a4", "--continue", "--stop"),
	} {
		if r.code == 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a backup that failed left a file")
	}
}
