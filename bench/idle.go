package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Bounds of memory.
const (
	boundTouched = 20 // KB of memory for each workspace that was touched, at 10,000
	boundIdle    = 60 // MB of an edge that nobody has asked anything
)

// idle measures what workspaces cost when nothing happens in them, by the process's own resident memory, and what the
// first event of one costs whose file is not open.
func idle(ctx context.Context, b *bench) error {
	if err := b.idleEdge(ctx); err != nil {
		return err
	}
	e, c, err := b.hostProcess(ctx, "wazero")
	if err != nil {
		return err
	}
	defer c.kill()
	if _, err := e.open(ctx, 1); err != nil { // the core is warm afterwards
		return err
	}
	empty, err := resting(ctx, c.cmd.Process.Pid)
	if err != nil {
		return err
	}
	steps := []int{10, 1_000, 10_000}
	if b.quick {
		steps = steps[:2]
	}
	clients, made := newClients(8), 0
	for _, n := range steps {
		if err := e.touch(ctx, clients, made, n); err != nil {
			return err
		}
		made = n
		now, err := resting(ctx, c.cmd.Process.Pid)
		if err != nil {
			return err
		}
		each := float64(now.own-empty.own) / 1000 / float64(n)
		r := row{What: fmt.Sprintf("memory of a touched workspace, at %d", n), Value: fmt.Sprintf("%.1f KB, %.1f MB in all", each, float64(now.own)/1e6)}
		if n == 10_000 {
			r.Ratio, r.Bound, r.Unit = each, boundTouched, "KB"
		}
		woken, err := b.woken(ctx, e, n)
		if err != nil {
			return err
		}
		b.add(r, woken)
	}
	return nil
}

// idleEdge starts the real program with nothing to do.
func (b *bench) idleEdge(ctx context.Context) error {
	if _, err := os.Stat(b.holdfast); err != nil {
		return errors.Join(err, errors.New("run: make build/holdfast"))
	}
	dir, err := b.folder()
	if err != nil {
		return err
	}
	config := fmt.Sprintf("[discord]\napplication_id = %q\npublic_keys = [%q]\nallowed_guilds = [%q]\napi = %q\n[edge]\nlisten = \"127.0.0.1:0\"\ndata = %q\n"+
		"[model.default]\nformat = \"openai\"\nbase_url = %q\nmodel = \"scripted\"\nwindow = 200000\nmax_output = 8000\nprice_in = 0\nprice_out = 0\n[models]\ndefault = \"default\"\n",
		application, b.world.publicKey(), guild, b.world.discord, filepath.Join(dir, "edge"), b.world.model+"/v1")
	path := filepath.Join(dir, "edge.toml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		return err
	}
	var rss resident
	for range 2 { // the second start finds the compiled core in the cache, as every start but the first does
		cmd := exec.CommandContext(ctx, b.holdfast, "edge", "--config", path)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "HOLDFAST_SECRET=" + secret, "HOLDFAST_DISCORD_BOT_TOKEN=" + botToken}
		if err := cmd.Start(); err != nil {
			return err
		}
		rss, err = resting(ctx, cmd.Process.Pid)
		_ = cmd.Process.Signal(os.Interrupt)
		if ended := cmd.Wait(); err == nil && ended != nil {
			err = fmt.Errorf("the edge: %w", ended)
		}
		if err != nil {
			return err
		}
	}
	mb := float64(rss.own) / 1e6
	b.add(row{What: "memory of an idle edge", Value: fmt.Sprintf("%.1f MB of its own, %.1f MB with its program's file", mb, float64(rss.all)/1e6), Ratio: mb, Bound: boundIdle, Unit: "MB"})
	return nil
}

// resting gives a process's memory once it has stopped to change.
func resting(ctx context.Context, pid int) (resident, error) {
	var last resident
	same := 0
	for {
		select {
		case <-time.After(250 * time.Millisecond):
		case <-ctx.Done():
			return last, ctx.Err()
		}
		now, err := memory(pid)
		if err != nil {
			return last, err
		}
		if diff := now.own - last.own; diff < last.own/100 && -diff < last.own/100 {
			same++
		} else {
			same = 0
		}
		if last = now; same == 6 {
			return now, nil
		}
	}
}

// touch makes workspaces from..to, with settings that change nothing.
func (e *edge) touch(ctx context.Context, clients []*client, from, to int) error {
	var list []request
	for i := from; i < to; i++ {
		list = append(list, e.inWorkspace("PUT", i, "config", "admin", "{}"))
	}
	_, err := all(ctx, clients, deal(list, len(clients)))
	return err
}

func (e *edge) inWorkspace(method string, i int, path, role, body string) request {
	return request{method: method, url: fmt.Sprintf("%s/v1/workspaces/%s/t%d/%s", e.url, guild, i, path), body: []byte(body),
		header: http.Header{"Authorization": {"Bearer " + token("operator", "bench", role)}}}
}

// woken measures the first event of a workspace whose file is closed beside its second one, and beside a bare program
// that opens a file and commits.
func (b *bench) woken(ctx context.Context, e *edge, n int) (row, error) {
	dir, err := b.folder()
	if err != nil {
		return row{}, err
	}
	const open = 128 // files of idle workspaces that a host keeps open
	cold := n > 2*open
	var first, second, bare sample
	for i := range b.rounds(40) {
		which := i * 97 % max(1, n-2*open) // the newest are open still
		for _, s := range []*sample{&first, &second} {
			took, _, err := e.admin.do(ctx, e.inWorkspace("GET", which, "status", "read", ""))
			if err != nil {
				return row{}, err
			}
			*s = append(*s, took)
		}
		took, err := openAndCommit(filepath.Join(dir, fmt.Sprint(i%10)))
		if err != nil {
			return row{}, err
		}
		if i >= 10 || b.quick {
			bare = append(bare, took)
		}
	}
	if !cold {
		return row{What: fmt.Sprintf("event of an open workspace, at %d", n), Value: show(second)}, nil
	}
	return row{What: fmt.Sprintf("waking a workspace, at %d", n), Value: show(first) + "; the second event " + show(second),
		Floor: show(bare) + ", opening a file and one commit", Ratio: float64(first.median()) / float64(bare.median())}, nil
}

func openAndCommit(path string) (time.Duration, error) {
	begin := time.Now()
	l, err := openLedger(path)
	if err != nil {
		return 0, err
	}
	err = l.one("x")
	took := time.Since(begin)
	return took, errors.Join(err, l.close())
}
