package main

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/coder/websocket"

	"holdfast/actor/frame"
)

// instant is a runner without a project: whatever it is asked to do is done at once.
type instant struct{ conn *websocket.Conn }

// connect says hello and waits until the workspace has taken it.
func connect(ctx context.Context, e *edge, s space) (*instant, error) {
	url := strings.Replace(e.url, "http:", "ws:", 1) + "/v1/workspaces/" + guild + "/" + s.name + "/runner"
	conn, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer " + token("runner", guild+"/"+s.name)}}})
	if err != nil {
		return nil, err
	}
	conn.SetReadLimit(frame.MaxFrame)
	r := &instant{conn}
	err = r.send(ctx, frame.Frame{Type: frame.TypeHello, Runner: "bench", JournalID: "bench", Project: "bench", Sandbox: "none", Tools: []frame.Tool{
		{Name: "read", Description: "Reads a file.", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`), Safe: true}}})
	for err == nil {
		var f frame.Frame
		if f, err = r.receive(ctx); err == nil && f.Type == frame.TypeAskFacts {
			err = r.send(ctx, frame.Frame{Type: frame.TypeFacts, Hash: "1", Branch: "main"})
			break
		}
	}
	if err != nil {
		conn.CloseNow()
		return nil, err
	}
	go r.serve(ctx)
	return r, nil
}

// serve answers tasks until the connection ends.
func (r *instant) serve(ctx context.Context) {
	for {
		f, err := r.receive(ctx)
		if err != nil {
			return
		}
		if f.Type != frame.TypeTask {
			continue
		}
		if r.send(ctx, frame.Frame{Type: frame.TypeStarted, Task: f.Task, Epoch: f.Epoch}) != nil {
			return
		}
		result := frame.Frame{Type: frame.TypeResult, Task: f.Task, Epoch: f.Epoch, Status: frame.StatusOK, Summary: "package main\n"}
		if r.send(ctx, result) != nil {
			return
		}
	}
}

func (r *instant) receive(ctx context.Context) (f frame.Frame, err error) {
	_, raw, err := r.conn.Read(ctx)
	if err == nil {
		err = json.Unmarshal(raw, &f)
	}
	return f, err
}

func (r *instant) send(ctx context.Context, f frame.Frame) error {
	raw, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return r.conn.Write(ctx, websocket.MessageText, raw)
}

func (r *instant) close() { r.conn.CloseNow() }
