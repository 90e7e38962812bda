package clock

import (
	"testing"
	"time"
)

func TestShiftedFiresOnAdvance(t *testing.T) {
	var c Shifted
	fired := make(chan string, 3)
	c.AfterFunc(time.Hour, func() { fired <- "hour" })
	stopped := c.AfterFunc(time.Minute, func() { fired <- "stopped" })
	if !stopped.Stop() || stopped.Stop() {
		t.Fatal("Stop must report true once, then false")
	}
	before := c.Now()
	c.Advance(59 * time.Minute)
	select {
	case s := <-fired:
		t.Fatalf("%s fired too early", s)
	default:
	}
	c.Advance(2 * time.Minute)
	if s := <-fired; s != "hour" {
		t.Fatalf("fired %s, want hour", s)
	}
	if d := c.Now().Sub(before); d < 61*time.Minute {
		t.Fatalf("clock moved by %v, want at least 61m", d)
	}
}
