package host

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"holdfast/actor/errs"
)

// Kinds of tokens, and roles of operators (spec 9.3).
const (
	KindRelay    = "relay"
	KindRunner   = "runner"
	KindOperator = "operator"
)

var (
	tokenRoles   = []string{"read", "reply", "approve", "admin"}
	operatorName = regexp.MustCompile(`^[a-z0-9-]{1,32}$`)
)

// Token makes the bearer token "hf1.<kind>.<subject>.<n>.<key>" (docs/protocol.md, "Callers"). subject is "relay",
// "<guild>/<workspace>" or an operator's name; roles are an operator's, in the order that they are given.
func Token(secret Secret, kind, subject string, roles []string, n int) (string, error) {
	t := token{kind: kind, subject: subject, roles: roles, n: n}
	if !t.valid() {
		return "", errs.New(errs.Invalid, "No such token: kind %q, subject %q, roles %q, number %d.", kind, subject, roles, n).
			WithHint("relay; runner <guild>/<workspace>; operator <name> with roles among %s. Numbers begin at 0.", strings.Join(tokenRoles, ", "))
	}
	return strings.Join([]string{"hf1", kind, t.wire(), strconv.Itoa(n), t.key(secret)}, "."), nil
}

// token is a bearer token taken apart.
type token struct {
	kind, subject string
	roles         []string
	n             int
}

func (t token) valid() bool {
	if t.n < 0 {
		return false
	}
	switch t.kind {
	case KindRelay:
		return t.subject == "relay" && len(t.roles) == 0
	case KindRunner:
		guild, workspace, ok := strings.Cut(t.subject, "/")
		return ok && guildName.MatchString(guild) && workspaceName.MatchString(workspace) && len(t.roles) == 0
	case KindOperator:
		for i, role := range t.roles {
			if !slices.Contains(tokenRoles, role) || slices.Contains(t.roles[:i], role) {
				return false
			}
		}
		return operatorName.MatchString(t.subject) && len(t.roles) > 0
	}
	return false
}

// wire is the subject as the token writes it.
func (t token) wire() string {
	return strings.Join(append([]string{t.subject}, t.roles...), "+")
}

// key is the derived key, in hex.
func (t token) key(secret Secret) string {
	message := []string{"v1", t.kind}
	switch t.kind {
	case KindRunner:
		message = append(message, t.subject)
	case KindOperator:
		message = append(message, t.subject, strings.Join(t.roles, ","))
	}
	message = append(message, strconv.Itoa(t.n))
	return sign(string(secret), strings.Join(message, "|"))
}

func sign(key, message string) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(message))
	return hex.EncodeToString(mac.Sum(nil))
}

// parseToken takes a bearer token apart. It says nothing about the key.
func parseToken(s string) (t token, key string, ok bool) {
	parts := strings.Split(s, ".")
	if len(parts) != 5 || parts[0] != "hf1" {
		return t, "", false
	}
	t, ok = parseSubject(parts[1], parts[2], parts[3])
	return t, parts[4], ok
}

func parseSubject(kind, subject, number string) (t token, ok bool) {
	n, err := strconv.Atoi(number)
	if err != nil || strconv.Itoa(n) != number { // one spelling only
		return t, false
	}
	t = token{kind: kind, subject: subject, n: n}
	if kind == KindOperator {
		t.roles = strings.Split(subject, "+")
		t.subject, t.roles = t.roles[0], t.roles[1:]
	}
	return t, t.valid()
}
