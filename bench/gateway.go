package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// batch is how many events the relay sends at once here; 100 is the most (spec 9.5).
const batch = 50

// gateway measures how many of Discord's events the edge takes in a second. Each is for one workspace, which looks at it
// and commits; most messages of a busy server are none of its business, like these. The floor is a bare loop of FULL
// commits.
func gateway(ctx context.Context, b *bench) error {
	e, stop, err := b.host(ctx, "wazero")
	if err != nil {
		return err
	}
	defer stop()
	dir, err := b.folder()
	if err != nil {
		return err
	}
	loop, err := openLedger(filepath.Join(dir, "loop.db"))
	if err != nil {
		return err
	}
	defer loop.close()
	spaces, err := e.open(ctx, 1)
	if err != nil {
		return err
	}
	c := newClient()
	var p pair
	for i := range b.rounds(8) + 1 {
		took, body, err := c.do(ctx, e.messages(spaces[0], batch))
		if err != nil {
			return err
		}
		if n := strings.Count(string(body), `"ignored"`); n != batch {
			return fmt.Errorf("%d of %d events were ignored: %.300s", n, batch, body)
		}
		bare, err := loop.commits(batch, 500)
		if err != nil {
			return err
		}
		if i > 0 {
			p.add(sample{took / batch}, sample{bare.sum() / batch})
		}
	}
	r := of(fmt.Sprintf("gateway event, in batches of %d", batch), "one FULL commit in a bare loop", p, 0)
	r.Value += fmt.Sprintf(", %.0f a second", 1/p.ours.median().Seconds())
	b.add(r)
	return nil
}

// messages is a signed batch of the relay.
func (e *edge) messages(s space, n int) request {
	list := make([]any, n)
	for i := range list {
		id := e.world.id()
		list[i] = map[string]any{"id": id, "type": "MESSAGE_CREATE", "source": "live",
			"channel": map[string]any{"id": s.channel, "type": 0, "category_id": nil},
			"data": map[string]any{"id": id, "type": 0, "guild_id": guild, "channel_id": s.channel, "content": "Did anybody look at the build?",
				"author": map[string]any{"id": users[0], "username": "sample_user"}, "mentions": []any{}, "attachments": []any{}}}
	}
	body, err := json.Marshal(map[string]any{"events": list})
	if err != nil {
		panic(err) // plain data
	}
	stamp := strconv.FormatInt(time.Now().UnixMilli(), 10)
	relay := token("relay", "relay")
	mac := hmac.New(sha256.New, []byte(relay[strings.LastIndexByte(relay, '.')+1:]))
	fmt.Fprintf(mac, "%s.%s", stamp, body)
	return request{method: "POST", url: e.url + "/v1/gateway/events", body: body, header: http.Header{"Content-Type": {"application/json"},
		"X-Holdfast-Key": {"relay.relay.1"}, "X-Holdfast-Timestamp": {stamp}, "X-Holdfast-Signature": {"v1=" + hex.EncodeToString(mac.Sum(nil))}}}
}
