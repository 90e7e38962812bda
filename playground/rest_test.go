package playground

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestRESTContract(t *testing.T) {
	r := newRig(t, "")
	home := "/channels/" + r.info.Channel
	own := r.post("one of ours")
	foreign := r.do("POST", "/users/sam/messages", obj{"channel": r.info.Channel, "content": "one of Sam's"})["id"].(string)
	tests := []struct {
		name, method, path, body string
		status, code             int
	}{
		{"me", "GET", "/users/@me", "", 200, 0},
		{"me, as discord.js spells it", "GET", "/users/%40me", "", 200, 0},
		{"application", "GET", "/applications/@me", "", 200, 0},
		{"gateway", "GET", "/gateway", "", 200, 0},
		{"gateway of a bot", "GET", "/gateway/bot", "", 200, 0},
		{"guild", "GET", "/guilds/" + r.info.Guild, "", 200, 0},
		{"foreign guild", "GET", "/guilds/5", "", 404, 10004},
		{"channels", "GET", "/guilds/" + r.info.Guild + "/channels", "", 200, 0},
		{"channel", "GET", home, "", 200, 0},
		{"unknown channel", "GET", "/channels/5", "", 404, 10003},
		{"message", "GET", home + "/messages/" + own, "", 200, 0},
		{"unknown message", "GET", home + "/messages/5", "", 404, 10008},
		{"post to nowhere", "POST", "/channels/5/messages", `{"content":"x"}`, 404, 10003},
		{"post to a category", "POST", "/channels/1300000000000000202/messages", `{"content":"x"}`, 400, 50008},
		{"empty message", "POST", home + "/messages", `{"content":""}`, 400, 50006},
		{"too long", "POST", home + "/messages", `{"content":"` + strings.Repeat("x", 2001) + `"}`, 400, 50035},
		{"field that Discord ignores", "POST", home + "/messages", `{"content":"x","embed":[]}`, 200, 0},
		{"and nothing else", "POST", home + "/messages", `{"contents":"x"}`, 400, 50006},
		{"parameter that Discord ignores", "GET", home + "/messages?limt=1", "", 200, 0},
		{"broken JSON", "POST", home + "/messages", `{"content":`, 400, 50109},
		{"parse and list", "POST", home + "/messages", `{"content":"x","allowed_mentions":{"parse":["users"],"users":["1"]}}`, 400, 50035},
		{"same custom_id twice", "POST", home + "/messages", `{"components":[{"type":1,"components":[{"type":2,"style":1,"label":"a","custom_id":"x"},{"type":2,"style":1,"label":"b","custom_id":"x"}]}]}`, 400, 50035},
		{"button without custom_id", "POST", home + "/messages", `{"components":[{"type":1,"components":[{"type":2,"style":1,"label":"a"}]}]}`, 400, 50035},
		{"6001 characters of embeds", "POST", home + "/messages", fmt.Sprintf(`{"embeds":[{"description":"%s"},{"description":"%s"}]}`, strings.Repeat("x", 4000), strings.Repeat("x", 2001)), 400, 50035},
		{"edit", "PATCH", home + "/messages/" + own, `{"content":"edited"}`, 200, 0},
		{"edit as discord.js sends it", "PATCH", home + "/messages/" + own, `{"content":"edited","tts":false,"nonce":"1","enforce_nonce":false}`, 200, 0},
		{"edit to nothing", "PATCH", home + "/messages/" + own, `{"content":""}`, 400, 50006},
		{"edit somebody's", "PATCH", home + "/messages/" + foreign, `{"content":"mine"}`, 403, 50005},
		{"delete somebody's", "DELETE", home + "/messages/" + foreign, "", 403, 50013},
		{"typing", "POST", home + "/typing", "", 204, 0},
		{"thread, with a type", "POST", home + "/messages/" + own + "/threads", `{"name":"t","type":11}`, 201, 0},
		{"thread again", "POST", home + "/messages/" + own + "/threads", `{"name":"t"}`, 400, 160004},
		{"thread of nothing", "POST", home + "/messages/5/threads", `{"name":"t"}`, 404, 10008},
		{"active threads", "GET", "/guilds/" + r.info.Guild + "/threads/active", "", 200, 0},
		{"archived threads", "GET", home + "/threads/archived/public?limit=5", "", 200, 0},
		{"webhook that nobody knows", "PATCH", "/webhooks/" + r.info.Application + "/nonsense/messages/@original", `{"content":"x"}`, 404, 10015},
		{"callback of nothing", "POST", "/interactions/5/nonsense/callback", `{"type":5}`, 404, 10062},
		{"outside the description", "GET", "/nothing/here", "", 404, 0},
		{"inside it, not in the playground", "GET", "/voice/regions", "", 404, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status, body := r.api(tt.method, tt.path, tt.body)
			code, _ := body["code"].(float64)
			if status != tt.status || int(code) != tt.code && status >= 400 {
				t.Fatalf("got %d %v, want %d code %d", status, body, tt.status, tt.code)
			}
		})
	}
}

