package clienttest

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	devpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// browsers are the names by which Chromium is looked for.
var browsers = []string{"chromium", "chromium-browser", "google-chrome"}

func findBrowser() (string, error) {
	for _, name := range browsers {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no browser in PATH (%s): install Chromium with your package manager, on Debian and Ubuntu by: apt-get install chromium", strings.Join(browsers, ", "))
}

// page is one tab with the playground's page, and everything that happened in it which nobody may want.
type page struct {
	*testing.T
	ctx    context.Context
	origin string // scheme, host and port that all requests must stay within

	mu       sync.Mutex
	trouble  []string // console errors, exceptions, dialogs
	requests []string // addresses
	down     bool     // the program is gone for a moment: failed requests are as they should be
}

// open shows the program's page in a browser of its own. When the test ends, the page must have had no trouble.
func (p *program) open(width, height int64) *page {
	p.t.Helper()
	path, err := findBrowser()
	if err != nil {
		p.t.Fatal(err)
	}
	// Without Chromium's own sandbox: it cannot be made as root or in a container, and the page is ours.
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.Flag("lang", "en-GB"))
	parent, stop := chromedp.NewExecAllocator(context.Background(), options...)
	tab := &page{T: p.t, origin: "http://" + p.address() + "/"}
	ctx, cancel := chromedp.NewContext(parent, chromedp.WithListener(tab.hear))
	tab.ctx = ctx
	p.t.Cleanup(func() {
		if p.t.Failed() {
			tab.screenshot("failed-" + strings.ReplaceAll(p.t.Name(), "/", "-"))
		}
		tab.check()
		cancel()
		stop()
	})
	tab.do(chromedp.EmulateViewport(width, height), chromedp.Navigate(p.page))
	tab.see(el("#dock textarea.input:not(:disabled)", "")) // it knows who one is: ready
	return tab
}

