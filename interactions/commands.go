package interactions

import "holdfast/actor"

// Command is a slash command as Discord's PUT /applications/{id}/commands takes it.
type Command struct {
	Name             string   `json:"name"`
	Type             int      `json:"type"`
	Description      string   `json:"description"`
	Options          []Option `json:"options,omitempty"`
	Contexts         []int    `json:"contexts,omitempty"`          // global commands only
	IntegrationTypes []int    `json:"integration_types,omitempty"` // global commands only
}

// Option is one option of a Command.
type Option struct {
	Name         string   `json:"name"`
	Type         int      `json:"type"`
	Description  string   `json:"description"`
	Required     bool     `json:"required,omitempty"`
	Autocomplete bool     `json:"autocomplete,omitempty"`
	MaxLength    int      `json:"max_length,omitempty"`
	Choices      []Choice `json:"choices,omitempty"`
	Options      []Option `json:"options,omitempty"` // of a subcommand
}

// Choice is a value that an option may have.
type Choice struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Option types (Discord, "Application Command Option Type").
const (
	optionSub        = 1
	optionString     = 3
	optionAttachment = 11
)

const dataChatInput = 1 // Discord, "Application Command Types"

// maxPrompt is the longest /ask in characters: what Discord allows a string option to be.
const maxPrompt = 6000

// Commands gives the product's slash commands, for guild channels and guild installations alone (spec 3.5: only
// there the bot token can do what an interaction's token cannot).
func Commands() []Command {
	commands := []Command{
		{Name: actor.KindAsk, Description: "Ask for work: the answer appears here, what follows in a thread", Options: []Option{
			{Name: "prompt", Type: optionString, Description: "What to do", Required: true, MaxLength: maxPrompt},
			{Name: "model", Type: optionString, Description: "Which model, when not the workspace's own", MaxLength: 100},
			{Name: "attachment", Type: optionAttachment, Description: "A file to read with it"},
		}},
		{Name: actor.KindResume, Description: "Go on with an earlier conversation in this thread", Options: []Option{
			{Name: "conversation", Type: optionString, Description: "Its number or a part of its title",
				Required: true, Autocomplete: true, MaxLength: 100},
		}},
		{Name: actor.KindStop, Description: "Stop the turn that is running in this thread"},
		{Name: actor.KindUsage, Description: "What was spent today, by person and model, against the budgets"},
		{Name: actor.KindWorkspace, Description: "Administration of this channel's workspace", Options: []Option{
			{Name: actor.SubShow, Type: optionSub, Description: "Show the settings"},
			{Name: actor.SubBudget, Type: optionSub, Description: "Change what may be spent in a day, or show it", Options: []Option{
				{Name: actor.OptionScope, Type: optionString, Description: "Of the workspace, or of each person in it", Required: true,
					Choices: []Choice{{"the workspace", actor.ScopeWorkspace}, {"each person", actor.ScopeUser}}},
				{Name: actor.OptionTokens, Type: optionString, Description: "Tokens a day, as 200,000; none takes the limit away", MaxLength: maxOption},
				{Name: actor.OptionDollars, Type: optionString, Description: "Dollars a day, as 12.50; none takes the limit away", MaxLength: maxOption},
			}},
		}},
	}
	for i := range commands {
		commands[i].Type = dataChatInput
		commands[i].Contexts = []int{0}
		commands[i].IntegrationTypes = []int{0}
	}
	return commands
}

// GuildCommands gives the same commands for one guild, where Discord takes no contexts.
func GuildCommands() []Command {
	commands := Commands()
	for i := range commands {
		commands[i].Contexts, commands[i].IntegrationTypes = nil, nil
	}
	return commands
}
