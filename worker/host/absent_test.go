package host

import (
	"context"
	"os"
	"strings"
	"testing"

	"holdfast/actor"
)

// Who asks about a workspace that nobody made is told so, and makes nothing: no file, and nothing that a later start or
// backup would meet.
func TestAQuestionMakesNoActor(t *testing.T) {
	c := newTown(t)
	s := c.real("")
	for _, path := range []string{"status", "jobs", "events", "events?wait=1", "records", "usage", "review"} {
		status, body := s.operator("GET", "/v1/workspaces/1/typo/"+path, "")
		if status != 404 || !strings.Contains(body, `"not_found"`) || !strings.Contains(body, "PUT …/config") {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	for _, path := range []string{"release", "jobs/7a4/stop"} {
		if status, body := s.operator("POST", "/v1/workspaces/1/typo/"+path, ""); status != 404 {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if _, failure := s.askDirectory(context.Background(), "1", actor.ResolveArgs{Place: actor.Place{Guild: "1", Channel: "5"}, ID: "1"}); failure != errUnbound {
		t.Errorf("a guild without a directory: %v, want unbound", failure)
	}
	if files, err := os.ReadDir(s.dir); err != nil || len(files) != 0 {
		t.Errorf("files were made: %v %v", files, err)
	}
	if status, body := s.operator("PUT", "/v1/workspaces/1/typo/config", `{"bindings":["5"]}`); status != 200 {
		t.Fatalf("config: %d %s", status, body)
	}
	if status, body := s.operator("GET", "/v1/workspaces/1/typo/status", ""); status != 200 {
		t.Errorf("once it is made: %d %s", status, body)
	}
	if files, err := s.actorNames(); err != nil || strings.Join(files, " ") != "directory:1 workspace:1/typo" {
		t.Errorf("actors: %v %v", files, err)
	}
}

// Settings that a workspace refuses bind nothing, and a configuration is answered with the settings, however often it comes.
func TestARefusedConfigurationBindsNothing(t *testing.T) {
	c := newTown(t)
	s := c.real("")
	put := func(workspace, body string) (int, string) {
		return s.operator("PUT", "/v1/workspaces/"+realGuild+"/"+workspace+"/config", body)
	}
	const bindings = `{"bindings":["` + realChannel + `"],"instructions":"be brief"`
	if status, body := put("wrong", bindings+`,"model":"typo"}`); status != 400 || !strings.Contains(body, "typo") {
		t.Fatalf("a model that is not configured: %d %s", status, body)
	}
	for range 2 {
		if status, body := put("a", bindings+`}`); status != 200 || !strings.Contains(body, `"instructions":"be brief"`) {
			t.Errorf("the channel's first binding: %d %s", status, body)
		}
	}
	if status, body := put("b", bindings+`}`); status != 409 || !strings.Contains(body, "bound to workspace a") {
		t.Errorf("another's channel: %d %s", status, body)
	}
}
