package workerd

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"holdfast/worker/edge"
)

// classes are the Durable Objects, by the binding that reaches them.
var classes = []struct{ binding, class string }{
	{"WORKSPACE", "Workspace"},
	{"DIRECTORY", "Directory"},
	{"APPLICATION", "Application"},
}

// prepare writes modules and configuration into o.Dir and gives the configuration's path. Values of variables are not
// in it: workerd takes them from its environment.
func prepare(o Options) (string, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return "", err
	}
	for _, folder := range []string{"storage", "modules"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
			return "", err
		}
	}
	names, err := writeModules(filepath.Join(dir, "modules"), o)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "config.capnp")
	return path, os.WriteFile(path, []byte(config(dir, names, o)), 0o600)
}

// writeModules writes the Worker's modules into dir and gives their names, the entry first.
func writeModules(dir string, o Options) ([]string, error) {
	texts, err := modules(o)
	if err != nil {
		return nil, err
	}
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	for name, from := range built(o) {
		content, err := os.ReadFile(from)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return nil, err
		}
	}
	delete(texts, entry)
	return append([]string{entry}, slices.Sorted(maps.Keys(texts))...), nil
}

// built gives what make puts into the folder build: name there, and where it is.
func built(o Options) map[string]string {
	files := map[string]string{"core.wasm": o.CoreWasm}
	if o.Operator != "" {
		for _, name := range []string{"api.wasm", "wasm_exec.js"} {
			files[name] = filepath.Join(o.Operator, name)
		}
	}
	return files
}

// noOperator stands in for operator.mjs when there is no program behind it.
const noOperator = "export const takes = () => false;\n"

const entry = "front.mjs"

// modules gives the text of each module by its name.
func modules(o Options) (map[string]string, error) {
	all, err := fs.Glob(edge.Modules, "*.mjs")
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	for _, name := range all {
		text, err := edge.Modules.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if !strings.HasSuffix(name, ".test.mjs") {
			texts[name] = string(text)
		}
	}
	if o.Rig {
		texts["rig.mjs"] = texts["rig_test.mjs"]
	}
	delete(texts, "rig_test.mjs")
	if o.Operator == "" {
		texts["operator.mjs"] = noOperator
	}
	maps.Copy(texts, o.Modules)
	return texts, nil
}

func config(dir string, names []string, o Options) string {
	var b strings.Builder
	fmt.Fprintf(&b, `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .edge),
    (name = "storage", disk = (path = %q, writable = true)),
    (name = "internet", network = (allow = ["public", "private"], tlsOptions = (trustBrowserCas = true))),
  ],
  sockets = [(name = "http", address = "127.0.0.1:%d", http = (), service = "main")],
);
const edge :Workerd.Worker = (
  compatibilityDate = %q,
  durableObjectStorage = (localDisk = "storage"),
  modules = [
`, filepath.Join(dir, "storage"), o.Port, edge.CompatibilityDate)
	for _, name := range names {
		fmt.Fprintf(&b, "    (name = \"worker/edge/%s\", esModule = embed \"modules/%s\"),\n", name, name)
	}
	for _, name := range slices.Sorted(maps.Keys(built(o))) {
		kind := map[string]string{".wasm": "wasm", ".js": "esModule"}[filepath.Ext(name)]
		fmt.Fprintf(&b, "    (name = \"build/%[1]s\", %[2]s = embed \"modules/%[1]s\"),\n", name, kind)
	}
	b.WriteString("  ],\n  bindings = [\n")
	for _, c := range classes {
		fmt.Fprintf(&b, "    (name = %q, durableObjectNamespace = %q),\n", c.binding, c.class)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Env)) {
		fmt.Fprintf(&b, "    (name = %q, fromEnvironment = %q),\n", name, name)
	}
	b.WriteString("  ],\n  durableObjectNamespaces = [\n")
	for _, c := range classes {
		fmt.Fprintf(&b, "    (className = %q, uniqueKey = %q, enableSql = true),\n", c.class, strings.ToLower(c.class))
	}
	b.WriteString("  ],\n);\n")
	return b.String()
}

// platform is the name of the npm package that holds workerd for this machine.
func platform() string {
	arch := map[string]string{"amd64": "64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	return "workerd-" + runtime.GOOS + "-" + arch
}
