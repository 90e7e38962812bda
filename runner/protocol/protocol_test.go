package protocol

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/actor/frame"
)

var t0 = time.UnixMilli(1_764_470_000_000)

// bench drives a machine and writes what it puts out as short words, so that a test reads like a conversation.
type bench struct {
	t   *testing.T
	m   *Machine
	now time.Time
	raw []Output
}

func newBench(t *testing.T, entries ...Entry) *bench {
	return &bench{t: t, m: New(frame.Frame{Runner: "r", JournalID: "j"}, entries), now: t0}
}

func (b *bench) expect(out []Output, want string) {
	b.t.Helper()
	b.raw = out
	if got := words(out); got != want {
		b.t.Fatalf("got  %s\nwant %s", got, want)
	}
}

func (b *bench) receive(f frame.Frame, want string) {
	b.t.Helper()
	data, err := json.Marshal(f)
	if err != nil {
		b.t.Fatal(err)
	}
	b.expect(b.m.Received(b.now, data), want)
}

func (b *bench) open() {
	b.t.Helper()
	b.m.Connected(b.now)
	b.m.Received(b.now, []byte(`{"type":"welcome","lease":30000}`))
}

func words(out []Output) string {
	names := map[Kind]string{Send: "send", SaveStarted: "save-started", SaveFinished: "save-finished", Forget: "forget",
		Start: "start", Kill: "kill", GatherFacts: "facts", Close: "close", RefusedByPeer: "refused"}
	var w []string
	for _, o := range out {
		s := names[o.Kind]
		switch {
		case o.Kind == Send:
			s = o.Frame.Type
			if o.Frame.Task != 0 {
				s += fmt.Sprintf(" %d.%d", o.Frame.Task, o.Frame.Epoch)
			}
			if o.Frame.Type == frame.TypeResult {
				s += " " + o.Frame.Status
			}
			for _, e := range o.Frame.Journal {
				s += fmt.Sprintf(" %d.%d=%s", e.Task, e.Epoch, e.State)
			}
		case o.Kind == Close:
			s += fmt.Sprintf(" %d", o.Code)
		case o.Key.Task != 0:
			s += fmt.Sprintf(" %d.%d", o.Key.Task, o.Key.Epoch)
		}
		w = append(w, s)
	}
	return strings.Join(w, ", ")
}

func task(id, epoch int64) frame.Frame {
	args := json.RawMessage(`{"path":"a"}`)
	return frame.Frame{Type: frame.TypeTask, Task: id, Epoch: epoch, Tool: "read", Args: args, ArgsHash: ArgsHash("read", args)}
}

func about(typ string, id, epoch int64) frame.Frame {
	return frame.Frame{Type: typ, Task: id, Epoch: epoch}
}

func TestOneCallFromTaskToAck(t *testing.T) {
	b := newBench(t)
	b.expect(b.m.Connected(b.now), "hello")
	b.receive(frame.Frame{Type: frame.TypeWelcome, Lease: 30000}, "")
	b.receive(task(7, 1), "save-started 7.1")
	b.expect(b.m.Saved(b.now, Key{7, 1}, nil), "started 7.1, start 7.1")
	if b.raw[1].Frame.Tool != "read" || string(b.raw[1].Frame.Args) != `{"path":"a"}` {
		t.Fatalf("start carries %+v", b.raw[1].Frame)
	}
	b.expect(b.m.Finished(b.now, Key{7, 1}, Result{Status: "ok", Summary: "hi"}), "save-finished 7.1")
	b.expect(b.m.Saved(b.now, Key{7, 1}, nil), "result 7.1 ok")
	b.receive(about(frame.TypeAck, 7, 1), "forget 7.1")
	b.receive(task(7, 1), "") // a repeated frame does not run it twice
	b.expect(b.m.Connected(b.now), "hello")
}

func TestF06_TaskIsDroppedWhenItsConnectionEndedFirst(t *testing.T) {
	b := newBench(t)
	b.open()
	b.receive(task(7, 1), "save-started 7.1")
	b.expect(b.m.Disconnected(b.now), "")
	b.expect(b.m.Connected(b.now), "hello") // names nothing: it never started
	b.expect(b.m.Saved(b.now, Key{7, 1}, nil), "forget 7.1")
	b.receive(frame.Frame{Type: frame.TypeWelcome, Lease: 30000}, "")
	b.receive(task(7, 1), "save-started 7.1")
	b.receive(task(7, 2), "save-started 7.2")
	b.expect(b.m.Saved(b.now, Key{7, 1}, nil), "started 7.1, save-finished 7.1") // superseded: killed, not run
	b.expect(b.m.Saved(b.now, Key{7, 2}, nil), "started 7.2, start 7.2")
}

func TestTaskSentAgainWhileTheJournalWritesRunsOnce(t *testing.T) {
	b := newBench(t)
	b.open()
	b.receive(task(7, 1), "save-started 7.1")
	b.m.Disconnected(b.now)
	b.open()
	b.receive(task(7, 1), "")
	b.expect(b.m.Saved(b.now, Key{7, 1}, nil), "started 7.1, start 7.1")
}

