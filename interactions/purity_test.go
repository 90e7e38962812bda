package interactions

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// impure are the imports that would give the core a life of its own (spec 2.4). crypto/rand is here too: entropy comes
// with the event.
var impure = map[string]bool{
	"net": true, "net/http": true, "os": true, "os/exec": true, "io/ioutil": true, "syscall": true, "syscall/js": true,
	"math/rand": true, "math/rand/v2": true, "crypto/rand": true, "log": true, "log/slog": true, "unsafe": true,
}

// clocks are the names in package time that read the clock, or wait.
var clocks = map[string]bool{
	"Now": true, "Since": true, "Until": true, "Sleep": true, "After": true, "AfterFunc": true,
	"Tick": true, "NewTimer": true, "NewTicker": true,
}

// The core is pure: no I/O, no clock, no randomness, no goroutine. The simulator (actor/sim) surrounds it and is not
// part of it.
func TestCoreIsPure(t *testing.T) {
	files := 0
	for _, root := range []string{".", "../actor"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (d.Name() == "testdata" || d.Name() == "sim"):
				return filepath.SkipDir
			case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			files++
			for _, fault := range faults(t, path) {
				t.Error(fault)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 20 {
		t.Errorf("looked at %d files: the walk misses most of the core", files)
	}
}

// The check itself can fail.
func TestImpurityIsFound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.go")
	src := "package x\nimport (\n\"os\"\nclock \"time\"\n)\nfunc f() { go f(); _ = clock.Now(); _ = os.Args; _ = clock.Second }\n"
	if err := os.WriteFile(path, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := faults(t, path); len(got) != 3 {
		t.Errorf("found %q, want the import, the goroutine and the clock", got)
	}
}

func faults(t *testing.T, path string) []string {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	fault := func(at token.Pos, what string) { found = append(found, fset.Position(at).String()+": "+what) }
	timePkg := ""
	for _, im := range file.Imports {
		name, err := strconv.Unquote(im.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if impure[name] {
			fault(im.Pos(), "imports "+name)
		}
		if name == "time" {
			timePkg = "time"
			if im.Name != nil {
				timePkg = im.Name.Name
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			fault(n.Pos(), "starts a goroutine")
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && timePkg != "" && x.Name == timePkg && clocks[n.Sel.Name] {
				fault(n.Pos(), "uses time."+n.Sel.Name)
			}
		}
		return true
	})
	return found
}

// The core builds for both WebAssembly platforms of Go, so that no host can depend on more than bytes.
func TestCoreBuildsForWebAssembly(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the core twice")
	}
	for _, goos := range []string{"wasip1", "js"} {
		cmd := exec.Command("go", "build", "./", "../actor/...")
		cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH=wasm")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("GOOS=%s: %v\n%s", goos, err, out)
		}
	}
}
