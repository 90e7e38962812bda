package playground

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"holdfast/playground/world"
)

// upload is a file in a control request.
type upload struct {
	Name string `json:"name"`
	Type string `json:"type"`
	Data []byte `json:"data"`
}

func (s *Server) say(r *http.Request, u world.User) (any, error) {
	in, err := read[struct {
		Channel string   `json:"channel"`
		Content string   `json:"content"`
		ReplyTo string   `json:"reply_to"`
		Files   []upload `json:"files"`
	}](r)
	if err != nil {
		return nil, err
	}
	d := world.Draft{Content: &in.Content}
	if in.ReplyTo != "" {
		d.Reference = &world.DraftReference{Message: in.ReplyTo}
	}
	for i, f := range in.Files {
		d.Files = append(d.Files, world.File{Index: strconv.Itoa(i), Name: f.Name, Type: f.Type, Data: f.Data})
	}
	if len([]rune(in.Content)) > 2000 {
		return nil, world.Invalid("content", "BASE_TYPE_MAX_LENGTH", "Must be 2000 or fewer in length.")
	}
	m, _, err := s.world.Post(u.ID, in.Channel, d)
	return m, err
}

func (s *Server) reword(r *http.Request, u world.User) (any, error) {
	in, err := read[struct {
		Content string `json:"content"`
	}](r)
	if err != nil {
		return nil, err
	}
	channel, err := s.world.ChannelOf(r.PathValue("m"))
	if err != nil {
		return nil, err
	}
	return s.world.Edit(u.ID, channel, r.PathValue("m"), world.Draft{Content: &in.Content})
}

func (s *Server) unsay(r *http.Request, u world.User) (any, error) {
	id := r.PathValue("m")
	if s.world.Dismiss(u.ID, id) == nil {
		return nil, nil
	}
	channel, err := s.world.ChannelOf(id)
	if err != nil {
		return nil, err
	}
	return nil, s.world.Delete(u.ID, channel, id)
}

// typed is a command as the client's input line holds it.
type typed struct {
	Channel string      `json:"channel"`
	Name    string      `json:"name"`
	Options world.Given `json:"options"`
	Focused string      `json:"focused"`
}

func (s *Server) command(r *http.Request, u world.User) (any, error) {
	in, err := read[typed](r)
	if err != nil {
		return nil, err
	}
	if in.Focused != "" {
		return nil, errControl{"focused: belongs to autocomplete"}
	}
	ask, err := s.world.AskCommand(u.ID, in.Channel, in.Name, in.Options, "")
	if err != nil {
		return nil, err
	}
	return s.interact(ask)
}

func (s *Server) autocomplete(r *http.Request, u world.User) (any, error) {
	in, err := read[typed](r)
	if err != nil {
		return nil, err
	}
	if in.Focused == "" {
		return nil, errControl{"focused: which option?"}
	}
	ask, err := s.world.AskCommand(u.ID, in.Channel, in.Name, in.Options, in.Focused)
	if err != nil {
		return nil, err
	}
	out, err := s.interact(ask)
	if err != nil {
		return nil, err
	}
	var data struct {
		Choices json.RawMessage `json:"choices"`
	}
	if len(out.Choices) > 0 {
		if err := json.Unmarshal(out.Choices, &data); err != nil {
			return nil, fmt.Errorf("choices: %w", err)
		}
		out.Choices = data.Choices
	}
	return out, nil
}

func (s *Server) press(r *http.Request, u world.User) (any, error) {
	in, err := read[struct {
		Message  string   `json:"message"`
		CustomID string   `json:"custom_id"`
		Values   []string `json:"values"`
	}](r)
	if err != nil {
		return nil, err
	}
	ask, err := s.world.AskComponent(u.ID, in.Message, in.CustomID, in.Values)
	if err != nil {
		return nil, err
	}
	return s.interact(ask)
}

func (s *Server) submit(r *http.Request, u world.User) (any, error) {
	in, err := read[struct {
		Interaction string            `json:"interaction"`
		Values      map[string]string `json:"values"`
	}](r)
	if err != nil {
		return nil, err
	}
	ask, err := s.world.AskModal(u.ID, in.Interaction, in.Values)
	if err != nil {
		return nil, err
	}
	return s.interact(ask)
}

func (s *Server) userThread(r *http.Request, u world.User) (any, error) {
	in, err := read[struct {
		Channel string `json:"channel"`
		Name    string `json:"name"`
		Message string `json:"message"`
	}](r)
	if err != nil {
		return nil, err
	}
	kind := world.TypePublic
	return s.world.OpenThread(u.ID, in.Channel, in.Message, world.ThreadDraft{Name: in.Name, Type: &kind})
}

func (s *Server) changeThread(r *http.Request, u world.User) (any, error) {
	in, err := read[world.ChannelDraft](r)
	if err != nil {
		return nil, err
	}
	return s.world.Change(u.ID, r.PathValue("t"), in)
}

func (s *Server) deleteThread(r *http.Request, u world.User) (any, error) {
	_, err := s.world.DeleteChannel(u.ID, r.PathValue("t"))
	return nil, err
}

func (s *Server) userTyping(r *http.Request, u world.User) (any, error) {
	in, err := read[struct {
		Channel string `json:"channel"`
	}](r)
	if err != nil {
		return nil, err
	}
	return nil, s.world.Typing(u.ID, in.Channel)
}

// showRecords fetches the deployment's records, so that the page needs no key and no other origin.
func (s *Server) showRecords(r *http.Request, _ world.User) (any, error) {
	edge := s.currentEdge()
	if edge.RecordsURL == "" {
		return obj{"tables": []any{}}, nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, edge.RecordsURL, nil)
	if err != nil {
		return nil, fmt.Errorf("records: %w", err)
	}
	if edge.RecordsToken != "" {
		req.Header.Set("Authorization", "Bearer "+edge.RecordsToken)
	}
	res, err := s.http.Do(req)
	if err != nil {
		return nil, errControl{"the workspace is not reachable"}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 4<<20))
	if err != nil || res.StatusCode != http.StatusOK || !json.Valid(body) {
		return nil, errControl{fmt.Sprintf("the workspace answered %d", res.StatusCode)}
	}
	return json.RawMessage(body), nil
}

// stream is the page's server-sent events. A comment every 15 seconds keeps it open.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	user := ""
	if handle := r.URL.Query().Get("user"); handle != "" {
		u, err := s.world.User(handle)
		if err != nil {
			s.refuse(w, http.StatusNotFound, "not_found", err.Error())
			return
		}
		user = u.ID
	}
	events := s.hub.subscribe(user)
	defer s.hub.unsubscribe(events)
	out := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	beat := time.NewTicker(15 * time.Second)
	defer beat.Stop()
	_, _ = io.WriteString(w, ": open\n\n")
	for {
		if out.Flush() != nil {
			return
		}
		select {
		case e, open := <-events:
			if !open {
				return
			}
			_, _ = fmt.Fprintf(w, "data: %s\n\n", mustJSON(e))
		case <-beat.C:
			_, _ = io.WriteString(w, ": beat\n\n")
		case <-r.Context().Done():
			return
		}
	}
}

// serveAttachment gives a file's bytes, never as something a browser would run.
func (s *Server) serveAttachment(w http.ResponseWriter, r *http.Request) {
	data, err := s.world.File(r.PathValue("id"))
	if err != nil {
		http.NotFound(w, r)
		return
	}
	name := strings.Map(func(c rune) rune {
		if c < ' ' || c == '"' || c == '\\' {
			return '_'
		}
		return c
	}, r.PathValue("name"))
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	_, _ = w.Write(data)
}
