package interactions

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"holdfast/actor"
)

const base = "/v1/workspaces/" + testGuild + "/platform/"

func operated(method, path string, roles ...string) Request {
	path, query, _ := strings.Cut(path, "?")
	r := Request{Now: testNow, Method: method, Path: path, Config: testConfig(), Query: map[string]string{},
		Caller: &Caller{Kind: "operator", Subject: "ops", Roles: roles}}
	for _, pair := range strings.Split(query, "&") {
		k, v, _ := strings.Cut(pair, "=")
		r.Query[k] = v
	}
	return r
}

func TestOperatorDeliveries(t *testing.T) {
	cases := []struct {
		method, path, role, body string
		op, args                 string
	}{
		{"GET", "status", RoleRead, "", actor.OpStatus, `{}`},
		{"GET", "records", RoleRead, "", actor.OpRecords, `{}`},
		{"GET", "jobs", RoleRead, "", actor.OpJobs, `{"state":"","after":"","limit":50}`},
		{"GET", "jobs?state=active&after=7a4&limit=5", RoleRead, "", actor.OpJobs, `{"state":"active","after":"7a4","limit":5}`},
		{"GET", "jobs/7a4", RoleRead, "", actor.OpJob, `{"id":"7a4"}`},
		{"GET", "jobs/7a4/events?after=9", RoleRead, "", actor.OpEvents, `{"id":"7a4","after":9,"limit":100}`},
		{"GET", "events", RoleRead, "", actor.OpEvents, `{"id":"","after":0,"limit":100}`},
		{"POST", "jobs/7a4/stop", RoleApprove, "", actor.OpStop, `{"id":"7a4"}`},
		{"POST", "jobs/7a4/approve", RoleApprove, `{"task":12}`, actor.OpApprove, `{"id":"7a4","task":12,"reason":""}`},
		{"POST", "jobs/7a4/deny", RoleApprove, `{"task":12,"reason":"no"}`, actor.OpDeny, `{"id":"7a4","task":12,"reason":"no"}`},
		{"POST", "jobs/7a4/deny", RoleApprove, "", actor.OpDeny, `{"id":"7a4","task":0,"reason":""}`},
		{"GET", "usage?day=2026-11-30", RoleRead, "", actor.OpUsage, `{"day":"2026-11-30"}`},
		{"GET", "review", RoleRead, "", actor.OpReview, `{}`},
		{"POST", "jobs/7a4/review", RoleApprove, `{"decision":"stop"}`, actor.OpReview, `{"decision":"stop","id":"7a4"}`},
		{"POST", "jobs/1300000000000001013/review", RoleApprove, `{"decision":"continue"}`, actor.OpReview, `{"decision":"continue","id":"1300000000000001013"}`},
		{"POST", "release", RoleApprove, "", actor.OpReview, `{"decision":"continue"}`},
		{"PUT", "config", RoleAdmin, `{"budget":{"user":{"tokens":5}}}`, actor.OpConfig, `{"budget":{"user":{"tokens":5}}}`},
		{"PUT", "config", RoleAdmin, `{"model":"default"}`, actor.OpConfig, `{"model":"default"}`},
	}
	for _, c := range cases {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			v := decide(t, operated(c.method, base+c.path, c.role), []byte(c.body))
			if len(v.Deliver) != 1 || v.Mode != ModeOne {
				t.Fatalf("verdict %+v", v)
			}
			d := v.Deliver[0]
			o := as[actor.Operator](t, d.Data)
			if d.Actor != "workspace:"+testGuild+"/platform" || d.Type != actor.EventOperator || o.Op != c.op || string(o.Args) != c.args {
				t.Errorf("delivery to %s: %s %s", d.Actor, o.Op, o.Args)
			}
			if o.Principal.Name != "ops" || o.Principal.Roles[0] != c.role {
				t.Errorf("principal %+v", o.Principal)
			}
			for _, other := range []string{RoleRead, RoleApprove, RoleAdmin} {
				if other != c.role {
					wantStatus(t, decide(t, operated(c.method, base+c.path, other), []byte(c.body)).Reply, 403)
				}
			}
			wantStatus(t, decide(t, operated("PATCH", base+c.path, c.role), nil).Reply, 405)
		})
	}
}

func TestOperatorBindings(t *testing.T) {
	body := `{"members":[],"bindings":["` + testChan + `"],"policy":{"tool":{"*":"deny"}}}`
	v := decide(t, operated("PUT", base+"config", RoleAdmin), []byte(body))
	if len(v.Deliver) != 2 {
		t.Fatalf("verdict %+v", v)
	}
	// The workspace comes first, and answers: settings that it refuses bind nothing.
	config, bind := as[actor.Operator](t, v.Deliver[0].Data), as[actor.Operator](t, v.Deliver[1].Data)
	if v.Deliver[0].Quiet || !v.Deliver[1].Quiet {
		t.Errorf("quiet: %t and %t", v.Deliver[0].Quiet, v.Deliver[1].Quiet)
	}
	if v.Deliver[1].Actor != "directory:"+testGuild || bind.Op != actor.OpBind || string(bind.Args) != `{"workspace":"platform","channels":["`+testChan+`"]}` {
		t.Errorf("directory gets %s %s", bind.Op, bind.Args)
	}
	if config.Op != actor.OpConfig || string(config.Args) != `{"members":[],"policy":{"tool":{"*":"deny"}}}` {
		t.Errorf("workspace gets %s %s", config.Op, config.Args)
	}
}

