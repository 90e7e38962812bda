package workerd_test

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/worker/edge/workerd"
)

// options run a Worker of one module, which needs no core.
func options(t *testing.T, module string) workerd.Options {
	t.Helper()
	bin, err := workerd.Find()
	if err != nil {
		t.Skip(err)
	}
	core := filepath.Join(t.TempDir(), "core.wasm")
	if err := os.WriteFile(core, []byte("\x00asm\x01\x00\x00\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	classes := "import { DurableObject } from 'cloudflare:workers';\n"
	for _, name := range []string{"Workspace", "Directory", "Application"} {
		classes += "export class " + name + " extends DurableObject {}\n"
	}
	return workerd.Options{Bin: bin, Dir: t.TempDir(), CoreWasm: core, Env: map[string]string{"A": `quo"te\` + "\n"}, Modules: map[string]string{"front.mjs": classes + module}}
}

func TestRigLinesAndKill(t *testing.T) {
	o := options(t, `export default { fetch(request, env) { console.log("rig: " + env.A.length); for (;;); } };`)
	p, err := workerd.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	go http.Get(p.URL)
	select {
	case point := <-p.Rig():
		if point != "8" {
			t.Errorf("the variable came with %s characters, want 8", point)
		}
	case <-time.After(20 * time.Second):
		t.Error("no line")
	}
	if err := p.Kill(); err != nil {
		t.Error(err)
	}
	select {
	case <-p.Done():
	default:
		t.Error("it is still there")
	}
	if err := p.Kill(); err != nil {
		t.Errorf("the second time: %v", err)
	}
}

func TestStartFails(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, tt := range []struct {
		name   string
		change func(*workerd.Options)
	}{
		{"broken module", func(o *workerd.Options) { o.Modules["front.mjs"] = "syntax error (" }},
		{"port taken", func(o *workerd.Options) { o.Port = taken.Addr().(*net.TCPAddr).Port }},
		{"no core", func(o *workerd.Options) { o.CoreWasm += ".gone" }},
		{"no program for operators", func(o *workerd.Options) { o.Operator = o.Dir }},
		{"no program", func(o *workerd.Options) { o.Bin += ".gone" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := options(t, `export default { fetch: () => new Response("") };`)
			var log strings.Builder
			o.Log = &log
			tt.change(&o)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			if p, err := workerd.Start(ctx, o); err == nil {
				p.Kill()
				t.Error("it started")
			} else if ctx.Err() != nil {
				t.Error("it hung")
			}
		})
	}
}
