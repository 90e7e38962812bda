//go:build linux

package tools

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/actor/frame"
	"holdfast/runner/protocol"
	"holdfast/runner/sandbox"
)

func TestBash(t *testing.T) {
	d := newDesk(t)
	d.put(map[string]string{"sub/x": ""})
	r := d.run("bash", m{"command": "echo out; echo err >&2; echo out2; pwd; ls", "cwd": "sub"})
	if r.Status != "ok" || *r.Exit != 0 || !strings.HasPrefix(r.Summary, "out\nerr\nout2\n"+filepath.Join(d.dir, "sub")+"\nx\n[exit code 0, ") || r.Payload != nil {
		t.Fatalf("%+v", r)
	}
	r = d.run("bash", m{"command": "echo no; exit 3"})
	if r.Status != "error" || *r.Exit != 3 || !strings.HasPrefix(r.Summary, "no\n[exit code 3, ") {
		t.Fatalf("%+v", r)
	}
	r = d.run("bash", m{"command": `printf 'a\x00b\xff'`})
	if r.Summary[:strings.Index(r.Summary, "[")] != "a\uFFFDb\uFFFD\n" {
		t.Fatalf("%q", r.Summary)
	}
	d.expect("bash", m{"command": "true", "cwd": "nothing"}, "error", "does not exist")
	d.expect("bash", m{"command": "("}, "error", "syntax error")
}

func TestBashTimeout(t *testing.T) {
	d := newDesk(t)
	r := d.run("bash", m{"command": "echo before; sleep 600", "timeout": 0.3})
	if r.Status != frame.StatusTimeout || !strings.Contains(r.Summary, "before\n[killed: it ran longer than 300ms") || r.Millis > 20000 {
		t.Fatalf("%+v", r)
	}
	c := d.call("bash", m{"command": "sleep 600", "timeout": 500})
	c.Timeout = 200 * time.Millisecond
	if r := d.set.Run(context.Background(), c); r.Status != frame.StatusTimeout {
		t.Fatalf("the task's own limit: %+v", r)
	}
}

func TestBashCancel(t *testing.T) {
	d := newDesk(t)
	ctx, cancel := context.WithCancel(context.Background())
	c := d.call("bash", m{"command": "echo begun; sleep 600 & sleep 600"})
	c.Progress = func(int64, string) { cancel() }
	r := d.set.Run(ctx, c)
	if r.Status != frame.StatusKilled || !strings.Contains(r.Summary, "begun\n[killed: the call was cancelled") {
		t.Fatalf("%+v", r)
	}
}

// A process that escaped and keeps the output open does not keep its call from ending: it is in no group of the call's,
// does not carry its mark, and holds on until nobody holds the FIFO "hold".
func TestBashEndsWithItsCommand(t *testing.T) {
	d := newDesk(t)
	box, err := sandbox.NewNone(sandbox.Config{Data: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if d.set, err = New(Options{Sandbox: box}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(d.dir, "hold"), 0o600); err != nil {
		t.Fatal(err)
	}
	hold, err := os.OpenFile(filepath.Join(d.dir, "hold"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	patience := time.AfterFunc(10*time.Second, func() { hold.Close() })
	d.expect("bash", m{"command": `mkfifo up; env -i setsid /bin/bash -c 'exec 3<hold; echo >up; read -u 3' & read <up; echo begun`}, "ok", "begun\n[exit code 0, ")
	if !patience.Stop() {
		t.Error("it waited for the process that escaped")
	}
	hold.Close()
}

func TestBashLongOutput(t *testing.T) {
	d := newDesk(t)
	c := d.call("bash", m{"command": "seq 1 300000; echo the end"})
	var seen int64
	c.Progress = func(n int64, line string) { seen = n }
	r := d.set.Run(context.Background(), c)
	if r.Status != "ok" || len(r.Summary) > protocol.MaxSummary || len(r.Payload) > protocol.MaxPayload || len(r.Payload) < protocol.MaxPayload/2 {
		t.Fatalf("summary %d, payload %d bytes", len(r.Summary), len(r.Payload))
	}
	if !strings.HasPrefix(r.Summary, "1\n2\n3\n") || !strings.Contains(r.Summary, "the end\n[exit code 0") || !strings.Contains(r.Summary, "lines omitted") {
		t.Fatalf("%.200q … %q", r.Summary, r.Summary[len(r.Summary)-200:])
	}
	if want := int64(1988895 + len("the end\n")); seen != want {
		t.Fatalf("progress said %d of %d bytes", seen, want)
	}
	if r := d.run("bash", m{"command": "yes | head -c 20M"}); r.Status != "ok" || !strings.Contains(r.Summary, "lines omitted") {
		t.Fatalf("%.300q", r.Summary)
	}
}

func TestCollectorKeepsHeadAndTail(t *testing.T) {
	var whole strings.Builder
	var c collector
	for i := 0; whole.Len() < 3*protocol.MaxPayload; i++ {
		line := fmt.Sprintf("line %d %s\n", i, strings.Repeat("x", i%977))
		whole.WriteString(line)
		c.Write([]byte(line))
	}
	text, all := c.text(), whole.String()
	head, rest, ok := strings.Cut(text, "\n… ")
	if !ok || !strings.HasPrefix(all, head) || len(head) < keepHead-1 {
		t.Fatalf("head of %d bytes", len(head))
	}
	_, tail, _ := strings.Cut(rest, "…\n\n")
	if !strings.HasSuffix(all, tail) || len(tail) != keepTail || len(text) > protocol.MaxPayload {
		t.Fatalf("tail of %d bytes, %d in all", len(tail), len(text))
	}
	middle := all[keepHead : len(all)-keepTail]
	if want := fmt.Sprintf("%d lines omitted (%d bytes)", strings.Count(middle, "\n"), len(middle)); !strings.HasPrefix(rest, want) {
		t.Fatalf("%.60q, want %q", rest, want)
	}
	if string(c.last) != strings.TrimSpace(all[strings.LastIndex(all[:len(all)-1], "\n")+1:])[:len(c.last)] {
		t.Fatalf("last line %q", c.last)
	}
}

func FuzzShorten(f *testing.F) {
	f.Add("a\n", 20000)
	f.Add("é", 20000)
	f.Add("\xff\xfe", 40000)
	f.Fuzz(func(t *testing.T, piece string, n int) {
		if len(piece) == 0 || n < 0 {
			return
		}
		text := strings.Repeat(piece, min(n, 200_000/len(piece)))
		got := shorten(text)
		if len(got) > summaryHead+summaryTail+100 {
			t.Fatalf("%d bytes from %d", len(got), len(text))
		}
		if len(text) <= summaryHead+summaryTail && got != text {
			t.Fatal("a short text was changed")
		}
	})
}

// TestGoProjectInside builds and runs a Go program in the sandbox, with a cache that outlives the call. It imports
// nothing: the standard library would have to be compiled for it.
func TestGoProjectInside(t *testing.T) {
	if _, err := os.Stat("/usr/local/go/bin/go"); err != nil {
		t.Skip("Go is not installed where the sandbox looks for it")
	}
	d := newDesk(t)
	d.put(map[string]string{"go.mod": "module sample\n\ngo 1.21\n", "main.go": "package main\n\nfunc main() { println(\"built inside\") }\n"})
	d.expect("bash", m{"command": "go run ."}, "ok", "built inside")
	if left, err := os.ReadDir(filepath.Join(filepath.Dir(d.dir), "data", "cache", "go-build")); err != nil || len(left) == 0 {
		t.Fatalf("no cache: %v", err)
	}
}
