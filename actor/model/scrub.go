package model

import (
	"strings"
	"unicode"
)

// maxSaid is how many bytes of a provider's words people see.
const maxSaid = 300

// forPeople is a provider's text on one line, shortened and without what looks like a secret: providers quote the
// key that they refuse.
func forPeople(s string) string {
	var out []string
	n := 0
	for _, w := range strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		w = strings.ToValidUTF8(w, "\ufffd")
		if secret(w) {
			w = "[hidden]"
		}
		out = append(out, w)
		if n += len(w) + 1; n > maxSaid {
			break
		}
	}
	return clip(strings.Join(out, " "), maxSaid)
}

// secret says whether a word may hold a key: a known beginning, stars as in a half-hidden key, or 24 and more letters
// and digits in a row that are mixed. Model names and dates are none of these.
func secret(word string) bool {
	lower := strings.ToLower(word)
	for _, p := range []string{"sk-", "sk_", "gsk_", "xai-", "hf_", "aiza", "key-", "ghp_", "hf1."} {
		if i := strings.Index(lower, p); i >= 0 && len(word)-i >= len(p)+4 && (i == 0 || !isAlnum(rune(word[i-1]))) {
			return true
		}
	}
	if strings.Contains(word, "***") {
		return true
	}
	run, digits, letters := 0, false, false
	for _, r := range word {
		if !isAlnum(r) {
			run, digits, letters = 0, false, false
			continue
		}
		run++
		digits = digits || r <= '9'
		letters = letters || r > '9'
		if run >= 24 && digits && letters {
			return true
		}
	}
	return false
}

func isAlnum(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}
