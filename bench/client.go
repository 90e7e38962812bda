package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// request is a prepared HTTP request, so that nothing but sending it is measured.
type request struct {
	method, url string
	header      http.Header
	body        []byte
	want        string // what the answer must contain
}

// client is one connection that stays open.
type client struct{ http.Client }

func newClient() *client {
	return &client{http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxConnsPerHost: 1, MaxIdleConnsPerHost: 1, DisableCompression: true}}}
}

// do sends a request and says how long its answer took.
func (c *client) do(ctx context.Context, r request) (took time.Duration, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, r.method, r.url, bytes.NewReader(r.body))
	if err != nil {
		return 0, nil, err
	}
	req.Header = r.header.Clone()
	begin := time.Now()
	res, err := c.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	body, err = io.ReadAll(res.Body)
	took = time.Since(begin)
	switch {
	case err != nil:
		return 0, nil, err
	case res.StatusCode/100 != 2 || !bytes.Contains(body, []byte(r.want)):
		return 0, nil, fmt.Errorf("%s %s: %d %.300s", r.method, r.url, res.StatusCode, body)
	}
	return took, body, nil
}

// all sends one list of requests over each of several connections at the same time, each list in its order.
func all(ctx context.Context, clients []*client, lists [][]request) (sample, error) {
	var mu sync.Mutex
	var total sample
	var first error
	var running sync.WaitGroup
	for i, list := range lists {
		running.Go(func() {
			part, err := inOrder(ctx, clients[i], list)
			mu.Lock()
			defer mu.Unlock()
			if total = append(total, part...); err != nil && first == nil {
				first = err
			}
		})
	}
	running.Wait()
	return total, first
}

func inOrder(ctx context.Context, c *client, list []request) (sample, error) {
	var s sample
	for _, r := range list {
		took, _, err := c.do(ctx, r)
		if err != nil {
			return s, err
		}
		s = append(s, took)
	}
	return s, nil
}

func newClients(n int) []*client {
	list := make([]*client, n)
	for i := range list {
		list[i] = newClient()
	}
	return list
}

// deal spreads requests over n connections.
func deal(list []request, n int) [][]request {
	lists := make([][]request, n)
	for i, r := range list {
		lists[i%n] = append(lists[i%n], r)
	}
	return lists
}
