package actor

import (
	"fmt"
	"strings"

	"holdfast/actor/errs"
)

// Subcommands of /workspace, and the options of /workspace budget.
const (
	SubShow   = "show"
	SubBudget = "budget"

	OptionScope   = "scope" // ScopeWorkspace or ScopeUser
	OptionTokens  = "tokens"
	OptionDollars = "dollars"

	ScopeWorkspace = "workspace"
	ScopeUser      = "user"
)

// workspaceCommand is /workspace: administration by people, with an audit row for each change (spec 1.2).
func (w *work) workspaceCommand(in Interaction) error {
	if !w.may(in.User, canAdmin) {
		w.ephemeral("Only an admin of this workspace can do that.")
		return nil
	}
	switch in.Sub {
	case SubShow:
		w.ephemeral("%s", w.describe())
	case SubBudget:
		return w.budgetCommand(in)
	default:
		w.ephemeral("This command is not known here.")
	}
	return nil
}

// describe is what /workspace show says: the settings, as people read them.
func (w *work) describe() string {
	s, b := w.settings(), w.budget()
	name := s.Model
	if name == "" {
		name = w.cfg.DefaultModel + " (the deployment's)"
	}
	expiry := s.ApprovalExpiryMS
	if expiry == 0 {
		expiry = defaultApprovalExpiry
	}
	return strings.Join([]string{
		fmt.Sprintf("**Workspace %s**", w.name),
		"Model: " + oneLine(name, 100),
		fmt.Sprintf("Members: %d users and roles; who asked may approve it: %s", len(w.members()), yesNo(w.selfApprove())),
		fmt.Sprintf("Approvals expire after %d s; policy version %d", expiry/1000, s.PolicyVersion),
		budgetText(b),
	}, "\n")
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func budgetText(b Budget) string {
	return fmt.Sprintf("Budget of the workspace: %s; of each person: %s", b.Workspace, b.User)
}

// budgetCommand is /workspace budget: it changes what its options name, and shows the budget without any.
func (w *work) budgetCommand(in Interaction) error {
	s, b := w.settings(), w.budget()
	limit := &b.Workspace
	switch in.Options[OptionScope] {
	case ScopeWorkspace:
	case ScopeUser:
		limit = &b.User
	default:
		w.ephemeral("Whose budget? Choose `%s` or `%s`.", ScopeWorkspace, ScopeUser)
		return nil
	}
	tokens, money := in.Options[OptionTokens], in.Options[OptionDollars]
	if err := limit.set(tokens, money); err != nil {
		return w.refuse(err)
	}
	if tokens+money != "" {
		if err := w.changeBudget(in.User.ID, &s, b); err != nil {
			return w.refuse(err)
		}
		w.saveSettings(s)
	}
	w.ephemeral("%s. It holds from the next model call on; today's spending stays counted.", budgetText(b))
	return nil
}

// set reads a limit as people write it: an absent one stays, "none" and 0 take it away.
func (l *Limit) set(tokens, money string) error {
	if n, ok := parseTokens(orZero(tokens)); tokens != "" {
		if !ok {
			return errs.New(errs.Invalid, "%q is no number of tokens; write one as 200,000, or none.", tokens)
		}
		l.Tokens = n
	}
	if n, ok := parseDollars(orZero(money)); money != "" {
		if !ok {
			return errs.New(errs.Invalid, "%q is no sum of money; write one as 5 or 12.50, or none.", money)
		}
		l.Micros = n
	}
	return nil
}

func orZero(s string) string {
	if strings.EqualFold(strings.TrimSpace(s), "none") {
		return "0"
	}
	return s
}
