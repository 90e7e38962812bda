package playground

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"holdfast/playground/world"
)

// maxAnswer bounds an inline answer of the interactions endpoint, bytes.
const maxAnswer = maxRequest

// Outcome is what a user sees of an interaction.
type Outcome struct {
	Interaction string          `json:"interaction"`
	State       string          `json:"state"`             // acked or failed
	Answer      int             `json:"answer,omitempty"`  // callback type
	Why         string          `json:"why,omitempty"`     // it failed: for the developer
	Error       string          `json:"error,omitempty"`   // it failed: what the user reads
	Message     obj             `json:"message,omitempty"` // that @original means, or the note of a failure
	Modal       json.RawMessage `json:"modal,omitempty"`
	Choices     json.RawMessage `json:"choices,omitempty"`
}

// failures are what the client says when an application does not answer.
var failures = map[int]string{
	world.Command: "The application did not respond", world.Component: "This interaction failed",
	world.Autocomplete: "Loading options failed", world.ModalSubmit: "Something went wrong. Try again.",
}

// kinds are the types of interactions in words, for the log.
var kinds = map[int]string{world.Command: "command", world.Component: "component", world.Autocomplete: "autocomplete", world.ModalSubmit: "form"}

// interact posts a user's interaction and waits for its first response, at most three seconds of the clock.
func (s *Server) interact(ask world.Ask) (Outcome, error) {
	i, payload, err := s.world.Begin(ask)
	if err != nil {
		return Outcome{}, err
	}
	answered := s.await(i.ID)
	defer s.forget(i.ID)
	ctx, cancel := context.WithCancel(s.stopping)
	defer cancel()
	timer := s.clock.AfterFunc(world.AnswerIn, cancel)
	defer timer.Stop()
	inline := make(chan error, 1)
	go func() { inline <- s.post(ctx, i, payload) }()
	var failed error
	select {
	case <-answered:
	case <-ctx.Done():
		failed = errors.New("no answer within three seconds")
	case failed = <-inline:
		if errors.Is(failed, errAccepted) {
			failed = nil
			select {
			case <-answered:
			case <-ctx.Done():
				failed = errors.New("accepted with 202, and no callback within three seconds")
			}
		}
	}
	if failed != nil {
		if err := s.world.Fail(i.ID, failed.Error()); err != nil {
			return Outcome{}, err
		}
	}
	return s.outcome(i.ID), nil
}

func (s *Server) outcome(id string) Outcome {
	i, _ := s.world.Interaction(id)
	o := Outcome{Interaction: id, State: i.State, Answer: i.Answer, Why: i.Why, Modal: i.Modal, Choices: i.Choices}
	if i.State == world.Failed {
		o.Error = failures[i.Type]
		o.Message, _ = s.world.FailureOf(id)
		return o
	}
	o.Message, _ = s.world.Find(i.User, i.Original)
	return o
}

// await makes the channel that is closed when the callback endpoint has answered the interaction.
func (s *Server) await(id string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := make(chan struct{})
	s.waiting[id] = ch
	return ch
}

func (s *Server) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waiting, id)
}

// errAccepted means that the endpoint answers by the callback endpoint.
var errAccepted = errors.New("accepted")

// post sends the signed payload and applies an inline answer. It writes the exchange to the wire's log.
func (s *Server) post(ctx context.Context, i world.Interaction, payload []byte) error {
	target := s.currentEdge().InteractionsURL
	if target == "" {
		return errors.New("no interactions endpoint is set")
	}
	entry, finish := s.newEntry("interaction", http.MethodPost, target, payload)
	status, answer, kind, err := s.exchange(ctx, target, payload)
	if err == nil {
		err = s.inline(i, status, kind, answer, &entry)
	}
	done := finish(status, answer)
	done.Violations, done.Note = entry.Violations, kinds[i.Type]
	if i.Name != "" {
		done.Note += " /" + i.Name
	}
	if err != nil {
		done.Note += ": " + err.Error()
	}
	s.wire.add(done)
	return err
}

func (s *Server) exchange(ctx context.Context, target string, payload []byte) (int, []byte, string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(payload))
	if err != nil {
		return 0, nil, "", fmt.Errorf("interactions endpoint: %w", err)
	}
	stamp := strconv.FormatInt(s.clock.Now().Unix(), 10)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "Discord-Interactions/1.0 (+https://discord.com)")
	r.Header.Set("X-Signature-Timestamp", stamp)
	r.Header.Set("X-Signature-Ed25519", hex.EncodeToString(ed25519.Sign(s.world.Key(), append([]byte(stamp), payload...))))
	res, err := s.http.Do(r)
	if err != nil {
		return 0, nil, "", fmt.Errorf("interactions endpoint: %w", err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return res.StatusCode, nil, "", fmt.Errorf("interactions endpoint: %w", err)
	}
	return res.StatusCode, answer, res.Header.Get("Content-Type"), nil
}

// inline checks an answer as strictly as a request to the callback endpoint, and applies it.
func (s *Server) inline(i world.Interaction, status int, kind string, answer []byte, entry *Entry) error {
	switch {
	case status == http.StatusAccepted && len(answer) == 0:
		return errAccepted
	case status != http.StatusOK:
		return fmt.Errorf("the endpoint answered %d", status)
	}
	body, files, err := content(kind, answer)
	if err != nil {
		return err
	}
	op, _ := s.spec.Find(http.MethodPost, "/interactions/1/t/callback")
	body, refused, err := entry.check(op, nil, body)
	if err != nil {
		return err
	}
	if len(refused) > 0 {
		return fmt.Errorf("the answer does not fit Discord's API: %s", refused[0].Text)
	}
	cb, err := decode[world.Callback](body)
	if err != nil {
		return err
	}
	_, err = s.world.Respond(i.ID, cb, files)
	return err
}

// callback is POST /interactions/{id}/{token}/callback.
func callback(s *Server, c *call) (int, any, error) {
	id := c.params["interaction_id"]
	i, ok := s.world.Interaction(id)
	if !ok || i.Token != c.params["interaction_token"] {
		return 0, nil, world.ErrUnknownInteract
	}
	cb, err := decode[world.Callback](c.body)
	if err != nil {
		return 0, nil, err
	}
	if i, err = s.world.Respond(id, cb, c.files); err != nil {
		return 0, nil, err
	}
	s.mu.Lock()
	if ch := s.waiting[id]; ch != nil {
		close(ch)
		delete(s.waiting, id)
	}
	s.mu.Unlock()
	if v := c.query.Get("with_response"); v != "true" && v != "True" && v != "1" {
		return http.StatusNoContent, nil, nil
	}
	about := obj{"id": i.ID, "type": i.Type, "channel_id": i.Channel, "guild_id": s.world.Meta().Guild}
	out := obj{"interaction": about}
	if m, ok := s.world.Find(i.User, i.Original); ok {
		about["response_message_id"] = i.Original
		flags, _ := m["flags"].(int)
		about["response_message_ephemeral"], about["response_message_loading"] = flags&world.FlagEphemeral != 0, flags&world.FlagLoading != 0
		delete(m, "ephemeral_to")
		delete(m, "token_expires")
		switch i.Answer {
		case world.CallbackMessage, world.CallbackThinking:
			out["resource"] = obj{"type": world.CallbackMessage, "message": m}
		case world.CallbackUpdate:
			out["resource"] = obj{"type": world.CallbackUpdate, "message": m}
		}
	}
	return http.StatusOK, out, nil
}
