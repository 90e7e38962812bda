package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/actor/errs"
	"holdfast/worker/host/sqlite"
)

// backup asks the host for a backup, as an admin over HTTP.
func (s *site) backup() []byte {
	s.t.Helper()
	status, body := s.operator("POST", "/v1/backup", "")
	if status != 200 {
		s.t.Fatalf("backup: %d %s", status, body)
	}
	return []byte(body)
}

// restored is a directory made from a backup.
func restored(t testing.TB, backup []byte, o RestoreOptions) string {
	t.Helper()
	o.Data = filepath.Join(t.TempDir(), "restored")
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	if _, err := Restore(bytes.NewReader(backup), o); err != nil {
		t.Fatal(err)
	}
	return o.Data
}

func TestABackupIsMadeWhileEverythingRuns(t *testing.T) {
	for name, key := range map[string][]byte{"plain": nil, "encrypted": bytes.Repeat([]byte{3}, sqlite.KeySize)} {
		t.Run(name, func(t *testing.T) {
			withKey := func(o *Options) { o.Key = key; o.Limits.Open = 2 }
			s := open(t, "", withKey)
			names := []string{"workspace:1/a", "workspace:1/b", "workspace:2/c", "directory:1"}
			stop, busy := make(chan struct{}), sync.WaitGroup{}
			counts := make([]int, len(names))
			for i, name := range names {
				s.must(name, `{"trace":"a word to look for"},{"alarm":3600000}`)
				busy.Go(func() {
					for {
						select {
						case <-stop:
							return
						default:
							s.must(name, `{"trace":"more"}`)
							counts[i]++
						}
					}
				})
			}
			backup := s.backup()
			close(stop)
			busy.Wait()
			if bytes.Contains(backup, []byte("a word to look for")) != (key == nil) {
				t.Error("the backup is not as encrypted as the data")
			}
			m, err := ReadBackup(bytes.NewReader(backup), nil)
			if err != nil || len(m.Files) != len(names)+1 || len(m.Damaged) != 0 || m.Encrypted != (key != nil) {
				t.Fatalf("manifest: %+v, %v", m, err)
			}
			s.must(names[0], `{"trace":"after the backup"}`) // the original goes on
			again := open(t, restored(t, backup, RestoreOptions{Key: key}), withKey)
			// Each workspace is woken at once: nothing is taken from the index on trust. An event of ours would do instead.
			until(t, "the wakes", func() bool { return again.handled("wake") == 3 })
			for i, name := range names {
				var rows [][]int
				if err := json.Unmarshal([]byte(again.seen(name, "count(*), max(n)", "type = 'interaction'")), &rows); err != nil {
					t.Fatal(err)
				}
				if n := rows[0][0]; n < 1 || n > counts[i]+1 {
					t.Errorf("%s: %d events, of %d", name, n, counts[i]+1)
				}
			}
			if got := again.seen(names[0], "count(*)", "data LIKE '%after the backup%'"); got != "[[0]]" {
				t.Errorf("what came after it is in it: %s", got)
			}
			if left, _ := filepath.Glob(filepath.Join(s.opts.Data, tempDirs)); len(left) > 0 {
				t.Error("a copy was left behind")
			}
		})
	}
}

func TestMessagesBetweenActorsWaitForABackup(t *testing.T) {
	s := open(t, "")
	s.must("workspace:1/a", `{"trace":"x"}`)
	s.must("workspace:1/b", `{"trace":"x"}`)
	out, in := io.Pipe()
	made := make(chan error, 1)
	go func() {
		_, err := s.Backup(context.Background(), in)
		made <- errors.Join(err, in.Close())
	}()
	if _, err := out.Read(make([]byte, 1)); err != nil { // it has begun, and goes on when its reader does
		t.Fatal(err)
	}
	if _, err := s.Backup(context.Background(), io.Discard); errs.CodeOf(err) != errs.Conflict {
		t.Errorf("a second backup: %v, want conflict", err)
	}
	s.must("workspace:1/a", `{"effect":{"id":"m1","type":"actor","actor":"workspace:1/b","data":{"do":[{"trace":"the message"}]}}}`)
	until(t, "the effect", func() bool { return s.metric("effects_total", "type", "actor") == 1 })
	if got := s.seen("workspace:1/b", "count(*)", "type = 'actor'"); got != "[[0]]" {
		t.Errorf("a message went between the copies: %s", got)
	}
	if _, err := io.Copy(io.Discard, out); err != nil {
		t.Fatal(err)
	}
	if err := <-made; err != nil {
		t.Fatal(err)
	}
	s.eventually("workspace:1/b", "count(*)", "type = 'actor'", "[[1]]")
}

