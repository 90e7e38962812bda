package rig

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"holdfast/worker/host"
)

// relay posts batches of events as a relay does.
type relay struct {
	stage  *Stage
	key    string
	client *http.Client
}

func newRelay(t *testing.T, s *Stage) relay {
	t.Helper()
	token, err := s.Token(host.KindRelay, "relay")
	if err != nil {
		t.Fatal(err)
	}
	return relay{s, token[strings.LastIndexByte(token, '.')+1:], &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
}

// post signs and sends a batch and gives the status and the body of the answer.
func (r relay) post(ctx context.Context, body []byte) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.stage.URL()+"/v1/gateway/events", bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	stamp := strconv.FormatInt(r.stage.Clock.Now().UnixMilli(), 10)
	mac := hmac.New(sha256.New, []byte(r.key))
	mac.Write([]byte(stamp + "."))
	mac.Write(body)
	req.Header.Set("X-Holdfast-Key", "relay.relay.1")
	req.Header.Set("X-Holdfast-Timestamp", stamp)
	req.Header.Set("X-Holdfast-Signature", "v1="+hex.EncodeToString(mac.Sum(nil)))
	res, err := r.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	return res.StatusCode, answer, err
}

// settle sends a batch of one event until the edge says something other than retry.
func (r relay) settle(ctx context.Context, body []byte) (status string, err error) {
	err = poll(ctx, func(ctx context.Context) error {
		code, answer, err := r.post(ctx, body)
		if err != nil {
			return err
		}
		var a struct{ Results []struct{ Status string } }
		if code == http.StatusServiceUnavailable {
			return fmt.Errorf("answered 503 %s", answer)
		}
		if code != http.StatusOK || json.Unmarshal(answer, &a) != nil || len(a.Results) != 1 {
			return neverf("answered %d %s", code, answer)
		}
		if status = a.Results[0].Status; status == "retry" {
			return fmt.Errorf("answered %s", answer)
		}
		return nil
	})
	return status, err
}

// The same message, live and by backfill, a thousand times at once: one submission, one turn, one anchor.
func TestF02_TheSameMessageAThousandTimes(t *testing.T) {
	const times, atOnce = 1000, 50
	onEachHost(t, func(t *testing.T, h Host) {
		p := deploy(t, h, nil)
		ctx, cancel := context.WithTimeout(t.Context(), 2*defaultPatience)
		defer cancel()
		// The local Discord's own relay loses the event: only ours brings it.
		if err := p.do(ctx, "discord: drop event 1\nas maya: say \"@bot what changed?\""); err != nil {
			t.Fatal(err)
		}
		batches := [][]byte{batch(t, p, "live"), batch(t, p, "backfill")}
		r := newRelay(t, p.stage)
		var mu sync.Mutex
		got := map[string]int{}
		slots := make(chan struct{}, atOnce)
		var running sync.WaitGroup
		for i := range times {
			running.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				status, err := r.settle(ctx, batches[i%2])
				mu.Lock()
				defer mu.Unlock()
				if got[status]++; err != nil {
					t.Errorf("delivery %d: %v", i, err)
				}
			})
		}
		running.Wait()
		if got["committed"] != 1 || got["duplicate"] != times-1 {
			t.Errorf("answers %v, want one committed and %d duplicate", got, times-1)
		}
		if err := p.do(ctx, "expect job done\nexpect anchor final contains \"what changed?\"\nexpect jobs 1\nexpect messages 1\nexpect model calls 1"); err != nil {
			t.Error(err, p.evidence())
		}
		if err := p.atRest(ctx); err != nil {
			t.Error(err)
		}
		if err := p.do(ctx, "expect jobs 1\nexpect messages 1\nexpect threads 1\nexpect final edits 1"); err != nil {
			t.Error(err, p.evidence())
		}
	})
}

// batch is the message that was said last, as a relay forwards it.
func batch(t *testing.T, p *Play, source string) []byte {
	t.Helper()
	var view struct{ Messages []map[string]any }
	if err := p.stage.control.call(t.Context(), "GET", "/channels/"+p.stage.Info.Channel, nil, &view); err != nil {
		t.Fatal(err)
	}
	m := view.Messages[len(view.Messages)-1]
	m["guild_id"], m["member"] = p.stage.Info.Guild, map[string]any{"roles": []string{}}
	raw, err := json.Marshal(map[string]any{
		"shard": 0, "session": "s", "connection": "c", "epoch": 1, "closed_gaps": []any{},
		"events": []any{map[string]any{
			"id": m["id"], "seq": 1, "type": "MESSAGE_CREATE", "source": source, "guild_id": p.stage.Info.Guild, "data": m,
			"channel": map[string]any{"id": p.stage.Info.Channel, "type": 0, "parent_id": nil, "category_id": nil},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
