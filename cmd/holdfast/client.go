package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/actor/errs"
	"holdfast/cmd/holdfast/config"
)

// target says which deployment an operator's verb talks to.
type target struct {
	url, tokenFile, workspace, data string
	json                            bool
}

// add gives a verb the flags of a target.
func (t *target) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&t.url, "url", "", "the deployment's address (default: $HOLDFAST_URL, or this user's own run)")
	f.StringVar(&t.tokenFile, "token-file", "", "file with an operator's key, mode 0600 (default: $HOLDFAST_TOKEN, or that of this user's own run)")
	f.StringVar(&t.workspace, "workspace", "", "<guild>/<workspace> (default: $HOLDFAST_WORKSPACE, or that of this user's own run)")
	f.StringVar(&t.data, "data", "", "data folder of the run to talk to")
	f.BoolVar(&t.json, "json", false, "print JSON")
}

// access is what `holdfast run` leaves in its data folder, mode 0600, for the other verbs.
type access struct {
	URL       string `json:"url"`
	Token     string `json:"token"`
	Workspace string `json:"workspace"`
}

const accessFile = "operator.json"

func (x access) save(dir string) error {
	raw, err := json.Marshal(x)
	if err != nil {
		return err
	}
	return writeSecret(filepath.Join(dir, accessFile), raw)
}

// writeSecret replaces a file that only its owner may read, so that no reader sees half of it.
func writeSecret(path string, raw []byte) error {
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, raw, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

// client speaks to one deployment with one key.
type client struct {
	access
	http *http.Client
}

// client finds the deployment: flags, then the environment, then the data folder of `holdfast run`.
func (a app) client(t target) (*client, error) {
	x := access{URL: first(t.url, a.env("HOLDFAST_URL")), Token: a.env("HOLDFAST_TOKEN"), Workspace: first(t.workspace, a.env("HOLDFAST_WORKSPACE"))}
	if t.tokenFile != "" {
		s, err := config.ReadSecret(t.tokenFile)
		if err != nil {
			return nil, err
		}
		x.Token = s.Reveal()
	}
	if x.URL == "" {
		local, err := a.localAccess(t.data)
		if err != nil {
			return nil, err
		}
		x = access{URL: local.URL, Token: first(x.Token, local.Token), Workspace: first(x.Workspace, local.Workspace)}
	}
	x.URL = strings.TrimRight(x.URL, "/")
	return &client{access: x, http: &http.Client{Timeout: time.Minute}}, nil
}

func (a app) localAccess(data string) (access, error) {
	dir := first(data, a.dataDir())
	raw, err := os.ReadFile(filepath.Join(dir, accessFile))
	if err != nil {
		return access{}, errs.New(errs.NotFound, "There is no deployment to talk to.").
			WithHint("Start `holdfast run`, or name one with --url and --token-file.")
	}
	var x access
	if err := json.Unmarshal(raw, &x); err != nil {
		return access{}, fmt.Errorf("read %s: %w", accessFile, err)
	}
	return x, nil
}

// dataDir is where `holdfast run` keeps everything unless told otherwise.
func (a app) dataDir() string {
	base := a.env("XDG_DATA_HOME")
	if base == "" {
		base = filepath.Join(first(a.env("HOME"), "."), ".local", "share")
	}
	return filepath.Join(base, "holdfast", "run")
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// inWorkspace is a path below the client's workspace.
func (c *client) inWorkspace(path string) (string, error) {
	if c.Workspace == "" {
		return "", usageError{errs.New(errs.Invalid, "Which workspace? Name it with --workspace <guild>/<workspace>.")}
	}
	return "/v1/workspaces/" + c.Workspace + "/" + path, nil
}

// maxAnswer bounds what is read of a deployment's answer, in bytes.
const maxAnswer = 16 << 20

// do sends one request and decodes its answer into out, which may be nil. Only a GET is known to be harmless when its
// answer was lost.
func (c *client) do(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		raw, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.URL+path, body)
	if err != nil {
		return usageError{err}
	}
	req.Header.Set("Authorization", "Bearer "+c.Token)
	req.Header.Set("Content-Type", "application/json")
	res, err := c.http.Do(req)
	if err != nil {
		return lost(method, err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return lost(method, err)
	}
	if res.StatusCode/100 != 2 {
		return refusal(res.StatusCode, raw)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(raw, out)
}

func lost(method string, err error) error {
	if method == http.MethodGet {
		return errs.Wrap(errs.Unavailable, err, "The deployment does not answer.")
	}
	return unknownOutcome{err}
}

// refusal is the error inside a deployment's answer.
func refusal(status int, raw []byte) error {
	var body struct {
		Error *errs.Error `json:"error"`
	}
	if json.Unmarshal(raw, &body) == nil && body.Error != nil {
		return body.Error
	}
	code := errs.Internal
	switch status {
	case 401, 403:
		code = errs.Unauthorized
	case 404:
		code = errs.NotFound
	case 502, 503, 504:
		code = errs.Unavailable
	}
	return errs.New(code, "The deployment answered %d.", status)
}
