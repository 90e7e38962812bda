package sim

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// model is a provider that calls tools at random, answers with a text of its own each time, and fails as providers do.
type model struct {
	world   *world
	answers int
}

// serve answers one Chat Completions request with a stream; status 0 means that it hangs until the host gives up.
func (m *model) serve(s *space, body string) (int, string) {
	w := m.world
	w.covered("model call")
	question := m.checkShape(body)
	switch {
	case w.chance("model-429", 0.02):
		return 429, `{"error":{"message":"slow down","type":"rate_limit"}}`
	case w.chance("model-5xx", 0.02):
		return 529, "<html>overloaded</html>"
	case w.chance("model-401", 0.01):
		return 401, `{"error":{"message":"bad key","code":"invalid_api_key"}}`
	case w.chance("model-hangs", 0.01):
		return 0, ""
	}
	rounds := strings.Count(body, `"role":"tool"`)
	stream := m.answer(question)
	if rounds < 6 && w.pick("model", 100) < 60 {
		stream = m.toolCalls()
	}
	if w.chance("model-cut", 0.03) {
		return 200, stream[:w.pick("model-cut", len(stream)-10)]
	}
	return 200, stream
}

// asking are the texts of people's inputs.
var asking = regexp.MustCompile(`\b(Q|M|CRASH)\d+\.`)

// checkShape holds each request to what providers demand: every call is followed by its result, before anything else.
// It gives the newest input.
func (m *model) checkShape(body string) (question string) {
	var request struct {
		Messages []struct {
			Role  string `json:"role"`
			Text  any    `json:"content"`
			Calls []struct {
				ID string `json:"id"`
			} `json:"tool_calls"`
			CallID string `json:"tool_call_id"`
		} `json:"messages"`
	}
	if err := json.Unmarshal([]byte(body), &request); err != nil {
		m.world.fail("a model request is no JSON: %v", err)
	}
	open := map[string]bool{}
	for i, msg := range request.Messages {
		if asked := asking.FindAllString(fmt.Sprint(msg.Text), -1); msg.Role == "user" && len(asked) > 0 {
			question = asked[len(asked)-1]
		}
		switch {
		case msg.Role == "tool" && !open[msg.CallID]:
			m.world.fail("invariant 5: message %d of a model request answers the call %q, which is not open", i, msg.CallID)
		case msg.Role == "tool":
			delete(open, msg.CallID)
		case len(open) > 0:
			m.world.fail("invariant 5: message %d of a model request comes between a call and its result", i)
		}
		for _, c := range msg.Calls {
			open[c.ID] = true
		}
	}
	if len(open) > 0 {
		m.world.fail("invariant 5: a model request ends with %d open calls", len(open))
	}
	return question
}

// endMark begins the last word of a long answer.
const endMark = "END-"

func (m *model) answer(question string) string {
	m.answers++
	said := fmt.Sprintf("ANSWER-%d to %s", m.answers, question)
	if m.world.pick("model", 12) == 0 {
		said += "\n\n" + strings.Repeat("and so on ", 170+10*m.world.pick("model", 14)) // about one message or two
		said += fmt.Sprintf("%s%d.", endMark, m.answers)
		m.world.covered("an answer of several messages")
	}
	text, _ := json.Marshal(said)
	return fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s}}]}\n\n"+
		"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"+
		"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":5}}\n\ndata: [DONE]\n\n", text)
}

// tools are what it may call: safe, unsafe, one that asks, one that is denied, one that does not exist, half a call.
var tools = []struct{ name, args string }{
	{"read", `{"path":"README.md"}`}, {"read", `{"path":"main.go"}`}, {"bash", `{"command":"make"}`}, {"bash", `{"command":"git push origin"}`},
	{"bash", `{"command":"git push origin"}`}, {"bash", `{"command":"rm -rf /"}`}, {"fly", `{}`}, {"bash", `{"comm`},
}

func (m *model) toolCalls() string {
	var b strings.Builder
	for i := range 1 + m.world.pick("model", 3) {
		t := tools[m.world.pick("model", len(tools))]
		args, _ := json.Marshal(t.args)
		fmt.Fprintf(&b, "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":%d,\"id\":\"c%d\",\"type\":\"function\",\"function\":{\"name\":%q,\"arguments\":%s}}]}}]}\n\n", i, i, t.name, args)
	}
	b.WriteString("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n")
	return b.String()
}
