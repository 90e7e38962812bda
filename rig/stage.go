package rig

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"holdfast/actor"
	"holdfast/clock"
	"holdfast/cmd/holdfast/sample"
	"holdfast/playground"
	"holdfast/playground/scripted"
	"holdfast/worker/host"
)

// Names that every deployment of the rig has.
const (
	Workspace = "main"
	modelName = "default"
	secret    = "0123456789abcdef0123456789abcdef-rig"
)

// Stage is what a deployment stands in and what outlives its edge: the local Discord, the model provider, the project
// with its origin, the clock and a folder for data. Close it.
type Stage struct {
	Dir      string // everything is below it
	Clock    *clock.Shifted
	Discord  *playground.Server
	Info     playground.Info
	Model    *scripted.Server
	ModelURL string
	Project  string // working copy
	Origin   string // the bare repository it pushes to
	Port     int    // of the edge, the same for every start

	control control
	servers []*http.Server
}

// NewStage sets everything up below dir. files are committed to the sample project.
func NewStage(ctx context.Context, dir string, files map[string]string) (*Stage, error) {
	s := &Stage{Dir: dir, Clock: &clock.Shifted{}, Model: scripted.New()}
	if err := s.open(ctx, files); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Stage) open(ctx context.Context, files map[string]string) (err error) {
	if s.Port, err = freePort(); err != nil {
		return err
	}
	if s.Project, err = sample.Make(ctx, filepath.Join(s.Dir, "sample")); err != nil {
		return err
	}
	s.Origin = filepath.Join(filepath.Dir(s.Project), "berths.git")
	if err := s.prepareProject(ctx, files); err != nil {
		return err
	}
	if s.ModelURL, err = s.serve(s.Model); err != nil {
		return err
	}
	s.Discord, err = playground.New(playground.Options{Clock: s.Clock, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	base, err := s.serve(s.Discord.Handler())
	if err != nil {
		return err
	}
	if err := s.Discord.SetBase(base); err != nil {
		return err
	}
	s.Info = s.Discord.Info()
	s.control = control{base: s.Info.Control, token: "Bearer " + s.Info.ControlToken}
	return s.connectDiscord()
}

// connectDiscord tells the local Discord where the edge will be, and which key its relay has.
func (s *Stage) connectDiscord() error {
	relay, err := s.Token(host.KindRelay, "relay")
	if err != nil {
		return err
	}
	s.Discord.SetEdge(playground.Edge{
		InteractionsURL: s.URL() + "/interactions", EventsURL: s.URL() + "/v1/gateway/events",
		RelayKey: relay[strings.LastIndexByte(relay, '.')+1:], RelayN: 1,
	})
	return nil
}

// serve answers with h on a free port of this machine until Close.
func (s *Stage) serve(h http.Handler) (url string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: h, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	s.servers = append(s.servers, server)
	go func() { _ = server.Serve(l) }() // ends with Close
	return "http://" + l.Addr().String(), nil
}

// Close ends Discord and the provider.
func (s *Stage) Close() (err error) {
	if s.Discord != nil {
		err = s.Discord.Close()
	}
	for _, server := range s.servers {
		err = errors.Join(err, server.Close())
	}
	return err
}

// URL is where the edge is, when it is up.
func (s *Stage) URL() string { return fmt.Sprintf("http://127.0.0.1:%d", s.Port) }

// WorkspaceID is "<guild>/<workspace>".
func (s *Stage) WorkspaceID() string { return s.Info.Guild + "/" + Workspace }

// Token makes a key of the deployment (docs/protocol.md, "Callers").
func (s *Stage) Token(kind, subject string, roles ...string) (string, error) {
	return host.Token(secret, kind, subject, roles, 1)
}

// model is the scripted provider as the deployment knows it.
func (s *Stage) model() actor.Model {
	return actor.Model{Format: "openai", Model: "scripted", Window: 200_000, MaxOutput: 8_000, PriceIn: 1_000_000, PriceOut: 2_000_000}
}

// prepareProject commits the scenario's files, and makes the origin keep a log of what is pushed to it.
func (s *Stage) prepareProject(ctx context.Context, files map[string]string) error {
	for name, text := range files {
		path := filepath.Join(s.Project, filepath.FromSlash(name))
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return fmt.Errorf("project file %q is outside the project", name)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Join(s.Origin, "logs"), 0o755); err != nil {
		return err
	}
	if err := s.git(ctx, s.Origin, "config", "core.logAllRefUpdates", "true"); err != nil || len(files) == 0 {
		return err
	}
	if err := s.git(ctx, s.Project, "add", "--all"); err != nil {
		return err
	}
	return s.git(ctx, s.Project, "commit", "--quiet", "--message", "Files of the scenario")
}

// git runs git without anybody's configuration.
func (s *Stage) git(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.Dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=Rig", "GIT_AUTHOR_EMAIL=rig@example.org", "GIT_COMMITTER_NAME=Rig", "GIT_COMMITTER_EMAIL=rig@example.org"}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w: %s", args[0], err, out)
	}
	return nil
}
