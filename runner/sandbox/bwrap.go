//go:build linux

package sandbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"holdfast/actor/errs"
)

// Bwrap is bubblewrap: namespaces of its own for users, processes, network, IPC, host name and control groups, no
// capabilities, a system call filter, limits, and a file system that holds /usr and the mounts of the command.
type Bwrap struct {
	program string
	data    string // etc/, run/ and cache/ of this sandbox, absolute
	limits  Limits
	shared  []Mount
	path    string
	noUsers bool   // the program knows --disable-userns (0.8)
	sized   bool   // and --size (0.6)
	held    func() // of tests: called while a command is held back
}

// Config says what all commands of a sandbox have in common.
type Config struct {
	Data     string   // folder for its own files, made when missing
	Limits   Limits   // zero: DefaultLimits
	ReadOnly []string // further folders that commands may read, as a module cache; missing ones are left out
	Program  string   // of bubblewrap; "" finds bwrap on the PATH
}

// Hint says how to get bubblewrap.
const Hint = "Install bubblewrap (Debian, Ubuntu: apt-get install bubblewrap; Fedora: dnf install bubblewrap; Arch: pacman -S bubblewrap). " +
	"Where it is installed and refused, unprivileged user namespaces are off: on Ubuntu 24.04 see kernel.apparmor_restrict_unprivileged_userns."

// The places inside that are not on the machine.
const (
	homeDir  = "/home/holdfast"
	cacheDir = "/cache"
)

// NewBwrap prepares the sandbox. An error of code Unavailable, with Hint, says that bubblewrap is missing.
func NewBwrap(c Config) (*Bwrap, error) {
	program := c.Program
	if program == "" {
		found, err := exec.LookPath("bwrap")
		if err != nil {
			return nil, errs.New(errs.Unavailable, "bubblewrap is not installed").WithHint(Hint)
		}
		program = found
	}
	data, err := filepath.Abs(c.Data)
	if err != nil {
		return nil, err
	}
	b := &Bwrap{program: program, data: data, limits: c.Limits.orDefault()}
	if err := b.makeFiles(); err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	help := exec.Command(program, "--help")
	help.Env = []string{}
	text, err := help.CombinedOutput()
	if err != nil {
		return nil, errs.New(errs.Unavailable, "bubblewrap does not run: %v", err).WithHint(Hint)
	}
	b.noUsers, b.sized = bytes.Contains(text, []byte("--disable-userns")), bytes.Contains(text, []byte("--size"))
	b.path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	if _, err := os.Stat("/usr/local/go/bin"); err == nil {
		b.path = "/usr/local/go/bin:" + b.path
	}
	for _, dir := range c.ReadOnly {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			b.shared = append(b.shared, Mount{Kind: ReadOnly, Source: real, Target: dir})
		}
	}
	return b, nil
}

// Name is "bwrap".
func (b *Bwrap) Name() string { return "bwrap" }

