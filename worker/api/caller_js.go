//go:build js

package api

// Caller is who holds the key of a request: interactions.Caller, without that package. It brings the whole core along,
// whose start would take longer than all the rest of a call in a program that starts for each call.
type Caller struct {
	Kind    string   `json:"kind"`
	Subject string   `json:"subject"`
	Roles   []string `json:"roles,omitempty"`
}
