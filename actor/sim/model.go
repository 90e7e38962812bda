package sim

import (
	"encoding/json"
	"fmt"
	"strings"
)

// model is a provider that calls tools at random, answers with a text of its own each time, and fails as providers do.
type model struct {
	world   *world
	calls   int
	answers int
}

// serve answers one Chat Completions request with a stream; status 0 means that it hangs until the host gives up.
func (m *model) serve(s *space, body string) (int, string) {
	w := m.world
	m.calls++
	w.covered("model call")
	switch {
	case w.chance(0.02):
		w.covered("model: 429")
		return 429, `{"error":{"message":"slow down","type":"rate_limit"}}`
	case w.chance(0.02):
		w.covered("model: 5xx")
		return 529, "<html>overloaded</html>"
	case w.chance(0.01):
		w.covered("model: 401")
		return 401, `{"error":{"message":"bad key","code":"invalid_api_key"}}`
	case w.chance(0.01):
		w.covered("model: hangs")
		return 0, ""
	}
	rounds := strings.Count(body, `"role":"tool"`)
	stream := m.answer()
	if rounds < 6 && w.rng.IntN(100) < 60 {
		stream = m.toolCalls()
	}
	if w.chance(0.03) {
		w.covered("model: cut stream")
		return 200, stream[:w.rng.IntN(len(stream)-10)]
	}
	return 200, stream
}

func (m *model) answer() string {
	m.answers++
	text, _ := json.Marshal(fmt.Sprintf("ANSWER-%d.", m.answers))
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
	for i := range 1 + m.world.rng.IntN(3) {
		t := tools[m.world.rng.IntN(len(tools))]
		args, _ := json.Marshal(t.args)
		fmt.Fprintf(&b, "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":%d,\"id\":\"c%d\",\"type\":\"function\",\"function\":{\"name\":%q,\"arguments\":%s}}]}}]}\n\n", i, i, t.name, args)
	}
	b.WriteString("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n")
	return b.String()
}
