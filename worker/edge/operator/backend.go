//go:build js && wasm

package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/syumai/workers/cloudflare/fetch"

	"holdfast/actor/errs"
	"holdfast/worker/api"
)

// backend is the Worker around this program, for the length of one call.
type backend struct {
	caller      api.Caller    // who holds the call's key, as the front found it
	front       *fetch.Client // answers a request as the Worker does
	directories *fetch.Client // answers any request with the workspaces that the guilds' directories know
}

// Caller finds nothing out: the front has checked the key, and asks this program only for somebody.
func (b backend) Caller(*http.Request) *api.Caller { return &b.caller }

// Workspaces lists the workspaces that have a channel, as "<guild>/<workspace>".
func (b backend) Workspaces(ctx context.Context) ([]string, error) {
	a, err := get(ctx, b.directories, "/", nil)
	if err != nil {
		return nil, err
	}
	if a.status != http.StatusOK {
		return nil, a.failure()
	}
	var names []string
	if err := json.Unmarshal(a.body, &names); err != nil {
		return nil, errs.Wrap(errs.Internal, err, "The list of workspaces cannot be read.")
	}
	return names, nil
}

// ServeHTTP asks the front. A request that reaches this program is a GET without a body.
func (b backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a, err := get(r.Context(), b.front, r.URL.RequestURI(), r.Header)
	if err != nil {
		w.WriteHeader(errs.CodeOf(err).Status())
		return
	}
	for name, values := range a.header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) // the caller is gone; there is nobody to tell
}

type answer struct {
	status int
	header http.Header
	body   []byte
}

// failure is the error inside an answer that is no success.
func (a answer) failure() error {
	var e struct{ Error *errs.Error }
	if json.Unmarshal(a.body, &e) == nil && e.Error != nil {
		return e.Error
	}
	return errs.New(errs.Unavailable, "The directory answered %d.", a.status)
}

// get asks a service and reads its answer to the end: io.Copy from its body to a response of this program would hand
// the stream over as the whole response instead of copying it.
func get(ctx context.Context, service *fetch.Client, uri string, header http.Header) (answer, error) {
	req, err := fetch.NewRequest(ctx, http.MethodGet, "http://edge"+uri, nil) // a body, be it empty, is an error to a GET
	if err != nil {
		return answer{}, errs.Wrap(errs.Invalid, err, "That is no address.")
	}
	req.Header = header
	res, err := service.Do(req, nil)
	if err != nil {
		return answer{}, errs.Wrap(errs.Unavailable, err, "Not available at the moment.")
	}
	a := answer{status: res.StatusCode, header: res.Header}
	switch res.StatusCode {
	case http.StatusNoContent, http.StatusResetContent, http.StatusNotModified:
		return a, nil // there is no stream to read
	}
	if a.body, err = io.ReadAll(res.Body); err != nil {
		return answer{}, errs.Wrap(errs.Unavailable, err, "The answer ended too early.")
	}
	return a, nil
}
