// Package corewasm holds core.wasm inside the one binary.
package corewasm

import (
	"embed"
	"errors"
)

//go:embed core.wasm*
var files embed.FS

// ErrMissing means that this program was built before core.wasm was.
var ErrMissing = errors.New("this binary holds no core.wasm: run make core, then build again")

// Bytes gives the instrumented module.
func Bytes() ([]byte, error) {
	b, err := files.ReadFile("core.wasm")
	if err != nil || len(b) == 0 {
		return nil, ErrMissing
	}
	return b, nil
}
