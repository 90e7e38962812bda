// Command crash kills a deployment's edge and runner at random while people ask, and reports what became of their
// questions (package rig, Crash). It fails when something was lost, doubled, rerun or damaged.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"

	"holdfast/rig"
)

// usual is what happens when no host is named.
var usual = []struct {
	host  string
	kills int
}{{rig.Selfhosted, 200}, {rig.Workerd, 50}}

func main() {
	host := flag.String("host", "", "linked, selfhosted or workerd; empty: selfhosted, then workerd")
	kills := flag.Int("n", 0, "how often; 0: 200 times, 50 for workerd when no host is named")
	seed := flag.Uint64("seed", rand.Uint64(), "of the dice")
	out := flag.String("out", "build", "folder of crash-<host>.md")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *host, *kills, *seed, *out); err != nil {
		fmt.Fprintln(os.Stderr, "crash:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, host string, kills int, seed uint64, out string) error {
	dir, err := os.MkdirTemp("", "holdfast-crash-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Fprintln(os.Stderr, "building")
	programs, err := rig.Build(ctx, ".", dir)
	if err != nil {
		return err
	}
	var broken []error
	for _, u := range usual {
		if host != "" {
			u.host, u.kills = host, usual[0].kills
		}
		if kills > 0 && (host != "" || u.host == rig.Selfhosted) {
			u.kills = kills
		}
		err := crash(ctx, programs, filepath.Join(dir, u.host), out, u.host, rig.Crashing{Kills: u.kills, Seed: seed, Tell: tell(u.host, u.kills)})
		if broken = append(broken, err); host != "" {
			break
		}
	}
	return errors.Join(broken...)
}

// tell shows how far it is.
func tell(host string, kills int) func(int) {
	return func(done int) {
		if done%10 == 0 || done == kills {
			fmt.Fprintf(os.Stderr, "%s: %d of %d kills\n", host, done, kills)
		}
	}
}

func crash(ctx context.Context, programs rig.Programs, dir, out, name string, o rig.Crashing) error {
	host, err := programs.Host(ctx, name)
	if err != nil {
		return err
	}
	report, err := rig.Crash(ctx, host, programs.StartRunner, dir, o)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	fmt.Println(report.Table())
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, "crash-"+name+".md"), []byte(report.Table()), 0o644); err != nil {
		return err
	}
	if err := report.Broken(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