func TestAuthorizationAndHeaders(t *testing.T) {
	r := newRig(t, "")
	home := "/api/v10/channels/" + r.info.Channel
	status, raw, _ := r.raw("GET", home, "", "Bot wrong")
	if status != 401 || string(raw) != `{"code":0,"message":"401: Unauthorized"}` {
		t.Errorf("wrong token: %d %s", status, raw)
	}
	if status, _, _ := r.raw("GET", "/api/v10/gateway", "", ""); status != 200 {
		t.Errorf("/gateway wants a token: %d", status)
	}
	status, _, h := r.raw("POST", home+"/typing", "", "Bot "+r.info.Token)
	if status != 204 || h.Get("Content-Type") != "" {
		t.Errorf("a 204 has Content-Type %q", h.Get("Content-Type"))
	}
	for _, k := range []string{"X-RateLimit-Bucket", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-RateLimit-Reset-After", "Via"} {
		if h.Get(k) == "" {
			t.Errorf("no header %s", k)
		}
	}
}

func TestBucketRunsOut(t *testing.T) {
	r := newRig(t, "")
	limited := 0
	for range bucketSize + 1 {
		status, raw, h := r.raw("GET", "/api/v10/channels/"+r.info.Channel, "", "Bot "+r.info.Token)
		if status == 429 {
			limited++
			if h.Get("Retry-After") == "" || !strings.Contains(string(raw), `"global":false`) {
				t.Errorf("429 without its data: %v %s", h, raw)
			}
		}
	}
	if limited != 1 {
		t.Fatalf("%d requests were limited, want 1", limited)
	}
	r.clock.Advance(bucketTime)
	if status, _ := r.api("GET", "/channels/"+r.info.Channel, ""); status != 200 {
		t.Errorf("still limited after the bucket's time: %d", status)
	}
}

func TestEnforcedNonce(t *testing.T) {
	r := newRig(t, "")
	path := "/channels/" + r.info.Channel + "/messages"
	send := func(body string) string {
		t.Helper()
		status, m := r.api("POST", path, body)
		if status != 200 {
			t.Fatal(status, m)
		}
		return m["id"].(string)
	}
	first := send(`{"content":"a","nonce":"n1","enforce_nonce":true}`)
	if again := send(`{"content":"b","nonce":"n1","enforce_nonce":true}`); again != first {
		t.Error("an enforced nonce made a second message")
	}
	if other := send(`{"content":"c","nonce":"n2","enforce_nonce":true}`); other == first {
		t.Error("another nonce found the first message")
	}
	if loose := send(`{"content":"d","nonce":"n1"}`); loose == first {
		t.Error("a nonce that is not enforced was enforced")
	}
	r.clock.Advance(10 * time.Minute)
	if late := send(`{"content":"e","nonce":"n1","enforce_nonce":true}`); late == first {
		t.Error("a nonce is remembered for ever")
	}
	if got := len(r.list(path)); got != 4 {
		t.Errorf("%d messages, want 4", got)
	}
}

func TestOldEditsAreLimited(t *testing.T) {
	r := newRig(t, "")
	path := "/channels/" + r.info.Channel + "/messages/" + r.post("x")
	r.clock.Advance(61 * time.Minute)
	var status, n int
	for ; n < 20; n++ {
		var body obj
		if status, body = r.api("PATCH", path, `{"content":"y"}`); status != 200 {
			has(t, body, "code", 30046)
			break
		}
	}
	if status != 400 || n == 0 {
		t.Fatalf("after %d edits the answer is %d", n, status)
	}
}

