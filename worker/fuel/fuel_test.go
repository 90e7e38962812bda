package fuel_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"holdfast/worker/fuel"
)

// Hand-assembled modules: header, then sections.
const header = "\x00asm\x01\x00\x00\x00"

// countdown exports "f" (i32) -> i32: loops n times, gives the number of rounds; it imports an immutable global first.
const countdown = header +
	"\x01\x06\x01\x60\x01\x7f\x01\x7f" + // type
	"\x02\x08\x01\x01m\x01g\x03\x7f\x00" + // import m.g global i32
	"\x03\x02\x01\x00" + // function
	"\x07\x05\x01\x01f\x00\x00" + // export
	"\x0a\x1d\x01\x1b\x01\x01\x7f" + // code, one local
	"\x03\x40" + // loop
	"\x20\x01\x41\x01\x6a\x21\x01" + // local1++
	"\x20\x00\x41\x01\x6b\x22\x00" + // local0--
	"\x0d\x00\x0b" + // br_if 0, end
	"\x20\x01\x0f\x00\x0b" // return local1; unreachable; end

func instantiate(t *testing.T, module []byte) (api.Module, context.Context) {
	t.Helper()
	ctx := context.Background()
	r := wazero.NewRuntime(ctx)
	t.Cleanup(func() { r.Close(ctx) })
	// The imported global comes from a module that has only that.
	m := header + "\x06\x06\x01\x7f\x00\x41\x05\x0b" + "\x07\x05\x01\x01g\x03\x00"
	if _, err := r.InstantiateWithConfig(ctx, []byte(m), wazero.NewModuleConfig().WithName("m")); err != nil {
		t.Fatal(err)
	}
	mod, err := r.InstantiateWithConfig(ctx, module, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		t.Fatal(err)
	}
	return mod, ctx
}

func TestCountsLoopsAndTraps(t *testing.T) {
	out, err := fuel.Instrument([]byte(countdown))
	if err != nil {
		t.Fatal(err)
	}
	mod, ctx := instantiate(t, out)
	counter := mod.ExportedGlobal(fuel.Global).(api.MutableGlobal)
	if counter.Get() != fuel.Unlimited {
		t.Fatalf("the counter starts at %d", counter.Get())
	}
	for _, c := range []struct {
		fuel, n uint64
		left    int64
		traps   bool
	}{
		{fuel: 100, n: 10, left: 90},
		{fuel: 10, n: 10, left: 0},
		{fuel: 9, n: 10, left: -1, traps: true},
		{fuel: 1000, n: 0, left: -1, traps: true}, // 0 wraps around: as good as endless
	} {
		counter.Set(c.fuel)
		res, err := mod.ExportedFunction("f").Call(ctx, c.n)
		if c.traps != (err != nil) || int64(counter.Get()) != c.left {
			t.Errorf("%d rounds with %d steps: err = %v, %d left; want trap %v, %d left", c.n, c.fuel, err, int64(counter.Get()), c.traps, c.left)
		}
		if err == nil && res[0] != c.n {
			t.Errorf("f(%d) = %d", c.n, res[0])
		}
	}
	if _, err := fuel.Instrument(out); !errors.Is(err, fuel.ErrAlready) {
		t.Errorf("twice: %v, want ErrAlready", err)
	}
}

func TestNothingElseChanges(t *testing.T) {
	custom := "\x00\x05\x04note" // a custom section stays where it is
	module := []byte(strings.Replace(countdown, "\x03\x02\x01\x00", custom+"\x03\x02\x01\x00", 1))
	out, err := fuel.Instrument(module)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(out, []byte(custom)) {
		t.Error("the custom section is gone")
	}
	// Without the counter's parts, the module is what it was.
	global := "\x06\x0f\x01\x7e\x01\x42\x80\x80\x80\x80\x80\x80\x80\x80\xc0\x00\x0b"
	export := "\x06__fuel\x03\x01"
	check := "\x23\x01\x42\x01\x7d\x24\x01\x23\x01\x42\x00\x53\x04\x40\x00\x0b"
	for _, part := range []string{global, export, check} {
		if bytes.Count(out, []byte(part)) != 1 {
			t.Fatalf("%q is in it %d times:\n%q", part, bytes.Count(out, []byte(part)), out)
		}
		out = bytes.Replace(out, []byte(part), nil, 1)
	}
	if len(out) != len(module) {
		t.Errorf("%d bytes differ in length", len(out)-len(module))
	}
}

