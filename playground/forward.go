package playground

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"holdfast/playground/world"
)

const (
	batchEvents = 100     // most events of a batch (docs/protocol.md)
	batchBytes  = 1 << 20 // most bytes of a batch
	retryFirst  = 100 * time.Millisecond
	retryLast   = 5 * time.Second
	postTimeout = 30 * time.Second
)

// forward plays the relay while none is connected: it posts the spooled events, in order per channel, until the
// edge has said something other than "retry" to each. A relay that holds the Gateway will replace this one loop;
// the events themselves come from package world either way.
func (s *Server) forward() {
	connection := rand.Text()
	pause := time.Duration(0)
	for {
		if !s.rest(pause) {
			return
		}
		edge := s.currentEdge()
		if edge.EventsURL == "" {
			pause = 0
			if !s.rest(-1) {
				return
			}
			continue
		}
		batch := s.world.NextEvents(batchEvents)
		if len(batch) == 0 {
			pause = 0
			if !s.rest(-1) {
				return
			}
			continue
		}
		taken, err := s.postEvents(edge, connection, batch)
		if err == nil {
			err = s.world.Taken(taken)
		}
		switch {
		case err == nil && len(taken) > 0:
			pause = 0
		default:
			if err != nil && s.stopping.Err() == nil {
				s.log.Debug("playground: events wait", "error", err)
			}
			pause = min(max(retryFirst, pause*2), retryLast)
		}
	}
}

// rest waits for d, or without end when it is negative; a new event or address ends an endless wait, a nudge any.
// It is false when the server is being closed. Retrying is against the network: it goes by the machine's clock.
func (s *Server) rest(d time.Duration) bool {
	if d == 0 {
		return s.stopping.Err() == nil
	}
	if d < 0 {
		select {
		case <-s.stopping.Done():
			return false
		case <-s.kick:
		case <-s.world.Queued():
		}
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-s.stopping.Done():
		return false
	case <-s.kick:
	case <-t.C:
	}
	return true
}

// wireEvent is an event as docs/protocol.md has it.
type wireEvent struct {
	ID      string          `json:"id"`
	Seq     int64           `json:"seq"`
	Type    string          `json:"type"`
	Source  string          `json:"source"`
	Channel json.RawMessage `json:"channel"`
	Guild   string          `json:"guild_id"`
	Data    json.RawMessage `json:"data"`
}

// postEvents sends one batch and returns the numbers of the events that may leave the spool.
func (s *Server) postEvents(edge Edge, connection string, batch []world.Event) ([]int64, error) {
	m := s.world.Meta()
	var events []wireEvent
	size := 0
	for _, e := range batch {
		if size += len(e.Data) + 512; size > batchBytes && len(events) > 0 {
			break
		}
		events = append(events, wireEvent{e.ID, e.N, e.Type, "live", e.Place, m.Guild, e.Data})
	}
	body := mustJSON(obj{"shard": 0, "session": m.Session, "connection": connection, "epoch": 1, "events": events,
		"closed_gaps": []any{}})
	entry, finish := s.newEntry("events", http.MethodPost, edge.EventsURL, body)
	if entry.Note = events[0].Type; len(events) > 1 {
		entry.Note = fmt.Sprintf("%s and %d more", events[0].Type, len(events)-1)
	}
	status, answer, err := s.sendSigned(edge, body)
	done := finish(status, answer)
	done.Note = entry.Note
	if err != nil {
		done.Note += ": " + err.Error()
	}
	s.wire.add(done)
	if err != nil {
		return nil, err
	}
	return settled(answer, batch[:len(events)])
}

// settled reads the answer: everything but "retry" leaves the spool.
func settled(answer []byte, batch []world.Event) ([]int64, error) {
	var got struct {
		Results []struct{ ID, Status string }
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		return nil, fmt.Errorf("events: %w", err)
	}
	status := map[string]string{}
	for _, r := range got.Results {
		status[r.ID] = r.Status
	}
	var taken []int64
	for _, e := range batch {
		switch status[e.ID] {
		case "committed", "duplicate", "ignored", "rejected":
			taken = append(taken, e.N)
		}
	}
	return taken, nil
}

func (s *Server) sendSigned(edge Edge, body []byte) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(s.stopping, postTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, edge.EventsURL, bytes.NewReader(body))
	if err != nil {
		return 0, nil, fmt.Errorf("events: %w", err)
	}
	stamp := strconv.FormatInt(s.clock.Now().UnixMilli(), 10)
	mac := hmac.New(sha256.New, []byte(edge.RelayKey))
	mac.Write([]byte(stamp + "."))
	mac.Write(body)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Holdfast-Key", "relay.relay."+strconv.Itoa(max(1, edge.RelayN)))
	r.Header.Set("X-Holdfast-Timestamp", stamp)
	r.Header.Set("X-Holdfast-Signature", "v1="+hex.EncodeToString(mac.Sum(nil)))
	res, err := s.http.Do(r)
	if err != nil {
		return 0, nil, fmt.Errorf("events: %w", err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, batchBytes))
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("events: the edge answered %d", res.StatusCode)
	}
	return res.StatusCode, answer, err
}
