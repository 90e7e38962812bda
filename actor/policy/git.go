package policy

import "strings"

// gitCommand takes git's global options away, so that rules see "git push" in git -C dir push, and asks about those
// that change what git runs.
func gitCommand(s *shell, c *call) {
	c.plain = true
	var dirs []word
	i := 1
loop:
	for i < len(c.argv) {
		a := c.argv[i]
		name, _, joined := strings.Cut(a.text, "=")
		switch {
		case a.maybeOption():
			c.ask("Which git command runs cannot be seen.")
			break loop
		case a.text == "-C" && i+1 < len(c.argv):
			dirs = append(dirs, c.argv[i+1])
			i += 2
		case a.text == "-c" && i+1 < len(c.argv):
			if !harmlessSetting(c.argv[i+1]) {
				c.ask("git -c can set what git runs.")
			}
			i += 2
		case contains(gitQuiet, a.text):
			i++
		case contains(gitValued, name) && !joined:
			c.ask("%s changes what git runs.", name)
			i += 2
		case a.text == "--version" || a.text == "--help" || !strings.HasPrefix(a.text, "-"):
			break loop
		default:
			c.ask("%s changes what git runs.", clip(name, 40))
			i++
		}
	}
	if i > len(c.argv) {
		i = len(c.argv)
	}
	c.argv = append(c.argv[:1:1], c.argv[i:]...)
	c.paths = append(dirs, c.argv[1:]...)
	gitSubcommand(s, c)
}

var gitQuiet = []string{"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects", "--no-lazy-fetch", "--no-advice"}

var gitValued = []string{"--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix", "--exec-path", "--attr-source"}

// harmlessSetting: a setting that names no program.
func harmlessSetting(w word) bool {
	if !w.lit {
		return false
	}
	key, value, _ := strings.Cut(strings.ToLower(w.text), "=")
	switch key {
	case "user.name", "user.email", "core.quotepath", "init.defaultbranch", "commit.gpgsign", "diff.noprefix", "core.abbrev":
		return key != "commit.gpgsign" || value == "false"
	case "core.pager":
		return value == "cat"
	}
	return strings.HasPrefix(key, "color.") || strings.HasPrefix(key, "advice.")
}

func gitSubcommand(s *shell, c *call) {
	if len(c.argv) < 2 {
		return
	}
	if !c.argv[1].lit {
		c.ask("Which git command runs cannot be seen.")
		return
	}
	sub := c.argv[1].text
	c.gitTexts(sub)
	argv := texts(c.argv)
	g := grammarOf(argv)
	for _, w := range c.argv[min(2, g.end(argv)):g.end(argv)] {
		if guarded(g, guards["git"], w.text) || runsByShort(sub, w.text) {
			c.ask("The option %q of git %s can run or write something else.", clip(w.text, 40), sub)
		}
	}
	switch sub {
	case "push":
		s.push(c)
	case "branch", "tag":
		c.optioned = true
		c.listing(sub)
	case "submodule", "bisect", "filter-branch", "difftool", "mergetool", "config", "hook", "for-each-repo", "maintenance", "daemon", "instaweb", "send-email", "credential":
		c.opaque = "git " + sub
		c.optioned = true
	case "add", "rm", "mv", "restore", "checkout", "switch":
	default:
		c.optioned = true
	}
}

// listing asks unless git branch or git tag only lists: a name without an option that makes it a pattern is a new
// branch or tag, whatever other options say.
func (c *call) listing(sub string) {
	names, lists := 0, false
	g := grammarOf(texts(c.argv))
	for _, w := range c.argv[2:] {
		switch {
		case guarded(g, gitChanging[sub], w.text):
			c.ask("The option %q changes what git %s lists.", clip(w.text, 40), sub)
		case guarded(g, gitListing, w.text):
			lists = true
		case !strings.HasPrefix(w.text, "-") || w.text == "--":
			names++
		}
	}
	if names > 0 && !lists {
		c.ask("git %s with a name may make or change one.", sub)
	}
}

