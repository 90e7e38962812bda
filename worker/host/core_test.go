package host

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast/actor"
	"holdfast/worker/engine"
	"holdfast/worker/engine/enginetest"
)

// The ids in testdata/ask.json, which is what Discord sends for /ask.
const (
	askGuild   = "1300000000000000100"
	askChannel = "1300000000000000200"
	askApp     = "1300000000000000001"
	askModel   = "demo/small"
)

// realCore serves the real core, as a test build that can be made to crash.
func realCore(t *testing.T) (*site, ed25519.PrivateKey) {
	t.Helper()
	dir := t.TempDir()
	module, err := enginetest.Build(dir, "holdfast/worker/core", "-tags=rig")
	if err != nil {
		t.Fatal(err)
	}
	core, err := engine.NewWazero(context.Background(), module, engine.WazeroOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { core.Close(context.Background()) })
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	discord := remote(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) })
	s := open(t, "", targets(discord.URL), func(o *Options) {
		o.Engine = core
		o.Config = actor.Config{ApplicationID: askApp, AllowedGuilds: []string{askGuild}, DefaultModel: askModel,
			Models:     map[string]actor.Model{askModel: {Format: "openai", Model: "m", Window: 8000, MaxOutput: 1000}},
			PublicKeys: []string{hex.EncodeToString(key.Public().(ed25519.PublicKey))}}
	})
	return s, key
}

func (s *site) interaction(key ed25519.PrivateKey, body string) (int, string) {
	stamp := strconv.FormatInt(s.clock.Now().Unix(), 10)
	return s.do("POST", "/interactions", body, "X-Signature-Timestamp", stamp,
		"X-Signature-Ed25519", hex.EncodeToString(ed25519.Sign(key, []byte(stamp+body))))
}

func ask(t testing.TB, id, prompt string) string {
	b, err := os.ReadFile(filepath.Join("testdata", "ask.json"))
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	doc["id"] = id
	options := doc["data"].(map[string]any)["options"].([]any)
	options[0].(map[string]any)["value"] = prompt
	if b, err = json.Marshal(doc); err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestF18_CoreCrashes(t *testing.T) {
	s, key := realCore(t)
	operator, err := Token(testSecret, KindOperator, "ann", []string{"read", "admin"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	configure := func(workspace, bindings string) {
		status, body := s.do("PUT", "/v1/workspaces/"+askGuild+"/"+workspace+"/config",
			`{"members":[{"user":"`+askUser(t)+`","roles":["member"]}],"bindings":[`+bindings+`]}`, "Authorization", "Bearer "+operator)
		if status != 200 {
			t.Fatalf("config of %s: %d %s", workspace, status, body)
		}
	}
	configure("a", `"`+askChannel+`"`)
	configure("b", "")
	jobs := func(workspace string) string {
		status, body := s.do("GET", "/v1/workspaces/"+askGuild+"/"+workspace+"/jobs", "", "Authorization", "Bearer "+operator)
		if status != 200 {
			t.Fatalf("jobs of %s: %d %s", workspace, status, body)
		}
		return body
	}
	if status, body := s.interaction(key, `{"id":"1","application_id":"`+askApp+`","type":1,"token":"t","version":1}`); status != 200 || !strings.Contains(body, `"type":1`) {
		t.Fatalf("ping: %d %s", status, body)
	}
	for i, fault := range []string{"rig-core-loop", "rig-core-panic", "rig-core-memory"} {
		crashes := s.metric("core_crashes_total")
		answered := make(chan string, 1)
		go func() {
			_, body := s.interaction(key, ask(t, strconv.Itoa(1300000000000001000+i), "please "+fault))
			answered <- body
		}()
		if got := jobs("b"); !strings.Contains(got, `"jobs":[]`) {
			t.Errorf("%s: another workspace noticed: %s", fault, got)
		}
		if got := <-answered; !strings.Contains(got, `"type":4`) {
			t.Errorf("%s: the front's answer: %s", fault, got)
		}
		until(t, "three crashes", func() bool { return s.metric("core_crashes_total") == crashes+3 })
		if got := jobs("a"); strings.Contains(got, fault) {
			t.Errorf("%s became a job: %s", fault, got)
		}
	}
	_, body := s.interaction(key, ask(t, "1300000000000002000", "please work"))
	if !strings.Contains(body, `"type":5`) {
		t.Errorf("afterwards: %s", body)
	}
	until(t, "the job", func() bool { return strings.Contains(jobs("a"), "please work") })
}

// askUser is who asks in testdata/ask.json.
func askUser(t *testing.T) string {
	b, err := os.ReadFile(filepath.Join("testdata", "ask.json"))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Member struct{ User struct{ ID string } }
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Member.User.ID
}

// TestMalformedAsTheRealCoreSeesIt sends Discord's own garbage, signed: wrong input is never our fault.
func TestMalformedAsTheRealCoreSeesIt(t *testing.T) {
	s, key := realCore(t)
	deadline := time.Now().Add(time.Minute)
	good := ask(t, "1", "x")
	for i := 0; i < len(good) && time.Now().Before(deadline); i += 7 {
		for _, body := range []string{good[:i], good[:i] + "\xff" + good[i+1:], good[:i] + `"` + good[i:]} {
			if status, answer := s.interaction(key, body); status >= 500 {
				t.Fatalf("%d %s for %q", status, answer, body)
			}
		}
	}
	if status, _ := s.do("POST", "/interactions", good); status != 401 {
		t.Errorf("unsigned: %d, want 401", status)
	}
}
