package host

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"holdfast/actor"
	"holdfast/interactions"
	"holdfast/worker/engine"
)

// town is what a real workspace sees of the world: a Discord that keeps messages and threads, and a model.
type town struct {
	t testing.TB

	mu       sync.Mutex
	next     int64
	messages map[string]*townMessage
	order    []string
	threads  map[string]bool
	nonces   map[string]int // how often each came; more than once is a repetition
	calls    int            // of the model
	gate     chan struct{}  // holds the model until it is closed; nil: it answers at once
}

type townMessage struct {
	ID         string          `json:"id"`
	Channel    string          `json:"channel_id"`
	Content    string          `json:"content"`
	Components json.RawMessage `json:"components"`
	Nonce      string          `json:"nonce"`
	Author     struct {
		ID string `json:"id"`
	} `json:"author"`
}

const (
	realGuild   = "1300000000000000100"
	realChannel = "1300000000000000200"
	realUser    = "1300000000000000011"
	realApp     = "1300000000000000001"
	realWS      = "workspace:" + realGuild + "/a"
)

func newTown(t testing.TB) *town {
	return &town{t: t, next: 1400000000000000000, messages: map[string]*townMessage{}, threads: map[string]bool{}, nonces: map[string]int{}}
}

func (c *town) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/v1/") {
		c.model(w)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var m townMessage
	body, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(body, &m) // no body is an empty message
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/api/channels/"), "/")
	status, answer := c.rest(r, parts, m)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

// rest answers /channels/{channel}/…; it is as much of Discord as these tests need.
func (c *town) rest(r *http.Request, parts []string, m townMessage) (int, any) {
	known := c.messages[parts[len(parts)-1]]
	switch {
	case parts[len(parts)-1] == "threads":
		id := parts[2]
		c.threads[id] = true
		return 201, map[string]any{"id": id, "type": 11}
	case r.Method == "POST":
		c.nonces[m.Nonce]++
		c.next++
		m.ID, m.Channel, m.Author.ID = strconv.FormatInt(c.next, 10), parts[0], realApp
		c.messages[m.ID] = &m
		c.order = append(c.order, m.ID)
		return 200, m
	case len(parts) == 3 && known == nil:
		return 404, map[string]any{"code": 10008}
	case r.Method == "PATCH":
		known.Content, known.Components = m.Content, m.Components
		return 200, known
	case len(parts) == 3:
		return 200, known
	case parts[0] != realChannel && !c.threads[parts[0]]:
		return 404, map[string]any{"code": 10003}
	}
	page := []*townMessage{}
	for _, id := range c.order {
		if c.messages[id].Channel == parts[0] && id > r.URL.Query().Get("after") {
			page = append(page, c.messages[id])
		}
	}
	return 200, page
}

func (c *town) model(w io.Writer) {
	c.mu.Lock()
	c.calls++
	gate := c.gate
	c.mu.Unlock()
	if gate != nil {
		<-gate
	}
	io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"I heard you."},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
}

// answers counts the messages that show an answer, by channel.
func (c *town) answers() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := map[string]int{}
	for _, m := range c.messages {
		if strings.Contains(m.Content, "I heard you.") {
			n[m.Channel]++
		}
	}
	return n
}

func (c *town) modelCalls() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls
}

// real opens a host with the real core, linked, in this town.
func (c *town) real(dir string, change ...func(*Options)) *site {
	c.t.Helper()
	server := remote(c.t, c.ServeHTTP)
	return open(c.t, dir, append([]func(*Options){func(o *Options) {
		o.Engine = engine.Linked{HandleFunc: actor.Handle, RouteFunc: interactions.Route}
		o.Targets = map[string]Target{"discord": {BaseURL: server.URL + "/api"}, "model:m": {BaseURL: server.URL + "/v1", Format: "openai"}}
		o.Config = actor.Config{ApplicationID: realApp, AllowedGuilds: []string{realGuild}, DefaultModel: "m",
			Models: map[string]actor.Model{"m": {Format: "openai", Model: "m", Window: 8000, MaxOutput: 1000}}}
	}}, change...)...)
}

// operator makes a request with all roles.
func (s *site) operator(method, path, body string) (int, string) {
	s.t.Helper()
	key, err := Token(testSecret, KindOperator, "ann", []string{"read", "approve", "admin"}, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.do(method, path, body, "Authorization", "Bearer "+key)
}

// configure admits everybody that the tests speak for to a workspace.
func (s *site) configure(workspace string) {
	s.t.Helper()
	status, body := s.operator("PUT", "/v1/workspaces/"+realGuild+"/"+workspace+"/config", `{"members":[{"user":"`+realUser+`","roles":["admin"]}]}`)
	if status != 200 {
		s.t.Fatalf("config: %d %s", status, body)
	}
}

// mention posts a message that asks the bot, and says whether it was acknowledged. Its thread has its id.
func (s *site) mention(to, id string) bool {
	s.t.Helper()
	data, err := json.Marshal(actor.GatewayEvent{ID: id, Type: "MESSAGE_CREATE", Source: "live", Message: id, Content: "<@" + realApp + "> hello",
		Mentions: []string{realApp}, Author: actor.User{ID: realUser, Name: "maya"}, Place: actor.Place{Guild: realGuild, Channel: realChannel}})
	if err != nil {
		s.t.Fatal(err)
	}
	a := s.ask(context.Background(), to, &item{kind: actor.EventGateway, data: data}, true)
	return a.err == nil && strings.Contains(string(a.reply.Body), actor.StatusCommitted)
}

// messageID is the n-th snowflake of these tests, of the autumn of 2024.
func messageID(n int) string { return fmt.Sprint(1300000000000002000 + n) }