// A workspace that is made while a backup is under way is in it, as its binding is.
func TestABackupHoldsWhatIsMadeMeanwhile(t *testing.T) {
	c := newTown(t)
	s := c.real("")
	if status, body := s.operator("PUT", "/v1/workspaces/1/x/config", `{"bindings":["5"]}`); status != 200 { // directory:1 is copied first
		t.Fatal(status, body)
	}
	s.configure("a")
	out, in := io.Pipe()
	made := make(chan error, 1)
	go func() {
		_, err := s.Backup(context.Background(), in)
		made <- errors.Join(err, in.Close())
	}()
	first := make([]byte, 1)
	if _, err := io.ReadFull(out, first); err != nil {
		t.Fatal(err)
	}
	if status, body := s.operator("PUT", "/v1/workspaces/"+realGuild+"/b/config", `{"bindings":["`+realChannel+`"]}`); status != 200 {
		t.Fatal(status, body)
	}
	rest, err := io.ReadAll(out)
	if err := errors.Join(err, <-made); err != nil {
		t.Fatal(err)
	}
	m, err := ReadBackup(bytes.NewReader(append(first, rest...)), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range m.Files {
		names = append(names, f.Name)
	}
	for _, want := range []string{"directory:" + realGuild, "workspace:" + realGuild + "/b"} {
		if !slices.Contains(names, actorsDir+"/"+fileName(want)) {
			t.Errorf("%s is not in the backup: %v", want, names)
		}
	}
}

func TestWhoMayBackUp(t *testing.T) {
	s := open(t, "")
	for name, c := range map[string]struct {
		kind, subject string
		roles         []string
		status        int
	}{
		"an operator without the role": {KindOperator, "ann", []string{"read", "approve"}, 403},
		"a runner":                     {KindRunner, "1/a", nil, 403},
		"an admin":                     {KindOperator, "ann", []string{"admin"}, 200},
	} {
		key, err := Token(testSecret, c.kind, c.subject, c.roles, 0)
		if err != nil {
			t.Fatal(err)
		}
		if status, body := s.do("POST", "/v1/backup", "", "Authorization", "Bearer "+key); status != c.status {
			t.Errorf("%s: %d %.200s, want %d", name, status, body, c.status)
		}
	}
	if status, _ := s.do("POST", "/v1/backup", ""); status != 401 {
		t.Errorf("nobody: %d, want 401", status)
	}
}

// A damaged database takes nothing from the others' backup, and is named.
func TestADamagedDatabaseIsLeftOut(t *testing.T) {
	c := newTown(t)
	s := c.real("")
	s.configure("a")
	s.configure("b")
	s.mention(realWS, messageID(0))
	until(t, "the answer", func() bool { return len(c.answers()) == 1 })
	s.advanceUntil("rest", func() bool { return s.metric("backlog") == 0 })
	s.stop()
	bad := s.spoil(realWS, `"text":"I heard you."`)
	s = c.real(s.opts.Data)
	backup := s.backup()
	m, err := ReadBackup(bytes.NewReader(backup), nil)
	if err != nil || fmt.Sprint(m.Damaged) != "["+realWS+"]" || len(m.Files) != 2 {
		t.Fatalf("manifest: %+v, %v", m, err)
	}
	if status, body := s.operator("PUT", "/v1/workspaces/"+realGuild+"/a/config", `{"model":"m"}`); status != 503 {
		t.Errorf("the damage that the backup found is not known: %d %s", status, body)
	}
	restored(t, backup, RestoreOptions{})
	s.stop()
	s.untouched(realWS, bad)
}

// TestF36_RestoredFromYesterdaysBackup goes through the whole host: what was answered since is not answered again,
// what was not waits for an operator, and no nonce comes twice.
func TestF36_RestoredFromYesterdaysBackup(t *testing.T) {
	c := newTown(t)
	s := c.real("")
	s.configure("a")
	c.gate = make(chan struct{})
	s.mention(realWS, messageID(0)) // open in the backup, answered after it
	until(t, "the model call", func() bool { return c.modelCalls() == 1 })
	backup := s.backup()
	close(c.gate)
	s.advanceUntil("the first answer", func() bool { return len(c.answers()) == 1 })
	s.mention(realWS, messageID(1)) // not in the backup, answered after it
	s.advanceUntil("the second answer", func() bool { return len(c.answers()) == 2 })
	s.advanceUntil("rest", func() bool { return s.metric("backlog") == 0 })
	s.stop()
	calls := c.modelCalls()

	s = c.real(restored(t, backup, RestoreOptions{}))
	for n := range 3 { // the relay's backfill; the last one was never seen before
		s.mention(realWS, messageID(n))
	}
	review := "/v1/workspaces/" + realGuild + "/a/review"
	s.advanceUntil("verdicts", func() bool {
		_, body := s.operator("GET", review, "")
		return strings.Count(body, `"verdict":"answered"`) == 2 && strings.Count(body, `"verdict":"absent"`) == 1
	})
	for range 50 {
		s.clock.Advance(time.Minute)
	}
	if n := c.modelCalls(); n != calls {
		t.Errorf("%d model calls in review", n-calls)
	}
	if status, body := s.operator("POST", "/v1/workspaces/"+realGuild+"/a/release", ""); status != 200 || !strings.Contains(body, `"mode":"over"`) {
		t.Fatalf("release: %d %s", status, body)
	}
	s.advanceUntil("the third answer", func() bool { return len(c.answers()) == 3 })
	s.advanceUntil("rest", func() bool { return s.metric("backlog") == 0 })
	for n := range 3 {
		if got := c.answers()[messageID(n)]; got != 1 {
			t.Errorf("message %d has %d answers, want one", n, got)
		}
	}
	for nonce, n := range c.nonces {
		if n > 1 {
			t.Errorf("nonce %s came %d times", nonce, n)
		}
	}
}