func TestThreadRules(t *testing.T) {
	r := newRig(t, "")
	anchor := r.post("anchor")
	status, thread := r.api("POST", "/channels/"+r.info.Channel+"/messages/"+anchor+"/threads", `{"name":"fix the build","auto_archive_duration":60}`)
	has(t, thread, "id", anchor)
	if status != 201 {
		t.Fatal(status, thread)
	}
	_, msg := r.api("POST", "/channels/"+anchor+"/messages", `{"content":"in the thread"}`)
	has(t, msg, "position", 1)
	inThread := "/channels/" + anchor + "/messages/" + msg["id"].(string)

	r.do("PATCH", "/users/maya/threads/"+anchor, obj{"archived": true})
	if status, body := r.api("PATCH", inThread, `{"content":"x"}`); status != 400 || body["code"] != 50083.0 {
		t.Errorf("edit in an archived thread: %d %v", status, body)
	}
	if status, _ := r.api("POST", "/channels/"+anchor+"/messages", `{"content":"wake"}`); status != 200 {
		t.Errorf("a message did not unarchive the thread: %d", status)
	}
	_, now := r.api("GET", "/channels/"+anchor, "")
	has(t, now, "thread_metadata.archived", false)

	r.do("PATCH", "/users/maya/threads/"+anchor, obj{"locked": true})
	if status, body := r.api("POST", "/channels/"+anchor+"/messages", `{"content":"x"}`); status != 403 || body["code"] != 160005.0 {
		t.Errorf("post to a locked thread: %d %v", status, body)
	}
	if status, _ := r.try("POST", "/users/sam/messages", obj{"channel": anchor, "content": "x"}); status != 403 {
		t.Errorf("sam wrote to a locked thread: %d", status)
	}
	r.do("POST", "/users/maya/messages", obj{"channel": anchor, "content": "I may"})
	r.do("PATCH", "/users/maya/threads/"+anchor, obj{"locked": false})

	r.clock.Advance(62 * time.Minute)
	if err := r.s.world.ArchiveIdle(); err != nil {
		t.Fatal(err)
	}
	_, old := r.api("GET", "/channels/"+r.info.Channel+"/threads/archived/public", "")
	if list, _ := old["threads"].([]any); len(list) != 1 {
		t.Errorf("an idle thread was not archived: %v", old)
	}
	r.do("DELETE", "/users/maya/threads/"+anchor, nil)
	if status, body := r.api("GET", "/channels/"+anchor, ""); status != 404 || body["code"] != 10003.0 {
		t.Errorf("a deleted thread is there: %d %v", status, body)
	}
	if status, _ := r.api("GET", "/channels/"+r.info.Channel+"/messages/"+anchor, ""); status != 200 {
		t.Errorf("the thread's deletion took its message: %d", status)
	}
}

func TestMentions(t *testing.T) {
	r := newRig(t, "")
	maya, role := r.info.Users["maya"], r.info.Roles["Maintainers"]
	content := "<@" + maya + "> <@&" + role + "> @everyone"
	tests := []struct {
		name    string
		allowed any
		users   int
		roles   int
	}{
		{"nobody", obj{"parse": []string{}}, 0, 0},
		{"defaults", nil, 1, 1},
		{"listed user", obj{"parse": []string{}, "users": []string{maya}}, 1, 0},
		{"roles only", obj{"parse": []string{"roles"}}, 0, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body := obj{"content": content}
			if tt.allowed != nil {
				body["allowed_mentions"] = tt.allowed
			}
			_, m := r.api("POST", "/channels/"+r.info.Channel+"/messages", string(mustJSON(body)))
			users, _ := m["mentions"].([]any)
			roles, _ := m["mention_roles"].([]any)
			if len(users) != tt.users || len(roles) != tt.roles || m["mention_everyone"] != false {
				t.Errorf("mentions %d users, %d roles, everyone %v", len(users), len(roles), m["mention_everyone"])
			}
		})
	}
}