func TestF09_ResultIsKeptAndResentUntilAck(t *testing.T) {
	b := newBench(t)
	b.open()
	b.receive(task(7, 1), "save-started 7.1")
	b.m.Saved(b.now, Key{7, 1}, nil)
	b.m.Disconnected(b.now)
	b.expect(b.m.Finished(b.now, Key{7, 1}, Result{Status: "ok"}), "save-finished 7.1")
	b.expect(b.m.Connected(b.now), "hello 7.1=running")
	b.expect(b.m.Saved(b.now, Key{7, 1}, nil), "") // not welcomed yet
	b.receive(frame.Frame{Type: frame.TypeWelcome, Lease: 30000}, "result 7.1 ok")
	b.m.Disconnected(b.now)
	b.expect(b.m.Connected(b.now), "hello 7.1=finished")
	b.receive(frame.Frame{Type: frame.TypeWelcome, Lease: 30000}, "result 7.1 ok")
	b.receive(task(7, 1), "result 7.1 ok")
	b.receive(about(frame.TypeAck, 7, 1), "forget 7.1")
	b.receive(about(frame.TypeAck, 7, 1), "")
}

func TestF08_EarlierProcessIsReportedAsStarted(t *testing.T) {
	b := newBench(t, Entry{Key: Key{9, 2}, Result: &Result{Status: "ok", Summary: "done"}}, Entry{Key: Key{7, 1}})
	b.expect(b.m.Connected(b.now), "hello 7.1=started 9.2=finished")
	b.receive(frame.Frame{Type: frame.TypeWelcome, Lease: 30000}, "result 9.2 ok")
	b.receive(task(7, 1), "") // never run again under the same epoch
	b.receive(about(frame.TypeAck, 7, 1), "forget 7.1")
}

func TestF23_NewerEpochAndCancelKill(t *testing.T) {
	b := newBench(t)
	b.open()
	b.receive(task(7, 1), "save-started 7.1")
	b.m.Saved(b.now, Key{7, 1}, nil)
	b.receive(task(7, 2), "kill 7.1, save-started 7.2")
	b.receive(task(7, 1), "started 7.1") // lower epoch: what is known, nothing new
	b.expect(b.m.Saved(b.now, Key{7, 2}, nil), "started 7.2, start 7.2")
	b.receive(about(frame.TypeCancel, 7, 2), "kill 7.2")
	b.receive(about(frame.TypeCancel, 7, 2), "")
	b.expect(b.m.Finished(b.now, Key{7, 2}, Result{Status: "killed"}), "save-finished 7.2")
	b.receive(about(frame.TypeCancel, 8, 1), "")
	b.receive(task(8, 1), "") // cancelled before it came
	b.receive(task(9, 1), "save-started 9.1")
	b.receive(about(frame.TypeCancel, 9, 1), "")
	b.expect(b.m.Saved(b.now, Key{9, 1}, nil), "started 9.1, save-finished 9.1")
}

func TestRefusalsAreResultsThatExecuteNothing(t *testing.T) {
	b := newBench(t)
	b.open()
	bad := task(7, 1)
	bad.ArgsHash = ArgsHash("write", bad.Args)
	b.receive(bad, "save-started 7.1")
	b.expect(b.m.Saved(b.now, Key{7, 1}, nil), "started 7.1, save-finished 7.1")
	if r := b.raw[1].Result; r.Status != frame.StatusError || !strings.Contains(r.Summary, "hash") {
		t.Fatalf("result %+v", r)
	}
	b.receive(task(8, 1), "save-started 8.1")
	b.expect(b.m.Saved(b.now, Key{8, 1}, errors.New("disk full")), "result 8.1 error")
	for i := range int64(MaxRunning) {
		b.m.Received(b.now, must(json.Marshal(task(100+i, 1))))
		b.m.Saved(b.now, Key{100 + i, 1}, nil)
	}
	b.receive(task(99, 1), "save-started 99.1")
	b.expect(b.m.Saved(b.now, Key{99, 1}, nil), "started 99.1, save-finished 99.1")
}

func TestResultWaitsForTheJournal(t *testing.T) {
	b := newBench(t)
	b.open()
	b.receive(task(7, 1), "save-started 7.1")
	b.m.Saved(b.now, Key{7, 1}, nil)
	b.m.Finished(b.now, Key{7, 1}, Result{Status: "ok"})
	b.expect(b.m.Saved(b.now, Key{7, 1}, errors.New("disk full")), "")
	if at, ok := b.m.Next(); !ok || !at.Equal(b.now.Add(RetryJournal)) {
		t.Fatalf("next %v %v", at, ok)
	}
	b.expect(b.m.Tick(b.now), "")
	b.now = b.now.Add(RetryJournal)
	b.expect(b.m.Tick(b.now), "save-finished 7.1")
	b.expect(b.m.Saved(b.now, Key{7, 1}, nil), "result 7.1 ok")
}

