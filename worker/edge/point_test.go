package edge_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Each point stops the host exactly there: what is committed and what was sent says where it was.
func TestPoints(t *testing.T) {
	tests := []struct {
		point           string
		committed, sent bool
	}{
		{"before commit model", false, false},
		{"after commit model", true, false},
		{"before effect model", true, false},
		{"after effect model", true, true},
	}
	for _, tt := range tests {
		t.Run(tt.point, func(t *testing.T) {
			sent := make(chan bool, 10)
			d := start(t, func(w http.ResponseWriter, r *http.Request) { sent <- true }, map[string]string{"HOLDFAST_RIG_KILL": tt.point})
			d.make(home)
			go http.Post(d.URL+"/verdict", "", strings.NewReader(`{"mode":"one","deliver":[`+delivery(toHome, `{"v":1,"reply":{"status":200},"trace":[{"name":"other"},{"name":"model"}],"effects":[
				{"id":"t1","type":"http","point":"model","target":"model:a","method":"POST","path":"/x"}]}`)+`]}`))
			if point := <-d.Rig(); point != tt.point {
				t.Fatal(point)
			}
			d.Kill()
			if got := len(sent) == 1; got != tt.sent {
				t.Errorf("sent: %v, want %v", got, tt.sent)
			}
			delete(d.options.Env, "HOLDFAST_RIG_KILL")
			d.run()
			count := map[string]int{}
			for _, e := range d.seen(home) {
				count[e.Type]++
			}
			if got := count["operator"] == 2; got != tt.committed {
				t.Errorf("committed: %v, want %v (%v)", got, tt.committed, count)
			}
			if count["effect"] != 0 {
				t.Error("the outcome was committed")
			}
		})
	}
}

// A host that hangs where an actor commits: the front answers in time, what it takes back comes behind the event, and
// nothing follows from the commit until the hang is over.
func TestStallAtACommit(t *testing.T) {
	for _, when := range []string{"before", "after"} {
		t.Run(when, func(t *testing.T) {
			sent := make(chan time.Time, 10)
			d := start(t, func(w http.ResponseWriter, r *http.Request) { sent <- time.Now() }, map[string]string{"HOLDFAST_RIG_STALL": when + " commit model 2.5s"})
			d.make(home)
			d.must(home, "seen", "null")
			begin := time.Now()
			a := d.verdict(`{"mode":"one","deadline_ms":500,"deliver":[` + delivery(toHome, `{"v":1,"reply":{"status":200},"trace":[{"name":"model"}],"effects":[
				{"id":"t1","type":"http","target":"model:a","method":"POST","path":"/x"}]}`) + `],"late":{"status":200,"body":{"late":true}},"withdraw":"k1"}`)
			if took := time.Since(begin); a.Body != `{"late":true}` || took > 2*time.Second {
				t.Errorf("%+v after %v", a, took)
			}
			d.await(home, "withdraw") // and so the actor takes events again
			if took := (<-sent).Sub(begin); took < 2500*time.Millisecond || took > 20*time.Second {
				t.Errorf("the effect was performed after %v", took)
			}
			var order []string
			for _, e := range d.seen(home) {
				if e.Type == "withdraw" || strings.Contains(string(e.Data), `"do"`) {
					order = append(order, e.Type)
				}
			}
			if fmt.Sprint(order) != "[operator withdraw]" {
				t.Errorf("%v", order)
			}
			if a := d.verdict(`{"mode":"one","deadline_ms":5000,"deliver":[` + delivery(toHome, `{"v":1,"reply":{"status":200,"body":7},"trace":[{"name":"model"}]}`) + `]}`); a.Body != "7" {
				t.Errorf("a second time: %+v", a)
			}
		})
	}
}

func TestStallAtAnEffect(t *testing.T) {
	const stall = 1500 * time.Millisecond
	for _, when := range []string{"before", "after"} {
		t.Run(when, func(t *testing.T) {
			sent := make(chan time.Time, 10)
			d := start(t, func(w http.ResponseWriter, r *http.Request) { sent <- time.Now() }, map[string]string{"HOLDFAST_RIG_STALL": when + " effect model 0m1.5s"})
			begin := time.Now()
			d.must(home, "do", `{"v":1,"reply":{"status":200},"effects":[{"id":"t1","type":"http","point":"model","target":"model:a","method":"POST","path":"/x"}]}`)
			d.await(home, "effect") // the actor answers meanwhile
			at := <-sent
			if took := at.Sub(begin); when == "before" && took < stall {
				t.Errorf("it was sent after %v", took)
			}
			if took := time.Since(at); when == "after" && took < stall {
				t.Errorf("its outcome came %v after it was sent", took)
			}
		})
	}
}

// What an event costs, in what Cloudflare bills.
func TestTally(t *testing.T) {
	d := start(t, nil, nil)
	d.must(home, "seen", "null")
	before := d.tally(home)
	d.must(home, "sql", `{"sql":"SELECT 1"}`)
	after := d.tally(home)
	if after.RowsWritten-before.RowsWritten != 1 || after.RowsRead <= before.RowsRead || after.Events["operator"]-before.Events["operator"] != 1 || after.Alarms != before.Alarms {
		t.Errorf("%+v, then %+v", before, after)
	}
	for i := range 2 {
		d.must(home, "do", fmt.Sprintf(`{"v":1,"alarm":%d,"reply":{"status":200}}`, int64(4e12)))
		if got := d.tally(home).Alarms; got != before.Alarms+1 {
			t.Errorf("alarm set %d times at step %d: one that does not change costs nothing", got-before.Alarms, i)
		}
	}
}
