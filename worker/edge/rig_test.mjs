// The test build's rig.mjs: it stops the host at the point that HOLDFAST_RIG_KILL names, hangs at the one that
// HOLDFAST_RIG_STALL names ("before commit admit 5s"), and tells what a turn cost. A stopped host spins, so that nothing
// more can happen until it is killed.

import { stub } from "./actors.mjs";
import { deployment } from "./config.mjs";
import { core } from "./instance.mjs";

let fired = false;
let stalled = false;

function matches(env, when, what, points) {
  return !fired && points.some((p) => env.HOLDFAST_RIG_KILL === `${when} ${what} ${p}`);
}

function die(env) {
  fired = true;
  console.log(`rig: ${env.HOLDFAST_RIG_KILL}`);
  for (;;);
}

// stall gives how many ms to hang at one of these points, or 0.
function stall(env, when, what, points) {
  const [, point, duration] = /^(.*) (\S+)$/.exec(env.HOLDFAST_RIG_STALL ?? "") ?? [];
  if (stalled || !points.some((p) => point === `${when} ${what} ${p}`)) return 0;
  stalled = true;
  console.log(`rig: stall ${point}`);
  return milliseconds(duration);
}

const UNITS = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

// milliseconds reads a duration as Go writes it: "1m0.5s".
function milliseconds(duration) {
  if (!/^([0-9.]+(h|ms|m|s))+$/.test(duration)) throw new Error(`HOLDFAST_RIG_STALL: ${duration} is no duration`);
  return [...duration.matchAll(/([0-9.]+)(h|ms|m|s)/g)].reduce((sum, [, n, unit]) => sum + Number(n) * UNITS[unit], 0);
}

// committing is called in the transaction, before it ends.
export function committing(env, points) {
  if (matches(env, "before", "commit", points)) die(env);
}

// committed is called after it; what follows from the commit waits for the promise, if there is one. The commit is on
// the disk only when sync says so.
//
// A transaction cannot hang here without all else, the front too. A hang before the commit is therefore one behind it
// during which the object takes nothing: whoever waits for the answer, or asks meanwhile, sees no difference.
export function committed(env, ctx, points) {
  const ms = stall(env, "before", "commit", points) + stall(env, "after", "commit", points);
  if (ms > 0) return ctx.blockConcurrencyWhile(() => scheduler.wait(ms));
  if (!matches(env, "after", "commit", points)) return undefined;
  return ctx.storage.sync().then(() => die(env));
}

// effect is called before and after an effect. A message to a socket leaves only when this thread rests.
export function effect(env, ctx, when, point) {
  const ms = stall(env, when, "effect", [point]);
  if (ms > 0) return scheduler.wait(ms);
  if (!matches(env, when, "effect", [point])) return undefined;
  return ctx.storage.sync().then(() => scheduler.wait(5)).then(() => die(env));
}

// reset gives the object up in the middle of whatever it does: memory and effects in flight are gone, storage stays.
export function reset(ctx) {
  ctx.abort("a deploy");
}

// handle answers the requests under /rig/.
export async function handle(url, env) {
  if (url.pathname === "/rig/core") return Response.json({ boots: core.boots, memory: core.memory });
  if (url.pathname === "/rig/counters") return Response.json(await stub(env, url.searchParams.get("actor")).counters());
  if (url.pathname === "/rig/reset") {
    await stub(env, url.searchParams.get("actor")).reset().catch(() => {}); // the call ends with the object
    return new Response(null, { status: 204 });
  }
  if (url.pathname === "/rig/deliver") {
    const { searchParams: q } = url;
    return Response.json(await stub(env, q.get("actor")).deliver(q.get("type"), q.get("data") ?? undefined));
  }
  if (url.pathname === "/rig/least") { // revokes keys, as a deployment would that keeps the sockets
    const { least } = await deployment(env);
    for (const [subject, n] of url.searchParams) least[subject] = Number(n);
    return Response.json(least);
  }
  return undefined;
}
