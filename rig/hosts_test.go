package rig

import (
	"context"
	"testing"
)

// onEachHost runs a test against a deployment of every host; the real ones are left out of a short run.
func onEachHost(t *testing.T, test func(t *testing.T, h Host)) {
	t.Parallel()
	t.Run(Linked, func(t *testing.T) {
		t.Parallel()
		test(t, LinkedHost{})
	})
	t.Run(Selfhosted, func(t *testing.T) {
		t.Parallel()
		test(t, SelfhostedHost{real(t, buildSelfhosted)})
	})
	t.Run(Workerd, func(t *testing.T) {
		t.Parallel()
		test(t, WorkerdHost{real(t, buildWorkerd)})
	})
}

// deploy starts a deployment without a runner. prepare may change the stage before the edge starts.
func deploy(t *testing.T, h Host, prepare func(*Stage)) *Play {
	t.Helper()
	p, err := Open(t.Context(), h, nil, Scenario{Hosts: hostNames, Patience: defaultPatience}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	p.lonely = true
	if prepare != nil {
		prepare(p.stage)
	}
	if err := p.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

// do plays the steps of a text on an open deployment.
func (p *Play) do(ctx context.Context, steps string) error {
	s, err := Parse("inline.txtar", []byte("# inline\n-- steps --\n"+steps))
	if err != nil {
		return err
	}
	for _, step := range s.Steps {
		if err := p.step(ctx, step); err != nil {
			return err
		}
	}
	return nil
}
