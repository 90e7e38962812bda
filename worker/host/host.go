// Package host is the self-hosted edge: it gives each actor its database, its events one at a time, its alarm and its
// effects, and serves the HTTP surface (docs/protocol.md, "What a host does"). It decides nothing.
package host

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"holdfast/actor"
	"holdfast/clock"
	"holdfast/worker/host/alarm"
)

// Host serves one data directory. Make it with New, stop it with Drain and Close.
type Host struct {
	opts    Options
	dir     string // of the actors' files
	owner   string // this start of the process, 16 random bytes in hex
	config  config
	lock    *dirLock
	index   *alarm.Index
	metrics *metrics
	client  *http.Client
	keys    keyring
	pace    pace // of requests with the bot's token
	routes  *resolver
	wakes   chan struct{} // slots: how many actors are woken at once

	ctx       context.Context // ends when the host does
	cancel    context.CancelFunc
	accepting context.Context // ends when the host begins to stop
	refuse    context.CancelFunc
	dead      chan struct{} // closed by Kill and Close
	wg        sync.WaitGroup
	serial    atomic.Int64 // of event ids

	// gate is held for reading around each commit, so that nothing commits once Kill has returned.
	gate   sync.RWMutex
	killed atomic.Bool

	backing  sync.Mutex          // held while a backup is made
	messages *semaphore.Weighted // one is held while a message goes from one actor to another, all by a backup
	stall    time.Duration       // how long the client of a backup may take nothing of it
	reading  time.Duration       // how long a client may take to send its body

	mu       sync.Mutex
	actors   map[string]*resident
	closing  map[string]chan struct{} // residents that were evicted and still close their file
	idle     list.List                // *resident without references, the most recently used first
	owners   map[string]tenure
	refs     int // of all residents
	draining bool
	quiet    chan struct{} // closed when draining and refs is 0
	ended    bool
}

// tenure is the owner of an actor, where that was ever settled.
type tenure struct {
	owner   string
	started bool // its start event was handled
}

// config is the configuration as events carry it.
type config struct {
	ref  actor.ConfigRef // without Full
	full actor.Config
	json []byte
}

// New opens a data directory and starts to serve it: the actors that are due, or had effects in flight when the last
// process ended, are opened at once. It returns an error that is ErrLocked when another process serves the directory.
func New(ctx context.Context, opts Options) (*Host, error) {
	if err := opts.complete(); err != nil {
		return nil, err
	}
	h := &Host{
		opts: opts, dir: filepath.Join(opts.Data, actorsDir), client: newClient(), routes: newResolver(),
		keys: keyring{secrets: opts.Secrets}, wakes: make(chan struct{}, 32),
		messages: semaphore.NewWeighted(allMessages), stall: backupStall, reading: bodyTimeout,
		dead: make(chan struct{}), quiet: make(chan struct{}),
		actors: map[string]*resident{}, closing: map[string]chan struct{}{}, owners: map[string]tenure{},
	}
	h.keys.setLeast(opts.Least)
	h.ctx, h.cancel = context.WithCancel(context.WithoutCancel(ctx))
	h.accepting, h.refuse = context.WithCancel(h.ctx)
	h.metrics = newMetrics(h)
	if err := h.open(); err != nil {
		return nil, err
	}
	orphaned := h.index.InFlight()
	if len(orphaned) > 0 {
		h.opts.Log.Info("host.start.resumes", "actors", len(orphaned))
	}
	h.index.Start(h.wake)
	h.background(func() {
		for _, name := range orphaned {
			h.wake(name)
		}
	})
	h.background(h.inspect)
	h.background(h.tidy)
	return h, nil
}

// tidy gives back what starting took, once the work that was interrupted goes on: compiling the core leaves more garbage
// than all that is kept.
func (h *Host) tidy() {
	select {
	case <-time.After(time.Second):
		debug.FreeOSMemory()
	case <-h.dead:
	}
}

