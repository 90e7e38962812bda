package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"holdfast/actor"
)

// seedMark is the file that says the workspace has its first settings: what people change afterwards stays.
const seedMark = "seeded"

// settings is the body of PUT …/config (docs/protocol.md).
type settings struct {
	actor.Settings
	Bindings []string `json:"bindings,omitempty"`
}

// approvalExpiry is how long an approval card waits in a fresh workspace, in ms.
const approvalExpiry = 15 * 60 * 1000

// firstSettings are those of a fresh playground: maya may do everything, also approve what she asked for herself, so
// that one person alone can see it all; sam may ask; nobody else may do anything.
func firstSettings(users map[string]string, channel string) settings {
	selfApprove := true
	return settings{
		Settings: actor.Settings{
			ApprovalExpiryMS: approvalExpiry,
			SelfApprove:      &selfApprove,
			Members: []actor.Member{
				{User: users["maya"], Roles: []string{"admin", "approver", "member"}},
				{User: users["sam"], Roles: []string{"member"}},
			},
		},
		Bindings: []string{channel},
	}
}

// seed gives the workspace its first settings, once for a data folder.
func seed(ctx context.Context, c *client, data string, s settings) error {
	mark := filepath.Join(data, seedMark)
	if _, err := os.Stat(mark); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	path, err := c.inWorkspace("config")
	if err != nil {
		return err
	}
	if err := c.do(ctx, "PUT", path, s, nil); err != nil {
		return fmt.Errorf("set up the workspace: %w", err)
	}
	return os.WriteFile(mark, []byte(c.Workspace+"\n"), 0o600)
}
