// Package playground is a local Discord: the REST API v10, signed HTTP interactions, the events that a relay would
// forward, and a page that looks and behaves like Discord, for several users at once. It is the newcomer's first
// minute, the developer's inner loop, and the rig of the end-to-end tests.
//
// The state and the platform's rules are package world, the check against Discord's own OpenAPI description is
// package openapi, the page is package web. This package is what speaks HTTP.
package playground

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"holdfast/clock"
	"holdfast/playground/openapi"
	"holdfast/playground/web"
	"holdfast/playground/world"
)

// Options of a playground. The zero value is a playground in memory whose edge is not known yet.
type Options struct {
	Data string // folder that everything is kept in; "" keeps nothing
	// Clock: nil is the machine's. A *clock.Shifted can be moved by the control API, and is moved by New to where
	// the folder's time already was.
	Clock clock.Clock
	Seed  world.Seed // of an empty folder
	Log   *slog.Logger

	// Actions are buttons that the page's panel adds, as "Kill the edge".
	Actions []Action
	// Suggestions are prompts that the page offers for /ask while its first channel is empty.
	Suggestions []string

	Edge
}

// Action is something that the program around the playground can do to the deployment.
type Action struct {
	Name  string                          `json:"name"` // in the control API
	Label string                          `json:"label"`
	Note  string                          `json:"note"`
	Run   func(ctx context.Context) error `json:"-"`
}

// Edge says where the deployment under test listens, and how to speak to it.
type Edge struct {
	InteractionsURL string // gets signed interactions
	EventsURL       string // gets Gateway events as a relay sends them; "": they stay in the spool
	RelayKey        string // key of hf1.relay.relay.<RelayN>, hex
	RelayN          int    // 0 means 1
	RecordsURL      string // JSON of the page's panel "Workspace records"; "": the panel is empty
	RecordsToken    string // bearer for it
}

// Server is a running playground. Close it.
type Server struct {
	opt   Options
	clock clock.Clock
	log   *slog.Logger
	world *world.World
	spec  *openapi.Spec
	http  *http.Client
	mux   *http.ServeMux

	mu      sync.Mutex
	base    *url.URL
	edge    Edge
	waiting map[string]chan struct{} // interaction → closed when the callback endpoint answered it

	wire   wire
	faults faults
	limits limits
	hub    hub

	stop     context.CancelFunc
	stopping context.Context
	kick     chan struct{} // the edge's address changed, or it is time to retry
	running  sync.WaitGroup
}

// New opens the folder and starts to forward events. Requests are served by Handler.
func New(opt Options) (*Server, error) {
	if opt.Clock == nil {
		opt.Clock = clock.Real{}
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	spec, err := openapi.Discord()
	if err != nil {
		return nil, err
	}
	s := &Server{opt: opt, clock: opt.Clock, log: opt.Log, spec: spec, edge: opt.Edge, base: &url.URL{},
		waiting: map[string]chan struct{}{}, kick: make(chan struct{}, 1),
		http: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	s.wire.watch = func(e Entry) { s.hub.send(event{Type: "wire", Data: e.brief()}) }
	s.world, err = world.Open(world.Options{Dir: opt.Data, Clock: opt.Clock, Seed: opt.Seed,
		Base:  func() string { return s.baseURL() },
		Watch: func(c world.Change) { s.hub.send(event{Type: c.Type, Channel: c.Channel, For: c.For, Data: c.Data}) }})
	if err != nil {
		return nil, fmt.Errorf("playground: %w", err)
	}
	s.stopping, s.stop = context.WithCancel(context.Background())
	s.mux = s.routes()
	s.running.Go(s.forward)
	s.running.Go(s.archive)
	return s, nil
}

// routes is everything that the playground serves.
func (s *Server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("/api/", s.serveAPI)
	mux.HandleFunc("GET /attachments/{channel}/{id}/{name}", s.serveAttachment)
	s.controlRoutes(mux)
	mux.Handle("/", web.Handler())
	return mux
}

// Handler serves the API, the control API and the page, for hosts that are this machine.
func (s *Server) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.ourHost(r.Host) {
			http.Error(w, "this playground answers on the loopback address only", http.StatusMisdirectedRequest)
			return
		}
		s.mux.ServeHTTP(w, r)
	})
}

// SetBase tells the public address, as "http://127.0.0.1:4100", once it is known.
func (s *Server) SetBase(base string) error {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return fmt.Errorf("playground: base address %q: %w", base, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.base = &url.URL{Scheme: u.Scheme, Host: u.Host}
	return nil
}

// SetEdge tells where the edge listens; what waits in the spool is sent there.
func (s *Server) SetEdge(e Edge) {
	s.mu.Lock()
	s.edge = e
	s.mu.Unlock()
	s.nudge()
}

func (s *Server) nudge() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

func (s *Server) currentEdge() Edge {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.edge
}

func (s *Server) baseURL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.base.String()
}

// Info is what a deployment and a test need to use the playground.
type Info struct {
	API          string            `json:"api"`     // base of the REST API, with version
	Gateway      string            `json:"gateway"` // WebSocket address that /gateway tells
	Token        string            `json:"token"`   // of the bot
	Application  string            `json:"application_id"`
	PublicKey    string            `json:"public_key"` // hex
	Guild        string            `json:"guild_id"`
	Channel      string            `json:"channel_id"` // that the page opens with
	Control      string            `json:"control"`    // base of the control API
	ControlToken string            `json:"control_token"`
	Page         string            `json:"page"`  // with the token in its fragment
	Users        map[string]string `json:"users"` // name → id
	Roles        map[string]string `json:"roles"` // name → id
}

// Info describes the playground; call it after SetBase.
func (s *Server) Info() Info {
	base, m := s.baseURL(), s.world.Meta()
	gateway := *s.baseCopy()
	gateway.Scheme, gateway.Path = "ws", "/gateway"
	users, roles := s.world.Names()
	return Info{API: base + "/api/v10", Gateway: gateway.String(), Token: m.Token, Application: m.Application,
		PublicKey: hex.EncodeToString(s.world.Key().Public().(ed25519.PublicKey)), Guild: m.Guild, Channel: m.Home,
		Control: base + "/control/v1", ControlToken: m.ControlToken, Page: base + "/#token=" + m.ControlToken,
		Users: users, Roles: roles}
}

func (s *Server) baseCopy() *url.URL {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := *s.base
	return &u
}

// Close stops forwarding and ends open streams. What was acknowledged is on disk already.
func (s *Server) Close() error {
	s.stop()
	s.hub.close()
	s.running.Wait()
	return s.world.Close()
}

// archive lets Discord's automatic archiving happen, once a minute of the clock.
func (s *Server) archive() {
	for {
		tick := make(chan struct{})
		timer := s.clock.AfterFunc(time.Minute, func() { close(tick) })
		select {
		case <-s.stopping.Done():
			timer.Stop()
			return
		case <-tick:
			if err := s.world.ArchiveIdle(); err != nil {
				s.log.Error("playground: archive idle threads", "error", err)
			}
		}
	}
}