func TestErrorsInsteadOfPanics(t *testing.T) {
	withBody := func(body string) string {
		return header + "\x01\x04\x01\x60\x00\x00\x03\x02\x01\x00\x0a" + string(rune(len(body)+3)) + "\x01" + string(rune(len(body)+1)) + "\x00" + body
	}
	if _, err := fuel.Instrument([]byte(withBody("\x0b"))); err != nil {
		t.Fatalf("an empty function: %v", err)
	}
	for name, module := range map[string]string{
		"nothing":            "",
		"text":               "(module)",
		"cut":                countdown[:len(countdown)-3],
		"sections disorder":  header + "\x03\x01\x00\x01\x01\x00",
		"unknown section":    header + "\x63\x01\x00",
		"section too long":   header + "\x01\x7f\x00",
		"vector instruction": withBody("\xfd\x0c\x0b"),
		"atomics":            withBody("\xfe\x03\x00\x0b"),
		"exceptions":         withBody("\x06\x40\x0b\x0b"),
		"tail call":          withBody("\x12\x00\x0b"),
		"lying vector":       header + "\x06\x0e\xc9\xc9\xc9g\x81C\x1c\v000000",
		"endless integer":    withBody("\x41\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x0b"),
		"huge br_table":      withBody("\x0e\xff\xff\xff\xff\x0f\x00\x0b"),
	} {
		if _, err := fuel.Instrument([]byte(module)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestMemoryIsBounded(t *testing.T) {
	for _, c := range []struct{ name, memory, want string }{
		{"without a maximum", "\x05\x03\x01\x00\x02", "\x05\x05\x01\x01\x02\x80\x0c"},
		{"with a lower one", "\x05\x04\x01\x01\x02\x10", "\x05\x04\x01\x01\x02\x10"},
		{"with a higher one", "\x05\x06\x01\x01\x02\x80\x80\x02", "\x05\x05\x01\x01\x02\x80\x0c"},
		{"larger from the start", "\x05\x04\x01\x00\x80\x10", ""},
		{"two memories", "\x05\x05\x02\x00\x01\x00\x01", ""},
		{"a shared one", "\x05\x04\x01\x03\x01\x02", ""},
	} {
		out, err := fuel.Instrument([]byte(header + c.memory))
		if (err != nil) != (c.want == "") || err == nil && !strings.Contains(string(out), c.want) {
			t.Errorf("%s: got %q %v, want %q", c.name, out, err, c.want)
		}
	}
}

func TestDataIsJoined(t *testing.T) {
	const memory = "\x05\x03\x01\x00\x01"
	far := strings.Repeat("\x00", 32)
	for _, c := range []struct{ name, before, data, want string }{
		{"a short gap", memory, "\x02\x00\x41\x08\x0b\x02ab\x00\x41\x0c\x0b\x01c", "\x01\x00\x41\x08\x0b\x05ab\x00\x00c"},
		{"none", memory, "\x02\x00\x41\x08\x0b\x01a\x00\x41\x09\x0b\x01c", "\x01\x00\x41\x08\x0b\x02ac"},
		{"the longest", memory, "\x02\x00\x41\x08\x0b\x01a\x00\x41\x29\x0b\x01c", "\x01\x00\x41\x08\x0b\x22a" + far + "c"},
		{"a longer one", memory, "\x02\x00\x41\x08\x0b\x01a\x00\x41\x2a\x0b\x01c", ""},
		{"not in order", memory, "\x02\x00\x41\x0c\x0b\x01c\x00\x41\x08\x0b\x02ab", "\x01\x00\x41\x08\x0b\x05ab\x00\x00c"},
		{"one over the other", memory, "\x02\x00\x41\x08\x0b\x02ab\x00\x41\x09\x0b\x01c", ""},
		{"a passive one", memory, "\x02\x00\x41\x08\x0b\x02ab\x01\x01c", ""},
		{"named by instructions", memory + "\x0c\x01\x02", "\x02\x00\x41\x08\x0b\x02ab\x00\x41\x0c\x0b\x01c", ""},
		{"in a memory of somebody else", "\x02\x08\x01\x01m\x01m\x02\x00\x01", "\x02\x00\x41\x08\x0b\x02ab\x00\x41\x0c\x0b\x01c", ""},
	} {
		if c.want == "" {
			c.want = c.data
		}
		section := func(data string) string { return "\x0b" + string(rune(len(data))) + data }
		out, err := fuel.Instrument([]byte(header + c.before + section(c.data)))
		if err != nil || !strings.HasSuffix(string(out), section(c.want)) {
			t.Errorf("%s: got %q %v, want %q at its end", c.name, out, err, c.want)
		}
	}
}

// The edge sets the counter itself, and the protocol names what it sets.
func TestEveryHostGivesTheSame(t *testing.T) {
	for path, want := range map[string][]string{
		"../edge/core.mjs":       {fmt.Sprintf("FUEL = %dn;", fuel.Base), fmt.Sprintf("FUEL_PER_BYTE = %dn;", fuel.PerByte)},
		"../../docs/protocol.md": {fmt.Sprintf("`__fuel` to %d + %d × input bytes", fuel.Base, fuel.PerByte)},
	} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range want {
			if !strings.Contains(strings.NewReplacer("_", "", ",", "").Replace(string(text)), strings.ReplaceAll(part, "_", "")) {
				t.Errorf("%s does not say %q", path, part)
			}
		}
	}
}

func FuzzInstrument(f *testing.F) {
	f.Add([]byte(countdown))
	f.Add([]byte(header))
	f.Add([]byte(header + "\x05\x03\x01\x00\x01" + "\x0b\x0e\x02\x00\x41\x08\x0b\x02ab\x00\x41\x0c\x0b\x01c"))
	f.Fuzz(func(t *testing.T, module []byte) {
		ctx := context.Background()
		r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
		defer r.Close(ctx)
		out, err := fuel.Instrument(module)
		if err != nil {
			return
		}
		// The law: a valid module stays valid.
		if _, err := r.CompileModule(ctx, module); err != nil {
			return
		}
		if _, err := r.CompileModule(ctx, out); err != nil {
			t.Fatalf("instrumenting broke a valid module: %v", err)
		}
	})
}
