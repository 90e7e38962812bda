package rig

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "holdfast-rig-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	buildDir = dir
	playMoreAtOnce()
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// playMoreAtOnce: scenarios mostly wait (for the pace of edits, for half a second before the first PATCH), so more of
// them than there are processors are played at once, unless the command line says how many.
func playMoreAtOnce() {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", strconv.Itoa(5*runtime.GOMAXPROCS(0))) // the flag is there in every test
	}
}

var buildDir string

var (
	buildBinary     = sync.OnceValues(func() (Programs, error) { return Build(context.Background(), "..", buildDir) })
	buildSelfhosted = sync.OnceValues(func() (Programs, error) {
		p, err := buildBinary()
		if err != nil {
			return p, err
		}
		return p, p.Warm(context.Background())
	})
	buildWorkerd = sync.OnceValues(func() (Programs, error) {
		p, err := buildBinary()
		if err != nil {
			return p, err
		}
		return p.WithWorkerd()
	})
)

// real gives the programs. What is missing fails the test: a scenario that was not played has shown nothing.
func real(t *testing.T, build func() (Programs, error)) Programs {
	t.Helper()
	if testing.Short() {
		t.Skip("runs real programs for minutes")
	}
	p, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestLinked(t *testing.T) {
	t.Parallel()
	scenarios(t, LinkedHost{}, func(s Scenario) (Runners, error) {
		if !s.KillsRunner() {
			return LinkedRunner, nil
		}
		p, err := buildBinary()
		return p.StartRunner, err
	})
}

func TestSelfhosted(t *testing.T) {
	t.Parallel()
	p := real(t, buildSelfhosted)
	scenarios(t, SelfhostedHost{p}, func(Scenario) (Runners, error) { return p.StartRunner, nil })
}

func TestWorkerd(t *testing.T) {
	t.Parallel()
	p := real(t, buildWorkerd)
	scenarios(t, WorkerdHost{p}, func(Scenario) (Runners, error) { return p.StartRunner, nil })
}

// scenarios runs every file of testdata that is for the host.
func scenarios(t *testing.T, h Host, runners func(Scenario) (Runners, error)) {
	for _, s := range patientFirst(t) {
		if !s.For(h.Name()) {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			run, err := runners(s)
			if err != nil {
				t.Fatal(err)
			}
			play(t, h, run, s)
		})
	}
}

// patientFirst reads testdata. What may take long comes first, so that it does not run alone at the end.
func patientFirst(t *testing.T) (list []Scenario) {
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
		list = append(list, s)
	}
	slices.SortStableFunc(list, func(a, b Scenario) int { return cmp.Compare(b.Patience, a.Patience) })
	return list
}

func play(t *testing.T, h Host, run Runners, s Scenario) {
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
