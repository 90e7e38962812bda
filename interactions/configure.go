package interactions

import (
	"bytes"
	"encoding/json"
	"strings"

	"holdfast/actor"
	"holdfast/actor/errs"
)

// What a PUT …/config may say, and each member and each limit in it. The policy's own keys are the policy's business.
var (
	settingKeys = []string{"policy", "policy_version", "instructions", "model", "approval_expiry_ms", "self_approve", "budget", "members", "bindings"}
	memberKeys  = []string{"user", "role", "roles"}
	budgetKeys  = []string{"workspace", "user"}
	limitKeys   = []string{"tokens", "micro_dollars"}
)

// configure splits a PUT …/config: bindings are the directory's, everything else the workspace's own. The workspace comes
// first: it may refuse its settings, and then nothing is bound. Whoever got no answer, because the host died between the
// two, or was told that a channel is another's, sends the whole again: each half comes to the same when it is repeated.
func (c *call) configure() (Verdict, error) {
	doc, bad := parse(c.body)
	if bad != nil {
		return malformed(bad), nil
	}
	if doc.kind() != object {
		doc.fail("an object")
	}
	named(doc)
	bindings := doc.field("bindings")
	channels := bindings.ids()
	if doc.doc.err != nil {
		return malformed(doc.doc.err), nil
	}
	settings, err := settingsOf(c.body)
	if err != nil {
		return malformed(err), nil
	}
	d, fault := c.delivery("workspace:"+c.guild+"/"+c.workspace, actor.OpConfig, settings)
	v := Verdict{Mode: ModeOne, Deliver: []Delivery{d}}
	if fault != nil || !bindings.present() {
		return v, fault
	}
	d, fault = c.delivery("directory:"+c.guild, actor.OpBind, actor.BindArgs{Workspace: c.workspace, Channels: append([]string{}, channels...)})
	d.Quiet = true // the answer is the settings
	v.Deliver = append(v.Deliver, d)
	return v, fault
}

// named fails the document when a key of it is none of a configuration's, letter by letter: encoding/json would take
// "Members" for "members", and this package would not.
func named(doc value) {
	doc.keys(settingKeys)
	for _, m := range doc.field("members").list(maxList) {
		m.keys(memberKeys)
	}
	budget := doc.field("budget")
	budget.keys(budgetKeys)
	budget.field("workspace").keys(limitKeys)
	budget.field("user").keys(limitKeys)
}

// settingsOf gives what a configuration says beside its bindings.
func settingsOf(body []byte) (map[string]json.RawMessage, *errs.Error) {
	var known struct {
		actor.Settings
		Bindings json.RawMessage `json:"bindings"`
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&known); err != nil {
		return nil, errs.New(errs.Invalid, "The settings cannot be read: %s.", strings.TrimPrefix(err.Error(), "json: "))
	}
	var settings map[string]json.RawMessage
	if err := json.Unmarshal(body, &settings); err != nil {
		return nil, errs.New(errs.Invalid, "The body is not an object.")
	}
	delete(settings, "bindings")
	return settings, nil
}
