package interactions

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/actor"
	"holdfast/actor/errs"
)

// Roles of an operator's key (spec 7.2).
const (
	RoleRead    = "read"
	RoleApprove = "approve"
	RoleAdmin   = "admin"
)

// Paging of lists.
const (
	defaultLimit = 50
	maxLimit     = 200
)

// endpoint is one operator call on a workspace: who may, and what it becomes.
type endpoint struct {
	method string
	role   string
	op     string
	args   func(c *call) any
}

// call is a request to a workspace's path while its arguments are gathered. Args functions leave what is wrong in err.
type call struct {
	Request
	body      []byte
	workspace string // without its guild
	guild     string
	job       string
	err       *errs.Error
}

// endpoints by the path below /v1/workspaces/{guild}/{workspace}/, "*" standing for a job's id.
var endpoints = map[string]endpoint{
	"status":         {"GET", RoleRead, actor.OpStatus, nothing},
	"records":        {"GET", RoleRead, actor.OpRecords, nothing},
	"jobs":           {"GET", RoleRead, actor.OpJobs, jobsArgs},
	"jobs/*":         {"GET", RoleRead, actor.OpJob, idArgs},
	"events":         {"GET", RoleRead, actor.OpEvents, eventsArgs},
	"jobs/*/events":  {"GET", RoleRead, actor.OpEvents, eventsArgs},
	"jobs/*/stop":    {"POST", RoleApprove, actor.OpStop, idArgs},
	"jobs/*/approve": {"POST", RoleApprove, actor.OpApprove, decisionArgs},
	"jobs/*/deny":    {"POST", RoleApprove, actor.OpDeny, decisionArgs},
	"usage":          {"GET", RoleRead, actor.OpUsage, usageArgs},
	"review":         {"GET", RoleRead, actor.OpReview, nothing},
	"jobs/*/review":  {"POST", RoleApprove, actor.OpReview, reviewArgs},
	"release":        {"POST", RoleApprove, actor.OpReview, releaseArgs},
	"config":         {"PUT", RoleAdmin, actor.OpConfig, nil}, // configure
}

// operator answers the paths of one workspace. A caller without a key learns nothing, not even which paths exist.
func operator(r Request, body []byte) (Verdict, error) {
	switch {
	case r.Caller == nil:
		return unknownCaller(), nil
	case r.Caller.Kind != "operator":
		return forbidden("This path is for operators."), nil
	}
	c := &call{Request: r, body: body}
	e, ok := c.find()
	switch {
	case !ok:
		return refuse(404, errs.New(errs.NotFound, "There is nothing at this path.")), nil
	case e.method != r.Method:
		return wrongMethod(e.method), nil
	case !slices.Contains(r.Caller.Roles, e.role):
		return refuse(403, errs.New(errs.Unauthorized, "This key may not do that.").
			WithHint("It takes a key with the role %s.", e.role)), nil
	case e.op == actor.OpConfig:
		return c.configure()
	}
	args := e.args(c)
	if c.err != nil {
		return malformed(c.err), nil
	}
	d, err := c.delivery("workspace:"+c.guild+"/"+c.workspace, e.op, args)
	return Verdict{Mode: ModeOne, Deliver: []Delivery{d}}, err
}

// find takes the path apart.
func (c *call) find() (endpoint, bool) {
	rest, found := strings.CutPrefix(c.Path, "/v1/workspaces/")
	parts := strings.Split(rest, "/")
	if !found || len(parts) < 3 || !snowflake(parts[0]) || !workspaceName(parts[1]) {
		return endpoint{}, false
	}
	c.guild, c.workspace, parts = parts[0], parts[1], parts[2:]
	if len(parts) > 1 && parts[0] == "jobs" && jobID(parts[1]) {
		c.job, parts[1] = parts[1], "*"
	}
	e, ok := endpoints[strings.Join(parts, "/")]
	return e, ok && (c.job != "" || !slices.Contains(parts, "*"))
}

func (c *call) delivery(to, op string, args any) (Delivery, error) {
	raw, err := json.Marshal(args)
	if err != nil {
		return Delivery{}, errs.Wrap(errs.Internal, err, "The arguments of %s cannot be encoded.", op)
	}
	who := actor.Principal{Name: c.Caller.Subject, Roles: c.Caller.Roles}
	data, err := json.Marshal(actor.Operator{Op: op, Principal: who, Args: raw})
	return Delivery{Actor: to, Type: actor.EventOperator, Data: data}, err
}

func nothing(*call) any { return struct{}{} }

func idArgs(c *call) any {
	return struct {
		ID string `json:"id"`
	}{c.job}
}

func jobsArgs(c *call) any {
	state, after := c.Query["state"], c.Query["after"]
	if state != "" && state != "active" && state != "failed" {
		c.wrong("state", "active, failed or nothing")
	}
	if after != "" && !jobID(after) {
		c.wrong("after", "a job's id")
	}
	return struct {
		State string `json:"state"`
		After string `json:"after"`
		Limit int64  `json:"limit"`
	}{state, after, c.number("limit", defaultLimit, 1, maxLimit)}
}

func eventsArgs(c *call) any {
	return struct {
		ID    string `json:"id"`
		After int64  `json:"after"`
		Limit int64  `json:"limit"`
	}{c.job, c.number("after", 0, 0, 1<<53), c.number("limit", 2*defaultLimit, 1, maxLimit)}
}

// usageArgs choose a day, as 2026-11-30; without one today is meant.
func usageArgs(c *call) any {
	day := c.Query["day"]
	if len(day) > len(time.DateOnly) {
		c.wrong("day", "a date as 2026-11-30")
	}
	return map[string]string{"day": day}
}

// decisionArgs names one approval of a job. Without a task the job's only open one is meant.
func decisionArgs(c *call) any {
	var task int64
	var why string
	if len(c.body) > 0 {
		doc, bad := parse(c.body)
		if bad != nil {
			c.err = bad
			return nil
		}
		if t := doc.field("task"); t.present() {
			task = t.integer(1 << 53)
		}
		why = doc.field("reason").optText(maxReason)
		c.err = doc.doc.err
	}
	return struct {
		ID     string `json:"id"`
		Task   int64  `json:"task"`
		Reason string `json:"reason"`
	}{c.job, task, why}
}

// reviewArgs is an operator's decision about one input of a restored workspace: {"decision":"continue"|"stop"}.
func reviewArgs(c *call) any {
	doc, bad := parse(c.body)
	if bad != nil {
		c.err = bad
		return nil
	}
	decision := doc.field("decision").text(maxReason)
	c.err = doc.doc.err
	return map[string]string{"id": c.job, "decision": decision}
}

// releaseArgs ends the review of a workspace.
func releaseArgs(*call) any { return map[string]string{"decision": "continue"} }

func (c *call) number(name string, absent, least, most int64) int64 {
	s := c.Query[name]
	if s == "" {
		return absent
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < least || n > most {
		c.wrong(name, "a number from "+strconv.FormatInt(least, 10)+" to "+strconv.FormatInt(most, 10))
	}
	return n
}

func (c *call) wrong(parameter, want string) {
	if c.err == nil {
		c.err = errs.New(errs.Invalid, "The parameter %s: expected %s.", parameter, want)
	}
}
