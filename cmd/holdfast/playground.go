package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/actor/errs"
	"holdfast/clock"
	"holdfast/cmd/holdfast/config"
	"holdfast/playground"
	"holdfast/worker/host"
)

func (a app) playgroundCmd() *cobra.Command {
	var o playgroundOptions
	cmd := &cobra.Command{
		Use: "playground", Short: "Run the local Discord alone, for a deployment that runs elsewhere", Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.servePlayground(cmd.Context(), o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.data, "data", "", "folder that everything is kept in (default: nothing is kept)")
	f.StringVar(&o.listen, "listen", "127.0.0.1:0", "address to listen on; a loopback address")
	f.StringVar(&o.edge, "edge", "", "address of the edge to send interactions and events to, as http://127.0.0.1:8700")
	f.StringVar(&o.secretFile, "secret-file", "", "the edge's deployment secret, mode 0600: the relay's key is derived from it")
	f.StringVar(&o.workspace, "workspace", "", "<guild>/<workspace> whose records the page shows")
	f.BoolVar(&o.json, "json", false, "print what a deployment needs to know as one line of JSON")
	return cmd
}

type playgroundOptions struct {
	data, listen, edge, secretFile, workspace string
	json                                      bool
}

func (a app) servePlayground(ctx context.Context, o playgroundOptions) (err error) {
	if err := loopback(o.listen); err != nil {
		return err
	}
	var edge playground.Edge
	if o.edge != "" {
		secret, err := config.ReadSecret(o.secretFile)
		if err != nil {
			return err
		}
		if edge, err = edgeFor(strings.TrimRight(o.edge, "/"), secret, o.workspace); err != nil {
			return err
		}
	}
	p, err := playground.New(playground.Options{Data: o.data, Clock: &clock.Shifted{}, Log: newLog(a.err, "info", "text"), Edge: edge})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	s, err := listen(ctx, o.listen)
	if err != nil {
		return err
	}
	if err := p.SetBase(s.url()); err != nil {
		return errors.Join(err, s.listener.Close())
	}
	failed := make(chan error, 1)
	s.serve(p.Handler(), failed)
	if err := a.printInfo(p.Info(), o.json); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	return errors.Join(err, s.http.Close())
}

func (a app) printInfo(info playground.Info, asJSON bool) error {
	if !asJSON {
		_, err := fmt.Fprintln(a.out, info.Page)
		return err
	}
	raw, err := json.Marshal(info)
	if err != nil {
		return err
	}
	return printJSON(a.out, raw)
}

// edgeFor tells the playground where an edge is and gives it the keys of a relay and of a reader.
func edgeFor(base string, secret config.Secret, workspace string) (playground.Edge, error) {
	s := host.Secret(secret.Reveal())
	relay, err := host.Token(s, host.KindRelay, "relay", nil, 1)
	if err != nil {
		return playground.Edge{}, err
	}
	edge := playground.Edge{InteractionsURL: base + "/interactions", EventsURL: base + "/v1/gateway/events",
		RelayKey: relay[strings.LastIndexByte(relay, '.')+1:], RelayN: 1}
	if workspace == "" {
		return edge, nil
	}
	edge.RecordsURL = base + "/v1/workspaces/" + workspace + "/records"
	edge.RecordsToken, err = host.Token(s, host.KindOperator, "playground", []string{"read"}, 1)
	return edge, err
}

// loopback refuses an address that others could reach: the playground's page has no passwords.
func loopback(address string) error {
	for _, prefix := range []string{"127.0.0.1:", "localhost:", "[::1]:"} {
		if strings.HasPrefix(address, prefix) {
			return nil
		}
	}
	return usageError{errs.New(errs.Invalid, "%s is not a loopback address.", address).WithHint("The playground is for this machine alone: --listen 127.0.0.1:8700.")}
}
