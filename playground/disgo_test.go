package playground

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/disgo/rest"
	"github.com/disgoorg/snowflake/v2"
)

// TestDisgo uses a real Discord library against the playground.
func TestDisgo(t *testing.T) {
	r := newRig(t, "")
	client := rest.NewClient(r.info.Token, rest.WithURL(r.info.API), rest.WithUserAgent("DiscordBot (https://example.com, 1)"), rest.WithLogger(slog.New(slog.DiscardHandler)))
	defer client.Close(context.Background())
	api := rest.New(client)
	app, guild, home := snowflake.MustParse(r.info.Application), snowflake.MustParse(r.info.Guild), snowflake.MustParse(r.info.Channel)

	if me, err := api.GetCurrentApplication(); err != nil || me.ID != app {
		t.Fatal(me, err)
	}
	if g, err := api.GetGatewayBot(); err != nil || !strings.HasPrefix(g.URL, "ws://127.0.0.1") {
		t.Fatal(g, err)
	}
	made, err := api.SetGuildCommands(app, guild, []discord.ApplicationCommandCreate{discord.SlashCommandCreate{Name: "ask", Description: "Ask",
		Options: []discord.ApplicationCommandOption{discord.ApplicationCommandOptionString{Name: "prompt", Description: "What", Required: true}}}})
	if err != nil || len(made) != 1 || made[0].Name() != "ask" {
		t.Fatal(made, err)
	}
	m, err := api.CreateMessage(home, discord.NewMessageCreate().WithContent("from disgo").
		WithAllowedMentions(&discord.AllowedMentions{}).AddActionRow(discord.NewPrimaryButton("Press", "p:1")).
		AddEmbeds(discord.Embed{Title: "Card", Description: "text", Fields: []discord.EmbedField{{Name: "n", Value: "v"}}}))
	if err != nil {
		t.Fatal(err)
	}
	thread, err := api.CreateThreadFromMessage(home, m.ID, discord.ThreadCreateFromMessage{Name: "topic"})
	if err != nil || thread.ID() != m.ID {
		t.Fatal(thread, err)
	}
	edited, err := api.UpdateMessage(home, m.ID, discord.NewMessageUpdate().WithContent("edited").WithComponents())
	if err != nil || edited.Content != "edited" || edited.EditedTimestamp == nil {
		t.Fatal(edited, err)
	}
	if list, err := api.GetMessages(home, 0, 0, 0, 10); err != nil || len(list) != 1 || len(list[0].Embeds) != 1 {
		t.Fatal(list, err)
	}
	if err := api.SendTyping(thread.ID()); err != nil {
		t.Fatal(err)
	}
	active, err := api.GetActiveGuildThreads(guild)
	if err != nil || len(active.Threads) != 1 {
		t.Fatal(active, err)
	}
	r.do("POST", "/faults", obj{"kind": "status", "status": 429, "retry_after": 0.01, "count": 1})
	if _, err := api.GetChannel(home); err != nil {
		t.Fatal("disgo did not survive a 429:", err)
	}
	if _, err := api.GetMessage(home, 5); !rest.IsJSONErrorCode(err, rest.JSONErrorCodeUnknownMessage) {
		t.Fatal("an unknown message reads as", err)
	}
	for _, e := range r.s.wire.after(0) {
		if len(e.Violations) > 0 {
			t.Errorf("%s %s: %q", e.Method, e.Path, e.Violations)
		}
	}
}
