package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/actor/errs"
	"holdfast/interactions"
)

// backend is a host with fixed workspaces whose front is a function.
type backend struct {
	names  []string
	err    error
	caller *interactions.Caller
	front  http.HandlerFunc
}

func (b backend) Caller(*http.Request) *interactions.Caller        { return b.caller }
func (b backend) Workspaces(context.Context) ([]string, error)     { return b.names, b.err }
func (b backend) ServeHTTP(w http.ResponseWriter, r *http.Request) { b.front(w, r) }
func reader() *interactions.Caller                                 { return operator("read") }
func operator(roles ...string) *interactions.Caller {
	return &interactions.Caller{Kind: "operator", Subject: "ops", Roles: roles}
}

func get(t *testing.T, b backend, target string) *httptest.ResponseRecorder {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(ctx, "GET", target, nil)
	r.Header.Set("Authorization", "Bearer key")
	Handler(b).ServeHTTP(w, r)
	return w
}

func TestStatusAsksEachWorkspace(t *testing.T) {
	b := backend{names: []string{"2/b", "1/a"}, caller: reader(), front: func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer key" {
			t.Error("the front was asked without the caller's key")
		}
		if strings.HasPrefix(r.URL.Path, "/v1/workspaces/2/") {
			w.WriteHeader(503)
			fmt.Fprint(w, `{"error":{"code":"unavailable","message":"busy"}}`)
			return
		}
		fmt.Fprint(w, `{"runner":"laptop"}`)
	}}
	w := get(t, b, "/v1/status")
	var l Listing
	if err := json.Unmarshal(w.Body.Bytes(), &l); err != nil || w.Code != 200 {
		t.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	if len(l.Workspaces) != 2 || l.Workspaces[0].Guild != "1" || string(l.Workspaces[0].Status) != `{"runner":"laptop"}` {
		t.Errorf("listing %s", w.Body)
	}
	if s := l.Workspaces[1]; s.Status != nil || !strings.Contains(string(s.Error), "busy") {
		t.Errorf("the busy workspace: %s", w.Body)
	}
}

func TestWorkspaces(t *testing.T) {
	w := get(t, backend{names: []string{"1/a"}, caller: reader()}, "/v1/workspaces")
	if got := strings.TrimSpace(w.Body.String()); got != `{"workspaces":[{"guild":"1","workspace":"a"}]}` {
		t.Errorf("got %s", got)
	}
	w = get(t, backend{caller: reader()}, "/v1/workspaces")
	if got := strings.TrimSpace(w.Body.String()); got != `{"workspaces":[]}` {
		t.Errorf("without any: %s", got)
	}
}

func TestRefusals(t *testing.T) {
	cases := map[string]struct {
		b      backend
		path   string
		status int
	}{
		"no key":          {backend{}, "/v1/status", 401},
		"a relay":         {backend{caller: &interactions.Caller{Kind: "relay"}}, "/v1/workspaces", 403},
		"without read":    {backend{caller: operator("approve")}, "/v1/status", 403},
		"the list fails":  {backend{caller: reader(), err: errs.New(errs.Unavailable, "the disk is gone")}, "/v1/status", 503},
		"an inner fault":  {backend{caller: reader(), err: errors.New("secret detail")}, "/v1/workspaces", 500},
		"wait not number": {backend{caller: reader()}, "/v1/workspaces/1/a/events?wait=x", 400},
		"negative wait":   {backend{caller: reader()}, "/v1/workspaces/1/a/events?wait=-1", 400},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := get(t, c.b, c.path)
			if w.Code != c.status || !strings.Contains(w.Body.String(), `"error"`) || strings.Contains(w.Body.String(), "secret detail") {
				t.Errorf("%d %s, want %d", w.Code, w.Body, c.status)
			}
		})
	}
}

// The role is written twice, so that the program of the Cloudflare edge need not hold the package that defines it.
func TestRoleIsTheCores(t *testing.T) {
	if roleRead != interactions.RoleRead {
		t.Errorf("%q, and in interactions %q", roleRead, interactions.RoleRead)
	}
}

func TestEventsWait(t *testing.T) {
	var asked atomic.Int32
	b := backend{front: func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery != "after=7" {
			t.Errorf("the front was asked %q, want the rest of the query alone", r.URL.RawQuery)
		}
		if asked.Add(1) < 3 {
			fmt.Fprint(w, `{"events":[],"after":7}`)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"events":[{"seq":8}],"after":8}`)
	}}
	w := get(t, b, "/v1/workspaces/1/a/events?after=7&wait=15")
	if w.Code != 200 || !strings.Contains(w.Body.String(), `"seq":8`) || asked.Load() != 3 || w.Header().Get("Content-Type") == "" {
		t.Errorf("%d %s after %d questions", w.Code, w.Body, asked.Load())
	}
}

func TestEventsEnd(t *testing.T) {
	var asked atomic.Int32
	status := 200
	b := backend{front: func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.WriteHeader(status)
		fmt.Fprint(w, `{"events":[]}`)
	}}
	for _, target := range []string{"/v1/workspaces/1/a/events", "/v1/workspaces/1/a/jobs/7a4/events?wait=0.01"} {
		asked.Store(0)
		if w := get(t, b, target); w.Code != 200 || asked.Load() != 1 {
			t.Errorf("%s: %d after %d questions", target, w.Code, asked.Load())
		}
	}
	status = 403
	asked.Store(0)
	if w := get(t, b, "/v1/workspaces/1/a/events?wait=20"); w.Code != 403 || asked.Load() != 1 {
		t.Errorf("a refusal: %d after %d questions, want it passed on at once", w.Code, asked.Load())
	}
}

func TestEverythingElsePassesThrough(t *testing.T) {
	b := backend{front: func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Method, " ", r.URL.Path) }}
	for _, path := range []string{"/interactions", "/v1/workspaces/1/a/jobs", "/healthz"} {
		if w := get(t, b, path); w.Body.String() != "GET "+path {
			t.Errorf("%s: %s", path, w.Body)
		}
	}
}
