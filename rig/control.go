package rig

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// control speaks JSON to a server with a bearer token: the control API of the local Discord, or an edge's operator API.
type control struct {
	base  string
	token string // the whole Authorization header
}

// refusal is an answer that is no success.
type refusal struct {
	Status int
	Body   string
}

func (r *refusal) Error() string { return fmt.Sprintf("answered %d: %s", r.Status, r.Body) }

// client keeps no connections: an edge that is killed and started again would answer some of them with a reset.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}

// call sends in, unless it is nil, and decodes the answer into out, unless that is nil.
func (c control) call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader = http.NoBody
	if in != nil {
		raw, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", c.token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "DiscordBot (holdfast-rig, 1)")
	res, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %w", method, path, &refusal{res.StatusCode, string(raw)})
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return fmt.Errorf("%s %s: %w: %.200s", method, path, err, raw)
	}
	return nil
}
