package clienttest

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// Places of the page.
var (
	composer = el("#dock textarea.input", "")
	newest   = el("#log li.msg:last-child", "")
)

// toolLimit is how long an answer may take for which the sandbox compiles and tests the sample project.
const toolLimit = 2 * time.Minute

// become chooses who one is.
func (p *page) become(name string) {
	p.Helper()
	p.click(el("#me .self", ""))
	p.click(el(".switch-user", name))
	p.see(el("#me .self-name", name))
}

// pick types a slash and a command's name, and takes it from the list.
func (p *page) pick(command string) {
	p.Helper()
	p.click(composer)
	p.write("/" + command)
	p.see(el(".menu .menu-item", "/"+command))
	p.enter()
	p.see(el(".command .pill", "/"+command))
}

// ask sends /ask with a prompt, written out as people write it.
func (p *page) ask(prompt string) {
	p.Helper()
	p.click(composer)
	p.write("/ask " + prompt)
	p.enter()
	p.gone(el(".command", ""))
}

// say sends an ordinary message.
func (p *page) say(text string) {
	p.Helper()
	p.click(composer)
	p.write(text)
	p.enter()
}

// tab opens a tab of the panel.
func (p *page) tab(name string) { p.Helper(); p.click(el("#panel .tab", name)) }

// clean checks the wire's tab: each request fits Discord's own description.
func (p *page) clean() {
	p.Helper()
	p.tab("Wire")
	p.see(el(".wire-entry", ""))
	if bad := p.look(el(".wire-bad", "")); bad.Count > 0 {
		p.Errorf("%v requests do not fit Discord's description, as: %s", bad.Count, bad.Text)
	}
	p.tab("Records")
}

// messages counts the messages of the channel that show a text.
func (p *page) messages(text string) float64 {
	p.Helper()
	return p.look(el("#log li.msg", text)).Count
}

// Somebody who sees the page for the first time asks what the project does, and watches.
func TestPageShowsATurn(t *testing.T) {
	p := run(t).open(1440, 900)
	p.see(el(".intro", "Welcome to #agents!"))
	p.screenshot("01-first-sight")
	p.click(el("#me .self", ""))
	p.see(el(".switch-user", "Kim"))
	p.screenshot("02-who-one-is")
	p.click(el(".switch-user", "Sam"))
	p.see(el("#me .self-name", "Sam"))

	p.tab("Faults")
	p.click(el(".fault", "Two seconds late")) // what is otherwise too quick to be looked at: the first answer
	p.see(el(".pending-fault", "delay"))
	p.screenshot("03-faults")
	p.tab("Records")

	p.click(composer)
	p.write("/a")
	p.see(el(".menu .menu-item", "/ask"))
	p.screenshot("04-picker")
	p.enter()
	p.write("what does this project do, and do its tests pass?")
	p.click(el(".command .more", "optional"))
	p.click(el(".menu .menu-item", "model"))
	p.write("default")
	p.screenshot("05-command")
	p.enter()

	p.see(newest.el(".thinking", "Holdfast is thinking"))
	p.see(newest.el(".above", "Sam used /ask"))
	p.screenshot("06-thinking")
	p.seeWithin(toolLimit, el("#log li.msg", "Working").el(".content", "go test"))
	p.see(el("#log li.msg", "Working").el(".btn", "Stop"))
	p.screenshot("07-run-card")
	final := p.seeWithin(toolLimit, el("#log li.msg", "The tests pass")).Text
	for _, part := range []string{"berth", "tools", "conversation 1", "local agent: no model configured"} {
		if !strings.Contains(final, part) {
			t.Errorf("the answer does not show %q:\n%s", part, final)
		}
	}
	p.gone(el("#log .btn", "Stop"))
	p.see(newest.el(".thread-box", "what does this project do"))
	if n := p.messages(""); n != 1 {
		t.Errorf("the channel shows %v messages", n)
	}
	p.see(el(".page-records details", "submission").el("tr", "Sam").el(".state", "done"))
	p.screenshot("08-answer")

	p.click(newest.el(".btn", "Details"))
	p.see(newest.el(".only-you", "Only you can see this"))
	p.screenshot("09-details")
	p.click(newest.el("button", "Dismiss message"))
	p.gone(el(".only-you", ""))

	p.click(newest.el(".thread-box", ""))
	p.see(el("#head .head-name", "what does this project do"))
	p.see(el("#log li.starter", "The tests pass"))
	p.say("list the files")
	p.see(el("#log li.msg:not(.starter)", "berths_test.go").el(".small", "conversation 1"))
	p.screenshot("10-thread")
	p.clean()
}