func TestRenewAndProgress(t *testing.T) {
	b := newBench(t)
	b.open()
	if _, ok := b.m.Next(); ok {
		t.Fatal("an idle machine wants a tick")
	}
	b.receive(task(7, 1), "save-started 7.1")
	b.m.Saved(b.now, Key{7, 1}, nil)
	b.expect(b.m.Progress(b.now, Key{7, 1}, 10, "a"), "progress 7.1")
	b.expect(b.m.Progress(b.now.Add(300*time.Millisecond), Key{7, 1}, 20, "b"), "")
	if at, _ := b.m.Next(); !at.Equal(b.now.Add(ProgressEvery)) {
		t.Fatalf("next %v", at)
	}
	b.expect(b.m.Tick(b.now.Add(ProgressEvery)), "progress 7.1")
	if f := b.raw[0].Frame; f.Bytes != 20 || f.Line != "b" {
		t.Fatalf("progress %+v", f)
	}
	b.now = b.now.Add(10 * time.Second)
	b.expect(b.m.Tick(b.now), "renew 7.1")
	b.expect(b.m.Tick(b.now.Add(9*time.Second)), "")
	b.expect(b.m.Tick(b.now.Add(10*time.Second)), "renew 7.1")
	b.m.Disconnected(b.now)
	b.expect(b.m.Tick(b.now.Add(time.Hour)), "")
}

func TestProtocolErrorsClose(t *testing.T) {
	tests := []struct{ name, message, want string }{
		{"no JSON", `{`, "close 4400"},
		{"wrong field type", `{"type":"ack","task":"x"}`, "close 4400"},
		{"task without epoch", `{"type":"task","task":1,"tool":"read"}`, "close 4400"},
		{"task without tool", `{"type":"task","task":1,"epoch":1}`, "close 4400"},
		{"too long", `"` + strings.Repeat("x", frame.MaxFrame) + `"`, "close 4400"},
		{"lease", `{"type":"welcome","lease":0}`, "close 4400"},
		{"unknown type", `{"type":"dance","task":-1}`, ""},
		{"unknown field", `{"type":"facts?","colour":"red"}`, "facts"},
		{"refused", `{"type":"refused","holder":"other"}`, "refused"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			b.open()
			b.expect(b.m.Received(b.now, []byte(tt.message)), tt.want)
			if strings.HasPrefix(tt.want, "close") {
				if r := b.raw[0].Reason; r == "" || len(r) > 123 {
					t.Fatalf("reason %q", r)
				}
				b.receive(task(7, 1), "") // nothing more is taken from this connection
			}
		})
	}
	b := newBench(t)
	b.m.Connected(b.now)
	b.receive(task(7, 1), "close 4400") // before welcome
}

func TestLongResultTravelsInChunks(t *testing.T) {
	b := newBench(t)
	b.open()
	b.receive(task(7, 1), "save-started 7.1")
	b.m.Saved(b.now, Key{7, 1}, nil)
	payload := bytes.Repeat([]byte("0123456789abcdef"), MaxPayload/16+1)
	b.m.Finished(b.now, Key{7, 1}, Result{Status: "ok", Summary: strings.Repeat("é", MaxSummary), Payload: payload})
	b.expect(b.m.Saved(b.now, Key{7, 1}, nil), "chunk, chunk, chunk, chunk, result 7.1 ok")
	var whole []byte
	for i, o := range b.raw {
		data := must(Encode(o.Frame))
		if len(data) > frame.MaxFrame {
			t.Fatalf("frame of %d bytes", len(data))
		}
		if c := o.Frame.Blobs; c != nil {
			if c.Seq != i || c.Total != 4 || c.Hash != b.raw[4].Frame.Blob {
				t.Fatalf("chunk %+v", c)
			}
			whole = append(whole, must(base64.StdEncoding.DecodeString(c.Data))...)
		}
	}
	if !bytes.Equal(whole, payload[:MaxPayload]) {
		t.Fatal("the chunks do not make up the payload")
	}
	if s := b.raw[4].Frame.Summary; len(s) != MaxSummary {
		t.Fatalf("summary of %d bytes", len(s))
	}
}

func TestStopKillsOrDrains(t *testing.T) {
	for _, kill := range []bool{true, false} {
		b := newBench(t)
		b.open()
		b.receive(task(7, 1), "save-started 7.1")
		b.m.Saved(b.now, Key{7, 1}, nil)
		want := ""
		if kill {
			want = "kill 7.1"
		}
		b.expect(b.m.Stop(b.now, kill), want)
		b.receive(task(8, 1), "")
		if !b.m.Busy() {
			t.Fatal("not busy while a tool runs")
		}
		b.m.Finished(b.now, Key{7, 1}, Result{Status: "killed"})
		b.m.Saved(b.now, Key{7, 1}, nil)
		if b.m.Busy() {
			t.Fatal("busy with nothing")
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
