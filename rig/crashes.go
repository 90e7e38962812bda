package rig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// Crashes is the report of a crash run.
type Crashes struct {
	Host  string
	Seed  uint64
	Kills map[string]int // by kind
	Took  time.Duration
	Load  string // of the machine as it began: processes that ran or wanted to, over a minute

	Accepted   int      // questions that Discord or its relay was told are taken
	Answered   int      // of these, with one answer
	GivenUp    int      // of these, told that a call had ended its host three times (F17)
	Refused    int      // questions that nobody took: people were told so
	Commands   int      // of those accepted, with a command that must not run twice
	Lost       []string // accepted, and neither answered nor given up
	Duplicates []string // answered twice, or with two cards
	Reruns     []string // commands that ran twice
	Databases  int
	Damaged    []string

	// Resumed is, for each start of the edge that met interrupted work while everybody left it alone, how long after it
	// the first commit was that took the work up.
	Resumed []time.Duration
	// Woken is the same where the log does not tell: how long after each start the workspace came up, whoever woke it.
	Woken []time.Duration

	questions []*question
}

// givenUp is what a person reads of a turn whose call ended its host each time.
const givenUp = "failed here again and again"

// count looks at everything once more, when nothing is left to be done.
func (k *killer) count(ctx context.Context) error {
	all, err := k.public(ctx)
	if err != nil {
		return err
	}
	jobs, err := k.jobs(ctx)
	if err != nil {
		return err
	}
	asked, err := k.countEvents(ctx, "approval.asked")
	if err != nil {
		return err
	}
	if k.host.Name() == Workerd {
		if k.crashes.Woken, err = k.woken(ctx); err != nil {
			return err
		}
	}
	k.crashes.answers(all, k.Play)
	k.crashes.cards(all, len(jobs), asked)
	if err := k.crashes.runs(k.stage.Dir); err != nil {
		return err
	}
	if err := k.checkWire(ctx); err != nil {
		return err
	}
	if k.host.Name() == Workerd { // its files are workerd's own
		return nil
	}
	if err := k.killEdge(); err != nil {
		return err
	}
	k.crashes.Databases, k.crashes.Damaged, err = checkDatabases(filepath.Join(k.stage.Dir, "edge"))
	return err
}

// answers counts for each question the messages that hold its answer.
func (c *Crashes) answers(all []message, p *Play) {
	ended := p.answers(all)
	for _, q := range c.questions {
		n := 0
		for _, m := range all {
			if strings.Contains(m.text(), q.answer()) {
				n++
			}
		}
		if n > 1 {
			c.Duplicates = append(c.Duplicates, fmt.Sprintf("%s has %d answers", q.tag, n))
		}
		if !q.accepted {
			c.Refused++
			continue
		}
		c.Accepted++
		if q.unsafe {
			c.Commands++
		}
		switch {
		case n == 1:
			c.Answered++
		case n == 0 && slices.ContainsFunc(ended, func(m message) bool { return q.toldGivenUp(m) }):
			c.GivenUp++
		case n == 0:
			c.Lost = append(c.Lost, fmt.Sprintf("%s, asked in %s, thread %s, message %s", q.tag, q.place, q.thread, q.id))
		}
	}
}

func (q *question) toldGivenUp(m message) bool {
	return (m.Channel == q.thread || m.ID == q.id) && byAge(m.ID, q.id) >= 0 && strings.Contains(m.text(), givenUp)
}

// cards looks for messages that there should be one of, and for turns that show no end.
func (c *Crashes) cards(all []message, jobs, approvals int) {
	anchors, cards := 0, 0
	for _, m := range all {
		if isCard(m) {
			cards++
		}
		if isAnchor(m) {
			anchors++
		}
		if isAnchor(m) && !isFinal(m) {
			c.Duplicates = append(c.Duplicates, fmt.Sprintf("message %s shows a turn that does not end: %q", m.ID, m.text()))
		}
	}
	if jobs > len(c.questions) {
		c.Duplicates = append(c.Duplicates, fmt.Sprintf("%d jobs for %d questions", jobs, len(c.questions)))
	}
	if anchors > jobs {
		c.Duplicates = append(c.Duplicates, fmt.Sprintf("%d anchors for %d jobs", anchors, jobs))
	}
	if cards > approvals {
		c.Duplicates = append(c.Duplicates, fmt.Sprintf("%d approval cards for %d approvals", cards, approvals))
	}
}

