package world

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"holdfast/clock"
)

func open(t testing.TB, dir string) *World {
	t.Helper()
	w, err := Open(Options{Dir: dir, Clock: &clock.Shifted{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func text(s string) Draft { return Draft{Content: &s} }

// FuzzPaging: walking a channel by after, or by before, meets each message exactly once.
func FuzzPaging(f *testing.F) {
	f.Add(uint8(0), uint8(1))
	f.Add(uint8(7), uint8(3))
	f.Add(uint8(200), uint8(99))
	f.Fuzz(func(t *testing.T, n, limit uint8) {
		var ids []string
		for i := range int(n) {
			ids = append(ids, strconv.Itoa(90+i*3)) // of two and of three digits: order is by number
		}
		size := int(limit%100) + 1
		var up []string
		for at := "0"; ; {
			page := Page{After: at, Limit: size}.cut(ids)
			if len(page) == 0 {
				break
			}
			up, at = append(up, page...), page[len(page)-1]
		}
		var down []string
		for at := "99999"; ; {
			page := Page{Before: at, Limit: size}.cut(ids)
			if len(page) == 0 {
				break
			}
			down, at = append(slices.Clone(page), down...), page[0]
		}
		if !slices.Equal(up, ids) || !slices.Equal(down, ids) {
			t.Errorf("of %d by %d: up %d, down %d", n, size, len(up), len(down))
		}
	})
}

func TestPageAround(t *testing.T) {
	ids := []string{"10", "20", "30", "40", "50"}
	for around, want := range map[string][]string{"30": {"20", "30", "40"}, "10": {"10", "20", "30"}, "50": {"40", "50"}, "35": {"30", "40", "50"}} {
		if got := (Page{Around: around, Limit: 3}).cut(ids); !slices.Equal(got, want) {
			t.Errorf("around %s: %v, want %v", around, got, want)
		}
	}
}

func TestIdsGrow(t *testing.T) {
	w := open(t, "")
	last := ""
	for range 5000 {
		w.mu.Lock()
		id := w.mint()
		w.mu.Unlock()
		if last != "" && byAge(id, last) <= 0 {
			t.Fatalf("%s after %s", id, last)
		}
		last = id
	}
	if d := snowflakeTime(last) - time.Now().UnixMilli(); d > 1000 || d < -60_000 {
		t.Errorf("an id of now says %d ms", d)
	}
}

// TestTornCommit cuts the journal at every byte of its last commit: the world is either before it or after it.
func TestTornCommit(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir)
	path := filepath.Join(dir, "discord.jsonl")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.Post(ApplicationID, ChannelID, text("the last")); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := len(before); cut <= len(whole); cut += 97 {
		if cut+97 > len(whole) {
			cut = len(whole)
		}
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		again := open(t, dir)
		messages, events := len(again.messages), len(again.events)
		if want := map[bool]int{false: 0, true: 1}[cut == len(whole)]; messages != want || events != want {
			t.Fatalf("cut at %d of %d: %d messages and %d events, want %d of each", cut, len(whole), messages, events, want)
		}
	}
}

func TestBrokenJournalIsRefused(t *testing.T) {
	for name, content := range map[string]string{
		"no JSON in the middle": "nonsense\n" + `[{"k":"user/1","v":{}}]` + "\n",
		"unknown kind":          `[{"k":"spaceship/1","v":{}}]` + "\n",
		"wrong type":            `[{"k":"user/1","v":{"id":5}}]` + "\n",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "discord.jsonl"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if w, err := Open(Options{Dir: dir, Clock: clock.Real{}}); err == nil {
			_ = w.Close()
			t.Errorf("%s: opened", name)
		}
	}
}

// TestPendingInteractionIsSettledAtTheNextStart: whoever asked sees that nothing came, and the token is void.
func TestPendingInteractionIsSettledAtTheNextStart(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir)
	user, err := w.User("sam")
	if err != nil {
		t.Fatal(err)
	}
	i, _, err := w.Begin(Ask{Type: Command, User: user.ID, Channel: ChannelID, Name: "ask", Data: obj{}})
	if err != nil {
		t.Fatal(err)
	}
	again := open(t, dir)
	if got, _ := again.Interaction(i.ID); got.State != Failed {
		t.Errorf("state %q", got.State)
	}
	if _, ok := again.FailureOf(i.ID); !ok {
		t.Error("its user sees nothing")
	}
	if _, err := again.Respond(i.ID, Callback{Type: CallbackThinking}, nil); !errors.Is(err, ErrUnknownInteract) {
		t.Errorf("a late answer: %v", err)
	}
	if _, err := again.HookGet(ApplicationID, i.Token, "@original"); !errors.Is(err, ErrUnknownWebhook) {
		t.Errorf("its token: %v", err)
	}
}

// TestRefusedDraftsLeaveNothing: an edit that is refused half way changes no field.
func TestRefusedDraftsLeaveNothing(t *testing.T) {
	w := open(t, "")
	m, _, err := w.Post(ApplicationID, ChannelID, text("before"))
	if err != nil {
		t.Fatal(err)
	}
	bad := text("after")
	bad.Mentions = &AllowedMentions{Parse: []string{"users"}, Users: []string{"1"}}
	if _, err := w.Edit(ApplicationID, ChannelID, m["id"].(string), bad); err == nil {
		t.Fatal("accepted")
	}
	if got, _ := w.Message(ChannelID, m["id"].(string)); got["content"] != "before" || got["edited_timestamp"] != nil {
		t.Errorf("content %q, edited %v", got["content"], got["edited_timestamp"])
	}
}

// TestThreadShowsItsOpeningMessage: an edit of the message that opened a thread is seen in the thread as well.
func TestThreadShowsItsOpeningMessage(t *testing.T) {
	var seen []Change
	w, err := Open(Options{Clock: &clock.Shifted{}, Watch: func(c Change) { seen = append(seen, c) }})
	if err != nil {
		t.Fatal(err)
	}
	m, _, err := w.Post(ApplicationID, ChannelID, text("working"))
	if err != nil {
		t.Fatal(err)
	}
	id := m["id"].(string)
	if _, err := w.OpenThread(ApplicationID, ChannelID, id, ThreadDraft{Name: "t"}); err != nil {
		t.Fatal(err)
	}
	seen = nil
	if _, err := w.Edit(ApplicationID, ChannelID, id, text("the answer")); err != nil {
		t.Fatal(err)
	}
	for _, c := range seen {
		if c.Channel == id && c.Type == "message" && c.Data.(obj)["referenced_message"].(obj)["content"] == "the answer" {
			return
		}
	}
	t.Errorf("the thread was told nothing: %v", seen)
}
