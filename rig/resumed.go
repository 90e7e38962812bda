package rig

import (
	"context"
	"regexp"
	"strings"
	"syscall"
	"time"

	"holdfast/playground"
)

// After a start that meets interrupted work, the commit that takes it up follows within firstWithin, or that is what the
// report says it took. That the work went on from there is shown by a further commit within nextWithin.
const (
	firstWithin = 10 * time.Second
	nextWithin  = 500 * time.Millisecond
)

// hush makes everybody leave the edge alone until speak: Discord knows no address of it, and the runner stands still.
func (k *killer) hush() (speak func(), err error) {
	k.stage.Discord.SetEdge(playground.Edge{})
	r, real := k.runner.(*process)
	if real {
		if err := r.signal(syscall.SIGSTOP); err != nil {
			return nil, err
		}
	}
	return func() {
		if real {
			_ = r.signal(syscall.SIGCONT) // it is there, or its end was what was wanted
		}
		_ = k.stage.connectDiscord() // as it did at first
	}, nil
}

// resumed is how long after its start an edge that is left alone made its first commit, if it met work under way.
func (k *killer) resumed(ctx context.Context, began time.Time) (time.Duration, bool) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		said := k.edge.Said()
		if !strings.Contains(said, "msg=host.start.resumes") {
			return 0, false
		}
		list := commits(said)
		switch {
		case len(list) > 0 && wentOn(list):
			return list[0].at.Sub(began), true
		case len(list) > 0 && time.Since(list[0].at) > nextWithin:
			return 0, false // there was nothing to go on with
		case time.Since(began) > firstWithin:
			return firstWithin, true
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return 0, false
		}
	}
}

// committed is a line of an edge's log: something that an event committed.
type committed struct {
	at   time.Time
	name string
}

var commitLine = regexp.MustCompile(`(?m)^time=(\S+) level=DEBUG msg=(\S+) actor=workspace:\S+ event=\S+ type=(?:start|wake|effect|progress) `)

// commits lists what a self-hosted edge committed without anybody's message.
func commits(said string) (list []committed) {
	for _, m := range commitLine.FindAllStringSubmatch(said, -1) {
		if at, err := time.Parse(time.RFC3339Nano, m[1]); err == nil {
			list = append(list, committed{at, m[2]})
		}
	}
	return list
}

// wentOn says that more was committed than the arrival of a new owner.
func wentOn(list []committed) bool {
	for _, c := range list {
		if c.name != "owner.changed" {
			return true
		}
	}
	return false
}

// woken is how long after each start the workspace had its new owner, whoever made it come up: from its event log.
func (k *killer) woken(ctx context.Context) (list []time.Duration, err error) {
	events, err := k.events(ctx)
	if err != nil {
		return nil, err
	}
	for i, began := range k.starts {
		for _, e := range events {
			at := time.UnixMilli(e.At)
			if e.Name != "owner.changed" || at.Before(began) || i+1 < len(k.starts) && !at.Before(k.starts[i+1]) {
				continue
			}
			list = append(list, at.Sub(began))
			break
		}
	}
	return list, nil
}
