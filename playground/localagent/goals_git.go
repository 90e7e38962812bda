package localagent

import (
	"fmt"
	"strings"
)

func gitStatus(t *turn, _ []string) (string, bool) {
	o, done := t.bash("git status --short --branch")
	switch {
	case !done:
		return "", false
	case o.kind != ok:
		return o.excuse("ask git for the status"), true
	}
	branch, changed := statusLines(o.text)
	if len(changed) == 0 {
		return "Nothing is changed" + onBranch(branch) + ".", true
	}
	return fmt.Sprintf("%s changed%s:%s", capital(count(len(changed), "file")), onBranch(branch), block(strings.Join(changed, "\n"))), true
}

func onBranch(branch string) string {
	if branch == "" {
		return ""
	}
	return ", on branch " + code(branch)
}

// statusLines are the branch and the changed files of "git status --short --branch".
func statusLines(s string) (branch string, changed []string) {
	for _, l := range lines(s) {
		if b, ok := strings.CutPrefix(l, "## "); ok {
			branch, _, _ = strings.Cut(b, "...")
			continue
		}
		changed = append(changed, l)
	}
	return branch, changed
}

// gitDiff shows the diff against the last commit, of one file when one is named.
func gitDiff(t *turn, a []string) (string, bool) {
	line := "git --no-pager diff HEAD"
	if len(a) > 0 && a[0] != "" {
		line += " -- " + operand(a[0])
	}
	o, done := t.bash(line)
	switch {
	case !done:
		return "", false
	case o.kind != ok:
		return o.excuse("ask git for the diff"), true
	case o.text == "":
		return "There is no difference to the last commit (new files that git does not know are not part of a diff).", true
	}
	added, removed := 0, 0
	for _, l := range lines(o.text) {
		if strings.HasPrefix(l, "+") && !strings.HasPrefix(l, "+++") {
			added++
		}
		if strings.HasPrefix(l, "-") && !strings.HasPrefix(l, "---") {
			removed++
		}
	}
	return fmt.Sprintf("%s, %s:%s", count(added, "line")+" added", count(removed, "line")+" removed", fenced(o.text, "diff")), true
}

func gitLog(t *turn, a []string) (string, bool) {
	n := 10
	for _, s := range a {
		n = min(number(s, n), 100)
	}
	return gitShow(t, fmt.Sprintf("git --no-pager log --oneline --decorate -n %d", n), "The last commits", "ask git for the log")
}

func gitLogFile(t *turn, a []string) (string, bool) {
	return gitShow(t, "git --no-pager log --format='%h %ad %an: %s' --date=short -n 10 -- "+operand(a[0]), "The last commits that changed "+code(a[0]), "ask git for the log of "+code(a[0]))
}

func gitBlame(t *turn, a []string) (string, bool) {
	return gitShow(t, "git --no-pager blame --date=short -- "+operand(a[0]), "Who wrote "+code(a[0]), "ask git who wrote "+code(a[0]))
}

func gitBranch(t *turn, _ []string) (string, bool) {
	return gitShow(t, "git --no-pager branch --all", "The branches (`*` is the current one)", "ask git for the branches")
}

func gitShow(t *turn, line, title, what string) (string, bool) {
	o, done := t.bash(line)
	switch {
	case !done:
		return "", false
	case o.kind != ok:
		return o.excuse(what), true
	case o.text == "":
		return "Git prints nothing for " + code(line) + ".", true
	}
	return title + ":" + block(o.text), true
}

// commit looks at what is changed, then commits all of it. Without a message it says which files changed.
func commit(t *turn, a []string) (string, bool) {
	if t.failed {
		return "I did not commit, because a step before it did not succeed.", true
	}
	status, done := t.bash("git status --short --branch")
	if !done {
		return "", false
	}
	if status.kind != ok {
		return status.excuse("ask git what is changed; I did not commit"), true
	}
	_, changed := statusLines(status.text)
	if len(changed) == 0 {
		return "There is nothing to commit.", true
	}
	message := ""
	for _, s := range a {
		message += s
	}
	if message == "" {
		message = defaultMessage(changed)
	}
	o, done := t.bash("git add -A && git commit -m " + quote(message))
	switch {
	case !done:
		return "", false
	case o.kind != ok:
		return o.excuse("commit " + count(len(changed), "file")), true
	}
	return fmt.Sprintf("I committed %s as %s.%s", count(len(changed), "file"), code(message), block(o.text)), true
}

// defaultMessage names the first changed file of "XY path" lines.
func defaultMessage(changed []string) string {
	name := changed[0]
	if len(name) > 3 {
		name = strings.TrimSpace(name[2:])
	}
	if len(changed) == 1 {
		return "Update " + name
	}
	return fmt.Sprintf("Update %s and %s", name, count(len(changed)-1, "other file"))
}

func push(t *turn, a []string) (string, bool) {
	if t.failed {
		return "I did not push, because a step before it did not succeed.", true
	}
	remote, branch := "origin", "HEAD"
	if len(a) > 0 && a[0] != "" {
		remote, branch = a[0], "HEAD"
		if r, b, ok := strings.Cut(remote, "/"); ok {
			remote, branch = r, b
		}
	}
	if len(a) > 1 && a[1] != "" {
		branch = a[1]
	}
	line := "git push " + operand(remote) + " " + operand(branch)
	o, done := t.bash(line)
	switch {
	case !done:
		return "", false
	case o.kind != ok:
		return o.excuse("push (" + code(line) + ")"), true
	}
	return "I pushed: " + code(line) + "." + block(o.text), true
}
