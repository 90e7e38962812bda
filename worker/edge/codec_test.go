package edge_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/actor/store"
	"holdfast/worker/edge"
)

var update = flag.Bool("update", false, "write the fixtures in testdata anew")

// codecCase is one statement and one reply, both as actor/store writes them. sql.test.mjs reads the same file.
type codecCase struct {
	Name    string `json:"name"`
	Request string `json:"request"` // hex
	Reply   string `json:"reply"`   // hex, of the arguments as one row, or of an error
	Failed  bool   `json:"failed,omitempty"`
}

func TestCodecFixture(t *testing.T) {
	cases := []codecCase{}
	add := func(name, sql string, args ...store.Value) {
		rows := []store.Row{args}
		if len(args) == 0 {
			rows = nil
		}
		cases = append(cases, codecCase{Name: name, Request: hex.EncodeToString(store.AppendRequest(nil, sql, args)), Reply: hex.EncodeToString(store.AppendReply(nil, rows, nil))})
	}
	add("no arguments", "SELECT 1")
	add("null", "SELECT ?", nil)
	add("integers", "SELECT ?", int64(0), int64(1), int64(-1), int64(1)<<40, int64(store.MaxInt), -int64(store.MaxInt))
	add("reals", "SELECT ?", 1.5, -0.25, 1e300)
	add("texts", "SELECT ?", "", "text", "ünï 🙂", "nul \x00", "\ufeffmark")
	add("blobs", "SELECT ?", []byte{}, []byte{0, 1, 254, 255})
	add("mixed", "SELECT ?, 'ü'", nil, int64(7), 0.5, "x", []byte("y"))
	failed := store.AppendReply(nil, nil, &store.Error{Code: store.Constraint, Message: "ünique"})
	cases = append(cases, codecCase{Name: "error", Request: cases[0].Request, Reply: hex.EncodeToString(failed), Failed: true})
	fixture(t, "codec.json", cases)
}

// The core sees the same random bytes on both hosts.
func TestRandomFixture(t *testing.T) {
	seed := sha256.Sum256([]byte("a seed"))
	b := make([]byte, 3000) // past two changes of the seed
	if _, err := rand.NewChaCha8(seed).Read(b); err != nil {
		t.Fatal(err)
	}
	fixture(t, "random.json", map[string]string{"seed": hex.EncodeToString(seed[:]), "bytes": hex.EncodeToString(b)})
}

// fixture compares a file that the modules' tests read with what Go has to say.
func fixture(t *testing.T, name string, v any) {
	t.Helper()
	want, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, _ := os.ReadFile(path); !bytes.Equal(got, want) {
		t.Errorf("%s is out of date; run with -update", path)
	}
}

// The modules that need no Worker around them have their own tests.
func TestModules(t *testing.T) {
	node, err := filepath.Abs("../../node_modules/.bin/node")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(node); err != nil {
		if node, err = exec.LookPath("node"); err != nil {
			t.Skip(err)
		}
	}
	tests, err := filepath.Glob("*.test.mjs")
	if err != nil || len(tests) == 0 {
		t.Fatalf("no tests: %v", err)
	}
	if out, err := exec.Command(node, append([]string{"--test"}, tests...)...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestCompatibilityDateIsThatOfWrangler(t *testing.T) {
	b, err := os.ReadFile("../../wrangler.toml")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(b), "\ncompatibility_date = \""+edge.CompatibilityDate+"\"\n") {
		t.Errorf("wrangler.toml names another date than %s", edge.CompatibilityDate)
	}
}
