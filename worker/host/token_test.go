package host

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"holdfast/actor/errs"
)

// The keys were made with another implementation: printf '%s' MESSAGE | openssl dgst -sha256 -hmac SECRET
var vectors = []struct {
	kind, subject string
	roles         []string
	n             int
	message, want string
}{
	{KindRelay, "relay", nil, 0, "v1|relay|0", "hf1.relay.relay.0.fc5176a5a975e0e5f8f7eb84d5184703272523956b8ef9486bf590879270b69d"},
	{KindRunner, "123/platform", nil, 7, "v1|runner|123/platform|7", "hf1.runner.123/platform.7.42b4f798da8d31fc0593543e8d702f72a6ba41455ce0452afd1a3b7be3596c7b"},
	{KindOperator, "ann", []string{"read", "admin"}, 1, "v1|operator|ann|read,admin|1", "hf1.operator.ann+read+admin.1.7941ce97637207399a318bec61fa474cc043daf80b6e87e804a1e43597afae5c"},
}

func TestTokenVectors(t *testing.T) {
	for _, v := range vectors {
		got, err := Token(testSecret, v.kind, v.subject, v.roles, v.n)
		if err != nil || got != v.want {
			t.Errorf("%s: %s, %v; want %s", v.message, got, err, v.want)
		}
	}
	for name, f := range map[string]func() (string, error){
		"kind":        func() (string, error) { return Token(testSecret, "king", "relay", nil, 0) },
		"relay":       func() (string, error) { return Token(testSecret, KindRelay, "other", nil, 0) },
		"runner":      func() (string, error) { return Token(testSecret, KindRunner, "1/A", nil, 0) },
		"role":        func() (string, error) { return Token(testSecret, KindOperator, "ann", []string{"root"}, 0) },
		"role twice":  func() (string, error) { return Token(testSecret, KindOperator, "ann", []string{"read", "read"}, 0) },
		"no role":     func() (string, error) { return Token(testSecret, KindOperator, "ann", nil, 0) },
		"name":        func() (string, error) { return Token(testSecret, KindOperator, "ann.b", []string{"read"}, 0) },
		"number":      func() (string, error) { return Token(testSecret, KindRelay, "relay", nil, -1) },
		"role inside": func() (string, error) { return Token(testSecret, KindOperator, "ann+admin", []string{"read"}, 0) },
	} {
		if _, err := f(); errs.CodeOf(err) != errs.Invalid {
			t.Errorf("wrong %s: %v, want invalid", name, err)
		}
	}
}

func TestBearers(t *testing.T) {
	const second = Secret("a newer deployment secret")
	keys := keyring{secrets: []Secret{testSecret, second}}
	keys.setLeast(map[string]int{"operator.ann": 2, "runner.1/a": 1})
	make := func(secret Secret, kind, subject string, n int, roles ...string) string {
		s, err := Token(secret, kind, subject, roles, n)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	good := make(testSecret, KindOperator, "ann", 2, "read")
	for name, c := range map[string]struct {
		bearer string
		ok     bool
	}{
		"operator":              {good, true},
		"second secret":         {make(second, KindOperator, "ann", 2, "read"), true},
		"third secret":          {make("no secret of this place", KindOperator, "ann", 2, "read"), false},
		"revoked":               {make(testSecret, KindOperator, "ann", 1, "read"), false},
		"another is not":        {make(testSecret, KindOperator, "bob", 0, "read"), true},
		"runner":                {make(testSecret, KindRunner, "1/a", 1), true},
		"runner revoked":        {make(testSecret, KindRunner, "1/a", 0), false},
		"a relay's never":       {make(testSecret, KindRelay, "relay", 9), false},
		"more roles":            {strings.Replace(good, "+read", "+read+admin", 1), false},
		"higher number":         {strings.Replace(good, ".2.", ".3.", 1), false},
		"same number otherwise": {strings.Replace(good, ".2.", ".02.", 1), false},
		"upper case":            {strings.ToUpper(good), false},
		"cut":                   {good[:len(good)-1], false},
		"longer":                {good + "0", false},
		"empty":                 {"", false},
	} {
		r, _ := http.NewRequest("GET", "/", nil)
		r.Header.Set("Authorization", "Bearer "+c.bearer)
		if _, ok := keys.bearer(r); ok != c.ok {
			t.Errorf("%s: %t, want %t", name, ok, c.ok)
		}
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "secret", testSecret, "target", Target{Credential: testSecret})
	fmt.Fprintf(&log, "%v %+v %#v %s", testSecret, Target{Credential: testSecret}, Options{Secrets: []Secret{testSecret}}, testSecret)
	if strings.Contains(log.String(), string(testSecret)) {
		t.Errorf("shown: %s", log.String())
	}
}

func FuzzParseToken(f *testing.F) {
	for _, v := range vectors {
		f.Add(v.want)
	}
	f.Fuzz(func(t *testing.T, s string) {
		tok, key, ok := parseToken(s)
		if !ok {
			return
		}
		// The law: what parses is spelled in one way only.
		if again := fmt.Sprintf("hf1.%s.%s.%d.%s", tok.kind, tok.wire(), tok.n, key); again != s {
			t.Fatalf("%q parses like %q", s, again)
		}
	})
}
