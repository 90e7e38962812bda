// Command instrument puts the fuel counter into a module: instrument raw.wasm core.wasm
package main

import (
	"fmt"
	"os"

	"holdfast/worker/fuel"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "instrument:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("usage: instrument IN.wasm OUT.wasm")
	}
	raw, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	out, err := fuel.Instrument(raw)
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	// A build that is interrupted must not leave half a module behind.
	tmp := args[1] + ".tmp"
	if err := os.WriteFile(tmp, out, 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, args[1])
}
