package journal

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"holdfast/runner/protocol"
)

func open(t *testing.T, path string) *Journal {
	t.Helper()
	j, err := Open(path, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestEntriesSurviveReopening(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := open(t, path)
	id := j.ID()
	exit := 3
	result := protocol.Result{Status: "error", Summary: "no\x00pe", Exit: &exit, Millis: 12, Files: []string{"a"}, Payload: []byte{0, 1, 2}}
	for _, err := range []error{
		j.Started(protocol.Key{Task: 7, Epoch: 1}), j.Started(protocol.Key{Task: 8, Epoch: 1}), j.Started(protocol.Key{Task: 9, Epoch: 4}),
		j.Finished(protocol.Key{Task: 8, Epoch: 1}, result), j.Forget(protocol.Key{Task: 9, Epoch: 4}), j.Forget(protocol.Key{Task: 1, Epoch: 1}), j.Close(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	j = open(t, path)
	defer j.Close()
	if j.ID() != id || len(id) != 32 {
		t.Fatalf("id %q, before %q", j.ID(), id)
	}
	got, err := j.Entries()
	if err != nil {
		t.Fatal(err)
	}
	want := []protocol.Entry{{Key: protocol.Key{Task: 7, Epoch: 1}}, {Key: protocol.Key{Task: 8, Epoch: 1}, Result: &result}}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v", got)
	}
}

func TestEachFileHasItsOwnID(t *testing.T) {
	a, b := open(t, filepath.Join(t.TempDir(), "j")), open(t, filepath.Join(t.TempDir(), "j"))
	defer a.Close()
	defer b.Close()
	if a.ID() == b.ID() {
		t.Fatal("two files share an id")
	}
}

func TestSecondRunnerIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	j := open(t, path)
	defer j.Close()
	if _, err := Open(path, rand.Reader); !errors.Is(err, ErrLocked) {
		t.Fatalf("second open: %v", err)
	}
	if err := j.Started(protocol.Key{Task: 1, Epoch: 1}); err != nil {
		t.Fatalf("the first one suffers: %v", err)
	}
}

func TestARunnerThatIsEndingIsWaitedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	j := open(t, path)
	next, err := openWhile(func() bool { return j.Close() == nil }, path, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if err := next.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestDamagedFilesAreNamedAndUntouched(t *testing.T) {
	tests := []struct {
		name string
		harm func(b []byte) []byte
		want error
	}{
		{"header", func(b []byte) []byte { copy(b, "not a database!!"); return b }, ErrCorrupt},
		{"page", func(b []byte) []byte { copy(b[4096:], bytes.Repeat([]byte{0xA5}, 512)); return b }, ErrCorrupt},
		{"cut", func(b []byte) []byte { return b[:5000] }, ErrCorrupt},
		{"other text", func([]byte) []byte { return []byte(strings.Repeat("hello\n", 1000)) }, ErrCorrupt},
		{"other application", func(b []byte) []byte { b[68] ^= 1; return b }, ErrForeign},
		{"newer version", func(b []byte) []byte { b[63]++; return b }, ErrForeign},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "j")
			j := open(t, path)
			for i := range int64(50) {
				if err := j.Finished(protocol.Key{Task: i, Epoch: 1}, protocol.Result{Payload: make([]byte, 500)}); err != nil {
					t.Fatal(err)
				}
			}
			j.Close()
			good, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			bad := tt.harm(good)
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(path, rand.Reader); !errors.Is(err, tt.want) {
				t.Fatalf("open: %v, want %v", err, tt.want)
			}
			if after, _ := os.ReadFile(path); !bytes.Equal(after, bad) {
				t.Fatal("the damaged file was changed")
			}
		})
	}
}

// TestKilledWriter kills a process in the middle of its writes: what it said was journalled is there afterwards.
func TestKilledWriter(t *testing.T) {
	if path := os.Getenv("JOURNAL_WRITER"); path != "" {
		j := open(t, path)
		for i := int64(1); ; i++ {
			if err := j.Started(protocol.Key{Task: i, Epoch: 1}); err != nil {
				t.Fatal(err)
			}
			fmt.Println("wrote", i)
		}
	}
	path := filepath.Join(t.TempDir(), "j")
	for round := range int64(3) {
		last := writeAndKill(t, path, 20)
		j := open(t, path)
		entries, err := j.Entries()
		if err != nil {
			t.Fatal(err)
		}
		if int64(len(entries)) < last {
			t.Fatalf("round %d: %d entries, %d were acknowledged", round, len(entries), last)
		}
		j.Close()
	}
}

func writeAndKill(t *testing.T, path string, lines int) (last int64) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledWriter$")
	cmd.Env = append(os.Environ(), "JOURNAL_WRITER="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewScanner(out)
	for n := 0; n < lines && in.Scan(); n++ {
		if _, err := fmt.Sscanf(in.Text(), "wrote %d", &last); err != nil {
			t.Fatalf("%q: %v", in.Text(), err)
		}
	}
	cmd.Process.Kill()
	cmd.Wait()
	if last == 0 {
		t.Fatal("the writer wrote nothing")
	}
	return last
}
