package playground

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestControlIsForThisMachineOnly(t *testing.T) {
	r := newRig(t, "")
	tests := []struct {
		name, path, token, host, origin string
		want                            int
	}{
		{"the page", "/control/v1/state", r.info.ControlToken, "", r.http.URL, 200},
		{"a test", "/control/v1/state", r.info.ControlToken, "", "", 200},
		{"no token", "/control/v1/state", "", "", "", 401},
		{"wrong token", "/control/v1/state", r.info.ControlToken + "0", "", "", 401},
		{"the bot's token", "/control/v1/state", r.info.Token, "", "", 401},
		{"another site", "/control/v1/state", r.info.ControlToken, "", "https://evil.example", 403},
		{"a rebound name", "/control/v1/state", r.info.ControlToken, "evil.example", "", 421},
		{"a rebound name on our port", "/control/v1/state", r.info.ControlToken, "evil.example:" + r.s.baseCopy().Port(), "", 421},
		{"a rebound name at the API", "/api/v10/gateway", "", "evil.example", "", 421},
		{"localhost", "/control/v1/state", r.info.ControlToken, "localhost:" + r.s.baseCopy().Port(), "", 200},
		{"an unknown control", "/control/v1/nothing", r.info.ControlToken, "", "", 404},
		{"the stream without token", "/control/v1/events", "", "", "", 401},
		{"an unknown user", "/control/v1/state?user=nobody", r.info.ControlToken, "", "", 404},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req, _ := http.NewRequest("GET", r.http.URL+tt.path, nil)
			if tt.token != "" {
				req.Header.Set("Authorization", "Bearer "+tt.token)
			}
			if tt.origin != "" {
				req.Header.Set("Origin", tt.origin)
			}
			req.Host = tt.host
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if res.StatusCode != tt.want {
				t.Errorf("status %d, want %d", res.StatusCode, tt.want)
			}
			if res.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Error("CORS is allowed")
			}
		})
	}
}

func TestStreamShowsWhatItsUserMaySee(t *testing.T) {
	r := newRig(t, "")
	r.register()
	open := func(user string) *bufio.Scanner {
		req, _ := http.NewRequest("GET", r.http.URL+"/control/v1/events?user="+user, nil)
		req.Header.Set("Authorization", "Bearer "+r.info.ControlToken)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = res.Body.Close() })
		lines := bufio.NewScanner(res.Body)
		lines.Buffer(nil, 1<<20)
		lines.Scan() // ": open": from here on nothing is missed
		return lines
	}
	sam, kim := open("sam"), open("kim")
	r.edge.set(reply(obj{"type": 4, "data": obj{"content": "secret", "flags": 64}}))
	r.ask("sam", "x")
	r.post("the end")
	read := func(lines *bufio.Scanner) string {
		var all strings.Builder
		for lines.Scan() {
			all.WriteString(lines.Text())
			if strings.Contains(lines.Text(), `"message"`) && strings.Contains(lines.Text(), "the end") {
				return all.String()
			}
		}
		t.Fatal("the stream ended")
		return ""
	}
	if !strings.Contains(read(sam), "secret") {
		t.Error("sam's stream lacks the ephemeral message")
	}
	if strings.Contains(read(kim), "secret") {
		t.Error("kim's stream has sam's ephemeral message")
	}
}

func TestRecordsComeThroughTheProxy(t *testing.T) {
	r := newRig(t, "")
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Authorization") != "Bearer key" {
			w.WriteHeader(401)
			return
		}
		_, _ = w.Write([]byte(`{"tables":[{"name":"task","columns":["id"],"rows":[[1]]}]}`))
	}))
	defer upstream.Close()
	edge := r.s.currentEdge()
	edge.RecordsURL, edge.RecordsToken = upstream.URL, "key"
	r.s.SetEdge(edge)
	has(t, r.do("GET", "/records", nil), "tables", []obj{{"name": "task", "columns": []string{"id"}, "rows": [][]int{{1}}}})
	edge.RecordsToken = "old"
	r.s.SetEdge(edge)
	if status, _ := r.try("GET", "/records", nil); status != 400 {
		t.Errorf("a refusal upstream gives %d", status)
	}
}

func TestPageIsStrict(t *testing.T) {
	r := newRig(t, "")
	_, body, h := r.raw("GET", "/", "", "")
	csp := h.Get("Content-Security-Policy")
	if !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") {
		t.Errorf("policy %q", csp)
	}
	page := string(body)
	for _, bad := range []string{"<style", "onclick=", "onload=", "style=\"", "http://", "https://"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
	if strings.Contains(page, r.info.ControlToken) {
		t.Error("the token is in the page")
	}
}

// TestHostileContent: names and bytes from outside never come back as something a browser would run.
func TestHostileContent(t *testing.T) {
	r := newRig(t, "")
	evil := `<script>alert(1)</script>"'><img src=x onerror=alert(1)>`
	m := r.do("POST", "/users/sam/messages", obj{"channel": r.info.Channel, "content": evil, "files": []obj{
		{"name": `../../"x".html` + "\r\nX-Evil: 1", "type": "text/html", "data": []byte("<script>alert(1)</script>")}}})
	has(t, m, "content", evil)
	_, raw, h := r.raw("GET", "/api/v10/channels/"+r.info.Channel+"/messages", "", "Bot "+r.info.Token)
	if h.Get("Content-Type") != "application/json" || strings.Contains(string(raw), "<script") {
		t.Errorf("JSON with a bare tag: %s", raw)
	}
	link := m["attachments"].([]any)[0].(obj)["url"].(string)
	res, err := http.Get(link)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	for k, want := range map[string]string{"Content-Type": "application/octet-stream", "X-Content-Type-Options": "nosniff", "X-Evil": ""} {
		if got := res.Header.Get(k); got != want {
			t.Errorf("%s: %q, want %q", k, got, want)
		}
	}
	if d := res.Header.Get("Content-Disposition"); !strings.HasPrefix(d, "attachment;") {
		t.Errorf("Content-Disposition %q", d)
	}
	for _, path := range []string{"/attachments/1/..%2f..%2fdiscord.jsonl/x", "/attachments/1/999/x", "/..%2fplayground.go"} {
		if status, _, _ := r.raw("GET", path, "", ""); status == 200 {
			t.Errorf("%s was served", path)
		}
	}
}
