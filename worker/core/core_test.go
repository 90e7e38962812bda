package main

import (
	"context"
	"slices"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"holdfast/worker/engine/enginetest"
)

// TestBoundary: the module has the exports and imports of docs/protocol.md, and nothing else.
func TestBoundary(t *testing.T) {
	module, err := enginetest.Build(t.TempDir(), "holdfast/worker/core")
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer r.Close(ctx)
	compiled, err := r.CompileModule(ctx, module)
	if err != nil {
		t.Fatal(err)
	}
	i32 := api.ValueTypeI32
	signatures := map[string][2][]api.ValueType{
		"_initialize": {nil, nil}, "route": {{i32}, {i32}}, "handle": {{i32}, {i32}},
		"pull": {{i32}, nil}, "push": {{i32, i32}, nil}, "sql": {{i32, i32}, {i32}}, "log": {{i32, i32}, nil},
	}
	check := func(name string, f api.FunctionDefinition) {
		want, ok := signatures[name]
		if !ok || !slices.Equal(f.ParamTypes(), want[0]) || !slices.Equal(f.ResultTypes(), want[1]) {
			t.Errorf("%s%v %v, want %v", name, f.ParamTypes(), f.ResultTypes(), want)
		}
		delete(signatures, name)
	}
	for name, f := range compiled.ExportedFunctions() {
		check(name, f)
	}
	for _, f := range compiled.ImportedFunctions() {
		switch from, name, _ := f.Import(); from {
		case "wasi_snapshot_preview1":
		case "holdfast":
			check(name, f)
		default:
			t.Errorf("an import from %s", from)
		}
	}
	if len(signatures) > 0 {
		t.Errorf("missing: %v", signatures)
	}
	if m := compiled.ExportedMemories(); len(m) != 1 || m["memory"] == nil {
		t.Errorf("memories: %v", m)
	}
}
