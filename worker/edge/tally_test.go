package edge_test

import (
	"encoding/json"
	"net/url"
)

// tally is what an object did since it was made: what Cloudflare would bill.
type tally struct {
	Events      map[string]int
	RowsRead    int `json:"rows_read"`
	RowsWritten int `json:"rows_written"`
	Alarms      int
	Crashes     int
	Sockets     int
}

func (d *deployment) tally(actor string) (c tally) {
	d.t.Helper()
	a := d.request("GET", "/rig/counters?actor="+url.QueryEscape(actor), nil, nil)
	if err := json.Unmarshal([]byte(a.Body), &c); err != nil {
		d.t.Fatalf("%v: %s", err, a.Body)
	}
	return c
}