func (h *Host) open() (err error) {
	if err := os.MkdirAll(h.opts.Data, 0o700); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	if h.owner, err = h.random(16); err != nil {
		return err
	}
	if h.lock, err = lockDir(h.opts.Data, clock.Patience()); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.lock.release(false))
		}
	}()
	if _, err := os.Stat(filepath.Join(h.opts.Data, restoring)); err == nil {
		return fmt.Errorf("%s holds a restore that did not end: delete the directory and restore again", h.opts.Data)
	}
	if err = os.MkdirAll(h.dir, 0o700); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	if err = h.sweep(); err != nil {
		return err
	}
	if err = h.openIndex(); err != nil {
		return err
	}
	if err = h.configure(); err != nil {
		return errors.Join(err, h.index.Close())
	}
	if !h.lock.clean {
		h.opts.Log.Warn("host.start.unclean", "note", "the last process did not stop in order; each database is checked once it is idle")
	}
	return nil
}

// configure gives the configuration its hash, and a version that grows with each change.
func (h *Host) configure() error {
	full, err := json.Marshal(h.opts.Config)
	if err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	sum := sha256.Sum256(full)
	h.config = config{full: h.opts.Config, json: full}
	h.config.ref.Hash = hex.EncodeToString(sum[:])
	if h.config.ref.Version, err = h.index.Version(h.config.ref.Hash); err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	return nil
}

// Drain stops taking requests, closes the runners' sockets, and waits until every accepted event is committed and
// every effect in flight has come back, or until ctx ends. New effects come back as unsent.
func (h *Host) Drain(ctx context.Context) error {
	h.index.Pause()
	h.refuse()
	h.mu.Lock()
	if !h.draining {
		h.draining = true
		if h.refs == 0 {
			close(h.quiet)
		}
	}
	var sockets []*socket
	for _, r := range h.actors {
		sockets = append(sockets, r.openSockets()...)
	}
	h.mu.Unlock()
	for _, s := range sockets {
		s.close(closeGoingAway, "the edge is restarting")
	}
	select {
	case <-h.quiet:
	case <-h.dead:
	case <-ctx.Done():
	}
	return h.drained(ctx)
}

// drained says how Drain ended. Of a host that is dead nothing is known: it may be quiet because it dropped its work.
func (h *Host) drained(ctx context.Context) error {
	if h.isDead() {
		return errors.New("drain: the host has ended")
	}
	select {
	case <-h.quiet:
		return nil
	default:
		return fmt.Errorf("drain: %w", context.Cause(ctx))
	}
}

// Close ends the host: events that run are finished, those that wait are dropped, effects are abandoned.
func (h *Host) Close() error {
	h.mu.Lock()
	if h.ended {
		h.mu.Unlock()
		return nil
	}
	h.ended, h.draining = true, true
	h.mu.Unlock()
	killed := h.killed.Load()
	if !killed {
		close(h.dead)
		h.cancel()
	}
	h.wg.Wait()
	h.client.CloseIdleConnections()
	if killed {
		return errors.Join(h.index.Abandon(), h.lock.release(false))
	}
	return errors.Join(h.index.Close(), h.lock.release(true))
}

// Kill drops everything as kill -9 would: once it has returned nothing commits, no reply and no outcome is delivered.
// It is for tests, and may be called from OnPoint. Close must follow, to give the directory free.
func (h *Host) Kill() {
	h.gate.Lock()
	defer h.gate.Unlock()
	h.mu.Lock()
	ended := h.ended
	h.mu.Unlock()
	if ended || h.killed.Swap(true) {
		return
	}
	close(h.dead)
	h.cancel()
	h.index.Pause()
}

// isDead says whether Kill or Close was called.
func (h *Host) isDead() bool {
	select {
	case <-h.dead:
		return true
	default:
		return false
	}
}

// SetLeast replaces the lowest valid numbers of tokens, also for the runners that are connected.
func (h *Host) SetLeast(least map[string]int) { h.keys.setLeast(least) }

func (h *Host) point(when, what, point string) {
	if h.opts.OnPoint != nil && point != "" {
		h.opts.OnPoint(when, what, point)
	}
}

// random gives n random bytes in hex.
func (h *Host) random(n int) (string, error) {
	b := make([]byte, n)
	if _, err := io.ReadFull(h.opts.Entropy, b); err != nil {
		return "", fmt.Errorf("entropy: %w", err)
	}
	return hex.EncodeToString(b), nil
}

func (h *Host) now() time.Time { return h.opts.Clock.Now() }
