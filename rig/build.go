package rig

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"

	"holdfast/worker/edge/workerd"
	"holdfast/worker/engine"
	"holdfast/worker/engine/corewasm"
)

// Programs are the real ones that scenarios run against.
type Programs struct {
	Holdfast string // the binary, built with the tag rig
	Workerd  string
	Core     string // path of core.wasm
	Cache    string // folder for compiled code, shared by all edges
}

// Build builds the binary into dir. root is the module's folder. What is missing, here and below, is an error that says
// how to get it.
func Build(ctx context.Context, root, dir string) (Programs, error) {
	p := Programs{Holdfast: filepath.Join(dir, "holdfast"), Core: filepath.Join(root, "build", "core.wasm"), Cache: filepath.Join(dir, "cache")}
	if err := os.MkdirAll(p.Cache, 0o700); err != nil {
		return p, err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-tags", "rig", "-o", p.Holdfast, "./cmd/holdfast")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return p, fmt.Errorf("build the binary: %w\n%s", err, out)
	}
	return p, nil
}

// WithWorkerd adds what the Cloudflare edge needs.
func (p Programs) WithWorkerd() (Programs, error) {
	if _, err := os.Stat(p.Core); err != nil {
		return p, errors.Join(err, errors.New("run: make core"))
	}
	var err error
	p.Workerd, err = workerd.Find()
	return p, err
}

// Warm compiles the embedded core once, so that edges which start at the same time find it in the cache.
func (p Programs) Warm(ctx context.Context) error {
	module, err := corewasm.Bytes()
	if err != nil {
		return err
	}
	e, err := engine.NewWazero(ctx, module, engine.WazeroOptions{CacheDir: p.Cache, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	return e.Close(ctx)
}

// Host gives the host of a name, with what it needs of the programs.
func (p Programs) Host(ctx context.Context, name string) (Host, error) {
	switch name {
	case Linked:
		return LinkedHost{}, nil
	case Selfhosted:
		return SelfhostedHost{p}, p.Warm(ctx)
	case Workerd:
		p, err := p.WithWorkerd()
		return WorkerdHost{p}, err
	}
	return nil, fmt.Errorf("no host is called %q; there are %s, %s and %s", name, Linked, Selfhosted, Workerd)
}
