package policy

import "strings"

// This file knows how programs read their options. It serves what forbids, asks or guards; nothing is allowed by it.

// grammar is what is known of a program's options. Where nothing is known, every letter after one dash may be an
// option and every option may take the next word.
type grammar struct {
	known  bool
	whole  bool     // options of one dash are names, as in find -delete and go test -exec
	values string   // letters whose value is the rest of the word, or else the next word
	joined string   // letters whose value, if any, is the rest of the word
	long   []string // long options that may take the next word
	same   string   // options that mean the same, as "-f=--force"
}

// grammars by program; those of git are by subcommand and take over what "git" says of long options.
var grammars = map[string]grammar{
	"rm":    {same: "-r=-R -r=--recursive -f=--force -i=--interactive -d=--dir"},
	"cp":    {values: "tS", same: "-r=-R -r=--recursive -f=--force -t=--target-directory"},
	"mv":    {values: "tS", same: "-f=--force -t=--target-directory"},
	"ln":    {values: "tS", same: "-f=--force -s=--symbolic -t=--target-directory"},
	"chmod": {same: "-R=--recursive"},
	"chown": {same: "-R=--recursive"},
	"sed":   {values: "efl", joined: "i", long: []string{"--expression", "--file", "--line-length"}, same: "-i=--in-place -e=--expression -f=--file"},
	"date":  {values: "dfrs", joined: "I", long: []string{"--date", "--file", "--reference", "--set"}, same: "-s=--set -f=--file"},
	"sort": {values: "kSTto", long: []string{"--key", "--buffer-size", "--temporary-directory", "--field-separator", "--output", "--batch-size", "--parallel",
		"--compress-program", "--files0-from", "--random-source", "--sort"}, same: "-o=--output"},
	"tee":  {same: "-a=--append"},
	"file": {values: "eFfmP", long: []string{"--exclude", "--separator", "--files-from", "--magic-file", "--parameter"}, same: "-C=--compile"},
	"rg": {values: "ABCdEefgjMmrTt", long: []string{"--after-context", "--before-context", "--context", "--max-depth", "--encoding", "--regexp", "--file", "--glob",
		"--iglob", "--threads", "--max-columns", "--max-count", "--replace", "--type", "--type-not", "--type-add", "--type-clear", "--pre", "--pre-glob", "--sort", "--sortr",
		"--ignore-file", "--engine", "--color", "--colors", "--path-separator", "--hostname-bin", "--max-filesize", "--regex-size-limit", "--dfa-size-limit",
		"--context-separator", "--field-context-separator", "--field-match-separator", "--generate", "--hyperlink-format"}},
	"grep": {values: "ABCDdefmX", long: []string{"--after-context", "--before-context", "--context", "--max-count", "--binary-files", "--devices", "--directories",
		"--regexp", "--file", "--exclude", "--include", "--exclude-from", "--exclude-dir", "--label", "--group-separator"}},
	"curl": {values: "AbCcDdEeFHhKmoPQrTtUuwXYyz", same: "-X=--request -d=--data -o=--output -T=--upload-file -F=--form -O=--remote-name -K=--config"},
	"wget": {values: "OoaieBtTwQPUlADIXR", same: "-O=--output-document -P=--directory-prefix -i=--input-file"},
	"npm":  {long: []string{"--prefix", "--workspace", "--userconfig", "--loglevel"}, same: "-g=--global -f=--force"},
	"tar":  {values: "CfFgIKLNTVXb", same: "-x=--extract -x=--get -c=--create -C=--directory -f=--file -I=--use-compress-program -F=--info-script"},
	"find": {whole: true}, "go": {whole: true}, "gofmt": {whole: true}, "goimports": {whole: true}, "java": {whole: true}, "javac": {whole: true},
	"mvn": {whole: true}, "gradle": {whole: true}, "ctest": {whole: true}, "dotnet": {whole: true},

	"git": {long: []string{"--grep", "--author", "--committer", "--since", "--until", "--after", "--before", "--max-count", "--skip", "--diff-filter", "--output",
		"--date", "--exclude", "--glob", "--encoding", "--word-diff-regex", "--src-prefix", "--dst-prefix", "--line-prefix", "--ws-error-highlight",
		"--inter-hunk-context", "--find-object", "--rotate-to", "--skip-to", "--decorate-refs", "--decorate-refs-exclude", "--message", "--file", "--template",
		"--trailer", "--cleanup", "--fixup", "--squash", "--reuse-message", "--reedit-message", "--pathspec-from-file", "--contents", "--ignore-rev",
		"--contains", "--no-contains", "--points-at", "--sort", "--format", "--push-option", "--repo", "--upload-pack", "--receive-pack", "--exec", "--max-depth"}},
	"git log": {values: "nSGLO"}, "git show": {values: "nSGLO"}, "git diff": {values: "SGO"}, "git grep": {values: "efABCm"}, "git blame": {values: "LS"},
	"git branch": {values: "u", same: "-d=--delete -D=--delete -m=--move -M=--move -c=--copy -C=--copy -f=--force -u=--set-upstream-to"},
	"git tag":    {values: "muF", same: "-d=--delete -f=--force -a=--annotate -m=--message"},
	"git push":   {values: "o", same: "-f=--force -d=--delete -u=--set-upstream -o=--push-option"},
	"git commit": {values: "mFcCt", joined: "Su", same: "-m=--message -a=--all -n=--no-verify -F=--file -C=--reuse-message -c=--reedit-message"},
	"git add":    {same: "-f=--force -A=--all -u=--update -p=--patch -i=--interactive -e=--edit"},
	"git clean":  {values: "e", same: "-f=--force"}, "git checkout": {values: "bB", same: "-f=--force"}, "git switch": {values: "cC", same: "-C=--force-create -f=--force"},
	"git fetch": {values: "jo", same: "-f=--force -p=--prune"}, "git pull": {values: "jsXo", same: "-f=--force -r=--rebase -p=--prune"},
	"git rm": {same: "-f=--force"}, "git mv": {same: "-f=--force"},
}

