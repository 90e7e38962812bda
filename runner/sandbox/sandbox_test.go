//go:build linux

package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/actor/errs"
)

const canary = "canary-5d1e"

// TestMain plants a secret in the environment of the process that starts the sandboxes.
func TestMain(m *testing.M) {
	os.Setenv("HOLDFAST_TEST_SECRET", canary)
	os.Exit(m.Run())
}

// cell is a sandbox with one writable folder. Without bubblewrap its tests fail: they are the proof of 4.4.
type cell struct {
	t       *testing.T
	box     Sandbox
	project string
	mounts  []Mount
	n       int
}

func newCell(t *testing.T, limits Limits) *cell {
	t.Helper()
	dir := t.TempDir()
	box, err := NewBwrap(Config{Data: filepath.Join(dir, "data"), Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	project := filepath.Join(dir, "project")
	if err := os.Mkdir(project, 0o755); err != nil {
		t.Fatal(err)
	}
	return &cell{t: t, box: box, project: project, mounts: []Mount{{Kind: Writable, Source: project}}}
}

// start runs a bash script whose two streams share one pipe.
func (c *cell) start(script string) (Process, *capture) {
	c.t.Helper()
	c.n++
	var out capture
	cmd := Command{Name: fmt.Sprint("call-", c.n), Argv: []string{"/bin/bash", "-c", script}, Dir: c.project, Mounts: c.mounts}
	if err := out.open(&cmd.Stdout); err != nil {
		c.t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	p, err := c.box.Start(cmd)
	cmd.Stdout.Close()
	if err != nil {
		c.t.Fatalf("%v: %s", err, out.kept.Bytes())
	}
	return p, &out
}

func (c *cell) run(script string) (string, Exit) {
	c.t.Helper()
	p, out := c.start(script)
	stop := time.AfterFunc(time.Minute, func() { p.Kill("the test's patience ended") })
	defer stop.Stop()
	exit, err := p.Wait()
	out.close()
	if err != nil {
		c.t.Fatalf("%v: %s", err, out.kept.String())
	}
	return out.kept.String(), exit
}

func TestSelfTestWorksHere(t *testing.T) {
	if err := SelfTest(context.Background(), newCell(t, Limits{}).box); err != nil {
		t.Fatal(err)
	}
}

func TestMissingBubblewrapSaysHowToInstallIt(t *testing.T) {
	_, err := NewBwrap(Config{Data: t.TempDir(), Program: "/nonexistent/bwrap"})
	var e *errs.Error
	if !errors.As(err, &e) || e.Code != errs.Unavailable || !strings.Contains(e.Hint, "apt-get install bubblewrap") {
		t.Fatalf("error %v", err)
	}
}

func TestOutputOrderAndExitCode(t *testing.T) {
	c := newCell(t, Limits{})
	out, exit := c.run("for i in 1 2 3; do echo out $i; echo err $i >&2; done; exit 7")
	if out != "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n" || exit.Code != 7 || exit.Reason != "" {
		t.Fatalf("%q, %+v", out, exit)
	}
	if _, exit := c.run("kill -TERM $$"); exit.Code != 128+15 {
		t.Fatalf("exit after a signal %+v", exit)
	}
}

// TestInside asks from inside for what must not be there: each script prints "held", or what it got hold of.
func TestInside(t *testing.T) {
	c := newCell(t, Limits{})
	outside := filepath.Join(filepath.Dir(c.project), "secret.txt")
	if err := os.WriteFile(outside, []byte(canary), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(c.project, "link")); err != nil {
		t.Fatal(err)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	port := listener.Addr().(*net.TCPAddr).Port
	tests := []struct{ name, script string }{
		{"no network to the machine", fmt.Sprintf("exec 3<>/dev/tcp/127.0.0.1/%d || echo held", port)},
		{"no network outside", "exec 3<>/dev/tcp/192.0.2.1/80 || echo held"},
		{"no interface but loopback", `test "$(tail -n +3 /proc/net/dev | grep -cv ' *lo:')" = 0 && echo held`},
		{"curl", "curl -sS --max-time 5 https://192.0.2.1/ || echo held"},
		{"shadow", "cat /etc/shadow || echo held"},
		{"ssh keys", "ls " + home + "/.ssh ~/.ssh || echo held"},
		{"home", "ls -A " + home + " | grep -v Test || echo held"},
		{"runner's data", "ls " + filepath.Join(filepath.Dir(c.project), "data") + " || echo held"},
		{"file beside the project", "cat " + outside + " || echo held"},
		{"link out of the project", "cat link || echo held"},
		{"write to the root", "echo x > /x || echo held"},
		{"write to usr", "echo x > /usr/x || echo held"},
		{"write to etc", "echo x > /etc/passwd || echo held"},
		{"write to dev", "echo x > /dev/x || echo held"},
		{"environment", "env | grep " + canary + " || echo held"},
		{"environment of all", "cat /proc/*/environ | tr '\\0' '\\n' | grep " + canary + " || echo held"},
		{"command lines of all", "cat /proc/*/cmdline | grep -a secret.txt && false || echo held"},
		{"no inherited files", "for n in $(seq 3 254); do test -e /proc/$$/fd/$n && ls -l /proc/$$/fd/$n && exit; done; echo held"},
		{"no open files in pid 1", `ls -l /proc/1/fd | grep -E 'memfd|journal' || echo held`},
		{"kill the runner", fmt.Sprintf("kill -9 %d || echo held", os.Getpid())},
		{"only own processes", `test "$(ls -d /proc/[0-9]* | wc -l)" -lt 6 && echo held`},
		{"capabilities", `grep -E '^Cap(Eff|Prm|Bnd):' /proc/self/status | grep -v 0000000000000000 || echo held`},
		{"filter", `grep -E '^Seccomp:\s*2' /proc/self/status >/dev/null && echo held`},
		{"no new privileges", `grep -E '^NoNewPrivs:\s*1' /proc/self/status >/dev/null && echo held`},
		{"user namespace", "unshare --user true || echo held"},
		{"mount", "mount -t tmpfs none /mnt || echo held"},
		// Opened, never written: were it to succeed, the machine would be changed.
		{"sysctl", "(exec 3>>/proc/sys/kernel/core_pattern) || echo held"},
		{"sysrq", "(exec 3>>/proc/sysrq-trigger) || echo held"},
		{"nothing writable in proc", `test -z "$(find /proc /proc/sys /proc/irq /proc/bus /proc/fs -maxdepth 3 -type f -writable 2>/dev/null | head -1)" && echo held`},
		{"block devices", "ls /dev | grep -E '^(sd|vd|nvme|mem|kmsg|vsock)' || echo held"},
		{"docker", "ls /var/run/docker.sock /run || echo held"},
		{"abstract sockets", `test "$(wc -l < /proc/net/unix)" = 1 && echo held`},
		{"host name", `test "$(cat /proc/sys/kernel/hostname)" = holdfast && echo held`},
		{"terminal", "exec 3<>/dev/tty || echo held"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c.t = t
			out, exit := c.run(tt.script)
			if !strings.HasSuffix(out, "held\n") || strings.Contains(out, canary) || exit.Reason != "" {
				t.Fatalf("%q, %+v", out, exit)
			}
		})
	}
}

func TestProjectAndScratchAreWritable(t *testing.T) {
	c := newCell(t, Limits{})
	out, exit := c.run("echo hi > new && mkdir -p d && echo x > /tmp/x && echo y > ~/y && echo z > $XDG_CACHE_HOME/z && cat new")
	if out != "hi\n" || exit.Code != 0 {
		t.Fatalf("%q, %+v", out, exit)
	}
	if b, err := os.ReadFile(filepath.Join(c.project, "new")); err != nil || string(b) != "hi\n" {
		t.Fatalf("%q, %v", b, err)
	}
	if out, _ := c.run("cat /tmp/x ~/y; cat $XDG_CACHE_HOME/z"); !strings.HasSuffix(out, "z\n") || strings.Contains(out, "x\n") {
		t.Fatalf("scratch of an earlier call is left, or the cache is not: %q", out)
	}
}

// TestWritingOutsideChangesNothing writes beside the project. The folder there is the sandbox's own scratch, or refused.
func TestWritingOutsideChangesNothing(t *testing.T) {
	c := newCell(t, Limits{})
	c.run("echo x > ../x; mkdir ../y; ln -s / ../z; rm -rf ../data; mv ../project ../moved")
	left, err := os.ReadDir(filepath.Dir(c.project))
	if err != nil || len(left) != 2 || left[0].Name() != "data" || left[1].Name() != "project" {
		t.Fatalf("%v, %v", left, err)
	}
}

func TestHiddenFilesAreEmpty(t *testing.T) {
	c := newCell(t, Limits{})
	secret := filepath.Join(c.project, "prod.env")
	if err := os.WriteFile(secret, []byte(canary), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("prod.env", filepath.Join(c.project, "innocent")); err != nil {
		t.Fatal(err)
	}
	c.mounts = append(c.mounts, Mount{Kind: Hidden, Target: secret})
	out, _ := c.run("cat prod.env innocent; ln prod.env hard; cp prod.env copy; cat copy hard; mv prod.env moved; cat moved; rm -f prod.env; echo x > prod.env")
	if strings.Contains(out, canary) {
		t.Fatalf("the hidden file shows: %q", out)
	}
	if b, err := os.ReadFile(secret); err != nil || string(b) != canary {
		t.Fatalf("the hidden file was changed: %q, %v", b, err)
	}
}

func TestExcessEndsWithAnError(t *testing.T) {
	small := Limits{Processes: 60, Memory: 256 << 20, File: 32 << 20, Disk: 128 << 20, Scratch: 16 << 20}
	tests := []struct{ name, script, want string }{
		{"fork bomb", "bomb() { bomb | bomb & }; bomb; sleep 30", "processes|Resource temporarily unavailable"},
		{"10 GB in one process", "head -c 10G /dev/zero | tail -c 10G | wc -c", "memory exhausted|cannot allocate|MiB of memory"},
		{"memory by many", "for i in 1 2 3 4 5 6; do head -c 150M /dev/zero | tail -c 150M | (sleep 30; cat >/dev/null) & done; wait", "MiB of memory"},
		{"one large file", "head -c 100M /dev/zero > big; echo status $?; ls -l big", "status 153|File size limit"},
		{"many files", "for i in $(seq 100); do head -c 20M /dev/urandom > f$i || exit 1; sync f$i; done", "MiB written to the disk"},
		{"scratch", "head -c 64M /dev/zero > /tmp/big || echo full; head -c 128M /dev/zero > /dev/shm/big || echo full", "No space left"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newCell(t, small)
			out, exit := c.run(tt.script)
			all := out + exit.Reason
			if !containsAny(all, strings.Split(tt.want, "|")) || exit.Reason == "the test's patience ended" {
				t.Fatalf("%.500q, %+v", out, exit)
			}
			if out, _ := c.run("rm -f f* big; echo well"); out != "well\n" {
				t.Fatalf("afterwards: %q", out)
			}
		})
	}
}

func containsAny(s string, parts []string) bool {
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}

// both runs a test in each sandbox.
func both(t *testing.T, f func(t *testing.T, c *cell)) {
	for _, name := range []string{"bwrap", "none"} {
		t.Run(name, func(t *testing.T) {
			c := newCell(t, Limits{})
			if name == "none" {
				none, err := NewNone(Config{Data: filepath.Join(t.TempDir(), "data")})
				if err != nil {
					t.Fatal(err)
				}
				c.box = none
			}
			f(t, c)
		})
	}
}

// spawn leaves processes of all sorts behind, each holding a lock on a file.
const spawn = `
for i in 1 2; do flock lock$i sleep 600 & done
setsid flock lock3 sleep 600 &
(trap '' TERM HUP INT; exec nohup flock lock4 sleep 600) >/dev/null 2>&1 &
until ! flock -n lock1 true && ! flock -n lock2 true && ! flock -n lock3 true && ! flock -n lock4 true; do :; done
echo ready
`

func (c *cell) locked() (n int) {
	for i := range 4 {
		f, err := os.Open(filepath.Join(c.project, fmt.Sprint("lock", i+1)))
		if err != nil {
			c.t.Fatal(err)
		}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			n++
		}
		f.Close()
	}
	return n
}

func TestNothingSurvivesTheCall(t *testing.T) {
	both(t, func(t *testing.T, c *cell) {
		if out, exit := c.run(spawn); out != "ready\n" || exit.Code != 0 {
			t.Fatalf("%q, %+v", out, exit)
		}
		if n := c.locked(); n != 0 {
			t.Fatalf("%d processes survived the end of the call", n)
		}
	})
}

func TestKillEndsEverything(t *testing.T) {
	both(t, func(t *testing.T, c *cell) {
		p, out := c.start(spawn + "touch ready; sleep 600")
		awaitFile(t, filepath.Join(c.project, "ready"))
		p.Kill("timeout")
		p.Kill("second reason")
		exit, err := p.Wait()
		out.close()
		if err != nil || exit.Reason != "timeout" {
			t.Fatalf("%+v, %v", exit, err)
		}
		if n := c.locked(); n != 0 {
			t.Fatalf("%d processes survived the kill", n)
		}
	})
}

// awaitFile waits until a script has come far enough to have made a file.
func awaitFile(t *testing.T, file string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for {
		if _, err := os.Stat(file); err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s did not appear", file)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// TestKilledRunnerLeavesNothing kills the process that started a sandbox. Bubblewrap's sandbox dies with it; what the
// other one left is ended by Reap.
func TestKilledRunnerLeavesNothing(t *testing.T) {
	if dir := os.Getenv("SANDBOX_CHILD"); dir != "" {
		runAndReport(t, dir, os.Getenv("SANDBOX_KIND"))
		return
	}
	for _, kind := range []string{"bwrap", "none"} {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			cmd := exec.Command(os.Args[0], "-test.run=^TestKilledRunnerLeavesNothing$")
			cmd.Env = append(os.Environ(), "SANDBOX_CHILD="+dir, "SANDBOX_KIND="+kind)
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			line := make([]byte, 6)
			if _, err := io.ReadFull(stdout, line); err != nil || !bytes.Equal(line, []byte("ready\n")) {
				t.Fatalf("%q, %v", line, err)
			}
			cmd.Process.Kill()
			cmd.Wait()
			reaped, err := Reap(filepath.Join(dir, "data"))
			if err != nil {
				t.Fatal(err)
			}
			if kind == "none" && reaped != 1 {
				t.Fatalf("reaped %d calls", reaped)
			}
			c := &cell{t: t, project: filepath.Join(dir, "project")}
			awaitFree(t, c)
			if left, _ := os.ReadDir(filepath.Join(dir, "data", "run")); len(left) != 0 {
				t.Fatalf("pid files are left: %v", left)
			}
		})
	}
}

func awaitFree(t *testing.T, c *cell) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for c.locked() > 0 {
		if time.Now().After(deadline) {
			t.Fatalf("%d processes are left", c.locked())
		}
	}
}

func runAndReport(t *testing.T, dir, kind string) {
	c := &cell{t: t, project: filepath.Join(dir, "project")}
	c.mounts = []Mount{{Kind: Writable, Source: c.project}}
	err := os.Mkdir(c.project, 0o755)
	if err == nil && kind == "none" {
		c.box, err = NewNone(Config{Data: filepath.Join(dir, "data")})
	} else if err == nil {
		c.box, err = NewBwrap(Config{Data: filepath.Join(dir, "data")})
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := Command{Name: "7.1", Argv: []string{"/bin/bash", "-c", spawn + "sleep 600"}, Dir: c.project, Mounts: c.mounts, Stdout: os.Stdout}
	p, err := c.box.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	p.Wait()
}

// TestReapSparesRecycledPids gives Reap a pid file whose pid now belongs to somebody else.
func TestReapSparesRecycledPids(t *testing.T) {
	cmd := exec.Command("/bin/sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "run"), 0o700); err != nil {
		t.Fatal(err)
	}
	text := "pid " + strconv.Itoa(cmd.Process.Pid) + " 12345\npid 1 1\npid -1 1\nrubbish\n"
	if err := os.WriteFile(filepath.Join(dir, "run", "7.1"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if n, err := Reap(dir); n != 0 || err != nil {
		t.Fatalf("reaped %d, %v", n, err)
	}
	if err := cmd.Process.Signal(unix.Signal(0)); err != nil {
		t.Fatalf("a stranger was killed: %v", err)
	}
}

func TestCommandsThatCannotRun(t *testing.T) {
	c := newCell(t, Limits{})
	for _, cmd := range []Command{
		{Name: "a", Dir: "/"}, {Name: "a", Argv: []string{"x"}, Dir: "relative"}, {Name: "a/b", Argv: []string{"x"}, Dir: "/"},
		{Name: "a", Argv: []string{"x\x00y"}, Dir: "/"}, {Name: "a", Argv: []string{"/bin/true"}, Dir: "/nonexistent"},
		{Name: "a", Argv: []string{"/nonexistent/program"}, Dir: "/"},
		{Name: "a", Argv: []string{"/bin/true"}, Dir: "/", Mounts: []Mount{{Source: "/nonexistent"}}},
	} {
		if _, err := Run(context.Background(), c.box, cmd); err == nil {
			t.Errorf("%+v ran", cmd)
		}
	}
}