// runs reads what the commands wrote, in every worktree.
func (c *Crashes) runs(dir string) error {
	times := map[string]int{}
	err := eachFile(dir, func(path string) error {
		if filepath.Base(path) != "ran" {
			return nil
		}
		text, err := os.ReadFile(path)
		for line := range bytes.Lines(text) {
			times[string(bytes.TrimSpace(line))]++
		}
		return err
	})
	for _, q := range c.questions {
		if n := times[q.tag]; n > 1 {
			c.Reruns = append(c.Reruns, fmt.Sprintf("the command of %s ran %d times", q.tag, n))
		}
	}
	return err
}

// eachFile visits the regular files below a folder, git's own left out. What is removed meanwhile is skipped.
func eachFile(dir string, visit func(path string) error) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		return visit(path)
	})
}

// checkDatabases opens every database below a folder and lets SQLite check it.
func checkDatabases(dir string) (n int, damaged []string, err error) {
	err = eachFile(dir, func(path string) error {
		if filepath.Ext(path) != ".db" {
			return nil
		}
		n++
		text, err := integrity(path)
		if err == nil && text != "ok" {
			damaged = append(damaged, path+": "+text)
		}
		return err
	})
	return n, damaged, err
}

func integrity(path string) (string, error) {
	db, err := sqlite3.Open(path)
	if err != nil {
		return "", err
	}
	defer db.Close()
	s, _, err := db.Prepare("PRAGMA integrity_check")
	if err != nil {
		return "", err
	}
	defer s.Close()
	var lines []string
	for s.Step() {
		lines = append(lines, s.ColumnText(0))
	}
	return strings.Join(lines, "; "), s.Err()
}

// Broken says what must never happen and did; nil when all is well.
func (c *Crashes) Broken() error {
	return errors.Join(said("lost", c.Lost), said("duplicates", c.Duplicates), said("unsafe tools rerun", c.Reruns), said("damaged databases", c.Damaged))
}

func said(what string, list []string) error {
	if len(list) == 0 {
		return nil
	}
	return fmt.Errorf("%s: %s", what, strings.Join(list, "; "))
}

// Table is the report in Markdown.
func (c *Crashes) Table() string {
	var b strings.Builder
	total := 0
	for _, n := range c.Kills {
		total += n
	}
	row := func(what string, value any) { fmt.Fprintf(&b, "| %s | %v |\n", what, value) }
	fmt.Fprintf(&b, "| %s, in %s, seed %d | |\n| --- | --- |\n", c.Host, c.Took.Round(time.Second), c.Seed)
	row("load of the machine before, and its processors", fmt.Sprintf("%s, %d", c.Load, runtime.NumCPU()))
	row("kills", total)
	for _, kind := range []string{killAnyMoment, killPoint, killTool, killIdle} {
		row("&ensp;"+kind, c.Kills[kind])
	}
	row("questions accepted", c.Accepted)
	row("answered once", c.Answered)
	row("given up after three starts of one call", c.GivenUp)
	row("duplicates", len(c.Duplicates))
	row("lost", len(c.Lost))
	row("refused, and the person was told", c.Refused)
	row("commands that must not run twice", c.Commands)
	row("unsafe tools rerun", len(c.Reruns))
	if len(c.Resumed) > 0 {
		row(fmt.Sprintf("restart → next committed step, p50 / p99 / n (bound %s)", resumeBound), spread(c.Resumed))
	}
	if len(c.Woken) > 0 {
		row("restart → next commit, when somebody woke it, p50 / p99 / n", spread(c.Woken))
	}
	if c.Databases > 0 {
		row("integrity_check", fmt.Sprintf("%d of %d databases ok", c.Databases-len(c.Damaged), c.Databases))
	}
	return b.String()
}

// resumeBound is what a self-hosted edge promises of Crashes.Resumed, at the 99th percentile.
const resumeBound = 250 * time.Millisecond

func spread(list []time.Duration) string {
	return fmt.Sprintf("%s / %s / %d", Percentile(list, 50).Round(time.Millisecond), Percentile(list, 99).Round(time.Millisecond), len(list))
}

// Percentile is the smallest of the values that p percent of them do not pass; 0 of none.
func Percentile(list []time.Duration, p int) time.Duration {
	if len(list) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(list))
	return sorted[max(0, (len(sorted)*p+99)/100-1)]
}

// load is the machine's, as its kernel tells it; "" where none does.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg") // not on every system
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
