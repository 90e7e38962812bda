package host

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"holdfast/actor"
	"holdfast/actor/errs"
	"holdfast/interactions"
)

// How long a directory's answer is good, and how many are kept.
const (
	resolvedFor = time.Minute
	maxResolved = 10_000
)

// resolver remembers which workspace a place belongs to.
type resolver struct {
	mu    sync.Mutex
	known map[actor.Place]resolved
}

type resolved struct {
	workspace string
	id        string // a binding holds from a snowflake on: the answer is good for this id and later ones
	until     time.Time
}

func newResolver() *resolver { return &resolver{known: map[actor.Place]resolved{}} }

func (c *resolver) get(a actor.ResolveArgs, now time.Time) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.known[a.Place]
	return r.workspace, ok && now.Before(r.until) && !olderID(a.ID, r.id)
}

func (c *resolver) put(a actor.ResolveArgs, workspace string, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= maxResolved {
		clear(c.known)
	}
	c.known[a.Place] = resolved{workspace, a.ID, now.Add(resolvedFor)}
}

// olderID compares snowflakes, which are decimal and longer than a double holds.
func olderID(a, b string) bool {
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return a < b
}

// recipient names the actor of a delivery. afresh asks the directory whatever is remembered. errUnbound means that
// the place belongs to no workspace.
func (h *Host) recipient(ctx context.Context, ev interactions.Delivery, afresh bool) (string, *errs.Error) {
	if ev.Resolve == nil {
		if !actorName.MatchString(ev.Actor) {
			return "", errs.New(errs.NotFound, "There is no such workspace.")
		}
		return ev.Actor, nil
	}
	guild := ev.Resolve.Place.Guild
	if !guildName.MatchString(guild) {
		return "", errUnbound
	}
	workspace, ok := h.routes.get(*ev.Resolve, h.now())
	if !ok || afresh {
		var failure *errs.Error
		if workspace, failure = h.askDirectory(ctx, guild, *ev.Resolve); failure != nil {
			return "", failure
		}
		h.routes.put(*ev.Resolve, workspace, h.now())
	}
	return "workspace:" + guild + "/" + workspace, nil
}

func (h *Host) askDirectory(ctx context.Context, guild string, args actor.ResolveArgs) (string, *errs.Error) {
	raw, err := json.Marshal(args)
	if err != nil {
		return "", errs.Public(err)
	}
	data, err := json.Marshal(actor.Operator{Op: actor.OpResolve, Principal: actor.Principal{Name: "front", Roles: []string{"read"}}, Args: raw})
	if err != nil {
		return "", errs.Public(err)
	}
	a := h.ask(ctx, "directory:"+guild, &item{kind: actor.EventOperator, data: data}, false)
	var found actor.ResolveReply
	switch {
	case a.err != nil && a.err.Code == errs.NotFound, a.reply != nil && a.reply.Status == 404:
		return "", errUnbound
	case a.err != nil:
		return "", a.err
	case a.reply == nil || a.reply.Status != 200 || json.Unmarshal(a.reply.Body, &found) != nil || !workspaceName.MatchString(found.Workspace):
		h.opts.Log.Error("front.resolve.failed", "guild", guild)
		return "", errs.New(errs.Unavailable, "The directory did not answer.")
	}
	return found.Workspace, nil
}
