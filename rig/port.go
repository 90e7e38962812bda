package rig

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
)

// Ports of edges lie below those that Linux gives to outgoing connections (32768 and up), so that the port of an edge
// that is down for a moment is not taken by somebody's connection.
const (
	firstPort = 20_000
	lastPort  = 32_000
)

var (
	portsMu sync.Mutex
	ports   = map[int]bool{} // given out by this process
)

// freePort finds a port of 127.0.0.1 that nobody listens on and that no other edge of this process has.
func freePort() (int, error) {
	portsMu.Lock()
	defer portsMu.Unlock()
	for range 1000 {
		port := firstPort + rand.IntN(lastPort-firstPort)
		if ports[port] {
			continue
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		ports[port] = true
		return port, l.Close()
	}
	return 0, errors.New("no free port for an edge")
}