// makeFiles writes what programs expect in /etc, all of it free of anything about the machine.
func (b *Bwrap) makeFiles() error {
	for _, dir := range []string{"etc", "run", "cache"} {
		if err := os.MkdirAll(filepath.Join(b.data, dir), 0o700); err != nil {
			return err
		}
	}
	files := map[string]string{
		"passwd":        "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\nholdfast:x:1000:1000::" + homeDir + ":/bin/bash\n",
		"group":         "root:x:0:\nholdfast:x:1000:\n",
		"hosts":         "127.0.0.1 localhost holdfast\n::1 localhost\n",
		"nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
		"gitconfig": "[user]\n\tname = Holdfast\n\temail = holdfast@localhost\n[safe]\n\tdirectory = *\n" +
			"[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[receive]\n\tautogc = false\n[advice]\n\tdetachedHead = false\n[init]\n\tdefaultBranch = main\n",
		"empty": "",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(b.data, "etc", name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// args are bubblewrap's arguments up to the command's own.
func (b *Bwrap) args(c Command) []string {
	a := []string{
		"--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
		"--die-with-parent", "--new-session", "--cap-drop", "ALL", "--uid", "1000", "--gid", "1000", "--hostname", "holdfast",
	}
	if b.noUsers {
		a = append(a, "--disable-userns")
	}
	a = append(a, b.system()...)
	for _, m := range append(b.shared[:len(b.shared):len(b.shared)], c.Mounts...) {
		a = append(a, b.mount(m)...)
	}
	// /proc as well: bubblewrap leaves /proc/sys writable where the folder is not and its files are, which is so for
	// root, and a program could then make the kernel run another (kernel.core_pattern) outside.
	a = append(a, "--remount-ro", "/proc", "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", c.Dir, "--clearenv")
	for _, kv := range append(b.environment(), c.Env...) {
		k, v, _ := strings.Cut(kv, "=")
		a = append(a, "--setenv", k, v)
	}
	return a
}

// system are the mounts that each command gets: programs, devices, and places in memory.
func (b *Bwrap) system() []string {
	a := []string{"--ro-bind", "/usr", "/usr"}
	for _, dir := range []string{"/bin", "/sbin", "/lib", "/lib64", "/lib32"} {
		info, err := os.Lstat(dir)
		if err != nil {
			continue
		}
		if target, err := os.Readlink(dir); err == nil && info.Mode()&os.ModeSymlink != 0 {
			a = append(a, "--symlink", target, dir)
		} else {
			a = append(a, "--ro-bind", dir, dir)
		}
	}
	for _, name := range []string{"passwd", "group", "hosts", "nsswitch.conf", "gitconfig"} {
		a = append(a, "--ro-bind", filepath.Join(b.data, "etc", name), "/etc/"+name)
	}
	for _, name := range []string{"/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ssl/certs", "/etc/localtime"} {
		a = append(a, "--ro-bind-try", name, name)
	}
	a = append(a, "--proc", "/proc", "--dev", "/dev")
	for _, m := range []struct {
		dir  string
		size int64
	}{{"/dev/shm", 64 << 20}, {"/tmp", b.limits.Scratch}, {homeDir, b.limits.Scratch / 2}} {
		a = append(a, b.tmpfs(m.dir, m.size)...)
	}
	return append(a, "--bind", filepath.Join(b.data, "cache"), cacheDir)
}

// tmpfs is a folder in memory of at most size bytes.
func (b *Bwrap) tmpfs(dir string, size int64) []string {
	if !b.sized {
		return []string{"--tmpfs", dir}
	}
	return []string{"--size", strconv.FormatInt(size, 10), "--tmpfs", dir}
}

func (b *Bwrap) mount(m Mount) []string {
	target := m.Target
	if target == "" {
		target = m.Source
	}
	switch m.Kind {
	case Writable:
		return []string{"--bind", m.Source, target}
	case Hidden:
		return []string{"--ro-bind", filepath.Join(b.data, "etc", "empty"), target}
	case Scratch:
		return b.tmpfs(target, 16<<20)
	}
	return []string{"--ro-bind", m.Source, target}
}

func (b *Bwrap) environment() []string {
	env := []string{"PATH=" + b.path, "HOME=" + homeDir, "USER=holdfast", "LOGNAME=holdfast", "LANG=C.UTF-8", "TERM=dumb", "TMPDIR=/tmp",
		"XDG_CACHE_HOME=" + cacheDir, "npm_config_cache=" + cacheDir + "/npm", "GOCACHE=" + cacheDir + "/go-build",
		"GOPROXY=off", "GOSUMDB=off", "GOTOOLCHAIN=local", "GOTELEMETRY=off", "GOFLAGS=-buildvcs=false", "GIT_TERMINAL_PROMPT=0", "PAGER=cat"}
	modules := "GOMODCACHE=" + cacheDir + "/mod"
	for _, m := range b.shared {
		if strings.HasSuffix(m.Target, "/pkg/mod") {
			modules = "GOMODCACHE=" + m.Target
		}
	}
	return append(env, modules)
}

// Start runs a command in a new sandbox. The command is held back until its limits and its pid file are in place. The
// sandbox itself keeps the other end open of the pipe on which it waits (--sync-fd): when this process dies first, the
// wait does not end, and nothing is executed without limits; the guard then ends it.
func (b *Bwrap) Start(c Command) (Process, error) {
	if err := checkCommand(c); err != nil {
		return nil, err
	}
	p := newProcess(filepath.Join(b.data, "run", c.Name), b.limits, c.Dir)
	var err error
	if p.guard, err = theGuard(); err != nil {
		return nil, err
	}
	files, err := b.startFiles(c)
	if err != nil {
		return nil, err
	}
	defer files.closeTheirs()
	cmd := exec.Command(b.program, append([]string{"--args", "3", "--json-status-fd", "4", "--block-fd", "5", "--sync-fd", "6", "--"}, c.Argv...)...)
	cmd.Env = []string{}
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = c.Stdout, c.Stderr
	cmd.ExtraFiles = []*os.File{files.args, files.statusW, files.blockR, files.blockW}
	if files.filter != nil {
		cmd.ExtraFiles = append(cmd.ExtraFiles, files.filter)
	}
	if err := p.start(cmd); err != nil {
		files.closeOurs()
		return nil, fmt.Errorf("start bubblewrap: %w", err)
	}
	status := json.NewDecoder(io.LimitReader(files.statusR, 64<<10))
	if err := p.confine(status); err != nil {
		p.Kill("")
		files.closeOurs()
		_, _ = p.Wait()
		return nil, err
	}
	if b.held != nil {
		b.held()
	}
	_, err = files.blockW.Write([]byte{1})
	files.blockW.Close()
	if err != nil {
		p.Kill("the sandbox could not be started")
	}
	p.finish = func() error { defer files.statusR.Close(); return ranToEnd(status, p) }
	go p.watch()
	return p, nil
}

// confine reads the pid of the sandbox's first process and binds it to its limits, before anything is executed.
func (p *process) confine(status *json.Decoder) error {
	var first struct {
		Child int `json:"child-pid"`
	}
	err := status.Decode(&first)
	if err != nil || first.Child <= 0 {
		return errs.New(errs.Unavailable, "bubblewrap could not make a sandbox").WithHint(Hint)
	}
	if p.inner, err = openPid(first.Child); err != nil {
		return fmt.Errorf("the sandbox ended at once: %w", err)
	}
	p.groups = joinGroups(first.Child, p.limits)
	if err := applyLimits(first.Child, p.limits); err != nil {
		return fmt.Errorf("limits of the sandbox: %w", err)
	}
	return p.writePidFile()
}

// ranToEnd reads bubblewrap's last word: without an exit code the command was never executed.
func ranToEnd(status *json.Decoder, p *process) error {
	var last struct {
		Code *int `json:"exit-code"`
	}
	if err := status.Decode(&last); err == nil && last.Code != nil {
		return nil
	}
	if p.killed() {
		return nil
	}
	return errs.New(errs.Unavailable, "bubblewrap could not set up the sandbox; its output says why")
}

type startFiles struct {
	args, filter, statusR, statusW, blockR, blockW *os.File
}

func (b *Bwrap) startFiles(c Command) (f startFiles, err error) {
	args := b.args(c)
	if filter := seccompFilter(); filter != nil {
		if f.filter, err = memFile("filter", filter); err != nil {
			return f, err
		}
		args = append(args, "--seccomp", "7")
	}
	if f.args, err = memFile("args", []byte(strings.Join(args, "\x00")+"\x00")); err != nil {
		return f, err
	}
	if f.statusR, f.statusW, err = os.Pipe(); err != nil {
		return f, err
	}
	f.blockR, f.blockW, err = os.Pipe()
	return f, err
}

func (f startFiles) closeTheirs() { closeAll(f.args, f.filter, f.statusW, f.blockR) }
func (f startFiles) closeOurs()   { closeAll(f.statusR, f.blockW) }

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// memFile is an anonymous file with that content, to be inherited.
func memFile(name string, content []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("memfd: %w", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err := f.Write(content); err != nil {
		f.Close()
		return nil, err
	}
	_, err = f.Seek(0, io.SeekStart)
	return f, err
}
