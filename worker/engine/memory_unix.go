//go:build unix

package engine

import (
	"context"
	"syscall"

	"github.com/tetratelabs/wazero/experimental"
)

// withMemory has instances take their memory from the system and not from Go's heap: room for all that one may ever
// have is reserved at once, so that growing copies nothing, and pages that the guest never touched cost nothing.
func withMemory(ctx context.Context) context.Context {
	return experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(func(_, most uint64) experimental.LinearMemory {
		b, err := syscall.Mmap(-1, 0, int(min(most, MaxMemory)), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err != nil {
			b = make([]byte, min(most, MaxMemory))
		}
		return &reserved{b}
	}))
}

// reserved is memory that the system gives page by page.
type reserved struct{ all []byte }

func (r *reserved) Reallocate(size uint64) []byte {
	if size > uint64(len(r.all)) {
		return nil // the guest's growing fails
	}
	return r.all[:size]
}

func (r *reserved) Free() {
	_ = syscall.Munmap(r.all) // refused for memory of Go's, which is collected
	r.all = nil
}
