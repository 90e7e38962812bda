//go:build !unix

package engine

import "context"

func withMemory(ctx context.Context) context.Context { return ctx }
