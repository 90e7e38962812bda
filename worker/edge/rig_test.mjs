// The test build's rig.mjs: it stops the host at the point that HOLDFAST_RIG_KILL names, and tells what a turn cost. A
// stopped host spins, so that nothing more can happen until it is killed.

import { stub } from "./actors.mjs";
import { core } from "./instance.mjs";

let fired = false;

function matches(env, when, what, points) {
  return !fired && points.some((p) => env.HOLDFAST_RIG_KILL === `${when} ${what} ${p}`);
}

function die(env) {
  fired = true;
  console.log(`rig: ${env.HOLDFAST_RIG_KILL}`);
  for (;;);
}

// committing is called in the transaction, before it ends.
export function committing(env, points) {
  if (matches(env, "before", "commit", points)) die(env);
}

// committed is called after it; what follows from the commit waits for the promise, if there is one. The commit is on
// the disk only when sync says so.
export function committed(env, ctx, points) {
  if (!matches(env, "after", "commit", points)) return undefined;
  return ctx.storage.sync().then(() => die(env));
}

// effect is called before and after an effect. A message to a socket leaves only when this thread rests.
export function effect(env, ctx, when, point) {
  if (!matches(env, when, "effect", [point])) return undefined;
  return ctx.storage.sync().then(() => scheduler.wait(5)).then(() => die(env));
}

// handle answers the requests under /rig/.
export async function handle(url, env) {
  if (url.pathname === "/rig/core") return Response.json({ boots: core.boots, memory: core.memory });
  if (url.pathname === "/rig/counters") return Response.json(await stub(env, url.searchParams.get("actor")).counters());
  if (url.pathname === "/rig/deliver") {
    const { searchParams: q } = url;
    return Response.json(await stub(env, q.get("actor")).deliver(q.get("type"), q.get("data") ?? undefined));
  }
  return undefined;
}
