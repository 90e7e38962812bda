package host

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast/worker/host/sqlite"
)

// smallDisk mounts a file system of a few megabytes. Without the right to, the test runs once more in a namespace of
// its own, and this process only reports how that went.
func smallDisk(t *testing.T, megabytes int) string {
	t.Helper()
	dir := t.TempDir()
	err := syscall.Mount("holdfast-test", dir, "tmpfs", 0, fmt.Sprintf("size=%dm,mode=0700", megabytes))
	if err == nil {
		t.Cleanup(func() {
			if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
		return dir
	}
	if os.Getenv("HOLDFAST_TEST_NAMESPACE") != "" || !errors.Is(err, syscall.EPERM) {
		t.Fatal(err)
	}
	again := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
	again.Env = append(os.Environ(), "HOLDFAST_TEST_NAMESPACE=1")
	again.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}}
	out, err := again.CombinedOutput()
	var started *exec.ExitError
	switch {
	case errors.As(err, &started):
		t.Fatalf("in a namespace of its own: %v\n%s", err, out)
	case err != nil:
		t.Skipf("neither mounts nor namespaces are allowed here: %v", err)
	}
	t.SkipNow() // it passed over there
	return ""
}

// fill takes all room on the disk, and gives it back when the returned function is called.
func fill(t *testing.T, dir string) (free func()) {
	t.Helper()
	path := filepath.Join(dir, "ballast")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size > 0; size /= 2 {
		for err = nil; err == nil; _, err = f.Write(make([]byte, size)) {
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

func TestF19_DiskFull(t *testing.T) {
	disk := smallDisk(t, 16)
	outOfRoom(t, disk, func() func() { return fill(t, disk) })
}

// inOwnProcess says whether this is the process of its own that a test which limits it needs; if not, it has run the test
// in one.
func inOwnProcess(t *testing.T) bool {
	t.Helper()
	if os.Getenv("HOLDFAST_TEST_LIMIT") == "" {
		again := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
		again.Env = append(os.Environ(), "HOLDFAST_TEST_LIMIT=1")
		again.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if out, err := again.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
			t.Fatalf("in a process of its own: %v\n%s", err, out)
		}
		return false
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGXFSZ) // as the program does
	return true
}

// Without the right to mount anything: files that may not grow, which is how a spent quota looks to a program. The limit
// is a process's, so the test runs in one of its own.
func TestF19_NoFileMayGrow(t *testing.T) {
	if !inOwnProcess(t) {
		return
	}
	outOfRoom(t, t.TempDir(), func() func() { return limitFiles(t, 16<<10) })
}

// TestF19_WhatACrashBringsBackIsWoken looks for the place where a commit of an encrypted file fails although the WAL holds
// all of it. After a crash it is there, and the alarm index must know of it.
func TestF19_WhatACrashBringsBackIsWoken(t *testing.T) {
	if !inOwnProcess(t) {
		return
	}
	found := 0
	for pad := range 4 {
		least, most := uint64(0), uint64(256) // sectors of room: too few, enough
		for least+1 < most {
			if mid := (least + most) / 2; commitWithin(t, pad, mid, &found) {
				most = mid
			} else {
				least = mid
			}
		}
	}
	if found == 0 {
		t.Error("no commit came back: either there is nothing to guard against any more, or this test does not find it")
	}
}

// commitWithin makes a commit with an alarm while the WAL may grow by so many sectors, and says whether it succeeded. If
// it failed and a crash would bring it back, the alarm must be known, and it is counted.
func commitWithin(t *testing.T, pad int, sectors uint64, found *int) bool {
	t.Helper()
	key := bytes.Repeat([]byte{7, 9}, sqlite.KeySize/2)
	s := open(t, "", func(o *Options) { o.Key = key })
	defer s.stop()
	s.must(ws, `{"sql":"CREATE TABLE mine AS SELECT zeroblob(?) AS x","args":[`+fmt.Sprint(2000*pad)+`]}`)
	path := filepath.Join(s.dir, fileName(ws))
	wal, err := os.Stat(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	free := limitFiles(t, uint64(wal.Size())+sectors*512)
	status, body := s.script(ws, `{"sql":"INSERT INTO mine VALUES (zeroblob(9000))"},{"alarm":3600000}`)
	free()
	if status == 200 {
		return true
	}
	if !strings.Contains(body, "The disk is full") {
		t.Fatalf("%d %s", status, body)
	}
	killed := filepath.Join(t.TempDir(), "killed.db")
	for _, ending := range []string{"", "-wal"} {
		b, err := os.ReadFile(path + ending)
		if err == nil {
			err = os.WriteFile(killed+ending, b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil { // which writes whatever the index has to say
		t.Fatal(err)
	}
	back := rows(t, killed, key, `SELECT count(*) FROM mine WHERE length(x) = 9000`)
	known := rows(t, filepath.Join(s.opts.Data, alarmsFile), key, `SELECT count(*) FROM alarm WHERE actor = '`+ws+`' AND due > 0`)
	if back == 1 {
		*found++
		if known != 1 {
			t.Errorf("a commit that a crash brings back, and nothing wakes it (room for %d sectors)", sectors)
		}
	}
	return false
}

// rows is the number that a query gives.
func rows(t *testing.T, path string, key []byte, query string) int64 {
	t.Helper()
	db, err := sqlite.OpenWith(path, sqlite.Options{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	got, err := db.Do(query, nil)
	if err != nil {
		t.Fatal(err)
	}
	return got[0].Int(0)
}

// limitFiles lets no file grow beyond so many bytes, until the returned function is called.
func limitFiles(t *testing.T, size uint64) (free func()) {
	t.Helper()
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	tight := before
	tight.Cur = size
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &tight); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
			t.Fatal(err)
		}
	}
}

// outOfRoom is the life of a workspace on a disk that is full twice, the second time across a death of the process.
func outOfRoom(t *testing.T, disk string, fill func() (free func())) {
	c := newTown(t)
	s := c.real(filepath.Join(disk, "data"))
	s.configure("a")

	c.gate = make(chan struct{})
	if !s.mention(realWS, messageID(0)) {
		t.Fatal("the first message was not taken")
	}
	until(t, "a model call", func() bool { return c.modelCalls() == 1 })
	free := fill()
	acknowledged := s.untilRefused(1)
	close(c.gate) // the model's answer meets the full disk
	s.stillReadable("The disk is full", len(acknowledged)+1)
	free()
	s.advanceUntil("the answers", func() bool { return len(c.answers()) == len(acknowledged)+1 })
	if n := c.modelCalls(); n != len(acknowledged)+1 {
		t.Errorf("%d model calls for %d questions: an outcome was lost", n, len(acknowledged)+1)
	}

	// The process dies while the disk is full, and the next one starts on it.
	free = fill()
	more := s.untilRefused(1000)
	s = c.again(s)
	s.stillReadable("The disk is full", len(acknowledged)+1+len(more))
	s.writesUntilRefused()
	free()
	all := append(append([]string{messageID(0)}, acknowledged...), more...)
	s.advanceUntil("every acknowledged question's answer", func() bool { return len(c.answers()) == len(all) })
	for _, id := range all {
		if n := c.answers()[id]; n != 1 {
			t.Errorf("message %s has %d answers, want one", id, n)
		}
	}
	if !s.mention(realWS, messageID(5000)) {
		t.Error("with room again, a message was not taken")
	}
}

// again opens a killed host's directory once more in the same town.
func (c *town) again(s *site) *site {
	s.t.Helper()
	s.Kill()
	s.stop()
	return c.real(s.opts.Data)
}

// untilRefused posts messages until one is not taken, and gives those that were.
func (s *site) untilRefused(from int) (acknowledged []string) {
	s.t.Helper()
	for n := from; n < from+1000; n++ {
		id := messageID(n)
		if !s.mention(realWS, id) {
			return acknowledged
		}
		acknowledged = append(acknowledged, id)
	}
	s.t.Fatal("the disk is not full: a thousand messages were taken")
	return nil
}

// writesUntilRefused configures the workspace at more and more length: a small commit may find room where a message did not.
func (s *site) writesUntilRefused() {
	s.t.Helper()
	length := 0
	until(s.t, "a write that is refused", func() bool {
		length += 8 << 10
		status, body := s.operator("PUT", "/v1/workspaces/"+realGuild+"/a/config", `{"instructions":"`+strings.Repeat("x", length)+`"}`)
		if status == 503 && strings.Contains(body, "The disk is full") {
			return true
		}
		if status != 200 {
			s.t.Fatalf("a write: %d %.200s", status, body)
		}
		return false
	})
}

// stillReadable checks what an operator sees of a workspace that cannot commit.
func (s *site) stillReadable(why string, jobs int) {
	s.t.Helper()
	base := "/v1/workspaces/" + realGuild + "/a/"
	until(s.t, "a status that says: "+why, func() bool { // a small commit may find room where a message did not
		status, body := s.operator("GET", base+"status", "")
		if status != 200 {
			s.t.Fatalf("status: %d %s", status, body)
		}
		return strings.Contains(body, why)
	})
	if status, body := s.operator("GET", base+"jobs?limit=200", ""); status != 200 || strings.Count(body, `"author":"maya"`) != jobs {
		s.t.Errorf("jobs: %d, %d of them, want %d", status, strings.Count(body, `"author":"maya"`), jobs)
	}
	for _, path := range []string{base + "events", base + "records", "/v1/status"} {
		if status, body := s.operator("GET", path, ""); status != 200 {
			s.t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if status, body := s.operator("POST", "/v1/backup", ""); status != 503 || !strings.Contains(body, "no room") {
		s.t.Errorf("a backup: %d %.200s", status, body)
	}
	if status, body := s.do("GET", "/healthz", ""); status != 200 {
		s.t.Errorf("healthz: %d %s", status, body)
	}
}

// advanceUntil lets the host's clock run ahead until ok.
func (s *site) advanceUntil(what string, ok func() bool) {
	s.t.Helper()
	until(s.t, what, func() bool {
		if ok() {
			return true
		}
		s.clock.Advance(time.Second)
		return false
	})
}
