package rig

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
)

// door is the HTTP server of an edge in this process. Shutting it ends the connections at once, as the death of a
// process does.
type door struct {
	server *http.Server
	done   sync.WaitGroup
}

func openDoor(port int, h http.Handler) (*door, error) {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, err
	}
	d := &door{server: &http.Server{Handler: h, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}}
	d.done.Go(func() { _ = d.server.Serve(l) }) // ends with shut
	return d, nil
}

func (d *door) shut() error {
	err := d.server.Close()
	d.done.Wait()
	return err
}
