package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"sync"

	"crypto/rand"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"holdfast/actor/store"
	"holdfast/worker/fuel"
)

// Memory of one instance, in bytes. The limit is Cloudflare's for an isolate; past the other one an instance is
// replaced after its call, so that one big event does not hold memory for ever.
const (
	MaxMemory  = 128 << 20
	KeepMemory = 64 << 20
	page       = 64 << 10
)

// WazeroOptions configure a Wazero engine. The zero value is usable.
type WazeroOptions struct {
	CacheDir string       // compiled code is kept here between starts; "" compiles at each start
	Parallel int          // calls at the same time; 0 means as many as processors: a call is all computation
	Entropy  io.Reader    // seeds instances as they start; nil means crypto/rand
	Log      *slog.Logger // lines of the core's log; nil discards them
}

// Wazero runs core.wasm. Instances are shared by all actors, since the core keeps nothing between calls.
type Wazero struct {
	opts    WazeroOptions
	runtime wazero.Runtime
	cache   wazero.CompilationCache
	module  wazero.CompiledModule
	slots   chan struct{} // one for each call that may run

	mu   sync.Mutex
	idle []*instance // a stack: the last one used is the warmest
}

// NewWazero compiles the module, which fuel.Instrument must have been through, and starts one instance of it.
func NewWazero(ctx context.Context, module []byte, opts WazeroOptions) (*Wazero, error) {
	if opts.Parallel <= 0 {
		opts.Parallel = runtime.GOMAXPROCS(0)
	}
	if opts.Entropy == nil {
		opts.Entropy = rand.Reader
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	w := &Wazero{opts: opts, slots: make(chan struct{}, opts.Parallel)}
	if err := w.compile(ctx, module); err != nil {
		return nil, errors.Join(err, w.Close(ctx))
	}
	first, err := w.boot(ctx)
	if err != nil {
		return nil, errors.Join(err, w.Close(ctx))
	}
	w.idle = append(w.idle, first)
	return w, nil
}

func (w *Wazero) compile(ctx context.Context, module []byte) error {
	// Close-on-context-done would cost up to ten times the CPU (spec 2.1); fuel bounds a call instead.
	config := wazero.NewRuntimeConfigCompiler().WithMemoryLimitPages(MaxMemory / page)
	if w.opts.CacheDir != "" {
		cache, err := wazero.NewCompilationCacheWithDir(w.opts.CacheDir)
		if err != nil {
			return fmt.Errorf("compilation cache: %w", err)
		}
		w.cache = cache
		config = config.WithCompilationCache(cache)
	}
	w.runtime = wazero.NewRuntimeWithConfig(ctx, config)
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, w.runtime); err != nil {
		return err
	}
	if err := w.exportHost(ctx); err != nil {
		return err
	}
	var err error
	if w.module, err = w.runtime.CompileModule(ctx, module); err != nil {
		return fmt.Errorf("compile core.wasm: %w", err)
	}
	return nil
}

func (w *Wazero) exportHost(ctx context.Context) error {
	i32 := []api.ValueType{api.ValueTypeI32, api.ValueTypeI32}
	b := w.runtime.NewHostModuleBuilder("holdfast")
	for _, f := range []struct {
		name    string
		fn      func(*instance, []uint64)
		in, out int
	}{
		{"pull", (*instance).pull, 1, 0},
		{"push", (*instance).push, 2, 0},
		{"sql", (*instance).sql, 2, 1},
		{"log", (*instance).log, 2, 0},
	} {
		b.NewFunctionBuilder().WithGoFunction(api.GoFunc(func(ctx context.Context, stack []uint64) {
			f.fn(ctx.Value(instanceKey{}).(*instance), stack)
		}), i32[:f.in], i32[:f.out]).Export(f.name)
	}
	_, err := b.Instantiate(ctx)
	return err
}

// Route runs the export route. Its guest sees a clock that stands still and randomness without a seed.
func (w *Wazero) Route(ctx context.Context, in []byte) ([]byte, int, error) {
	return w.call(ctx, nil, Call{Now: 1, Event: in}, false)
}

// Handle runs the export handle.
func (w *Wazero) Handle(ctx context.Context, conn store.Conn, call Call) ([]byte, int, error) {
	return w.call(ctx, conn, call, true)
}

func (w *Wazero) call(ctx context.Context, conn store.Conn, call Call, handle bool) ([]byte, int, error) {
	select {
	case w.slots <- struct{}{}:
		defer func() { <-w.slots }()
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
	in, err := w.take(ctx)
	if err != nil {
		return nil, 0, err
	}
	out, rc, err := in.run(conn, call, handle)
	if err != nil || in.mod.Memory().Size() > KeepMemory {
		in.mod.Close(ctx)
	} else {
		w.put(in)
	}
	return out, rc, err
}

func (w *Wazero) take(ctx context.Context) (*instance, error) {
	w.mu.Lock()
	if n := len(w.idle); n > 0 {
		in := w.idle[n-1]
		w.idle = w.idle[:n-1]
		w.mu.Unlock()
		return in, nil
	}
	w.mu.Unlock()
	return w.boot(ctx)
}

func (w *Wazero) put(in *instance) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.idle = append(w.idle, in) // never more than there are slots
}

// Close frees every instance. No call may be running.
func (w *Wazero) Close(ctx context.Context) error {
	var errs []error
	if w.runtime != nil {
		errs = append(errs, w.runtime.Close(ctx))
	}
	if w.cache != nil {
		errs = append(errs, w.cache.Close(ctx))
	}
	return errors.Join(errs...)
}

// boot starts an instance and runs its _initialize.
func (w *Wazero) boot(ctx context.Context) (*instance, error) {
	in := &instance{logger: w.opts.Log, now: 1}
	var seed [32]byte
	if _, err := io.ReadFull(w.opts.Entropy, seed[:]); err != nil {
		return nil, fmt.Errorf("entropy: %w", err)
	}
	in.random.Seed(seed)
	in.ctx = withMemory(context.WithValue(context.WithoutCancel(ctx), instanceKey{}, in))
	mod, err := w.runtime.InstantiateModule(in.ctx, w.module, in.config())
	if err != nil {
		return nil, fmt.Errorf("start core.wasm: %w%s", err, in.said())
	}
	in.mod = mod
	in.routeFn, in.handleFn = mod.ExportedFunction("route"), mod.ExportedFunction("handle")
	counter, ok := mod.ExportedGlobal(fuel.Global).(api.MutableGlobal)
	if in.routeFn == nil || in.handleFn == nil || !ok {
		mod.Close(ctx)
		return nil, errors.New("core.wasm lacks route, handle or " + fuel.Global + ": run make core")
	}
	in.fuel = counter
	return in, nil
}
