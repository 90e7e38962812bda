package clienttest

import "testing"

// The edge is killed by the page's own button while a suggested command runs. Nobody has to start it again, the page
// notices nothing, and the turn is answered once.
func TestPageKillsTheEdge(t *testing.T) {
	p := run(t).open(1440, 900)
	p.click(el(".suggestion", "run sleep 20 && echo done"))
	p.see(el(".command textarea", ""))
	p.enter()
	p.seeWithin(toolLimit, el(".page-records details", "task").el("tr", "bash").el(".state", "running"))
	p.tab("Faults")
	p.screenshot("23-the-deployment")
	p.click(el(".fault", "Kill the edge"))
	p.see(el(".toast", "Kill the edge: done"))
	p.tab("Records")
	p.seeWithin(toolLimit, newest.el(".small", "conversation 1 · survived 1 restart"))
	p.see(newest.el(".content", "done"))
	if n := p.messages(""); n != 1 {
		t.Errorf("the channel shows %v messages", n)
	}
	p.see(el(".page-records details", "submission").el(".state", "done"))
	p.clean()
}
