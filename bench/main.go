// Command bench measures Holdfast beside the least that the same machine can do, in one run, and writes a table to
// build/bench.md and build/bench.json. It fails when a bound is broken.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// measurements in the order in which they are made.
var measurements = []struct {
	name string
	run  func(context.Context, *bench) error
}{
	{"ack", acknowledgement},
}

func main() {
	if t := os.Getenv(childVar); t != "" {
		exit(serveChild(t))
	}
	out := flag.String("out", "build", "folder of bench.md and bench.json")
	core := flag.String("core", "build/core.wasm", "the core, as make core builds it")
	only := flag.String("only", "", "regular expression: which measurements")
	quick := flag.Bool("quick", false, "few rounds: whether it works, not how fast")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	exit(run(ctx, *out, *core, *only, *quick))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func run(ctx context.Context, out, core, only string, quick bool) error {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	b, err := newBench(core, quick)
	if err != nil {
		return err
	}
	defer b.close()
	begin := time.Now()
	var problems []error
	for _, m := range measurements {
		if !pattern.MatchString(m.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "%-10s", m.name)
		start := time.Now()
		if err := m.run(ctx, b); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", m.name, err))
		}
		fmt.Fprintf(os.Stderr, " %s\n", short(time.Since(start)))
	}
	b.table.Machine = fmt.Sprintf("%s, %d processors, %s.", runtime.GOOS+"/"+runtime.GOARCH, runtime.NumCPU(), runtime.Version())
	b.table.Took = short(time.Since(begin))
	b.table.Noise = b.table.noise()
	fmt.Print(b.table.markdown())
	if err := b.table.write(out); err != nil {
		return err
	}
	if names := b.table.failures(); len(names) > 0 {
		problems = append(problems, errors.New("bounds broken: "+strings.Join(names, "; ")))
	}
	return errors.Join(problems...)
}

// bench is a run.
type bench struct {
	dir   string
	core  string
	quick bool
	world *world
	table table
	dirs  int
}

func newBench(core string, quick bool) (*bench, error) {
	core, err := filepath.Abs(core)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(core); err != nil {
		return nil, errors.Join(err, errors.New("run: make core"))
	}
	dir, err := os.MkdirTemp("", "holdfast-bench")
	if err != nil {
		return nil, err
	}
	w, err := newWorld()
	return &bench{dir: dir, core: core, quick: quick, world: w}, err
}

func (b *bench) close() {
	b.world.close()
	_ = os.RemoveAll(b.dir) // in the system's folder for temporary files
}

func (b *bench) add(rows ...row) { b.table.Rows = append(b.table.Rows, rows...) }

// rounds is how often something is measured.
func (b *bench) rounds(n int) int {
	if b.quick {
		return 1
	}
	return n
}

// folder makes a new one.
func (b *bench) folder() (string, error) {
	b.dirs++
	dir := filepath.Join(b.dir, fmt.Sprint(b.dirs))
	return dir, os.Mkdir(dir, 0o700)
}

func (b *bench) cache() string { return filepath.Join(b.dir, "cache") }

// host starts a self-hosted edge on an empty folder.
func (b *bench) host(ctx context.Context, engine string) (*edge, func(), error) {
	dir, err := b.folder()
	if err != nil {
		return nil, nil, err
	}
	c, err := spawn(ctx, "host", dir, b.world.hostArgs(engine, b.core, b.cache()))
	if err != nil {
		return nil, nil, err
	}
	e := newEdge(c.url, b.world)
	return e, func() { _ = c.kill() }, nil
}

// floor starts the bare server.
func (b *bench) floor(ctx context.Context, group bool) (url string, stop func(), err error) {
	dir, err := b.folder()
	if err != nil {
		return "", nil, err
	}
	c, err := spawn(ctx, "floor", dir, floorArgs{Key: b.world.publicKey(), Group: group})
	if err != nil {
		return "", nil, err
	}
	return c.url, func() { _ = c.kill() }, nil
}