func TestFaults(t *testing.T) {
	r := newRig(t, "")
	path := "/channels/" + r.info.Channel + "/messages"
	count := func() int { return len(r.list(path)) }
	fault := func(f obj) { t.Helper(); r.do("POST", "/faults", f) }

	fault(obj{"kind": "status", "status": 500, "when": "after", "method": "POST", "path": "/channels/*/messages"})
	if status, _ := r.api("POST", path, `{"content":"lost answer"}`); status != 500 || count() != 1 {
		t.Errorf("500 after: status %d, %d messages", status, count())
	}
	fault(obj{"kind": "status", "status": 503, "count": 2, "method": "POST"})
	for range 2 {
		if status, _ := r.api("POST", path, `{"content":"x"}`); status != 503 {
			t.Errorf("503 before: %d", status)
		}
	}
	if count() != 1 {
		t.Errorf("503 before, and yet %d messages", count())
	}
	fault(obj{"kind": "status", "status": 429, "retry_after": 2.5})
	_, _, h := r.raw("GET", "/api/v10"+path, "", "Bot "+r.info.Token)
	if h.Get("Retry-After") != "3" || h.Get("X-RateLimit-Scope") != "user" || h.Get("X-RateLimit-Bucket") == "" {
		t.Errorf("headers of a 429: %v", h)
	}
	fault(obj{"kind": "status", "status": 429, "bare": true, "global": true})
	if _, _, h := r.raw("GET", "/api/v10"+path, "", "Bot "+r.info.Token); h.Get("X-RateLimit-Bucket") != "" {
		t.Errorf("headers of a bare 429: %v", h)
	}
	fault(obj{"kind": "cut", "when": "after", "method": "POST"})
	req, _ := http.NewRequest("POST", r.http.URL+"/api/v10"+path, strings.NewReader(`{"content":"cut"}`))
	req.Header.Set("Authorization", "Bot "+r.info.Token)
	req.Header.Set("Content-Type", "application/json")
	if res, err := http.DefaultClient.Do(req); err == nil {
		t.Errorf("a cut connection answered %d", res.StatusCode)
	}
	if count() != 2 {
		t.Errorf("cut after: %d messages, want 2", count())
	}
	for _, bad := range []obj{{"kind": "nonsense"}, {"kind": "status", "status": 200}, {"kind": "status", "status": 500, "whn": "after"}, {"kind": "delay", "path": "["}} {
		if status, _ := r.try("POST", "/faults", bad); status != 400 {
			t.Errorf("fault %v was taken: %d", bad, status)
		}
	}
	if left := r.do("GET", "/faults", nil)["faults"].([]any); len(left) != 0 {
		t.Errorf("faults left: %v", left)
	}
}

// What Discord ignores is in the log and done all the same; what it refuses is in the log and refused.
func TestLogShowsViolations(t *testing.T) {
	r := newRig(t, "")
	path := "/channels/" + r.info.Channel + "/messages"
	tests := []struct {
		body      string
		status    int
		violation string
	}{
		{`{"content":"x","embed":[]}`, 200, "body/embed: unknown field"},
		{`{"contents":"typo"}`, 400, "body/contents: unknown field"},
		{`{"content":"x","components":[{"type":1,"components":[{"type":2,"style":1,"label":"a","custom_id":"x","colour":3}]}]}`, 200, "body/components/0/components/0/colour: unknown field"},
		{`{"content":5}`, 400, "body: at '/content': got number, want null or string"},
		{`{"content":"fits"}`, 200, ""},
	}
	for _, tt := range tests {
		if status, answer := r.api("POST", path, tt.body); status != tt.status {
			t.Errorf("%s: %d %v", tt.body, status, answer)
		}
		want := []string{}
		if tt.violation != "" {
			want = append(want, tt.violation)
		}
		var last obj // batches of events are in the same log, and come when they come
		for _, e := range r.do("GET", "/log?after=0", nil)["entries"].([]any) {
			if e := e.(obj); e["kind"] == "rest" {
				last = e
			}
		}
		has(t, last, "request", tt.body)
		has(t, last, "violations", want)
		has(t, last, "status", tt.status)
	}
}

// A text that is too long is refused in Discord's own words, wherever it is.
func TestTooLong(t *testing.T) {
	r := newRig(t, "")
	long := strings.Repeat("x", 4097)
	for path, body := range map[string]string{
		"content":              `{"content":"` + long[:2001] + `"}`,
		"embeds.0.description": `{"embeds":[{"description":"` + long + `"}]}`,
	} {
		status, answer := r.api("POST", "/channels/"+r.info.Channel+"/messages", body)
		limit := map[string]int{"content": 2000, "embeds.0.description": 4096}[path]
		want := obj{"code": 50035, "message": "Invalid Form Body", "errors": nested(strings.Split(path, "."), obj{"_errors": []obj{
			{"code": "BASE_TYPE_MAX_LENGTH", "message": fmt.Sprintf("Must be %d or fewer in length.", limit)}}})}
		if got := string(mustJSON(answer)); status != 400 || got != string(mustJSON(want)) {
			t.Errorf("%s: %d %s", path, status, got)
		}
	}
}