var gitListing = []string{"-l", "--list", "-n", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at"}

// gitChanging are options with which git branch and git tag do more than list.
var gitChanging = map[string][]string{
	"branch": {"-d", "-D", "-m", "-M", "-c", "-C", "-f", "-u", "-t", "--delete", "--move", "--copy", "--force", "--track", "--set-upstream-to",
		"--unset-upstream", "--edit-description", "--create-reflog"},
	"tag": {"-d", "-f", "-a", "-s", "-u", "-m", "-F", "-e", "--delete", "--force", "--annotate", "--sign", "--local-user", "--message", "--file",
		"--edit", "--trailer", "--create-reflog"},
}

// runsByShort: short options that run a program.
func runsByShort(sub, text string) bool {
	if len(text) < 2 || text[0] != '-' || text[1] == '-' {
		return false
	}
	switch sub {
	case "grep":
		return strings.Contains(text, "O")
	case "rebase", "difftool":
		return strings.HasPrefix(text, "-x")
	case "clone", "fetch", "pull":
		return strings.HasPrefix(text, "-u") || strings.HasPrefix(text, "-c")
	}
	return false
}

// gitTexts takes values that are text, not files and not options, out of what is looked at: a commit's message may
// say anything and come from a substitution.
func (c *call) gitTexts(sub string) {
	texts := map[string][]string{
		"commit": {"-m", "--message", "-am", "-sm", "-asm", "--author", "--date", "--trailer"},
		"tag":    {"-m", "--message", "-am"},
		"stash":  {"-m", "--message"},
		"merge":  {"-m"},
		"notes":  {"-m"},
		"log":    {"--grep", "--author", "--committer", "-S", "-G", "--since", "--until", "--after", "--before", "--format", "--pretty"},
		"grep":   {"-e"},
	}[sub]
	argv, paths := c.argv[:2:2], c.paths[:len(c.paths)-len(c.argv)+2]
	paths = paths[:len(paths):len(paths)]
	for i := 2; i < len(c.argv); i++ {
		w := c.argv[i]
		name, _, joined := strings.Cut(w.text, "=")
		switch {
		case contains(texts, w.text) && i+1 < len(c.argv) && !c.argv[i+1].split:
			value := c.argv[i+1]
			argv = append(argv, w, word{text: value.text, lit: true})
			i++
		case contains(texts, name) && joined && !w.split, strings.HasPrefix(w.text, "-m") && contains(texts, "-m") && !w.split:
			w.lit = true
			argv = append(argv, w)
		default:
			argv, paths = append(argv, w), append(paths, w)
		}
	}
	c.argv, c.paths = argv, paths
}

// push names the remote: the card shows it, and the runner's broker gives the credential for it alone.
func (s *shell) push(c *call) {
	c.optioned = true
	remote := word{text: "origin", lit: true}
	args := c.argv[2:]
	for i := 0; i < len(args); i++ {
		switch t := args[i].text; {
		case t == "-o" || t == "--push-option" || t == "--receive-pack" || t == "--exec":
			i++
		case t == "--repo" && i+1 < len(args):
			remote = args[i+1]
			i++
		case strings.HasPrefix(t, "--repo="):
			remote.text, remote.lit = strings.TrimPrefix(t, "--repo="), args[i].lit
		case strings.HasPrefix(t, "-") && t != "--":
		case t == "--":
		default:
			remote = args[i]
			i = len(args)
		}
	}
	if !remote.lit {
		c.ask("The remote of git push is no literal.")
		return
	}
	g := Grant{Kind: "git-push", Target: clip(remote.text, maxText)}
	for _, have := range s.grants {
		if have == g {
			return
		}
	}
	s.grants = append(s.grants, g)
}

// goCommand: the text after -ldflags is no path, but may name a linker.
func goCommand(_ *shell, c *call) {
	guard(c)
	for _, w := range c.argv[1:] {
		if strings.Contains(w.text, "-extld") || strings.Contains(w.text, "-toolexec") {
			c.ask("The flags name a program for go to run.")
		}
	}
}
