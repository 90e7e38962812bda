package protocol

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"holdfast/actor/frame"
)

// law watches a machine's outputs for what must never happen.
type law struct {
	t       *testing.T
	journal map[Key]bool // true: finished
	starts  map[Key]int
	saving  []Output
	running []Key
}

func (l *law) see(out []Output) {
	for _, o := range out {
		switch o.Kind {
		case SaveStarted, SaveFinished:
			l.saving = append(l.saving, o)
		case Forget:
			delete(l.journal, o.Key)
		case Start:
			if _, saved := l.journal[o.Key]; !saved {
				l.t.Fatalf("%v started before the journal had it", o.Key)
			}
			if l.starts[o.Key]++; l.starts[o.Key] > 1 {
				l.t.Fatalf("%v started twice", o.Key)
			}
			l.running = append(l.running, o.Key)
		case Send:
			k := Key{o.Frame.Task, o.Frame.Epoch}
			if o.Frame.Type == frame.TypeResult && o.Frame.Status == frame.StatusOK && !l.journal[k] {
				l.t.Fatalf("result of %v left before the journal had it", k)
			}
			if data, err := Encode(o.Frame); err != nil || len(data) > frame.MaxFrame {
				l.t.Fatalf("frame of %d bytes: %v", len(data), err)
			}
		}
	}
}

// FuzzMachine plays any sequence of inputs: nothing starts twice or before its journal entry, no result leaves before
// its entry, and nothing panics.
func FuzzMachine(f *testing.F) {
	f.Add([]byte{0, 1, 10, 2, 3, 4, 2, 20}, []byte(`{"type":"task","task":1,"epoch":1}`))
	f.Add([]byte{0, 1, 10, 5, 0, 1, 2, 11, 2, 3, 2, 6, 7}, []byte(`{"type":"cancel","task":1,"epoch":1}`))
	f.Fuzz(func(t *testing.T, steps, message []byte) {
		m := New(frame.Frame{}, []Entry{{Key: Key{1, 1}}})
		l := &law{t: t, journal: map[Key]bool{{1, 1}: false}, starts: map[Key]int{}}
		now := t0
		for _, s := range steps {
			now = now.Add(time.Duration(s) * 10 * time.Millisecond)
			l.see(l.step(m, now, s, message))
		}
	})
}

func (l *law) step(m *Machine, now time.Time, s byte, message []byte) []Output {
	switch {
	case s == 0:
		return m.Connected(now)
	case s == 1:
		return m.Received(now, []byte(`{"type":"welcome","lease":3000}`))
	case s == 2 || s == 8:
		if len(l.saving) == 0 {
			return nil
		}
		o := l.saving[0]
		l.saving = l.saving[1:]
		if s == 8 {
			return m.Saved(now, o.Key, errors.New("no"))
		}
		l.journal[o.Key] = o.Kind == SaveFinished
		return m.Saved(now, o.Key, nil)
	case s == 3:
		if len(l.running) == 0 {
			return nil
		}
		k := l.running[0]
		l.running = l.running[1:]
		return m.Finished(now, k, Result{Status: frame.StatusOK})
	case s == 4:
		return m.Tick(now)
	case s == 5:
		return m.Disconnected(now)
	case s == 6:
		return m.Received(now, message)
	case s == 7:
		return m.Stop(now, true)
	}
	types := []string{frame.TypeTask, frame.TypeCancel, frame.TypeAck}
	f := task(int64(s%3)+1, int64(s/3%3)+1)
	f.Type = types[int(s/9)%3]
	data, err := json.Marshal(f)
	if err != nil {
		l.t.Fatal(err)
	}
	return m.Received(now, data)
}
