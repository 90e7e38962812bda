package world

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
)

// Ids of the default seed. They are the same in every playground, so that a configuration can name them.
const (
	ApplicationID = "1300000000000000001"
	GuildID       = "1300000000000000100"
	ChannelID     = "1300000000000000200" // #agents
	LoungeID      = "1300000000000000201" // #lounge
	CategoryID    = "1300000000000000202"
	MaintainersID = "1300000000000000400"
	MembersID     = "1300000000000000402"
)

// Permission bits (Discord's permissions page).
const (
	permManageGuild    = 1 << 5
	permManageMessages = 1 << 13
	permManageThreads  = 1 << 34
	permEveryone       = 1<<6 | 1<<10 | 1<<11 | 1<<14 | 1<<15 | 1<<16 | 1<<31 | 1<<35 | 1<<38
	permAll            = 1<<53 - 1
	// BotPermissions is the least invitation of facts: no MANAGE_THREADS, so a locked thread is closed to the bot.
	BotPermissions = 1<<10 | 1<<11 | 1<<14 | 1<<15 | 1<<16 | 1<<35 | 1<<38
)

// Seed is the world that an empty data folder begins with. The zero value is the default one: #agents and #lounge;
// maya, who maintains; sam, a member; kim, who has no role.
type Seed struct {
	Guild    string // name
	Bot      string // user name of the bot
	Users    []User
	Roles    []Role
	Channels []Channel
}

func defaultSeed() Seed {
	return Seed{
		Guild: "Harbour Labs",
		Bot:   "Holdfast",
		Roles: []Role{
			{ID: GuildID, Name: "@everyone", Permissions: permEveryone},
			{ID: MembersID, Name: "Members", Permissions: permEveryone, Color: 0x57a6f2, Position: 1},
			{ID: MaintainersID, Name: "Maintainers", Color: 0xe8a33d, Position: 2,
				Permissions: permEveryone | permManageGuild | permManageMessages | permManageThreads},
		},
		Users: []User{
			{ID: "1300000000000000011", Name: "maya", Label: "Maya", Color: "#e8a33d", Roles: []string{MaintainersID, MembersID}, Note: "admin, approves"},
			{ID: "1300000000000000012", Name: "sam", Label: "Sam", Color: "#4aa8a0", Roles: []string{MembersID}, Note: "member"},
			{ID: "1300000000000000013", Name: "kim", Label: "Kim", Color: "#c2679a", Note: "no role"},
		},
		Channels: []Channel{
			{ID: CategoryID, Type: TypeCategory, Name: "Workshop"},
			{ID: ChannelID, Type: TypeText, Name: "agents", Parent: CategoryID, Position: 1, Topic: "Ask with /ask, or mention the bot. Bound to a workspace."},
			{ID: LoungeID, Type: TypeText, Name: "lounge", Parent: CategoryID, Position: 2, Topic: "People only: the bot is not bound here."},
		},
	}
}

// plant fills an empty world.
func (w *World) plant(seed Seed, entropy io.Reader) error {
	d := defaultSeed()
	if seed.Guild != "" {
		d.Guild = seed.Guild
	}
	if seed.Bot != "" {
		d.Bot = seed.Bot
	}
	if seed.Users != nil {
		d.Users = seed.Users
	}
	d.Roles = append(d.Roles, seed.Roles...)
	d.Channels = append(d.Channels, seed.Channels...)
	secret := make([]byte, ed25519.SeedSize+24+32+16)
	if _, err := io.ReadFull(entropy, secret); err != nil {
		return fmt.Errorf("seed: %w", err)
	}
	w.meta = Meta{
		Application: ApplicationID, Guild: GuildID, GuildName: d.Guild, Owner: d.Users[0].ID, Home: ChannelID,
		Seed: hex.EncodeToString(secret[:32]),
		Token: base64.RawStdEncoding.EncodeToString([]byte(ApplicationID)) + ".play." +
			base64.RawURLEncoding.EncodeToString(secret[32:56]),
		ControlToken: hex.EncodeToString(secret[56:88]),
		Session:      hex.EncodeToString(secret[88:]),
	}
	w.put(&User{ID: ApplicationID, Name: d.Bot, Label: d.Bot, Bot: true, Color: "#6d5ef0"})
	for i := range d.Roles {
		w.put(&d.Roles[i])
	}
	for i := range d.Users {
		w.put(&d.Users[i])
	}
	for i := range d.Channels {
		w.put(&d.Channels[i])
	}
	return w.flush()
}

// Entropy is where secrets come from unless a test says otherwise.
var Entropy io.Reader = rand.Reader
