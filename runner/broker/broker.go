// Package broker gives one approved call what it needs beyond the sandbox (spec 4.2).
//
// So far that is pushing to the project's own origin where that is a repository on this machine: its folder appears
// in the sandbox for that call and for no other. A push over the network needs a credential that must not enter the
// sandbox, and is refused.
package broker

import (
	"path/filepath"
	"strings"

	"holdfast/actor/errs"
	"holdfast/actor/frame"
	"holdfast/runner/gitdir"
	"holdfast/runner/sandbox"
)

// GitPush is the kind of grant that lets a call push to a remote.
const GitPush = "git-push"

// Broker knows the remotes as the person had configured them when the runner started: the agent cannot redirect a
// grant by changing the configuration later.
type Broker struct {
	project string
	origin  string
}

// New makes a broker for the project in that folder; origin is the push address of its remote "origin", or "".
func New(project, origin string) *Broker { return &Broker{project, origin} }

// Mounts is what the grants add to the sandbox of their call. An unknown or impossible grant is an error: the call
// must not run with less than its approval says, and fail half-way.
func (b *Broker) Mounts(grants []frame.Grant) ([]sandbox.Mount, error) {
	var mounts []sandbox.Mount
	for _, g := range grants {
		if g.Kind != GitPush {
			return nil, errs.New(errs.Invalid, "this runner has no grant of kind %.40q", g.Kind)
		}
		if g.Target != "origin" {
			return nil, errs.New(errs.Invalid, "pushing to %.40q cannot be granted, only to origin", g.Target)
		}
		m, err := b.push()
		if err != nil {
			return nil, err
		}
		mounts = append(mounts, m...)
	}
	return mounts, nil
}

// push shows the origin's repository. Only objects, refs and logs can be written; its hooks run, inside the sandbox.
func (b *Broker) push() ([]sandbox.Mount, error) {
	path, err := b.localOrigin()
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, errs.Wrap(errs.NotFound, err, "the origin's repository cannot be reached")
	}
	if err := gitdir.Check(real); err == nil {
		return gitdir.Mounts(real, path), nil
	}
	real, path = filepath.Join(real, ".git"), filepath.Join(path, ".git")
	if err := gitdir.Check(real); err != nil {
		return nil, errs.Wrap(errs.Invalid, err, "origin names a folder that is no git repository")
	}
	return gitdir.Mounts(real, path), nil
}

// localOrigin is the origin's folder. What git takes for an address on the network is refused (gitremote-helpers(7),
// git-push(1), "GIT URLS").
func (b *Broker) localOrigin() (string, error) {
	address := b.origin
	if address == "" {
		return "", errs.New(errs.NotFound, "the project had no remote called origin when the runner started")
	}
	if rest, ok := strings.CutPrefix(address, "file://"); ok {
		address = rest
	}
	colon, slash := strings.IndexByte(address, ':'), strings.IndexByte(address, '/')
	if colon >= 0 && (slash < 0 || colon < slash) {
		return "", errs.New(errs.Unavailable, "pushing over the network is not available in this version: origin is not a folder of this machine").
			WithHint("Push the branch of the worktree yourself.")
	}
	if !filepath.IsAbs(address) {
		address = filepath.Join(b.project, address)
	}
	return filepath.Clean(address), nil
}
