//go:build !js

package api

import "holdfast/interactions"

// Caller is who holds the key of a request.
type Caller = interactions.Caller
