package edge_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

// woken is an edge whose wakes of home send a request to the outside world, which tells when on a channel.
func woken(t *testing.T) (*deployment, <-chan time.Time) {
	t.Helper()
	called := make(chan time.Time, 100)
	d := start(t, func(w http.ResponseWriter, r *http.Request) { called <- time.Now() }, nil)
	d.must(home, "plan", `{"on":"wake","result":{"v":1,"effects":[{"id":"d1","type":"http","target":"discord","method":"POST","path":"/woke","timeout_ms":5000}]}}`)
	return d, called
}

func (d *deployment) alarm(at time.Time) {
	d.t.Helper()
	d.must(home, "do", fmt.Sprintf(`{"v":1,"alarm":%d,"reply":{"status":200}}`, at.UnixMilli()))
}

func TestAlarmWakes(t *testing.T) {
	d, called := woken(t)
	due := time.Now().Add(time.Second)
	d.alarm(due)
	select {
	case at := <-called:
		if at.Before(due.Truncate(time.Millisecond)) {
			t.Errorf("woken %v too early", due.Sub(at))
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it did not wake")
	}
}

// Rule 2 of spec 3.1: the alarm is part of the commit.
func TestAlarmRollsBackWithItsTransaction(t *testing.T) {
	d, called := woken(t)
	due := time.Now().Add(2 * time.Second)
	d.alarm(due)
	// Both would move the alarm, and both are rolled back: by an output that is no result, and by a failed statement.
	for _, args := range []string{fmt.Sprintf(`{"v":1,"alarm":%d,"effects":7}`, due.Add(-time.Second).UnixMilli()), `{"v":1,"alarm":null,"trace":3}`} {
		if a := d.op(home, "do", args); a.Committed || a.Status != 500 {
			t.Fatalf("%+v", a)
		}
	}
	if at := <-called; at.Before(due.Truncate(time.Millisecond)) {
		t.Errorf("woken %v too early", due.Sub(at))
	}
}

func TestAlarmIsDeleted(t *testing.T) {
	d, called := woken(t)
	d.alarm(time.Now().Add(time.Second))
	d.must(home, "do", `{"v":1,"alarm":null,"reply":{"status":200}}`)
	select {
	case <-called:
		t.Error("it woke")
	case <-time.After(2 * time.Second):
	}
}

// F16 and F29: after a kill the alarm comes without any other event, also when its time has passed meanwhile.
func TestF16_AlarmSurvivesAKill(t *testing.T) {
	for _, tt := range []struct {
		name       string
		due, sleep time.Duration
	}{{"due later", 3 * time.Second, 0}, {"due while dead", 500 * time.Millisecond, time.Second}} {
		t.Run(tt.name, func(t *testing.T) {
			d, called := woken(t)
			due := time.Now().Add(tt.due)
			d.alarm(due)
			d.Kill()
			<-time.After(tt.sleep)
			d.run()
			select {
			case at := <-called:
				if at.Before(due.Truncate(time.Millisecond)) {
					t.Errorf("woken %v too early", due.Sub(at))
				}
			case <-time.After(20 * time.Second):
				t.Fatal("it did not wake")
			}
		})
	}
}

// F16: killed in the handler itself, before its commit and after it.
func TestF16_KilledInTheAlarmHandler(t *testing.T) {
	for _, when := range []string{"before", "after"} {
		t.Run(when, func(t *testing.T) {
			d, called := woken(t)
			d.Kill()
			d.options.Env["HOLDFAST_RIG_KILL"] = when + " commit card"
			d.run()
			due := time.Now().Add(2 * time.Second).UnixMilli()
			d.must(home, "plan", fmt.Sprintf(`{"on":"wake","result":{"v":1,"alarm":%d,"trace":[{"name":"card"}],"effects":[
				{"id":"d1","type":"http","target":"discord","method":"POST","path":"/woke","timeout_ms":5000}]}}`, due))
			d.alarm(time.Now().Add(200 * time.Millisecond))
			if point := <-d.Rig(); point != when+" commit card" {
				t.Fatal(point)
			}
			d.Kill()
			select {
			case <-called:
				t.Fatal("an effect came before its commit was done")
			default:
			}
			delete(d.options.Env, "HOLDFAST_RIG_KILL")
			d.run()
			select {
			case <-called:
			case <-time.After(20 * time.Second):
				t.Fatal("it never woke again")
			}
		})
	}
}

// A wake that fails altogether is repeated: without that its due rows would wait for ever.
func TestFailedWakeComesAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 30 seconds")
	}
	called := make(chan struct{}, 1)
	d := start(t, func(w http.ResponseWriter, r *http.Request) { called <- struct{}{} }, nil)
	d.must(home, "plan", `{"on":"wake","result":{"v":1,"effects":7}}`)
	begin := time.Now()
	d.alarm(begin.Add(200 * time.Millisecond))
	d.until(func() bool { return d.tally(home).Crashes == 4 })
	d.must(home, "plan", `{"on":"wake","result":{"v":1,"effects":[{"id":"d1","type":"http","target":"discord","method":"POST","path":"/woke"}]}}`)
	select {
	case <-called:
		if after := time.Since(begin); after < 30*time.Second {
			t.Errorf("came again after %v already", after)
		}
	case <-time.After(60 * time.Second):
		t.Fatal("it did not wake again")
	}
}
