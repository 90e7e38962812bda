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
	{"event", events},
	{"turn", turns},
	{"workerd", cloudflare},
	{"bill", bill},
	{"restart", restart},
	{"gateway", gateway},
	{"policy", verdicts},
	{"core", core},
	{"idle", idle},
}

func main() {
	if t := os.Getenv(childVar); t != "" {
		exit(serveChild(t))
	}
	out := flag.String("out", "build", "folder of bench.md and bench.json")
	core := flag.String("core", "build/core.wasm", "the core, as make core builds it")
	holdfast := flag.String("holdfast", "build/holdfast", "the program, as make build/holdfast builds it")
	only := flag.String("only", "", "regular expression: which measurements")
	quick := flag.Bool("quick", false, "few rounds: whether it works, not how fast")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	exit(run(ctx, *out, *only, &bench{core: *core, holdfast: *holdfast, quick: *quick}))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func run(ctx context.Context, out, only string, b *bench) error {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	if err := b.open(); err != nil {
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
	core     string // path of core.wasm
	holdfast string // path of the program
	quick    bool
	dir      string // everything that is written is below it
	world    *world
	table    table
	dirs     int
}

func (b *bench) open() (err error) {
	if b.core, err = filepath.Abs(b.core); err != nil {
		return err
	}
	if _, err := os.Stat(b.core); err != nil {
		return errors.Join(err, errors.New("run: make core"))
	}
	if b.dir, err = os.MkdirTemp("", "holdfast-bench"); err != nil {
		return err
	}
	b.world, err = newWorld()
	return err
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
	e, c, err := b.hostProcess(ctx, engine)
	return e, func() { _ = c.kill() }, err
}

func (b *bench) hostProcess(ctx context.Context, engine string) (*edge, *child, error) {
	dir, err := b.folder()
	if err != nil {
		return nil, nil, err
	}
	c, err := spawn(ctx, "host", dir, b.world.hostArgs(engine, b.core, b.cache()))
	if err != nil {
		return nil, nil, err
	}
	return newEdge(c.url, b.world), c, nil
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
