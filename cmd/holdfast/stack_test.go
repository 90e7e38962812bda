package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"holdfast/actor"
	"holdfast/worker/engine"
	"holdfast/worker/engine/enginetest"
	"holdfast/worker/host"
)

// A runner that uses up its time leaves the edge its own: what is in flight comes back.
func TestStopWaitsForTheEdgeAfterTheRunner(t *testing.T) {
	arrived, release := make(chan struct{}), make(chan struct{})
	model := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(arrived); <-release }))
	defer model.Close()
	h, err := host.New(t.Context(), host.Options{Data: t.TempDir(), Secrets: []host.Secret{"an old deployment secret"}, Config: actor.Config{ApplicationID: "99"},
		Engine:  engine.Linked{HandleFunc: enginetest.Handle, RouteFunc: enginetest.Route},
		Targets: map[string]host.Target{"model:m": {BaseURL: model.URL}}})
	if err != nil {
		t.Fatal(err)
	}
	get := func(method, path, body string) int {
		w := httptest.NewRecorder()
		h.Handler().ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
		return w.Code
	}
	if status := get("POST", "/t/workspace:1/a", `{"do":[{"effect":{"id":"t1","type":"http","target":"model:m","method":"GET","path":"/"}}]}`); status != 200 {
		t.Fatal(status)
	}
	<-arrived
	go func() { // the answer comes while the edge drains
		defer close(release)
		for tick := time.Tick(time.Millisecond); get("GET", "/readyz", "") == 200; {
			<-tick
		}
	}()
	s := &stack{host: h, drain: time.Second, runner: func(limit context.Context) error { <-limit.Done(); return nil }}
	if err := s.stop(t.Context()); err != nil {
		t.Error(err)
	}
}
