package main

import (
	"context"
	"time"
)

// plainWorker is the floor under workerd: JavaScript that verifies with WebCrypto and writes one row of a Durable Object.
const plainWorker = `
import { DurableObject } from "cloudflare:workers";

export class Workspace extends DurableObject {
  constructor(ctx, env) {
    super(ctx, env);
    ctx.storage.sql.exec("CREATE TABLE IF NOT EXISTS seen (id INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT");
  }
  record(body) {
    this.ctx.storage.sql.exec("INSERT INTO seen (body) VALUES (?)", body);
  }
}
export class Directory extends DurableObject {}
export class Application extends DurableObject {}

const unhex = (s) => Uint8Array.from(s.match(/../g), (pair) => parseInt(pair, 16));
let key;

export default {
  async fetch(request, env) {
    key ??= await crypto.subtle.importKey("raw", unhex(env.HOLDFAST_DISCORD_PUBLIC_KEYS), "Ed25519", false, ["verify"]);
    const body = await request.text();
    const message = new TextEncoder().encode(request.headers.get("x-signature-timestamp") + body);
    if (!(await crypto.subtle.verify("Ed25519", key, unhex(request.headers.get("x-signature-ed25519")), message))) {
      return new Response("no", { status: 401 });
    }
    await env.WORKSPACE.getByName(JSON.parse(body).channel_id).record(body);
    return Response.json({ type: 5 });
  },
};
`

// cloudflare measures the same acknowledgement under workerd beside a plain Worker, and how long each takes to boot.
func cloudflare(ctx context.Context, b *bench) error {
	var boot pair
	var ours, plain process
	for range b.rounds(3) {
		ours.kill()
		plain.kill()
		begin := time.Now()
		p, err := b.workerd(ctx, nil)
		if err != nil {
			return err
		}
		ours = process{p.Kill, p.URL}
		e := newEdge(p.URL, b.world)
		if err := ready(ctx, e.ping()); err != nil {
			return err
		}
		first := time.Since(begin)
		begin = time.Now()
		if p, err = b.workerd(ctx, map[string]string{"front.mjs": plainWorker}); err != nil {
			return err
		}
		plain = process{p.Kill, p.URL}
		if err := ready(ctx, at(p.URL, []request{e.ping()})[0]); err != nil {
			return err
		}
		boot.add(sample{first}, sample{time.Since(begin)})
	}
	defer ours.kill()
	defer plain.kill()
	b.add(of("first boot under workerd, to the first answer", "plain Worker", boot, 0))
	return edgeAck(ctx, b, newEdge(ours.url, b.world), plain.url)
}

func edgeAck(ctx context.Context, b *bench, e *edge, plain string) error {
	b.world.mute.Store(true)
	defer b.world.mute.Store(false)
	var one, eight pair
	oursOne, floorOne, oursEight, floorEight := dial(1), dial(1), dial(8), dial(8)
	for round := range b.rounds(6) + 1 {
		spaces, err := e.open(ctx, 16)
		if err != nil {
			return err
		}
		for _, c := range []struct {
			into        *pair
			ours, floor *edgeClients
			list        []request
		}{{&one, oursOne, floorOne, e.asks(spaces[:8], 4)}, {&eight, oursEight, floorEight, e.asks(spaces[8:], 4)}} {
			if round == 0 {
				c.into = &pair{}
			}
			if err := warm(ctx, c.ours, c.list[:8]); err != nil {
				return err
			}
			list := c.list[8:]
			if err := compare(ctx, c.into, c.ours, list, c.floor, at(plain, list)); err != nil {
				return err
			}
		}
	}
	const floor = "plain Worker, WebCrypto, one row"
	b.add(of("acknowledgement of /ask under workerd, 1 connection", floor, one, 0),
		of("acknowledgement of /ask under workerd, 8 connections", floor, eight, 0))
	return nil
}

// process is something that was started and can be killed; its zero value was not.
type process struct {
	end func() error
	url string
}

func (p process) kill() {
	if p.end != nil {
		_ = p.end()
	}
}
