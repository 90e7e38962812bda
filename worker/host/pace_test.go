package host

import (
	"context"
	"errors"
	"testing"
	"time"

	"holdfast/clock"
)

// A clock that stands still until it is told when everybody waits.
func TestPaceSpacesRequests(t *testing.T) {
	var c clock.Shifted
	var p pace
	start := c.Now()
	for range 3 * discordPace {
		done := make(chan error, 1)
		go func() { done <- p.wait(context.Background(), &c) }()
		for waiting := true; waiting; {
			select {
			case err := <-done:
				if err != nil {
					t.Fatal(err)
				}
				waiting = false
			default:
				c.Advance(time.Millisecond)
			}
		}
	}
	if d := c.Now().Sub(start); d < 2900*time.Millisecond {
		t.Fatalf("%d requests went within %v, want about 3 s", 3*discordPace, d)
	}
}

// What would go out behind its own repetition does not go, and takes nobody's turn.
func TestPaceHasAnEnd(t *testing.T) {
	var c clock.Shifted
	full := c.Now().Add(pacePatience + time.Second)
	p := pace{next: full}
	for range 3 {
		if err := p.wait(context.Background(), &c); !errors.Is(err, errPace) {
			t.Fatalf("got %v, want %v", err, errPace)
		}
	}
	if !p.next.Equal(full) {
		t.Errorf("a request that was given up took a turn: %v", p.next.Sub(full))
	}
}

func TestPaceGivesUpWithItsContext(t *testing.T) {
	var c clock.Shifted
	p := pace{next: c.Now().Add(pacePatience)}
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("stopping")
	cancel(why)
	if err := p.wait(ctx, &c); !errors.Is(err, why) {
		t.Fatalf("got %v, want %v", err, why)
	}
}