// hear runs inside the loop that reads what the browser says.
func (p *page) hear(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "assert" {
			raw, _ := json.Marshal(e.Args) // for people
			p.trouble = append(p.trouble, "console: "+string(raw))
		}
	case *runtime.EventExceptionThrown:
		p.trouble = append(p.trouble, fmt.Sprintf("exception: %s %+v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception))
	case *log.EventEntryAdded:
		if e.Entry.Level == "error" && !(p.down && e.Entry.Source == "network" && strings.Contains(e.Entry.Text, "net::ERR_")) {
			p.trouble = append(p.trouble, fmt.Sprintf("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL))
		}
	case *devpage.EventJavascriptDialogOpening:
		p.trouble = append(p.trouble, "dialog: "+e.Message)
	case *network.EventRequestWillBeSent:
		p.requests = append(p.requests, e.Request.URL)
	case *network.EventWebSocketCreated:
		p.requests = append(p.requests, e.URL)
	}
}

// check fails the test for anything that went wrong in the page, and for requests to anywhere else.
func (p *page) check() {
	p.Helper()
	p.look(el("body", "")) // what the browser said before its answer to this has been heard
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range p.trouble {
		p.Errorf("the page had trouble: %.600s", t)
	}
	for _, url := range p.requests {
		if !strings.HasPrefix(url, p.origin) {
			p.Errorf("the page sent a request to %.200s", url)
		}
	}
	if len(p.requests) == 0 {
		p.Error("no request was seen: the browser does not tell")
	}
}

// isDown says whether failed requests are expected.
func (p *page) isDown(down bool) {
	p.look(el("body", ""))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = down
}

func (p *page) do(steps ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if p.ctx.Err() == nil && chromedp.FromContext(p.ctx).Browser == nil { // the first call: its context is the browser's
		ctx = p.ctx
	}
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.Fatal(err)
	}
}

// where is a path to an element: each step is below the one before.
type where []step

type step struct {
	CSS  string `json:"css"`
	Text string `json:"text"` // that it shows; "" is any
}

// el is an element that shows a text.
func el(css, text string) where { return where{{css, text}} }

// el is an element inside.
func (w where) el(css, text string) where { return append(w[:len(w):len(w)], step{css, text}) }

func (w where) String() string {
	var parts []string
	for _, s := range w {
		parts = append(parts, fmt.Sprintf("%s with %q", s.CSS, s.Text))
	}
	return strings.Join(parts, " > ")
}

// sight is how an element stands; Count says how many there are, the rest is about the last.
type sight struct {
	Count, X, Y            float64
	Text, Value            string
	Disabled, Focused, Hit bool
}

//go:embed find.js
var finder string

func (p *page) find(w where, scroll bool) (sight, error) {
	path, err := json.Marshal(w)
	if err != nil {
		return sight{}, err
	}
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	raw, err := chromedp.Run(ctx, chromedp.Evaluate[string](fmt.Sprintf("JSON.stringify((%s)(%s, %t))", finder, path, scroll)))
	if err != nil {
		return sight{}, err
	}
	var s sight
	return s, json.Unmarshal([]byte(raw), &s)
}

// look says how an element stands now.
func (p *page) look(w where) sight {
	p.Helper()
	s, err := p.find(w, false)
	if err != nil {
		p.Error(err)
	}
	return s
}

// see waits until an element is shown.
func (p *page) see(w where) sight { p.Helper(); return p.seeWithin(patience, w) }

func (p *page) seeWithin(limit time.Duration, w where) (s sight) {
	p.Helper()
	eventually(p.T, limit, func() (err error) {
		if s, err = p.find(w, false); err == nil && s.Count == 0 {
			err = fmt.Errorf("there is no %s", w)
		}
		return err
	})
	return s
}

// gone waits until no such element is shown.
func (p *page) gone(w where) {
	p.Helper()
	eventually(p.T, patience, func() error {
		s, err := p.find(w, false)
		if err == nil && s.Count > 0 {
			err = fmt.Errorf("there still is %s", w)
		}
		return err
	})
}

// click moves the mouse onto an element that has come to rest, and presses it.
func (p *page) click(w where) {
	p.Helper()
	var s, before sight
	eventually(p.T, patience, func() (err error) {
		before = s
		if s, err = p.find(w, true); err != nil {
			return err
		}
		switch {
		case s.Count == 0:
			return fmt.Errorf("there is no %s", w)
		case s.Disabled || !s.Hit:
			return fmt.Errorf("%s cannot be pressed: %+v", w, s)
		case s.X != before.X || s.Y != before.Y:
			return fmt.Errorf("%s moves", w)
		}
		return nil
	})
	p.do(chromedp.MouseEvent(chromedp.MouseMoved, s.X, s.Y), chromedp.MouseClickXY(s.X, s.Y))
}

// write types text into what has the focus. A key that types something goes down with its text in one event, so that
// a page which takes the key for itself also keeps the text from being typed, as with a real keyboard.
func (p *page) write(text string) {
	p.Helper()
	var steps []chromedp.Action[chromedp.Void]
	send := func(e *input.DispatchKeyEventParams) {
		steps = append(steps, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
			_, err := cdp.Call(ctx, t, input.DispatchKeyEvent, *e)
			return err
		}))
	}
	for _, r := range text {
		events := kb.Encode(r)
		down, up := events[0], events[len(events)-1]
		if len(events) == 3 {
			down.Text, down.UnmodifiedText = events[1].Text, events[1].UnmodifiedText
		}
		send(down)
		send(up)
	}
	p.do(steps...)
}

func (p *page) enter() { p.Helper(); p.write(kb.Enter) }

// moving counts what has not come to rest, the slow fading of changed records left out.
const moving = `document.getAnimations().filter((a) => a.playState === "running" &&
	Number.isFinite(a.effect.getComputedTiming().endTime) && !["fresh", "changed"].includes(a.animationName)).length`

// screenshot keeps what the tab shows, once it has come to rest, under build/screenshots.
func (p *page) screenshot(name string) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if !p.Failed() {
		eventually(p.T, patience, func() error {
			n, err := chromedp.Run(ctx, chromedp.Evaluate[int](moving))
			if err == nil && n > 0 {
				err = fmt.Errorf("%d parts of the page move", n)
			}
			return err
		})
	}
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	dir := filepath.Join(moduleRoot(), "build", "screenshots")
	if err = errors.Join(err, os.MkdirAll(dir, 0o755)); err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644)
	}
	if err != nil {
		p.Error(err)
	}
}
