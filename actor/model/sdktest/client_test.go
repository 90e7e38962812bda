package sdktest

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"holdfast/playground/scripted"
)

func client(t *testing.T) anthropic.Client {
	t.Helper()
	s := httptest.NewServer(scripted.New())
	t.Cleanup(s.Close)
	return anthropic.NewClient(option.WithBaseURL(s.URL), option.WithAPIKey("dummy"), option.WithMaxRetries(0))
}

func question(text string) anthropic.MessageNewParams {
	return anthropic.MessageNewParams{Model: "m", MaxTokens: 100,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(text))},
		Tools: []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{Name: "read",
			InputSchema: anthropic.ToolInputSchemaParam{Properties: map[string]any{"path": map[string]any{"type": "string"}}}}}}}
}

func ask(t *testing.T, c anthropic.Client, p anthropic.MessageNewParams) (anthropic.Message, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var m anthropic.Message
	s := c.Messages.NewStreaming(ctx, p)
	for s.Next() {
		if err := m.Accumulate(s.Current()); err != nil {
			t.Fatal(err)
		}
	}
	return m, s.Err()
}

// The official client gets through a whole turn with the scripted provider.
func TestTheLibrarysClientFollowsAScript(t *testing.T) {
	c := client(t)
	p := question("!tool read {\"path\":\"a\"}")
	m, err := ask(t, c, p)
	if err != nil {
		t.Fatal(err)
	}
	if m.StopReason != anthropic.StopReasonToolUse || len(m.Content) != 1 {
		t.Fatalf("answer %+v", m)
	}
	use := m.Content[0].AsToolUse()
	if use.Name != "read" || string(use.Input) != `{"path":"a"}` {
		t.Errorf("call %s %s", use.Name, use.Input)
	}
	p.Messages = append(p.Messages, m.ToParam(), anthropic.NewUserMessage(anthropic.NewToolResultBlock(use.ID, "the result", false)))
	m, err = ask(t, c, p)
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Content[0].AsText().Text; got != "the result" || m.StopReason != anthropic.StopReasonEndTurn || m.Usage.OutputTokens == 0 {
		t.Errorf("answer %q, %s, %+v", got, m.StopReason, m.Usage)
	}
}

func TestTheLibrarysClientSeesFailures(t *testing.T) {
	c := client(t)
	_, err := ask(t, c, question("!status 529"))
	var api *anthropic.Error
	if !errors.As(err, &api) || api.StatusCode != 529 {
		t.Errorf("status: %v", err)
	}
	if m, err := ask(t, c, question("!cut")); err == nil {
		t.Errorf("a cut stream was taken: %+v", m)
	}
}