// everywhere are options that mean the same in most programs.
const everywhere = "-r=--recursive -R=--recursive -r=-R -f=--force -d=--delete"

func init() {
	for name, g := range grammars {
		g.known = true
		if strings.HasPrefix(name, "git ") {
			g.long = grammars["git"].long
		}
		grammars[name] = g
	}
	for alias, name := range map[string]string{"egrep": "grep", "fgrep": "grep", "mvnw": "mvn", "gradlew": "gradle", "pnpm": "npm"} {
		grammars[alias] = grammars[name]
	}
}

// grammarOf finds the grammar for a command.
func grammarOf(argv []string) grammar {
	if len(argv) == 0 {
		return grammar{}
	}
	name := strings.ToLower(baseName(argv[0]))
	if name == "git" && len(argv) > 1 {
		if g, ok := grammars["git "+argv[1]]; ok {
			return g
		}
	}
	return grammars[name]
}

// letters are the options in a word of one dash: -rfv is r, f and v. They end where a value begins.
func (g grammar) letters(w string) []string {
	if len(w) < 2 || w[0] != '-' || w[1] == '-' || g.whole {
		return nil
	}
	var out []string
	for i := 1; i < len(w) && isLetter(w[i]); i++ {
		out = append(out, "-"+w[i:i+1])
		if strings.IndexByte(g.values+g.joined, w[i]) >= 0 {
			break
		}
	}
	return out
}

func isLetter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// takesNext: the word is an option whose value may be the next word.
func (g grammar) takesNext(w string) bool {
	switch {
	case len(w) < 2 || w[0] != '-' || w == "--":
		return false
	case !g.known || g.whole:
		return !strings.Contains(w, "=")
	case w[1] == '-' && len(g.long) == 0:
		return !strings.Contains(w, "=")
	case w[1] == '-':
		for _, l := range g.long {
			if strings.HasPrefix(l, w) {
				return true
			}
		}
		return false
	}
	letters := g.letters(w)
	n := len(letters)
	return n > 0 && n+1 == len(w) && strings.Contains(g.values, letters[n-1][1:])
}