// What needs a push is done when it is approved, once, and not when it is denied.
func TestPageApprovesAndDenies(t *testing.T) {
	program := run(t)
	pushes := program.countPushes()
	p := program.open(1440, 900)
	p.ask("add a line to the README, commit it and push")
	p.seeWithin(toolLimit, newest.el(".content", "waiting for approval"))
	p.screenshot("11-waiting")
	p.click(newest.el(".thread-box", "add a line to the README"))
	card := el("#log li.msg", "Approval required")
	for _, part := range []string{"git push", "origin", "Maya"} {
		p.see(card.el(".embed", part))
	}
	p.screenshot("12-card")
	if n := pushes(); n != 0 {
		t.Fatalf("%d pushes before anybody approved", n)
	}
	p.click(card.el(".btn", "Approve once"))
	p.see(el("#log li.msg", "Approved by @Maya"))
	if b := p.see(el("#log li.msg", "Approved").el(".btn", "Approve once")); !b.Disabled {
		t.Error("a decided card can still be pressed")
	}
	p.see(el("#log li.starter", "I pushed"))
	p.screenshot("13-approved")
	if n := pushes(); n != 1 {
		t.Errorf("the origin got %d pushes", n)
	}

	p.click(el("#head .crumb", "agents"))
	p.ask(`append "Never pushed." to README.md, commit it and push`)
	p.click(newest.el(".thread-box", "Never pushed."))
	p.seeWithin(toolLimit, card)
	p.click(card.el(".btn", "Deny and say why"))
	p.see(el("dialog.modal", ""))
	p.write("not on a Friday")
	p.screenshot("14-deny-form")
	p.click(el("dialog.modal .btn", "Submit"))
	p.see(el("#log li.msg", "Denied").el(".embed", "not on a Friday"))
	p.see(el("#log li.starter", "not allowed to push"))
	p.screenshot("15-denied")
	if n := pushes(); n != 1 {
		t.Errorf("after the denial the origin had %d pushes", n)
	}
	p.clean()
}

// A conversation is found again by its title, and what concerns one person is seen by nobody else.
func TestPageResumesAndKeepsToOne(t *testing.T) {
	p := run(t).open(1440, 900)
	p.ask("show the licence")
	p.see(newest.el(".small", "conversation 1"))
	p.pick("resume")
	p.write("licen")
	p.see(el(".menu .menu-item", "show the licence"))
	p.screenshot("16-resume")
	p.enter() // takes the choice
	p.gone(el(".menu .menu-item", ""))
	p.enter()
	p.gone(el(".command", ""))
	p.see(el("#log li.ephemeral", "Conversation 1 is in"))
	p.screenshot("17-resumed")
	p.click(el("#log li.msg", "").el(".thread-box", "show the licence"))
	p.say("list the files")
	p.see(newest.el(".small", "conversation 1"))
	p.see(newest.el(".content", "berths_test.go"))
	p.click(el("#head .crumb", "agents"))

	p.become("Kim")
	p.ask("let me in")
	p.see(newest.el(".only-you", "Only you can see this"))
	p.see(el("#log li.ephemeral", "You are not a member"))
	p.screenshot("18-refused")
	p.become("Sam")
	p.see(el("#log li.msg", "show the licence"))
	p.gone(el("#log li.ephemeral", ""))
	p.clean()
}

// hostile is what would be markup and script, were it ever taken for that.
const hostile = `<img src=x onerror=alert(1)><script>alert(2)</script><iframe src="https://example.com/f"></iframe>` +
	`<svg onload=alert(3)><style>*{display:none}</style><a href="javascript:alert(4)">a</a>[b](javascript:alert(5))` +
	`![c](https://example.com/c.png)"'><b onmouseover=alert(6)>`

