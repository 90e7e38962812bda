package engine

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/sys"

	"holdfast/actor"
	"holdfast/actor/store"
	"holdfast/worker/fuel"
)

type instanceKey struct{}

// instance is one running copy of the core. It serves one call at a time.
type instance struct {
	mod               api.Module
	routeFn, handleFn api.Function
	fuel              api.MutableGlobal
	ctx               context.Context // carries the instance to the imports
	logger            *slog.Logger

	// of the running call
	conn    store.Conn
	now     int64 // unix ms
	mono    int64 // ns; never goes back, though events of different actors may
	random  rand.ChaCha8
	pending []byte // what the next pull copies
	reply   []byte // buffer of SQL replies, used again
	out     []byte
	stderr  bytes.Buffer
}

// run makes one call. After an error the instance must not be used again.
func (in *instance) run(conn store.Conn, call Call, handle bool) (out []byte, rc int, err error) {
	defer func() {
		// wazero turns a panic of an import into an error; this is for its own.
		if p := recover(); p != nil {
			out, rc, err = nil, 2, fmt.Errorf("%w: %v", ErrCrash, p)
		}
		in.conn, in.pending, in.out = nil, nil, nil
	}()
	in.conn, in.now, in.pending, in.out = conn, max(call.Now, 1), call.Event, nil
	in.random.Seed(call.Entropy)
	in.fuel.Set(uint64(fuel.For(len(call.Event))))
	fn := in.routeFn
	if handle {
		fn = in.handleFn
	}
	stack := [1]uint64{uint64(len(call.Event))}
	if err := fn.CallWithStack(in.ctx, stack[:]); err != nil {
		if int64(in.fuel.Get()) < 0 {
			return nil, 2, ErrFuel
		}
		return nil, 2, fmt.Errorf("%w: %s%s", ErrCrash, firstLine(err.Error()), in.said())
	}
	return check(in.out, int(int32(stack[0])))
}

func (in *instance) pull(stack []uint64) {
	if !in.mod.Memory().Write(uint32(stack[0]), in.pending) {
		panic("pull: address out of range")
	}
}

func (in *instance) push(stack []uint64) {
	b := in.bytes("push", stack, actor.MaxResult)
	in.out = append(make([]byte, 0, len(b)), b...)
}

func (in *instance) sql(stack []uint64) {
	if in.conn == nil {
		panic("sql: not inside a transaction")
	}
	query, args, err := store.ParseRequest(in.bytes("sql", stack, maxRequest))
	var rows []store.Row
	if err == nil {
		rows, err = in.conn.Do(query, args)
	}
	if cap(in.reply) > 1<<20 {
		in.reply = nil
	}
	in.reply = store.AppendReply(in.reply[:0], rows, err)
	in.pending = in.reply
	stack[0] = uint64(len(in.reply))
}

// maxRequest is generous: store.CheckLimits, which a Conn applies, is the limit that counts.
const maxRequest = 16 << 20

// maxLog is the longest line of the core's log, in bytes.
const maxLog = 1000

func (in *instance) log(stack []uint64) {
	n := min(uint32(stack[1]), maxLog)
	line, ok := in.mod.Memory().Read(uint32(stack[0]), n)
	if !ok {
		panic("log: address out of range")
	}
	in.logger.Info("core.log", "line", strings.ToValidUTF8(string(line), "?"))
}

// bytes gives a view of guest memory, valid until the guest runs on.
func (in *instance) bytes(what string, stack []uint64, limit uint32) []byte {
	n := uint32(stack[1])
	b, ok := in.mod.Memory().Read(uint32(stack[0]), n)
	if !ok || n > limit {
		panic(fmt.Sprintf("%s: %d bytes at %d", what, n, uint32(stack[0])))
	}
	return b
}

func (in *instance) config() wazero.ModuleConfig {
	return wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize").
		WithWalltime(func() (int64, int32) { return in.now / 1000, int32(in.now%1000) * 1e6 }, sys.ClockResolution(1e6)).
		WithNanotime(func() int64 { in.mono = max(in.mono, in.now*1e6); return in.mono }, sys.ClockResolution(1e6)).
		WithRandSource(&in.random).
		WithStderr(limited{&in.stderr})
}

// limited keeps the first few kilobytes of what a dying runtime says.
type limited struct{ *bytes.Buffer }

func (l limited) Write(p []byte) (int, error) {
	l.Buffer.Write(p[:min(len(p), 4096-min(l.Len(), 4096))])
	return len(p), nil
}

func (in *instance) said() string {
	if in.stderr.Len() == 0 {
		return ""
	}
	return ": " + firstLine(in.stderr.String())
}

// firstLine drops wazero's stack trace, and what a Go runtime prints behind its own first line.
func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
