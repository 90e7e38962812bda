package clienttest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"holdfast/worker/engine/corewasm"
)

const (
	patience   = 45 * time.Second      // how long something may take to be seen
	lookAgain  = 30 * time.Millisecond // between two looks
	startLimit = 60 * time.Second      // for the program, which compiles the core at its first start
)

// built is the binary, built once for all tests.
var built = sync.OnceValues(func() (string, error) {
	if _, err := corewasm.Bytes(); err != nil {
		return "", err
	}
	var err error
	if builtIn, err = os.MkdirTemp("", "holdfast-clienttest-"); err != nil {
		return "", err
	}
	bin := filepath.Join(builtIn, "holdfast")
	cmd := exec.Command("go", "build", "-o", bin, "./cmd/holdfast")
	cmd.Dir = moduleRoot()
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the binary: %w\n%s", err, out)
	}
	return bin, nil
})

// builtIn is the temporary folder of the binary, "" when no test needed it.
var builtIn string

func moduleRoot() string {
	root, err := filepath.Abs("../..")
	if err != nil {
		panic(err)
	}
	return root
}

func TestMain(m *testing.M) {
	code := m.Run()
	if builtIn != "" {
		_ = os.RemoveAll(builtIn)
	}
	os.Exit(code)
}

// program is a running `holdfast run` with a data folder of its own.
type program struct {
	t    *testing.T
	data string
	page string // the URL it printed, with the token

	cmd  *exec.Cmd
	said *output
	done chan struct{}
}

// run starts the program with the sample project and the local agent. It is stopped with the test.
func run(t *testing.T) *program {
	t.Helper()
	if testing.Short() {
		t.Skip("starts the real program and a browser")
	}
	t.Parallel()
	p := &program{t: t, data: filepath.Join(t.TempDir(), "data")}
	p.start("127.0.0.1:0")
	t.Cleanup(func() {
		p.signal(syscall.SIGTERM)
		if t.Failed() {
			t.Logf("holdfast said:\n%s", p.said)
		}
	})
	return p
}

// start runs the program on its data folder and waits for the page's address.
func (p *program) start(listen string) {
	p.t.Helper()
	bin, err := built()
	if err != nil {
		p.t.Fatal(err)
	}
	p.said, p.done = &output{}, make(chan struct{})
	p.cmd = exec.Command(bin, "run", "--verbose", "--data", p.data, "--listen", listen, "--model", "local")
	// Nothing of this machine's settings, above all no key of a model: only what programs need to be found.
	p.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.t.TempDir(), "TMPDIR=" + os.TempDir()}
	p.cmd.Stderr = p.said
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // with the thread below, which waits for it
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	line, started := make(chan string, 1), make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		text, _ := bufio.NewReader(stdout).ReadString('\n') // empty when the program ended: said below
		line <- strings.TrimSpace(text)
		_, _ = io.Copy(io.Discard, stdout)
		_ = p.cmd.Wait() // its end by a signal is what is wanted; its log says the rest
		close(p.done)
	}()
	if err := <-started; err != nil {
		p.t.Fatal(err)
	}
	select {
	case p.page = <-line:
	case <-time.After(startLimit):
	}
	if !strings.HasPrefix(p.page, "http://127.0.0.1:") {
		p.t.Fatalf("the program printed %q instead of an address\n%s", p.page, p.said)
	}
}

// signal sends a signal and waits until the process is gone.
func (p *program) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Error(err)
	}
	select {
	case <-p.done:
	case <-time.After(patience):
		p.t.Errorf("the program did not end by %v", s)
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// address is where the page is served, as host and port.
func (p *program) address() string {
	p.t.Helper()
	u, err := url.Parse(p.page)
	if err != nil {
		p.t.Fatal(err)
	}
	return u.Host
}

// git runs git in the sample's bare origin.
func (p *program) git(args ...string) string {
	p.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", filepath.Join(p.data, "sample", "berths.git")}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// countPushes makes the origin log each update of a branch, and returns what reads how many there were since.
func (p *program) countPushes() func() int {
	p.t.Helper()
	p.git("config", "core.logAllRefUpdates", "always")
	logs := filepath.Join(p.data, "sample", "berths.git", "logs")
	if err := os.MkdirAll(logs, 0o755); err != nil { // a push may write into it, and make no folder beside it
		p.t.Fatal(err)
	}
	return func() (n int) {
		err := filepath.WalkDir(logs, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			n += bytes.Count(text, []byte{'\n'})
			return err
		})
		if err != nil {
			p.t.Fatal(err)
		}
		return n
	}
}

// eventually looks until look gives nil, and fails the test with its last error when patience ends.
func eventually(t *testing.T, limit time.Duration, look func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for {
		err := look()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited %v in vain: %v", limit, err)
		}
	}
}

// output keeps the end of what a program says.
type output struct {
	mu   sync.Mutex
	text []byte
}

const maxOutput = 32 << 10

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text = append(o.text, b...)
	if extra := len(o.text) - maxOutput; extra > 0 {
		o.text = o.text[extra:]
	}
	return len(b), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.text)
}
