package rig

import (
	"context"
	"fmt"
	"strings"
	"time"

	"holdfast/playground"
)

// looksBack bounds what is collected after a failure.
const looksBack = 5 * time.Second

// soon: what is due within it is waited for at the end of a scenario. It leaves out the look at an edit that follows
// half a minute after one whose answer was lost (spec 3.5).
const soon = 5 * time.Second

// job is an admitted input as the operator API shows it.
type job struct {
	ID       string `json:"id"`
	State    string `json:"state"`
	Reason   string `json:"reason"`
	Restarts int    `json:"restarts"`
}

func (j job) String() string { return strings.TrimSpace(j.ID + " is " + j.State + " " + j.Reason) }

// jobs lists them, the newest first.
func (p *Play) jobs(ctx context.Context) ([]job, error) {
	var all []job
	for after := ""; ; {
		var page struct {
			Jobs  []job
			After string
		}
		if err := p.operator.call(ctx, "GET", "/jobs?limit=200&after="+after, nil, &page); err != nil {
			return nil, err
		}
		if all, after = append(all, page.Jobs...), page.After; after == "" {
			return all, nil
		}
	}
}

func (p *Play) newestJob(ctx context.Context) (job, error) {
	list, err := p.jobs(ctx)
	if err != nil {
		return job{}, err
	}
	if len(list) == 0 {
		return job{}, fmt.Errorf("there is no job")
	}
	return list[0], nil
}

// event is one line of the workspace's event log.
type event struct {
	ID     int64  `json:"id"`
	At     int64  `json:"at"` // unix ms
	Name   string `json:"name"`
	Job    string `json:"job"`
	Ref    string `json:"ref"`
	Detail string `json:"detail"`
}

// events is the whole log.
func (p *Play) events(ctx context.Context) ([]event, error) {
	var all []event
	for after := int64(0); ; {
		var page struct {
			Events []event
			After  int64
		}
		if err := p.operator.call(ctx, "GET", fmt.Sprintf("/events?after=%d&limit=200", after), nil, &page); err != nil {
			return nil, err
		}
		if len(page.Events) == 0 {
			return all, nil
		}
		all, after = append(all, page.Events...), page.After
	}
}

// tables are the workspace's records.
type tables []struct {
	Name    string
	Columns []string
	Rows    [][]any
}

func (p *Play) records(ctx context.Context) (tables, error) {
	var r struct{ Tables tables }
	err := p.operator.call(ctx, "GET", "/records", nil, &r)
	return r.Tables, err
}

// String shows every row.
func (t tables) String() string {
	var b strings.Builder
	for _, table := range t {
		if len(table.Rows) == 0 {
			continue
		}
		fmt.Fprintf(&b, "  %s %v\n", table.Name, table.Columns)
		for _, row := range table.Rows {
			for i, v := range row {
				if n, ok := v.(float64); ok {
					row[i] = int64(n)
				}
			}
			fmt.Fprintf(&b, "    %.300s\n", fmt.Sprint(row...))
		}
	}
	return b.String()
}

// open lists the rows that are due soon.
func (t tables) open(now time.Time) []string {
	var list []string
	for _, table := range t {
		due := -1
		for i, c := range table.Columns {
			if c == "due" {
				due = i
			}
		}
		for _, row := range table.Rows {
			if due < 0 || due >= len(row) {
				continue
			}
			if ms, ok := row[due].(float64); ok && time.UnixMilli(int64(ms)).Before(now.Add(soon)) {
				list = append(list, fmt.Sprintf("%s %v", table.Name, row))
			}
		}
	}
	return list
}

// atRest waits until nothing is left to be done now: no row is due, no event waits for the relay. An edge that is
// down, as the last steps may want it, is at rest.
func (p *Play) atRest(ctx context.Context) error {
	if p.edge == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, p.scenario.Patience)
	defer cancel()
	return poll(ctx, func(ctx context.Context) error {
		t, err := p.records(ctx)
		if err != nil {
			return err
		}
		if list := t.open(p.stage.Clock.Now()); len(list) > 0 {
			return fmt.Errorf("something is still to be done:\n  %s", strings.Join(list, "\n  "))
		}
		var state struct{ Backlog int }
		if err := p.stage.control.call(ctx, "GET", "/state", nil, &state); err != nil || state.Backlog == 0 {
			return err
		}
		return fmt.Errorf("%d events wait for the relay", state.Backlog)
	})
}

// wire is every exchange between Discord and the deployment, in order.
func (p *Play) wire(ctx context.Context) ([]playground.Entry, error) {
	var log struct{ Entries []playground.Entry }
	err := p.stage.control.call(ctx, "GET", "/log", nil, &log)
	return log.Entries, err
}

// checkWire fails when a request did not fit Discord's description, or an answer of the local Discord did not.
func (p *Play) checkWire(ctx context.Context) error {
	entries, err := p.wire(ctx)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if len(e.Violations) > 0 || len(e.Ours) > 0 {
			return fmt.Errorf("%s %s: does not fit Discord's description: %q %q\n%s", e.Method, e.Path, e.Violations, e.Ours, e.Request)
		}
	}
	return nil
}