// end is the place of the -- after which there are no options, or the number of words. A -- that may be an option's
// value, as in rg -e -- --pre=x, ends nothing.
func (g grammar) end(argv []string) int {
	for i := 1; i < len(argv); i++ {
		if argv[i] == "--" && !g.takesNext(argv[i-1]) {
			return i
		}
	}
	return len(argv)
}

// equals are an option's other spellings.
func (g grammar) equals(option string) []string {
	out := []string{option}
	for pair := range strings.FieldsSeq(everywhere + " " + g.same) {
		a, b, _ := strings.Cut(pair, "=")
		switch option {
		case a:
			out = append(out, b)
		case b:
			out = append(out, a)
		}
	}
	return out
}

// flags are the options of a command in every form in which a rule may name them.
func (g grammar) flags(w string) []string {
	name, _, _ := strings.Cut(w, "=")
	out := []string{w, name}
	if g.whole && strings.HasPrefix(w, "--") {
		out = append(out, w[1:], name[1:]) // go env --w is go env -w
	}
	return append(out, g.letters(w)...)
}

// wanted are the options that one word of a pattern asks for, each with its spellings.
func (g grammar) wanted(w string) [][]string {
	bare := strings.TrimRight(w, "*")
	name, _, _ := strings.Cut(bare, "=")
	if len(name) < 2 {
		return [][]string{{w}}
	}
	letters := g.letters(bare)
	if len(letters) == 0 || len(letters) > 4 || len(letters)+1 < len(bare) { // a name, as -delete
		return [][]string{append(g.equals(name), w)}
	}
	out := make([][]string, len(letters))
	for i, l := range letters {
		out[i] = g.equals(l)
	}
	return out
}

// spells: the option is written in one of the spellings, or is the beginning of a long one, which GNU programs take
// for the whole.
func spells(spellings []string, option string) bool {
	for _, s := range spellings {
		if glob(s, option) || len(option) > 2 && strings.HasPrefix(option, "--") && strings.HasPrefix(s, option) {
			return true
		}
	}
	return false
}

// splitFlags parts a command's words from its options.
func splitFlags(argv []string) (words, flags []string) {
	g := grammarOf(argv)
	end := g.end(argv)
	for i, w := range argv {
		switch {
		case w == "--" && i <= end:
		case i == 0 || i > end || len(w) < 2 || w[0] != '-':
			words = append(words, w)
		default:
			flags = append(flags, g.flags(w)...)
		}
	}
	if len(words) > 1 && words[0] == "git" && words[1] == "push" {
		flags = append(flags, pushed(words[2:])...)
	}
	return words, flags
}

// pushed are the options that git push takes from its refspecs: +x forces, :x deletes.
func pushed(words []string) []string {
	var out []string
	for _, w := range words {
		switch {
		case strings.HasPrefix(w, "+"):
			out = append(out, "--force")
		case strings.HasPrefix(w, ":") && len(w) > 1:
			out = append(out, "--delete")
		}
	}
	return out
}

// loosePattern is how a pattern's words read where options may stand anywhere, and its options. A pattern that ends
// in an option and * covers whatever else the command has; " * " between words may be nothing.
func loosePattern(fields []string) (words []string, options [][]string) {
	g := grammarOf(fields)
	var plain []string
	end := g.end(fields)
	for i, w := range fields {
		switch {
		case w == "--" && i <= end:
		case i == 0 || i > end || len(w) < 2 || w[0] != '-':
			plain = append(plain, w)
		default:
			options = append(options, g.wanted(w)...)
		}
	}
	text := strings.Join(plain, " ")
	if last := fields[len(fields)-1]; len(fields) > 1 && last[0] == '-' && strings.HasSuffix(last, "*") && !strings.HasSuffix(text, " *") {
		text += " *"
	}
	words = append(words, text)
	if shorter := strings.ReplaceAll(text, " * ", " "); shorter != text {
		words = append(words, shorter)
	}
	return words, options
}
