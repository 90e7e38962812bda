package playground

// The control API: what people do in the local Discord, what goes wrong in it, and what happened. It belongs to the
// page and to tests. Base /control/v1, JSON, "Authorization: Bearer <control token>"; errors are
// {"error":{"code":"…","message":"…"}}. {u} is a user's name or id.
//
//	POST   /users/{u}/messages      {"channel","content","reply_to"?,"files"?:[{"name","type","data":base64}]} → message
//	PATCH  /users/{u}/messages/{m}  {"content"} → message
//	DELETE /users/{u}/messages/{m}  → {}   (an ephemeral message is dismissed)
//	POST   /users/{u}/commands      {"channel","name":"ask","options"?:{"prompt":"…"}} → outcome
//	                                name is "group sub" for a subcommand; an attachment is {"name","type","data":base64}
//	POST   /users/{u}/autocomplete  {"channel","name","options":{…},"focused":"conversation"} → outcome with choices
//	POST   /users/{u}/components    {"message","custom_id","values"?:[…]} → outcome
//	POST   /users/{u}/modals        {"interaction","values":{"<custom_id>":"text"}} → outcome
//	POST   /users/{u}/threads       {"channel","name","message"?} → thread
//	PATCH  /users/{u}/threads/{t}   {"name"?,"archived"?,"locked"?} → thread
//	DELETE /users/{u}/threads/{t}   → {}
//	POST   /users/{u}/typing        {"channel"} → {}
//	GET    /channels/{c}?user=      {"channel":{…},"messages":[…oldest first…]}; without user everybody's ephemeral ones
//	GET    /threads                 {"threads":[…]}
//	GET    /state?user=             guild, channels, threads, users, roles, commands the user may use, now, faults
//	POST   /faults                  Fault (faults.go) → the fault with its id
//	GET    /faults                  {"faults":[…]}
//	DELETE /faults                  → {}
//	POST   /actions/{name}          runs one of Options.Actions → {}
//	POST   /clock                   {"advance":"16m"} → {"now":ms}
//	GET    /log?after=n             {"entries":[Entry (wire.go)]}
//	GET    /records                 the deployment's records, {"tables":[{"name","columns":[…],"rows":[[…]]}]}
//	GET    /info                    Info (playground.go)
//	GET    /events?user=            server-sent events {"type","channel"?,"data"?}: message, message_delete, channel,
//	                                channel_delete, commands, typing, clock, wire
//
// An outcome is {"interaction","state":"acked|failed","answer":4,"message"?,"modal"?,"choices"?,"error"?,"why"?}; it
// comes when the application has given its first response, or after three seconds of the clock. A message is Discord's
// message object with "ephemeral_to" (the one user who sees it), "failure" (a note that an application did not
// respond) and "token_expires" (ms, while it is "thinking") where they apply.

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"holdfast/playground/world"
)

// maxControl bounds a control request, bytes: a file in base64 and some text.
const maxControl = 16 << 20

// controlHandler answers a control request with a value or an error.
type controlHandler func(*http.Request, world.User) (any, error)

func (s *Server) controlRoutes(mux *http.ServeMux) {
	mux.HandleFunc("/control/v1/", func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, http.StatusNotFound, "not_found", "no such control")
	})
	for pattern, h := range map[string]controlHandler{
		"POST /users/{u}/messages":       s.say,
		"PATCH /users/{u}/messages/{m}":  s.reword,
		"DELETE /users/{u}/messages/{m}": s.unsay,
		"POST /users/{u}/commands":       s.command,
		"POST /users/{u}/autocomplete":   s.autocomplete,
		"POST /users/{u}/components":     s.press,
		"POST /users/{u}/modals":         s.submit,
		"POST /users/{u}/threads":        s.userThread,
		"PATCH /users/{u}/threads/{t}":   s.changeThread,
		"DELETE /users/{u}/threads/{t}":  s.deleteThread,
		"POST /users/{u}/typing":         s.userTyping,
		"GET /channels/{c}":              s.showChannel,
		"GET /threads":                   s.showThreads,
		"GET /state":                     s.showState,
		"POST /faults":                   s.addFault,
		"GET /faults":                    s.showFaults,
		"DELETE /faults":                 s.clearFaults,
		"POST /actions/{name}":           s.runAction,
		"POST /clock":                    s.moveClock,
		"GET /log":                       s.showLog,
		"GET /records":                   s.showRecords,
		"GET /info":                      s.showInfo,
	} {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" /control/v1"+path, s.control(h))
	}
	mux.HandleFunc("GET /control/v1/events", s.guard(s.stream))
}

// control decodes nothing: it finds the user, runs the handler and writes what it says.
func (s *Server) control(h controlHandler) http.HandlerFunc {
	return s.guard(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxControl)
		var u world.User
		handle := r.PathValue("u")
		if handle == "" {
			handle = r.URL.Query().Get("user")
		}
		if handle != "" {
			var err error
			if u, err = s.world.User(handle); err != nil {
				s.refuse(w, http.StatusNotFound, "not_found", err.Error())
				return
			}
		}
		v, err := h(r, u)
		if err != nil {
			s.refuseError(w, err)
			return
		}
		if v == nil {
			v = obj{}
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(mustJSON(v))
	})
}