// Whatever people, the model or the project say is text on the page.
func TestPageShowsHostileTextAsText(t *testing.T) {
	p := run(t).open(1440, 900)
	elements := func() map[string]int {
		p.Helper()
		n, err := chromedp.Run(p.ctx, chromedp.Evaluate[map[string]int](`Object.fromEntries(
			["img", "script", "iframe", "style", "object", "embed", "b", "[onload]", "[onerror]", "[onmouseover]", "a[href^='javascript:']"]
				.map((css) => [css, document.querySelectorAll(css).length]))`))
		if err != nil {
			p.Fatal(err)
		}
		return n
	}
	before := elements()
	p.say(hostile)
	shown := strings.Replace(hostile, "[c](https://example.com/c.png)", "c", 1) // Discord's links, which are harmless
	p.see(newest.el(".content", shown))
	p.ask(hostile)
	p.see(newest.el(".small", "conversation 1"))
	p.see(newest.el(".content", "<script>alert(2)</script>"))
	p.ask("run printf '%s' '" + strings.ReplaceAll(hostile, "'", "") + "' && git push")
	p.screenshot("19-hostile")
	p.click(newest.el(".thread-box", "<img src=x"))
	card := el("#log li.msg", "Approval required")
	p.seeWithin(toolLimit, card.el(".embed", "<script>alert(2)</script>"))
	p.see(el(".page-records td", "img src=x onerror"))
	p.screenshot("20-hostile-card")
	if n := p.look(card.el(".hl-comment", "git push")).Count + p.look(card.el(".hl-string", "git push")).Count; n > 0 {
		t.Error("what would run looks as if it were a comment or a string")
	}
	p.click(card.el(".btn-danger", "Deny"))
	p.see(el("#log li.msg", "Denied"))
	for css, n := range elements() {
		if n != before[css] {
			t.Errorf("there were %d elements %s, now there are %d", before[css], css, n)
		}
	}
	p.clean()
}

// A turn whose program is killed in the middle of a command is answered once after the next start, and the page that
// was open comes back by itself or by a reload.
func TestPageSurvivesAKill(t *testing.T) {
	program := run(t)
	p := program.open(1440, 900)
	p.ask("run sleep 5 && echo done")
	p.seeWithin(toolLimit, el(".page-records details", "task").el("tr", "bash").el(".state", "running"))
	p.see(el("#log li.msg", "Working").el(".content", "sleep 5"))
	p.pick("ask")
	p.write("half written")
	p.isDown(true)
	program.signal(syscall.SIGKILL)
	p.see(el(".banner", "Connection lost"))
	p.screenshot("21-killed")
	program.start(program.address())
	p.gone(el(".banner", ""))
	if f := p.see(el(".command textarea", "")); f.Value != "half written" {
		t.Errorf("what was being written has become %q", f.Value)
	}
	p.do(chromedp.Reload())
	p.isDown(false)
	p.see(el("#me .self-name", "Maya"))
	p.seeWithin(toolLimit, newest.el(".small", "conversation 1 · survived 1 restart"))
	p.see(newest.el(".content", "it was interrupted"))
	p.gone(el("#log .btn", "Stop"))
	p.screenshot("22-answered-after-all")
	if n := p.messages(""); n != 1 {
		t.Errorf("the channel shows %v messages", n)
	}
	p.see(el(".page-records details", "submission").el(".state", "done"))
	p.clean()
}

// The page is of use on a telephone.
func TestPageFitsATelephone(t *testing.T) {
	p := run(t).open(390, 844)
	p.screenshot("23-telephone")
	p.ask("hello")
	p.see(newest.el(".small", "conversation 1"))
	p.screenshot("24-telephone-answer")
	p.click(el("#head [aria-label='Behind the scenes']", ""))
	p.see(el("#panel .tab", "Records"))
	p.screenshot("25-telephone-panel")
	wide, err := chromedp.Run(p.ctx, chromedp.Evaluate[float64]("document.documentElement.scrollWidth"))
	if err != nil || wide > 390 {
		t.Error(fmt.Errorf("the page is %v pixels wide: %w", wide, err))
	}
}
