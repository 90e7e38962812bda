package actor

import (
	"holdfast/actor/model"
)

// Entry kinds. Entries are append-only; triggers hold everybody to it.
const (
	entryUser        = "user"
	entryAssistant   = "assistant"
	entryToolResult  = "tool_result"
	entrySystem      = "system"
	entryInterrupted = "interrupted" // a tool_result whose tool may or may not have run to its end
)

// userEntry is a placed submission.
//
//easyjson:json
type userEntry struct {
	Submission int64  `json:"submission"`
	Author     string `json:"author"`
	Name       string `json:"name"`
	Text       string `json:"text"`
}

// assistantEntry is one complete model answer.
//
//easyjson:json
type assistantEntry struct {
	Text   string       `json:"text"`
	Calls  []model.Call `json:"calls,omitempty"`
	Opaque string       `json:"opaque,omitempty"` // the provider's own blocks, sent back unchanged to the same model
	Model  string       `json:"model"`            // the provider's name for it
}

// resultEntry answers one call.
//
//easyjson:json
type resultEntry struct {
	CallID string `json:"call_id"`
	Text   string `json:"text"`
	Error  bool   `json:"error,omitempty"`
}

// systemEntry tells the model something that no person said.
//
//easyjson:json
type systemEntry struct {
	Text string `json:"text"`
}

func (w *work) append(conversation, turn, task int64, kind string, body any) int64 {
	var of any
	if task != 0 {
		of = task
	}
	row, _ := w.tx.Row(`INSERT INTO entry(conversation, kind, turn, task, body, created_wall) VALUES (?, ?, ?, ?, ?, ?) RETURNING id`,
		conversation, kind, turn, of, encode(body), w.wall)
	return row.Int(0)
}
