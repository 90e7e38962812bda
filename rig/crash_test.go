package rig

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// Killed again and again while people write: each message is answered once, and no database is damaged. HOLDFAST_KILLS says how often (24).
func TestF30_KilledAgainAndAgain(t *testing.T) {
	kills := 24
	if n, err := strconv.Atoi(os.Getenv("HOLDFAST_KILLS")); err == nil {
		kills = n
	}
	onEachHost(t, func(t *testing.T, h Host) {
		p := deploy(t, h, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(kills)*20*time.Second)
		defer cancel()
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		dice := rand.New(rand.NewPCG(seed, 0))
		asked := 0
		for range kills {
			if asked < kills/2 {
				if err := p.do(ctx, fmt.Sprintf("as maya: say \"@bot question %d?\"", asked)); err != nil {
					t.Fatal(err)
				}
				asked++
			}
			if err := p.exchanges(ctx, 1+dice.IntN(6)); err != nil {
				t.Fatal(err)
			}
			if err := p.do(ctx, "kill edge\nstart edge"); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.do(ctx, fmt.Sprintf("expect jobs %d", asked)); err != nil {
			t.Fatal(err, p.evidence())
		}
		var parked int
		if err := poll(ctx, func(ctx context.Context) (err error) { parked, err = p.settled(ctx); return err }); err != nil {
			t.Fatal(err, p.evidence())
		}
		if err := p.atRest(ctx); err != nil {
			t.Fatal(err, p.evidence())
		}
		var steps strings.Builder
		for i := range asked {
			if parked == 0 {
				fmt.Fprintf(&steps, "expect 1 messages contain \"question %d?\"\n", i)
			}
		}
		fmt.Fprintf(&steps, "expect %d messages contain \"question\"\nexpect messages %d\nexpect threads %d\nkill edge\n", asked-parked, asked, asked)
		if err := p.do(ctx, steps.String()); err != nil {
			t.Error(err, p.evidence())
		}
		if h.Name() != Workerd { // its files are workerd's own
			checkDatabases(t, filepath.Join(p.stage.Dir, "edge"))
		}
	})
}

// exchanges waits until Discord and the deployment have spoken n times more, or until they have nothing to say.
func (p *Play) exchanges(ctx context.Context, n int) error {
	before, err := p.wire(ctx)
	if err != nil {
		return err
	}
	short, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	err = poll(short, func(ctx context.Context) error {
		now, err := p.wire(ctx)
		if err == nil && len(now) < len(before)+n {
			return errQuiet
		}
		return err
	})
	if errors.Is(err, errQuiet) {
		return nil
	}
	return err
}

var errQuiet = errors.New("nobody speaks")

// settled counts the jobs that were parked, since a call that ends its host three times is given up (F17). It is an
// error while one is not settled, or ended otherwise.
func (p *Play) settled(ctx context.Context) (parked int, err error) {
	jobs, err := p.jobs(ctx)
	if err != nil {
		return 0, err
	}
	for _, j := range jobs {
		switch {
		case j.State == "done":
		case j.State == "unanswered" && j.Reason == "internal":
			parked++
		case j.State == "unanswered":
			return 0, neverf("job %s", j)
		default:
			return 0, fmt.Errorf("job %s", j)
		}
	}
	return parked, nil
}

// checkDatabases opens every database below a folder and lets SQLite check it.
func checkDatabases(t *testing.T, dir string) {
	t.Helper()
	n := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".db" {
			return err
		}
		n++
		db, err := sqlite3.Open(path)
		if err != nil {
			return err
		}
		defer db.Close()
		s, _, err := db.Prepare("PRAGMA integrity_check")
		if err != nil {
			return err
		}
		defer s.Close()
		for s.Step() {
			if text := s.ColumnText(0); text != "ok" {
				t.Errorf("%s: %s", path, text)
			}
		}
		return s.Err()
	})
	if err != nil {
		t.Error(err)
	}
	if n < 2 {
		t.Errorf("%d databases in %s", n, dir)
	}
}
