package edge_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
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

// What an event costs, in what Cloudflare bills.
func TestTally(t *testing.T) {
	d := start(t, nil, nil)
	d.must(home, "seen", "null")
	before := d.tally(home)
	d.must(home, "sql", `{"sql":"SELECT 1"}`)
	after := d.tally(home)
	if after.RowsWritten-before.RowsWritten != 1 || after.RowsRead <= before.RowsRead || after.Events["operator"] != 2 || after.Alarms != before.Alarms {
		t.Errorf("%+v, then %+v", before, after)
	}
	for i := range 2 {
		d.must(home, "do", fmt.Sprintf(`{"v":1,"alarm":%d,"reply":{"status":200}}`, int64(4e12)))
		if got := d.tally(home).Alarms; got != before.Alarms+1 {
			t.Errorf("alarm set %d times at step %d: one that does not change costs nothing", got-before.Alarms, i)
		}
	}
}
