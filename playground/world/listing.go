package world

import "slices"

// Page selects messages: at most one of the anchors, and how many.
type Page struct {
	Before, After, Around string
	Limit                 int // 0 means 50
}

// Messages lists a channel newest first. With After, the ones nearest to it.
func (w *World) Messages(channel string, p Page) ([]obj, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.channels[channel] == nil {
		return nil, ErrUnknownChannel
	}
	if p.Limit == 0 {
		p.Limit = 50
	}
	var ids []string
	for _, id := range w.lines[channel] {
		if w.messages[id].For == "" {
			ids = append(ids, id)
		}
	}
	ids = p.cut(ids)
	out := []obj{}
	for _, id := range slices.Backward(ids) {
		out = append(out, w.messageJSON(w.messages[id]))
	}
	return out, nil
}

// cut takes the page out of ascending ids.
func (p Page) cut(ids []string) []string {
	last := func(ids []string, n int) []string { return ids[max(0, len(ids)-n):] }
	at := func(id string) int { i, _ := slices.BinarySearchFunc(ids, id, byAge); return i }
	switch {
	case p.Before != "":
		return last(ids[:at(p.Before)], p.Limit)
	case p.After != "":
		i := at(p.After)
		if i < len(ids) && ids[i] == p.After {
			i++
		}
		return ids[i:min(len(ids), i+p.Limit)]
	case p.Around != "":
		from := max(0, at(p.Around)-p.Limit/2)
		return ids[from:min(len(ids), from+p.Limit)]
	}
	return last(ids, p.Limit)
}

// View lists a channel oldest first, as user sees it; user "" sees everybody's ephemeral messages too.
func (w *World) View(channel, user string) (obj, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.channels[channel]
	if c == nil {
		return nil, ErrUnknownChannel
	}
	list := []obj{}
	for _, id := range w.lines[channel] {
		if m := w.messages[id]; m.For == "" || user == "" || m.For == user {
			list = append(list, w.viewMessage(m))
		}
	}
	return obj{"channel": w.channelJSON(c), "messages": list}, nil
}
