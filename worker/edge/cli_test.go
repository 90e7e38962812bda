package edge_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/actor"
	"holdfast/interactions"
	"holdfast/worker/edge/workerd"
	"holdfast/worker/engine"
	"holdfast/worker/host"
)

// startSelfhosted is startWhole with the other host.
func startSelfhosted(t *testing.T) *whole {
	t.Helper()
	o := openOutside(t)
	h, err := host.New(t.Context(), host.Options{
		Data: t.TempDir(), Secrets: []host.Secret{secret},
		Engine: engine.Linked{HandleFunc: actor.Handle, RouteFunc: interactions.Route},
		Config: actor.Config{
			ApplicationID: o.info.Application, PublicKeys: []string{o.info.PublicKey}, AllowedGuilds: []string{o.info.Guild}, DefaultModel: "default",
			Models: map[string]actor.Model{"default": {Format: "anthropic", Model: "scripted", Window: 200000, MaxOutput: 4096}},
		},
		Targets: map[string]host.Target{
			"discord":       {BaseURL: o.info.API, Credential: host.Secret(o.info.Token)},
			"model:default": {BaseURL: o.provider.URL, Format: "anthropic"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h.Handler())
	t.Cleanup(func() {
		server.CloseClientConnections()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		server.Close()
		o.close()
	})
	w := &whole{&deployment{Process: &workerd.Process{URL: server.URL}, t: t}, o.info, "workspace:" + o.info.Guild + "/main"}
	w.introduce(o.discord)
	return w
}

// program is the path of the holdfast binary, which is built once.
var program = sync.OnceValues(func() (string, error) {
	path := filepath.Join(filepath.Dir(testCore), "holdfast")
	if out, err := exec.Command("go", "build", "-o", path, "holdfast/cmd/holdfast").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

// said is what a command line printed and came to.
type said struct {
	out, err string
	code     int
}

// cli runs the binary against a deployment, with the key of an operator who has the roles.
func (w *whole) cli(roles string, args ...string) said {
	w.t.Helper()
	bin, err := program()
	if err != nil {
		w.t.Fatal(err)
	}
	token := filepath.Join(w.t.TempDir(), "token")
	plus, comma := strings.ReplaceAll("ops "+roles, " ", "+"), strings.ReplaceAll(roles, " ", ",")
	if err := os.WriteFile(token, []byte("hf1.operator."+plus+".1."+key(secret, "v1|operator|ops|"+comma+"|1")), 0o600); err != nil {
		w.t.Fatal(err)
	}
	cmd := exec.Command(bin, append(args, "--url", w.URL, "--token-file", token, "--workspace", w.info.Guild+"/main")...)
	cmd.Env = []string{"HOME=" + w.t.TempDir()}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	var failed *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &failed) {
		w.t.Fatal(err)
	}
	return said{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// settled plays a turn, and waits until the CLI says that its job is done.
func (w *whole) settled() {
	w.t.Helper()
	w.ask("!say the answer")
	w.shown("the answer")
	w.until(func() bool { return strings.Contains(w.cli("read", "jobs").out, "done") })
}

// shape is what is left of JSON without its values: the types, and of a list's members what they have together.
func shape(v any) any {
	switch v := v.(type) {
	case map[string]any:
		all := map[string]any{}
		for name, value := range v {
			all[name] = shape(value)
		}
		return all
	case []any:
		all := map[string]any{}
		for _, value := range v {
			if m, ok := shape(value).(map[string]any); ok {
				maps.Copy(all, m)
			} else {
				all[fmt.Sprintf("%T", value)] = nil
			}
		}
		return []any{all}
	}
	return fmt.Sprintf("%T", v)
}

func shapeOf(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return shape(v)
}

// The same program says the same of both hosts.
func TestCLIOnBothHosts(t *testing.T) {
	atEdge := startWhole(t)
	atEdge.with(operatorProgram)
	self := startSelfhosted(t)
	atEdge.settled()
	self.settled()
	for _, tt := range []struct {
		line, roles string
		code        int
	}{
		{"status --json", "read", 0},
		{"jobs --json", "read", 0},
		{"jobs --active --json", "read", 0},
		{"job 1 --json", "read", 0},
		{"job 1 --events --json", "read", 0},
		{"job zz --json", "read", 3},
		{"status", "approve", 4},
		{"jobs", "approve", 4},
		{"jobs --active --failed", "read", 2},
	} {
		t.Run(tt.line+" "+tt.roles, func(t *testing.T) {
			a, b := atEdge.cli(tt.roles, strings.Fields(tt.line)...), self.cli(tt.roles, strings.Fields(tt.line)...)
			if a.code != tt.code || b.code != tt.code || a.err != b.err {
				t.Fatalf("at the edge %+v\nself-hosted %+v\nwant exit code %d", a, b, tt.code)
			}
			if a.code == 0 && !reflect.DeepEqual(shapeOf(t, a.out), shapeOf(t, b.out)) {
				t.Errorf("at the edge %s\nself-hosted %s", a.out, b.out)
			}
		})
	}
	for line, want := range map[string]string{"status": "none connected", "jobs": "the answer", "job 1": "generation", "job 1 --events": "submission.admitted"} {
		a, b := atEdge.cli("read", strings.Fields(line)...), self.cli("read", strings.Fields(line)...)
		if !strings.Contains(a.out, want) || !strings.Contains(b.out, want) || strings.Count(a.out, "\n") != strings.Count(b.out, "\n") {
			t.Errorf("%s\nat the edge %s\nself-hosted %s", line, a.out, b.out)
		}
	}
}

// What the CLI does not ask yet: lists, and waiting.
func TestOperatorAPIOnBothHosts(t *testing.T) {
	atEdge := startWhole(t)
	atEdge.with(operatorProgram)
	self := startSelfhosted(t)
	log := "/v1/workspaces/" + atEdge.info.Guild + "/main/events"
	if self.info.Guild != atEdge.info.Guild {
		t.Fatal("the guilds have different names, and so the paths")
	}
	atEdge.settled()
	self.settled()
	for _, tt := range []struct {
		path   string
		header http.Header
	}{
		{"/v1/workspaces", reader()},
		{"/v1/status", reader()},
		{"/v1/status", nil},
		{"/v1/workspaces", bearer("operator.maya+read.1", "v1|operator|leo|read|1")},
		{"/v1/workspaces", bearer("runner.11/main.1", "v1|runner|11/main|1")},
		{"/v1/status/", reader()},
		{log + "?wait=5", reader()},
		{log + "?after=1000000&wait=0.3", reader()},
		{log + "?after=x&wait=5", reader()},
		{log + "?wait=x", reader()},
		{log + "?wait=5", nil},
	} {
		a, b := atEdge.request("GET", tt.path, nil, tt.header), self.request("GET", tt.path, nil, tt.header)
		same := reflect.DeepEqual(shapeOf(t, a.Body), shapeOf(t, b.Body))
		if a.Status >= 400 {
			same = strings.TrimSpace(a.Body) == strings.TrimSpace(b.Body)
		}
		if a.Status != b.Status || !same {
			t.Errorf("%s\nat the edge %d %s\nself-hosted %d %s", tt.path, a.Status, a.Body, b.Status, b.Body)
		}
	}
	for _, w := range []*whole{atEdge, self} {
		w.wakesUp(log)
	}
}

// wakesUp waits for the next event, which then comes.
func (w *whole) wakesUp(log string) {
	w.t.Helper()
	var last struct{ After int64 }
	if err := json.Unmarshal([]byte(w.request("GET", log, nil, reader()).Body), &last); err != nil {
		w.t.Fatal(err)
	}
	begin := time.Now()
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		w.ask("!say another")
	}()
	a := w.request("GET", fmt.Sprintf("%s?after=%d&wait=25", log, last.After), nil, reader())
	<-asked
	if took := time.Since(begin); a.Status != 200 || !strings.Contains(a.Body, "submission.admitted") || took > 15*time.Second {
		w.t.Errorf("%d %s after %v", a.Status, a.Body, took)
	}
	w.shown("another")
}
