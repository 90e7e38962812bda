package main

import (
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"holdfast/actor"
	"holdfast/playground/scripted"
	"holdfast/worker/host"
)

// Names of the world in which everything is measured.
const (
	application = "1300000000000000001"
	guild       = "1300000000000000100"
	secret      = "0123456789abcdef0123456789abcdef-bench"
	botToken    = "bench-bot-token"
	modelName   = "default"
)

// users that every workspace admits.
var users = []string{"1300000000000000011", "1300000000000000012"}

// world is what stands around an edge: a Discord that accepts everything at once, a scripted model without latency,
// and the keys. Close it.
type world struct {
	key     ed25519.PrivateKey
	discord string
	model   string
	models  *scripted.Server

	mute     atomic.Bool    // Discord takes requests and does not answer them
	released chan struct{}  // closed: those that wait are given up
	called   chan time.Time // when the model was called, unless nobody looks
	edited   chan string    // bodies of edits of messages, unless nobody looks
	hang     atomic.Bool    // the model takes calls and does not answer them

	last    atomic.Int64 // of the ids that were given out
	servers []*http.Server
}

func newWorld() (*world, error) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, err
	}
	w := &world{key: key, models: scripted.New(), released: make(chan struct{}), called: make(chan time.Time, 1), edited: make(chan string, 1)}
	w.last.Store(time.Now().UnixMilli() - 1420070400000) // Discord's epoch
	w.last.Store(w.last.Load() << 22)
	if w.discord, err = w.serve(http.HandlerFunc(w.answerDiscord)); err != nil {
		return nil, err
	}
	w.model, err = w.serve(http.HandlerFunc(w.answerModel))
	return w, err
}

func (w *world) serve(h http.Handler) (url string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	s := &http.Server{Handler: h}
	w.servers = append(w.servers, s)
	go s.Serve(l)
	return "http://" + l.Addr().String(), nil
}

func (w *world) close() {
	close(w.released)
	for _, s := range w.servers {
		s.Close()
	}
}

// id gives a new snowflake, greater than all before.
func (w *world) id() string { return fmt.Sprint(w.last.Add(1)) }

// answerDiscord accepts whatever the edge writes. Messages, threads and edits all answer with an id and a channel.
func (w *world) answerDiscord(rw http.ResponseWriter, r *http.Request) {
	var body json.RawMessage
	_ = json.NewDecoder(r.Body).Decode(&body)
	if w.mute.Load() {
		select {
		case <-w.released:
		case <-r.Context().Done():
		}
		return
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/") // channels/<id>/messages[/<id>[/threads]] or webhooks/<app>/<token>/messages/@original
	answer := map[string]any{"id": w.id(), "channel_id": guild, "flags": 0}
	if parts[0] == "channels" {
		answer["channel_id"] = parts[1]
	}
	if r.Method == http.MethodPatch && len(parts) == 4 {
		answer["id"] = parts[3]
		select {
		case w.edited <- string(body):
		default:
		}
	}
	if len(parts) == 5 && parts[4] == "threads" {
		answer["id"] = parts[3]
	}
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(answer)
}

func (w *world) answerModel(rw http.ResponseWriter, r *http.Request) {
	select {
	case w.called <- time.Now():
	default:
	}
	if w.hang.Load() {
		select {
		case <-w.released:
		case <-r.Context().Done():
		}
		return
	}
	w.models.ServeHTTP(rw, r)
}

func (w *world) publicKey() string { return hex.EncodeToString(w.key.Public().(ed25519.PublicKey)) }

func (w *world) modelEntry() actor.Model {
	return actor.Model{Format: "openai", Model: "scripted", Window: 200_000, MaxOutput: 8_000, PriceIn: 1_000_000, PriceOut: 2_000_000}
}

// hostArgs are what a child of kind "host" needs to know.
type hostArgs struct {
	Engine  string // "linked" or "wazero"
	Core    string // path of core.wasm
	Cache   string // of compiled code
	Config  actor.Config
	Discord string
	Model   string
}

func (w *world) hostArgs(engine, core, cache string) hostArgs {
	return hostArgs{Engine: engine, Core: core, Cache: cache, Discord: w.discord, Model: w.model, Config: actor.Config{
		ApplicationID: application, PublicKeys: []string{w.publicKey()}, AllowedGuilds: []string{guild},
		Models: map[string]actor.Model{modelName: w.modelEntry()}, DefaultModel: modelName,
	}}
}

// workerdEnv are the same settings for the Cloudflare edge.
func (w *world) workerdEnv() (map[string]string, error) {
	m := w.modelEntry()
	models, err := json.Marshal(map[string]any{modelName: map[string]any{"format": m.Format, "base_url": w.model + "/v1", "model": m.Model,
		"window": m.Window, "max_output": m.MaxOutput, "price_in": m.PriceIn, "price_out": m.PriceOut}})
	return map[string]string{
		"HOLDFAST_DISCORD_APPLICATION_ID": application,
		"HOLDFAST_DISCORD_PUBLIC_KEYS":    w.publicKey(),
		"HOLDFAST_DISCORD_ALLOWED_GUILDS": guild,
		"HOLDFAST_DISCORD_BOT_TOKEN":      botToken,
		"HOLDFAST_DISCORD_API":            w.discord,
		"HOLDFAST_SECRET":                 secret,
		"HOLDFAST_MODELS":                 string(models),
		"HOLDFAST_MODELS_DEFAULT":         modelName,
	}, err
}

// token makes a key of the deployment.
func token(kind, subject string, roles ...string) string {
	t, err := host.Token(secret, kind, subject, roles, 1)
	if err != nil {
		panic(err) // our own constants
	}
	return t
}
