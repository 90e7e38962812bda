package enginetest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"holdfast/worker/fuel"
)

// Build compiles a wasip1 reactor and instruments it. Go's build cache makes the second time quick.
func Build(dir, pkg string, flags ...string) ([]byte, error) {
	raw := filepath.Join(dir, "raw.wasm")
	args := append([]string{"build", "-buildmode=c-shared", "-o", raw}, flags...)
	cmd := exec.Command("go", append(args, pkg)...)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build %s: %w\n%s", pkg, err, out)
	}
	module, err := os.ReadFile(raw)
	if err != nil {
		return nil, err
	}
	return fuel.Instrument(module)
}

// TestCore is the package path of the test core's main package.
const TestCore = "holdfast/worker/engine/enginetest/core"
