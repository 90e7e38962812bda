package actor

import (
	"regexp"
	"slices"
	"strconv"

	"holdfast/actor/errs"
)

// Member is a row of the membership table: a user or a Discord role, and what it may do. Nobody is admitted whom the
// table does not name, except who manages the server.
type Member struct {
	User  string   `json:"user,omitempty"`
	Role  string   `json:"role,omitempty"` // Discord role id
	Roles []string `json:"roles"`          // member, approver, admin
}

// What a member may be; an admin may do everything, an approver may also ask.
const (
	canAsk     = "member"
	canApprove = "approver"
	canAdmin   = "admin"
)

// Discord's permission bits that make somebody an admin here: ADMINISTRATOR and MANAGE_GUILD.
const adminPermissions = 1<<3 | 1<<5

// may reads the table at this moment; nothing about a person is kept from earlier (spec 4.2).
func (w *work) may(u User, what string) bool {
	bits, _ := strconv.ParseUint(u.Permissions, 10, 64)
	if bits&adminPermissions != 0 {
		if last := w.meta["manager"]; last != u.ID {
			w.setMeta("manager", u.ID)
			w.setMeta("manager_before", last)
		}
		return true
	}
	for _, row := range w.tx.Rows(`SELECT can FROM member WHERE kind = 'user' AND id = ? ORDER BY can`, u.ID) {
		if implies(row.Str(0), what) {
			return true
		}
	}
	if len(u.Roles) == 0 {
		return false
	}
	for _, row := range w.tx.Rows(`SELECT id, can FROM member WHERE kind = 'role' ORDER BY id, can`) {
		if slices.Contains(u.Roles, row.Str(0)) && implies(row.Str(1), what) {
			return true
		}
	}
	return false
}

// discordID is a snowflake in decimal.
var discordID = regexp.MustCompile(`^[1-9][0-9]{0,19}$`)

func implies(has, what string) bool {
	return has == what || has == canAdmin || has == canApprove && what == canAsk
}

// mayDecide is the one authorization function for approvals, whoever asks and by which way. Whoever spoke in the turn
// asked for what it does: a message that joined it counts as much as the one that began it.
func (w *work) mayDecide(u User, turn int64) error {
	if mutant("anybody approves") {
		return nil
	}
	if !w.may(u, canApprove) {
		return errs.New(errs.Unauthorized, "Only an approver of this workspace can decide this.")
	}
	if !w.selfApprove() && slices.Contains(w.askers(turn), u.ID) {
		return errs.New(errs.Unauthorized, "You asked for this, so somebody else has to approve it.")
	}
	return nil
}

// askers are the authors of all that was placed into a turn.
func (w *work) askers(turn int64) []string {
	var ids []string
	for _, row := range w.tx.Rows(`SELECT DISTINCT author FROM submission WHERE turn = ? ORDER BY author`, turn) {
		ids = append(ids, row.Str(0))
	}
	return ids
}

// selfApprove is the workspace's setting, and true for a workspace of one member; a role is many.
func (w *work) selfApprove() bool {
	if s := w.settings().SelfApprove; s != nil {
		return *s
	}
	row, _ := w.tx.Row(`SELECT count(DISTINCT id), count(*) FILTER (WHERE kind = 'role') FROM member`)
	return row.Int(0) <= 1 && row.Int(1) == 0
}

// hasApprover says whether anybody could ever approve what was asked for in a turn: who the table names, or a manager of
// the server who was seen here.
func (w *work) hasApprover(turn int64) bool {
	for _, m := range []string{w.meta["manager"], w.meta["manager_before"]} {
		if m != "" && (w.selfApprove() || !slices.Contains(w.askers(turn), m)) {
			return true
		}
	}
	row, _ := w.tx.Row(`SELECT count(*) FROM member WHERE can IN ('approver','admin')
		AND (kind = 'role' OR ?1 OR id NOT IN (SELECT author FROM submission WHERE turn = ?2))`, w.selfApprove(), turn)
	return row.Int(0) > 0
}

// approvers are the users and roles whom a card names and pings.
func (w *work) approvers() (users, roles []string) {
	for _, row := range w.tx.Rows(`SELECT DISTINCT kind, id FROM member WHERE can IN ('approver','admin') ORDER BY kind, id LIMIT 20`) {
		if row.Str(0) == "user" {
			users = append(users, row.Str(1))
		} else {
			roles = append(roles, row.Str(1))
		}
	}
	return users, roles
}

func (w *work) replaceMembers(members []Member) error {
	for i, m := range members {
		if (m.User == "") == (m.Role == "") {
			return errs.New(errs.Invalid, `members[%d]: expected either "user" or "role" with an id`, i)
		}
		if !discordID.MatchString(m.User + m.Role) {
			return errs.New(errs.Invalid, `members[%d]: %q is no Discord id; expected up to 20 digits`, i, m.User+m.Role)
		}
		if len(m.Roles) == 0 {
			return errs.New(errs.Invalid, `members[%d]: expected at least one of member, approver and admin in "roles"`, i)
		}
		for _, can := range m.Roles {
			if can != canAsk && can != canApprove && can != canAdmin {
				return errs.New(errs.Invalid, `members[%d]: role %q; expected member, approver or admin`, i, can)
			}
		}
	}
	w.tx.Exec(`DELETE FROM member`)
	for _, m := range members {
		kind, id := "user", m.User
		if m.Role != "" {
			kind, id = "role", m.Role
		}
		for _, can := range m.Roles {
			w.tx.Exec(`INSERT INTO member(kind, id, can) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, kind, id, can)
		}
	}
	return nil
}

func (w *work) members() []Member {
	var members []Member
	for _, row := range w.tx.Rows(`SELECT kind, id, group_concat(can, ',' ORDER BY can) FROM member GROUP BY kind, id ORDER BY kind, id`) {
		m := Member{Roles: splitList(row.Str(2))}
		if row.Str(0) == "user" {
			m.User = row.Str(1)
		} else {
			m.Role = row.Str(1)
		}
		members = append(members, m)
	}
	return members
}
