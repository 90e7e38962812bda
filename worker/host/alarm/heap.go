package alarm

// slot is an entry's place in the heap, and the time for which it is there.
type slot struct {
	*entry
	at int64
}

// dueHeap has the earliest time first; container/heap orders it.
type dueHeap []slot

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].at < h[j].at }

func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].heapPos, h[j].heapPos = i, j
}

func (h *dueHeap) Push(v any) {
	s := v.(slot)
	s.heapPos = len(*h)
	*h = append(*h, s)
}

func (h *dueHeap) Pop() any {
	old := *h
	s := old[len(old)-1]
	*h = old[:len(old)-1]
	s.heapPos = -1
	return s
}
