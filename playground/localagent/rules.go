package localagent

import (
	"path"
	"regexp"
	"strings"
	"sync"
)

// rule is a way to say something. The expression must match a whole clause; its groups are the goal's arguments.
type rule struct {
	name   string
	re     func() *regexp.Regexp    // compiled when first needed: the program has other commands, and they start sooner
	accept func(args []string) bool // nil: always
}

// Pieces of the rules below.
const (
	show  = `(?:show|print|display|list|get|see|give|view|what is|what's|whats)`
	the   = `(?:(?:me|us) )?(?:all )?(?:of )?(?:the |this |that |a |an |my |our |its |your )?`
	proj  = `(?: (?:in|of|for|from) (?:the |this |that )?(?:project|repo|repository|codebase|workspace|here))?`
	what  = `(?:what(?:'s| is| are|s)?|which)`
	aPath = `([^\s,]+)`
	ident = `([\p{L}_$][\p{L}\p{N}_.$:]*(?:\(\))?)`
	slots = `(⟦\d+⟧)`

	aCommand = `(?: (?:the|this|these))?(?: following)?(?: (?:shell )?(?:commands?|script))?`
)

// say makes rules of one name. Blanks match any number of blanks, case does not count.
func say(name string, accept func([]string) bool, patterns ...string) []rule {
	var out []rule
	for _, p := range patterns {
		out = append(out, rule{name, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^ *(?:` + p + `) *$`) }), accept})
	}
	return out
}

func join(groups ...[]rule) []rule {
	var out []rule
	for _, g := range groups {
		out = append(out, g...)
	}
	return out
}

// rules in the order in which they are tried: the special before the general.
var rules = join(talkRules, projectRules, gitRules, changeRules, lookRules)

var talkRules = join(
	say("help", nil, `help`, `what can (?:you|i|we) (?:do|ask)(?: here)?`, `what do you (?:understand|know)`, `how do (?:i|we) use (?:you|this bot)`, `usage`, `commands`),
	say("identity", nil, `who are you`, `what are you`, `are you (?:an? )?(?:ai|llm|language model|bot|real model|human)`, `which model (?:are you|is this)`, `what model (?:are you|is this)`),
	say("hello", nil, `hello`, `hi`, `hey`, `hello there`, `hi there`, `good (?:morning|evening|afternoon)`, `yo`),
	say("thanks", nil, `thanks`, `thank you`, `thx`, `ty`, `great`, `nice`, `cool`, `ok`, `okay`, `perfect`, `thanks a lot`, `well done`),
	say("again", nil, `again`, `(?:do|try|run) (?:it|that|this) again`, `once more`, `retry`, `try again`, `repeat(?: that| it)?`),
	say("sleep", nil, `(?:wait|sleep)(?: for)? (\d{1,3}) ?(?:s|secs?|seconds?)`),
)

var projectRules = join(
	say("overview", nil,
		`what (?:does|do) (?:this|the|that|your|it)(?: project| repo| repository| code| codebase| program| app| thing)? do`, `what(?:'s| is) (?:this|the) (?:project|repo|repository|code|codebase|program|app)(?: about| for)?`,
		`what(?:'s| is) this(?: about| for)?`, `(?:describe|explain|summari[sz]e|introduce) (?:this |the |your )(?:project|repo|repository|code|codebase|program|app)`,
		`(?:an |the )?overview(?: of .+)?`, show+` `+the+`overview`, `what are we (?:working on|looking at)`),
	say("tests", nil,
		`(?:run|execute|start) `+the+`(?:unit )?tests?(?: suite)?`+proj, `do(?:es)? (?:all )?(?:the |its |our |your |my )?tests? (?:still )?(?:pass|work|succeed|run)`, `are (?:all )?(?:the |its |our )?tests? (?:still )?(?:passing|green|ok|okay|fine)`,
		`test (?:it|this|the project|everything|the code)`, `test`, `(?:check|see|verify)(?: that| if| whether)? `+the+`tests?(?: still)? (?:pass|work|succeed|are green)`, `check `+the+`tests?`, `do they (?:still )?pass`),
	say("build", nil, `(?:build|compile)(?: it| this| the project| everything| the code)?`, `does (?:it|this|the project|the code|everything) (?:still )?(?:build|compile)`, `run (?:the |a )?build`),
	say("lint", nil, `(?:lint|vet)(?: it| this| the project| everything| the code)?`, `run (?:the |a )?(?:linter?|vet|go vet)`, `(?:are there|any) (?:lint(?:er)? )?(?:warnings|problems)`),
	say("format", nil, `(?:format|reformat|gofmt)(?: it| this| the project| everything| the code| all files)?`, `run (?:the )?(?:formatter|gofmt)`),
	say("deps", nil, show+` `+the+`(?:dependencies|deps|requirements|libraries)`+proj, what+` (?:dependencies|deps|libraries|packages) (?:does (?:it|this|the project)(?: project)?|do we) (?:use|have|need|depend on)`, `what does (?:it|this project|the project) depend on`, `dependencies`),
	say("language", nil, what+` (?:programming )?languages?(?: is (?:it|this)| is (?:it|this|the project) (?:written|made) in| does (?:it|this|the project) use)?(?: written in)?`, `what is (?:it|this|this project|the project) written in`),
	say("howrun", nil, `how (?:do|can|should) (?:i|we|you) (?:run|start|build|install|use|launch) (?:it|this|this project|the project|the program|the app)`, `how to (?:run|start|build|install|use) (?:it|this|this project|the project)`),
	say("license", nil, what+` licen[cs]e(?: is (?:it|this|this project|the project) under| does (?:it|this|the project) have| applies)?`, show+` `+the+`licen[cs]e`+proj, `licen[cs]e`),
	say("readme", nil, `(?:read|show|open|print|cat|see|view) `+the+`read ?me(?: file)?`, `readme`),
	say("lines", nil, `how (?:many lines|much code|big)(?: of code)?(?: are there| is there| is (?:it|this|the project|this project)| does (?:it|this|the project) have)?`+proj, `count `+the+`lines(?: of code)?`+proj),
	say("todos", nil, show+` `+the+`(?:todos?|fixmes?|open todos?)(?: and fixmes?)?`+proj, `(?:find|search)(?: for)? `+the+`(?:todos?|fixmes?)(?: and fixmes?)?`+proj, `(?:are there |any )+(?:todos?|fixmes?)`+proj, what+` (?:is |are )?left to do`, `todos?`),
)

var gitRules = join(
	say("status", nil, `(?:git )?status`, show+` `+the+`(?:git |working tree )?status`, `what(?:'s| is| has| have)? (?:been )?(?:changed|uncommitted|modified)(?: here| so far| locally)?`, `(?:are there |any |do we have )+(?:uncommitted |local |unsaved )?changes`, what+` files (?:did (?:you|i|we) change|have changed|changed|are (?:changed|modified|uncommitted))`, `is (?:the (?:tree|repo|working tree)|everything) (?:clean|committed)`),
	say("diff", nil, `(?:git )?diff`, show+` `+the+`(?:current |git )?(?:diff|changes|difference|modifications)`, `what did (?:you|i|we) change`, `(?:git )?diff (?:of |for |on )?`+aPath, show+` `+the+`(?:diff|changes|difference) (?:of|for|in|to|on) `+aPath),
	say("log", nil, `(?:git )?log`, show+` `+the+`(?:git )?(?:log|history)`, show+` `+the+`(?:last |latest |recent |newest )?(\d{1,3} )?(?:last |latest |recent |newest )?commits?`, `(?:what(?:'s| is| was| were)? )?`+the+`(?:last|latest|recent|newest) (\d{1,3} )?commits?`, `what (?:has )?(?:changed|happened) (?:recently|lately|last)`, `git log -(?:n ?)?(\d{1,3})`),
	say("logfile", nil, show+` `+the+`(?:git )?(?:log|history|commits) (?:of|for|on) `+aPath, `(?:history|log) (?:of|for) `+aPath, `who (?:last )?(?:changed|edited|touched) `+aPath, `when (?:was|did) `+aPath+` (?:last )?change(?:d)?`),
	say("blame", nil, `(?:git )?blame `+aPath, `who wrote `+aPath),
	say("branch", nil, `(?:git )?branch(?:es)?`, what+` branch(?:es)?(?: (?:are (?:we|you|there)|is (?:this|it|checked out|current)|am i))?(?: on| in)?`, show+` `+the+`(?:current )?branch(?:es)?`, `on (?:which|what) branch (?:are (?:we|you)|am i)`),
	say("newbranch", nil, `(?:create|make|start|open) (?:a |the )?(?:new )?branch (?:called |named )?`+aPath, `git (?:checkout -b|switch -c) `+aPath),
	say("switch", nil, `(?:switch|change|go) to (?:the )?branch `+aPath, `(?:check ?out|git checkout|git switch) (?:the )?(?:branch )?`+aPath, `switch to (?:the )?`+aPath+` branch`),
	say("commit", nil, `(?:git )?commit(?: it| this| that| everything| all| my changes| the changes| your changes| these changes| all changes| them)?`, `(?:git )?commit(?: it| this| that| everything| all| the changes| your changes| these changes| all changes| them)?(?: with| using)?(?: the| a)?(?: commit)?(?: message)?:? `+slots, `(?:git )?commit(?: it| this| that| everything| all| the changes| your changes| these changes| all changes| them)? (?:with|using|as)(?: the| a)?(?: commit)?(?: message)?:? (.+)`, `git commit (?:-a )?-a?m `+slots, `save (?:it|this|the changes|everything) in git`),
	say("push", nil, `(?:git )?push(?: it| this| that| everything| the (?:branch|changes|commits?)| my changes| your changes| them)?(?: to (?:the )?(?:remote|github|gitlab|upstream))?`, `(?:git )?push(?: it| this| that| everything| the (?:branch|changes|commits?)| them)? to (?:the )?`+aPath+`(?:[ /]`+aPath+`)?`, `git push `+aPath+`(?: `+aPath+`)?`),
	say("pull", nil, `(?:git )?pull(?: (?:the )?(?:latest|changes|updates))?(?: from .+)?`, `get the latest (?:version|changes|code)`),
	say("fetch", nil, `(?:git )?fetch(?: .+)?`),
	say("revert", looksLikePath, `(?:revert|undo|discard|restore|reset)(?: the| my| your| all)?(?: changes?)?(?: (?:of|to|in|on))? `+aPath),
)

var changeRules = join(
	say("write", nil,
		`(?:write|create|make|add|save|put)(?: a| the)?(?: new)? file(?: called| named)? `+aPath+`(?:,? (?:with|containing|that (?:says|contains))(?: the)?(?: (?:content|contents|text))?:?| saying|:) (.+)`,
		`(?:write|create|make|save|overwrite|add) `+aPath+`(?:,? (?:with|containing|that (?:says|contains))(?: the)?(?: (?:content|contents|text))?:?| saying|:) (.+)`),
	say("writeinto", nil, `(?:write|put|save|store) (.+?) (?:to|into|in)(?: a| the)?(?: new)?(?: file)?(?: called| named)? `+aPath),
	say("empty", nil, `(?:create|touch|make|add)(?: an?| the)?(?: new)?(?: empty)? file(?: called| named)? `+aPath, `touch `+aPath),
	say("appendline", nil, `(?:add|append|write|put) (?:a|one|another|some)(?: new| short| sample| test)? (?:line|sentence|comment)(?: of text)? (?:to|in|into|at the end of)(?: the)?(?: file)? `+aPath+`(?: file)?`),
	say("append", nil, `(?:add|append|write|put) (?:a|the|this|one)(?: new)? (?:line|sentence)(?: that says| saying|:)? (.+?) (?:to|in|into|at the end of)(?: the)?(?: file)? `+aPath+`(?: file)?`, `append (.+?) (?:to|at the end of)(?: the)?(?: (?:end of|file))?(?: the)? `+aPath, `add (.+?) (?:to the end of|at the end of)(?: the)?(?: file)? `+aPath, `add the line (.+?) to(?: the)?(?: file)? `+aPath, `append to `+aPath+`:? (.+)`),
	say("replaceall", nil, `(?:replace|change|rename|substitute)(?: all(?: occurrences of)?| every| each)?(?: the)?(?: (?:text|string|word))? (.+?) (?:with|by|to|into) (.+?) (?:everywhere|globally|throughout) in (?:the )?(?:file )?`+aPath, `(?:replace|change|rename)(?: all(?: occurrences of)?| every| each) (.+?) (?:with|by|to|into) (.+?) in (?:the )?(?:file )?`+aPath, `in (?:the )?(?:file )?`+aPath+`,? (?:replace|change) (?:all|every) (.+?) (?:with|by|to|into) (.+)`),
	say("replace", nil, `(?:replace|change|substitute)(?: the)?(?: (?:text|string|word|line))? (.+?) (?:with|by|to|into) (.+?) in (?:the )?(?:file )?`+aPath, `(?:edit|modify|update|fix) (?:the )?(?:file )?`+aPath+`:? (?:replace|change|by (?:replacing|changing)) (.+?) (?:with|by|to|into) (.+)`, `in (?:the )?(?:file )?`+aPath+`,? (?:replace|change) (.+?) (?:with|by|to|into) (.+)`),
	say("mkdir", nil, `(?:create|make|add)(?: a| the)?(?: new)? (?:directory|folder|dir)(?: called| named)? `+aPath, `mkdir(?: -p)? `+aPath),
	say("delete", nil, `(?:delete|remove|rm|erase)(?: the)? (?:file )?`+aPath+`(?: file)?`),
	say("move", nil, `(?:rename|move|mv)(?: the)?(?: file)? `+aPath+` (?:to|into|as) `+aPath, `mv `+aPath+` `+aPath),
	say("copy", nil, `(?:copy|cp|duplicate)(?: the)?(?: file)? `+aPath+` (?:to|into|as) `+aPath, `cp `+aPath+` `+aPath),
)

var lookRules = join(
	say("tree", nil, `tree`, show+` `+the+`(?:file |directory |project )?(?:tree|structure|layout)`+proj, `(?:show|list) (?:all |every )?files? recursively`, `tree (?:of )?`+aPath, show+` `+the+`(?:tree|structure|layout) (?:of|in|under) `+aPath),
	say("list", nil, `ls`, `dir`, `files`, `(?:list|show|see|give)(?: me)?(?: all)?(?: of)?(?: the| this)?(?: files?| directory| folder| project files?| content| contents)(?: (?:and|or) (?:folders|directories))?`+proj, what+` files (?:are|do we have|does it have|exist)(?: there| here)?`+proj, what+` (?:is )?in (?:this|the) (?:directory|folder|project|repo)`, `what files`, `list everything`),
	say("listin", nil, `ls `+aPath, `(?:list|show|see)(?: me)?(?: all)?(?: of)?(?: the)?(?: files| content| contents| directory| folder)* (?:in|of|under|inside|from) (?:the )?(?:directory |folder )?`+aPath+`(?: (?:directory|folder))?`, `list (?:the )?(?:directory |folder )?`+aPath+`(?: (?:directory|folder))?`),
	say("listin", looksLikeFolder, what+` (?:files )?(?:is |are )?(?:in|inside|under) (?:the )?(?:directory |folder )?`+aPath+`(?: (?:directory|folder))?`),
	say("files", nil, `(?:find|search for|locate|list|show)(?: me)?(?: all)?(?: the)? files? (?:named|called|matching|like|with name|with the name) (.+)`, `(?:find|locate) (?:the )?file `+aPath, `where is (?:the )?file `+aPath, `(?:find|list|show)(?: me)?(?: all)?(?: the)? (\*\.\w+|\w+)[ -]files`+proj),
	say("outline", nil, `(?:outline|list (?:the )?(?:functions|types|symbols|methods|declarations|definitions) (?:of|in)|`+show+` `+the+`(?:functions|types|symbols|outline|methods|declarations|definitions)(?: and types)? (?:of|in))(?: of)? (?:the )?(?:file )?`+aPath, what+` (?:functions|types|methods|symbols) (?:are|does)(?: there)?(?: in)? `+aPath+`(?: (?:have|define|contain))?`),
	say("head", nil, `(?:head|`+show+` `+the+`(?:first|top)) (?:-n ?)?-?(\d{1,4})(?: lines)?(?: of)? `+aPath, `(?:first|top) (\d{1,4}) lines of `+aPath),
	say("tail", nil, `(?:tail|`+show+` `+the+`last) (?:-n ?)?-?(\d{1,4})(?: lines)?(?: of)? `+aPath, `last (\d{1,4}) lines of `+aPath),
	say("range", nil, `(?:read|show|print|see|view|cat) (?:me )?lines? (\d{1,7})(?: ?(?:-|–|to|through|until) ?(\d{1,7}))? (?:of|in|from) (?:the )?(?:file )?`+aPath, `(?:read|show|print|see|view|cat|open) (?:the )?(?:file )?([^\s:]+):(\d{1,7})(?:-(\d{1,7}))?`, `(?:read|show|print|cat|open) (?:the )?(?:file )?`+aPath+`,? lines? (\d{1,7})(?: ?(?:-|–|to) ?(\d{1,7}))?`),
	say("define", nil, `where(?:'s| is| are)(?: the)?(?: (?:function|type|method|class|struct|variable|constant|symbol|interface))? `+ident+` (?:defined|declared|implemented|located)`, `(?:find|show|go to|locate|where is)(?: me)?(?: the)? (?:definition|declaration|implementation|source|code) (?:of|for) `+ident, `where (?:do (?:we|you|they)|does it) (?:define|declare|implement) `+ident, `where(?:'s| is) `+ident),
	say("uses", nil, `(?:who|what) (?:calls|uses|references|imports|needs) `+ident, `where(?:'s| is| are)(?: the)?(?: function| type| method)? `+ident+` (?:used|called|referenced|imported)`, `(?:find|show|list)(?: me)?(?: all)?(?: the)? (?:usages?|uses|callers|references|calls) (?:of|to|for) `+ident, `where do (?:we|you|they) (?:use|call) `+ident),
	say("explain", isIdentifier, `(?:explain|describe)(?: me)?(?: to me)?(?: what)?(?: the)?(?: (?:function|type|method|class|struct|variable|constant|symbol|interface))? `+ident+`(?: (?:does|is|means|works))?(?: to me)?`, `what (?:does|do)(?: the)?(?: (?:function|type|method|class|struct|interface))? `+ident+`(?: (?:function|method|type|class))? (?:do|mean|return)`, `how (?:does|do)(?: the)?(?: (?:function|type|method|class|struct))? `+ident+` work`, `what(?:'s| is| are)(?: an?| the)?(?: (?:function|type|method|class|struct|variable|constant|symbol|interface))? `+ident+`(?: for| about)?`),
	say("explainfile", looksLikePath, `(?:explain|describe|summari[sz]e)(?: the)?(?: file)? `+aPath, `what (?:does|is in|is)(?: the)?(?: file)? `+aPath+`(?: do| for| about)?`),
	say("searchin", nil, `(?:search|grep|look)(?: for)? (.+?) in (?:the )?(?:files? |directory |folder )?([^\s,]*[./*][^\s,]*)(?: files)?`, `(?:find|search for) (.+?) in (?:the )?(?:file |directory |folder )?([^\s,]*[./*][^\s,]*)(?: files)?`, `(?:search|grep) `+aPath+` for (.+)`, `(?:search|grep)(?: for)? (.+?) in (?:the )?(?:directory|folder) `+aPath, `which lines (?:of|in) `+aPath+` (?:contain|mention) (.+)`),
	say("search", nil, `(?:search|grep|look)(?: for)?(?: the)?(?: (?:text|string|word|pattern))? (.+?)`+proj, `(?:search|look)(?: through| in)? (?:the )?(?:code|project|files|repo|codebase) for (.+)`, `find (?:all )?(?:occurrences|mentions|lines) (?:of|with|containing) (.+)`, `(?:which|what) files? (?:contain|mention|have)s? (.+)`, `find(?: the)?(?: (?:text|string|word))? (.+?)`+proj),
	say("run", nil, `\$ (.+)`, `(?:run|execute|exec|do)`+aCommand+`:? `+slots+`(?: (?:please|for me|now|thanks|in (?:the )?(?:shell|terminal|bash)))*`, `(?:run|execute|exec)`+aCommand+`:? (.+?)(?: in (?:the )?(?:shell|terminal|bash))?`, slots),
	say("read", nil, `(?:read|show|open|cat|print|view|display|see|look at|check)(?: me)?(?: the)?(?: (?:file|contents? of|contents? of the file))? `+aPath+`(?: file)?`, what+`(?: is)? (?:in|inside|written in) (?:the )?(?:file )?`+aPath),
	say("runbare", isCommand, `(.+)`),
)

// looksLikePath keeps "undo it" from being a file.
func looksLikePath(args []string) bool { return strings.ContainsAny(args[0], "./*") }

// looksLikeFolder keeps "what is in main.go" from being a folder.
func looksLikeFolder(args []string) bool { return path.Ext(args[0]) == "" }

// isIdentifier keeps words of plain English from being looked up as names in the code.
func isIdentifier(args []string) bool {
	switch strings.ToLower(args[0]) {
	case "it", "this", "that", "they", "you", "he", "she", "time", "date", "wrong", "up", "new", "going", "happening", "life", "everything", "love":
		return false
	}
	return !strings.HasSuffix(args[0], ".md") && !strings.HasSuffix(args[0], ".go") && !strings.HasSuffix(args[0], ".txt")
}

// commands are programs that people type as they would in a shell.
var commands = map[string]bool{"git": true, "go": true, "npm": true, "npx": true, "node": true, "make": true, "python": true, "python3": true, "pytest": true,
	"pip": true, "cargo": true, "ls": true, "pwd": true, "echo": true, "cat": true, "wc": true, "du": true, "df": true, "env": true, "whoami": true, "uname": true, "curl": true,
	"grep": true, "sed": true, "awk": true, "sort": true, "find": true, "date": true, "ps": true, "id": true, "hostname": true, "true": true, "false": true, "sleep": true, "bash": true, "sh": true}

// isCommand accepts a whole clause as a command line when its first word is a program: "git rebase main". Words that
// are also English need something after them that English does not have.
func isCommand(args []string) bool {
	words := strings.Fields(args[0])
	if len(words) == 0 || !commands[words[0]] {
		return false
	}
	switch words[0] {
	case "go", "make", "find", "sort", "date", "true", "false", "env", "id":
		return len(words) > 1 && (strings.ContainsAny(args[0], "-./=|>") || words[0] == "go" && goVerbs[words[1]])
	}
	return true
}

var goVerbs = map[string]bool{"build": true, "test": true, "vet": true, "run": true, "mod": true, "version": true, "fmt": true, "generate": true, "list": true, "env": true, "doc": true}
