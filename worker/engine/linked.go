package engine

import (
	"context"
	"fmt"

	"holdfast/actor/store"
)

// Linked runs the core inside this program: for tests and the simulator. There is no fuel and no memory limit.
type Linked struct {
	HandleFunc func(conn store.Conn, event []byte) (out []byte, rc int)
	RouteFunc  func(in []byte) (out []byte, rc int)
}

// Route calls RouteFunc.
func (l Linked) Route(_ context.Context, in []byte) (out []byte, rc int, err error) {
	defer recovered(&out, &rc, &err)
	return check(l.RouteFunc(in))
}

// Handle calls HandleFunc.
func (l Linked) Handle(_ context.Context, conn store.Conn, call Call) (out []byte, rc int, err error) {
	defer recovered(&out, &rc, &err)
	return check(l.HandleFunc(conn, call.Event))
}

// Close does nothing.
func (Linked) Close(context.Context) error { return nil }

func recovered(out *[]byte, rc *int, err *error) {
	if p := recover(); p != nil {
		*out, *rc, *err = nil, 2, fmt.Errorf("%w: panic: %v", ErrCrash, p)
	}
}
