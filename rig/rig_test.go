package rig

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// scenarios runs every file of testdata that is for the host.
func scenarios(t *testing.T, h Host, run func(*Stage, string) (Runner, error)) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Parse(filepath.Base(file), raw)
		if err != nil {
			t.Error(err)
			continue
		}
		if !s.For(h.Name()) {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			play(t, h, run, s)
		})
	}
}

func play(t *testing.T, h Host, run func(*Stage, string) (Runner, error), s Scenario) {
	t.Helper()
	p, err := Open(t.Context(), h, run, s, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := p.Run(t.Context()); err != nil {
		t.Errorf("%s\n%s", strings.TrimSpace(s.Title), err)
	}
}

func TestLinked(t *testing.T) {
	scenarios(t, LinkedHost{}, nil)
}