// Names are exact, and what is refused says which one is wrong and what would be right.
func TestConfigurationKeys(t *testing.T) {
	for body, want := range map[string]string{
		`{"Bindings":["5"]}`:                            `expected no key \"Bindings\", but policy,`,
		`{"model":"m","MODEL":"n"}`:                     `no key \"MODEL\"`,
		`{"members":[{"user":"5"},{"User":"6"}]}`:       `members[1]: expected no key \"User\", but user, role, roles`,
		`{"budget":{"users":{}}}`:                       `budget: expected no key \"users\", but workspace, user`,
		`{"budget":{"workspace":{"microDollars":100}}}`: `budget.workspace: expected no key \"microDollars\", but tokens, micro_dollars`,
	} {
		v := decide(t, operated("PUT", base+"config", RoleAdmin), []byte(body))
		wantStatus(t, v.Reply, 400)
		if len(v.Deliver) > 0 || !strings.Contains(string(v.Reply.Body), want) {
			t.Errorf("%s: %s, want %s", body, v.Reply.Body, want)
		}
	}
	for _, c := range []struct {
		known []string
		of    any
	}{
		{settingKeys, struct {
			actor.Settings
			Bindings []string `json:"bindings"`
		}{}}, {memberKeys, actor.Member{}}, {budgetKeys, actor.Budget{}}, {limitKeys, actor.Limit{}},
	} {
		var names []string
		for _, f := range reflect.VisibleFields(reflect.TypeOf(c.of)) {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
				names = append(names, name)
			}
		}
		if slices.Sort(names); !slices.Equal(names, slices.Sorted(slices.Values(c.known))) {
			t.Errorf("%T has %v, known are %v", c.of, names, c.known)
		}
	}
}

func TestOperatorRefused(t *testing.T) {
	all := []string{RoleRead, RoleApprove, RoleAdmin}
	cases := []struct {
		name, method, path, body string
		caller                   *Caller
		status                   int
	}{
		{"no key", "GET", base + "jobs", "", nil, 401},
		{"no key, no path", "GET", "/v1/nothing", "", nil, 401},
		{"a relay", "GET", base + "jobs", "", &Caller{Kind: "relay", Subject: "relay"}, 403},
		{"a runner", "GET", base + "jobs", "", &Caller{Kind: "runner", Subject: testGuild + "/platform"}, 403},
		{"unknown path", "GET", base + "nothing", "", &Caller{Kind: "operator", Roles: all}, 404},
		{"literal star", "GET", base + "jobs/*", "", &Caller{Kind: "operator", Roles: all}, 404},
		{"outside /v1", "GET", "/", "", nil, 404},
		{"bad guild", "GET", "/v1/workspaces/x/platform/jobs", "", &Caller{Kind: "operator", Roles: all}, 404},
		{"bad workspace", "GET", "/v1/workspaces/1/Platform/jobs", "", &Caller{Kind: "operator", Roles: all}, 404},
		{"traversal", "GET", base + "jobs/../config", "", &Caller{Kind: "operator", Roles: all}, 404},
		{"bad day", "GET", base + "usage?day=the+day+before", "", &Caller{Kind: "operator", Roles: all}, 400},
		{"bad state", "GET", base + "jobs?state=done", "", &Caller{Kind: "operator", Roles: all}, 400},
		{"bad limit", "GET", base + "jobs?limit=100000", "", &Caller{Kind: "operator", Roles: all}, 400},
		{"bad after", "GET", base + "events?after=-1", "", &Caller{Kind: "operator", Roles: all}, 400},
		{"not JSON", "PUT", base + "config", "{", &Caller{Kind: "operator", Roles: all}, 400},
		{"a list", "PUT", base + "config", "[]", &Caller{Kind: "operator", Roles: all}, 400},
		{"null", "PUT", base + "config", "null", &Caller{Kind: "operator", Roles: all}, 400},
		{"doubled key", "PUT", base + "config", `{"model":"a","model":"b"}`, &Caller{Kind: "operator", Roles: all}, 400},
		{"misspelt key", "PUT", base + "config", `{"polcy":{}}`, &Caller{Kind: "operator", Roles: all}, 400},
		{"wrong kind", "PUT", base + "config", `{"members":"maya"}`, &Caller{Kind: "operator", Roles: all}, 400},
		{"bad binding", "PUT", base + "config", `{"bindings":["general"]}`, &Caller{Kind: "operator", Roles: all}, 400},
		{"no decision", "POST", base + "jobs/7a4/review", `{}`, &Caller{Kind: "operator", Roles: all}, 400},
		{"bad task", "POST", base + "jobs/7a4/deny", `{"task":"x"}`, &Caller{Kind: "operator", Roles: all}, 400},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := operated(c.method, c.path)
			r.Caller = c.caller
			v := decide(t, r, []byte(c.body))
			wantStatus(t, v.Reply, c.status)
			if len(v.Deliver) != 0 {
				t.Errorf("delivered %+v as well", v.Deliver)
			}
		})
	}
}
