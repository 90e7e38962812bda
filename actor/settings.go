package actor

import (
	"encoding/json"

	"holdfast/actor/errs"
	"holdfast/actor/policy"
)

// Settings are a workspace's own configuration (spec 9.7), set by its admins and operators, never by a file in the
// repository. In a request absent keys stay as they are.
type Settings struct {
	Policy           json.RawMessage `json:"policy,omitempty"`
	PolicyVersion    int64           `json:"policy_version,omitempty"` // raised by each change; not settable
	Instructions     string          `json:"instructions,omitempty"`
	Model            string          `json:"model,omitempty"`
	ApprovalExpiryMS int64           `json:"approval_expiry_ms,omitempty"`
	SelfApprove      *bool           `json:"self_approve,omitempty"`
	Budget           *Budget         `json:"budget,omitempty"`  // in a request: replaces all of it
	Members          []Member        `json:"members,omitempty"` // in a request: replaces the table
}

// Bounds of an approval's expiry, in ms.
const (
	minApprovalExpiry = 1_000
	maxApprovalExpiry = 7 * 24 * 3_600_000
)

func (s Settings) policyJSON() []byte {
	if len(s.Policy) == 0 {
		return policy.DefaultJSON()
	}
	return s.Policy
}

// settings are read once per event.
func (w *work) settings() Settings {
	if w.set == nil {
		s := document[Settings](w, "settings")
		w.set = &s
	}
	return *w.set
}

// policy is the workspace's. One that no longer parses, which the check at its setting prevents, denies everything.
func (w *work) policy() *policy.Policy {
	if w.rules == nil {
		p, err := lastPolicy.read(w.settings().Policy, policy.Parse)
		if err != nil {
			p, _ = policy.Parse([]byte(`{"tool": {"*": "deny"}}`))
		}
		w.rules = p
	}
	return w.rules
}

// lastPolicy is the policy that was parsed last, which takes longer than all the rest of an event.
var lastPolicy memo[*policy.Policy]

// putSettings is the operator's PUT …/config.
func (w *work) putSettings(who string, in Settings) error {
	s := w.settings()
	if len(in.Policy) > 0 {
		if _, err := policy.Parse(in.Policy); err != nil {
			return errs.New(errs.Invalid, "policy: %v", err)
		}
		s.Policy = in.Policy
		s.PolicyVersion++
	}
	if in.ApprovalExpiryMS != 0 {
		if in.ApprovalExpiryMS < minApprovalExpiry || in.ApprovalExpiryMS > maxApprovalExpiry {
			return errs.New(errs.Invalid, "approval_expiry_ms: %d; expected %d (a second) to %d (a week)", in.ApprovalExpiryMS, minApprovalExpiry, maxApprovalExpiry)
		}
		s.ApprovalExpiryMS = in.ApprovalExpiryMS
	}
	if in.Model != "" {
		if _, ok := w.cfg.Models[in.Model]; !ok {
			return errs.New(errs.Invalid, "model: %q is not configured", in.Model).WithHint("Name one of the deployment's [model.<name>] tables.")
		}
		s.Model = in.Model
	}
	if in.Instructions != "" {
		s.Instructions = in.Instructions
	}
	if in.SelfApprove != nil {
		s.SelfApprove = in.SelfApprove
	}
	if in.Budget != nil {
		if err := w.changeBudget(who, &s, *in.Budget); err != nil {
			return err
		}
	}
	if in.Members != nil {
		if err := w.replaceMembers(in.Members); err != nil {
			return err
		}
	}
	w.saveSettings(s)
	w.audit(who, "settings.changed", "", "")
	s.Members = w.members()
	w.answer(200, s)
	return nil
}

func (w *work) saveSettings(s Settings) {
	s.Members = nil // they live in their table
	w.setDocument("settings", s)
	w.set, w.rules = nil, nil
}

// document reads typed JSON state; an absent one is its zero value.
func document[T any](w *work, name string) T {
	row, ok := w.tx.Row(`SELECT body FROM document WHERE name = ?`, name)
	if !ok {
		var zero T
		return zero
	}
	return decode[T](row.Str(0))
}

func (w *work) setDocument(name string, v any) {
	w.tx.Exec(`INSERT INTO document(name, version, body) VALUES (?, 1, ?)
		ON CONFLICT(name) DO UPDATE SET version = version + 1, body = excluded.body`, name, encode(v))
}
