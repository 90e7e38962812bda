package actor

import (
	"strings"
	"testing"

	"holdfast/actor/frame"
)

func TestAPayloadIsKeptForAWeek(t *testing.T) {
	w := newWorld(t)
	w.connect()
	chunk := func(hash string) {
		w.frame(frame.Frame{Type: frame.TypeChunk, Blobs: &frame.Chunk{Hash: strings.Repeat(hash, 64), Total: 1, Data: "eA=="}})
	}
	chunk("a")
	chunk("b")
	w.now += 6 * 86_400_000
	chunk("b") // seen again: it counts from now
	w.want("within the week", w.one(`SELECT count(*) FROM blob`), "2")
	w.now += 2 * 86_400_000
	chunk("c")
	w.want("after it", w.one(`SELECT group_concat(substr(hash, 1, 1)) FROM blob`), "b,c")
}