// guard lets only the page and tests of this machine through: right token, no foreign origin. (The host was checked.)
func (s *Server) guard(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		want := "Bearer " + s.world.Meta().ControlToken
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte(want)) != 1 {
			s.refuse(w, http.StatusUnauthorized, "unauthorized", "the control token is missing or wrong")
			return
		}
		if o := r.Header.Get("Origin"); o != "" && o != "http://"+r.Host {
			s.refuse(w, http.StatusForbidden, "unauthorized", "requests of other origins are not taken")
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		h(w, r)
	}
}

// ourHost says that a Host header names this machine, against rebinding of foreign names.
func (s *Server) ourHost(host string) bool {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = host, ""
	}
	name = strings.Trim(name, "[]")
	if base := s.baseCopy(); base.Port() != "" && port != base.Port() {
		return false
	}
	ip := net.ParseIP(name)
	return name == "localhost" || ip != nil && ip.IsLoopback()
}

func (s *Server) refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(mustJSON(obj{"error": obj{"code": code, "message": message}}))
}

// errControl is a mistake in a control request.
type errControl struct{ text string }

func (e errControl) Error() string { return e.text }

func (s *Server) refuseError(w http.ResponseWriter, err error) {
	var d *world.Error
	var c errControl
	switch {
	case errors.As(err, &c):
		s.refuse(w, http.StatusBadRequest, "invalid", c.text)
	case errors.As(err, &d):
		text := fmt.Sprintf("%s (%d)", d.Message, d.Code)
		if d.Field != "" {
			_, reason, _ := strings.Cut(d.Reason, "\x00")
			text += ": " + d.Field + ": " + reason
		}
		s.refuse(w, d.Status, "discord", text)
	default:
		s.log.Error("playground: control", "error", err)
		s.refuse(w, http.StatusInternalServerError, "internal", err.Error())
	}
}

// read decodes the body of a control request, strictly: a misspelt key in a test is a mistake of the test.
func read[T any](r *http.Request) (T, error) {
	var v T
	dec := json.NewDecoder(r.Body)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&v); err != nil {
		return v, errControl{"body: " + err.Error()}
	}
	if _, err := dec.Token(); err != io.EOF {
		return v, errControl{"body: more than one value"}
	}
	return v, nil
}

func (s *Server) showChannel(r *http.Request, u world.User) (any, error) {
	return s.world.View(r.PathValue("c"), u.ID)
}

func (s *Server) showThreads(*http.Request, world.User) (any, error) {
	return obj{"threads": s.world.Threads()}, nil
}

func (s *Server) showState(_ *http.Request, u world.User) (any, error) {
	state := s.world.State(u.ID)
	state["faults"] = s.faults.pending()
	_, movable := s.clock.(interface{ Advance(time.Duration) })
	state["clock_movable"] = movable
	state["actions"] = append([]Action{}, s.opt.Actions...)
	state["suggestions"] = append([]string{}, s.opt.Suggestions...)
	state["records"] = s.currentEdge().RecordsURL != ""
	return state, nil
}

func (s *Server) showInfo(*http.Request, world.User) (any, error) { return s.Info(), nil }

func (s *Server) addFault(r *http.Request, _ world.User) (any, error) {
	f, err := read[Fault](r)
	if err != nil {
		return nil, err
	}
	if err := f.check(); err != nil {
		return nil, errControl{"fault: " + err.Error()}
	}
	switch f.Kind {
	case "drop_event":
		s.world.DropEvents(f.Count)
		return f, nil
	case "duplicate_event":
		s.world.DoubleEvents(f.Count)
		return f, nil
	}
	return s.faults.add(f), nil
}

func (s *Server) showFaults(*http.Request, world.User) (any, error) {
	return obj{"faults": s.faults.pending()}, nil
}

func (s *Server) clearFaults(*http.Request, world.User) (any, error) {
	s.faults.clear()
	return nil, nil
}

func (s *Server) runAction(r *http.Request, _ world.User) (any, error) {
	for _, a := range s.opt.Actions {
		if a.Name == r.PathValue("name") {
			return nil, a.Run(r.Context())
		}
	}
	return nil, errControl{"no such action"}
}

func (s *Server) moveClock(r *http.Request, _ world.User) (any, error) {
	in, err := read[struct{ Advance string }](r)
	if err != nil {
		return nil, err
	}
	d, err := time.ParseDuration(in.Advance)
	if err != nil || d <= 0 {
		return nil, errControl{"advance: a positive duration such as 16m"}
	}
	now, err := s.world.Advance(d)
	if err != nil {
		return nil, errControl{err.Error()}
	}
	if err := s.world.ArchiveIdle(); err != nil {
		return nil, err
	}
	s.nudge()
	return obj{"now": now.UnixMilli()}, nil
}

func (s *Server) showLog(r *http.Request, _ world.User) (any, error) {
	after, err := strconv.ParseInt(r.URL.Query().Get("after"), 10, 64)
	if err != nil && r.URL.Query().Get("after") != "" {
		return nil, errControl{"after: a number"}
	}
	return obj{"entries": s.wire.after(after)}, nil
}
