package actor

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestF25_DiscordIsAwayForHours(t *testing.T) {
	w := newWorld(t)
	down := true
	w.discord.fail = func(e Effect) (int, string, bool) { return 503, "<html>", down && e.Point == PointEdit }
	w.ask("1300000000000001001", "hello")
	w.run(3 * 3_600_000)
	down = false
	w.run(600_000)
	if n := strings.Count(w.discord.all(), "I heard you."); n != 1 {
		t.Fatalf("%d answers are shown: %s", n, w.discord.all())
	}
}

func TestF25_A429HoldsItsBucketAlone(t *testing.T) {
	w := newWorld(t)
	limited := 0
	w.discord.fail = func(e Effect) (int, string, bool) {
		if strings.HasPrefix(e.Path, "/webhooks/") && limited < 2 {
			limited++
			return 429, `{"message":"You are being rate limited.","retry_after":20,"global":false}`, true
		}
		return 0, "", false
	}
	w.ask("1300000000000001001", "hello")
	w.run(10_000)
	w.want("attempts", w.one(`SELECT attempts FROM delivery WHERE kind = 'anchor'`), "0")
	w.say("1300000000000001013", "1300000000000008888", "<@"+appID+"> hi", appID)
	w.run(5_000)
	w.want("another channel's", w.one(`SELECT state FROM submission WHERE id = 2`), "done")
	w.run(120_000)
	w.want("limited one", w.one(`SELECT state FROM submission WHERE id = 1`), "done")
}

// A refused bot token, a page instead of JSON, and many 403 stop everything, and the application directory is told.
func TestF25_TheCircuitOpensReportsAndAsks(t *testing.T) {
	for _, c := range []struct {
		name, body string
		status     int
		questions  int
	}{
		{"unauthorized", `{"message":"401: Unauthorized","code":0}`, 401, 1},
		{"a page", "<html>You are banned</html>", 429, 1},
		{"forbidden", `{"message":"Missing Access","code":50001}`, 403, forbiddenMax},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			failing := true
			w.discord.fail = func(e Effect) (int, string, bool) {
				return c.status, c.body, failing && e.Credential == "bot"
			}
			for i := range c.questions {
				w.say(fmt.Sprint("13000000000000020", 10+i), fmt.Sprint("13000000000000088", 10+i), "<@"+appID+"> hi", appID)
				w.run(2_000)
			}
			w.want("circuit", w.one(`SELECT count(*) FROM hold WHERE bucket = 'all'`), "1")
			if len(w.told) == 0 || !strings.Contains(w.told[0], `"report"`) {
				t.Fatalf("the application directory was told %v", w.told)
			}
			requests := len(w.discord.log)
			w.say("1300000000000003000", "1300000000000008899", "<@"+appID+"> and now?", appID)
			w.run(300_000)
			w.want("requests while open", fmt.Sprint(len(w.discord.log)), fmt.Sprint(requests))
			failing = false
			w.run(900_000)
			if !strings.Contains(w.told[len(w.told)-1], `"ask":true`) {
				t.Fatalf("it went on without asking: %v", w.told)
			}
			w.want("answered", w.one(`SELECT state FROM submission WHERE key = '1300000000000003000'`), "done")
		})
	}
}

func TestF25_TheApplicationDirectoryKeepsOthersBack(t *testing.T) {
	d := directory{t, openDB(t), "application"}
	d.op("", nil)
	say := func(m circuitMessage) string {
		data, _ := json.Marshal(m)
		return d.event(EventActor, ActorMessage{ID: "1", From: "workspace:1/a", Data: data})
	}
	if got := say(circuitMessage{Ask: true}); !strings.Contains(got, `"answer":true`) || strings.Contains(got, "until_wall") {
		t.Fatalf("before any report: %s", got)
	}
	say(circuitMessage{Report: "banned", UntilWall: 1764470600000})
	if got := say(circuitMessage{Ask: true}); !strings.Contains(got, `"until_wall":1764470600000`) || !strings.Contains(got, "banned") {
		t.Fatalf("after a report: %s", got)
	}
}
