// The way of a verdict's deliveries to their actors.

import { send } from "./actors.mjs";
import { failure, ok, unavailable } from "./answer.mjs";
import { UNBOUND, resolve } from "./resolve.mjs";

// A withdrawal is tried so often, a second apart: nothing may come of what was answered without the actor.
const WITHDRAWALS = 10;

const LATE = Symbol("late");

// deliver brings a verdict's events to their actors, one after another, and gives the answer.
export function deliver(verdict, env, ctx) {
  return verdict.mode === "gateway" ? batch(verdict, env) : one(verdict, env, ctx);
}

// one answers with the last answer that is not quiet, or the first that is no success.
async function one(verdict, env, ctx) {
  const deadline = verdict.deadline > 0 ? Date.now() + verdict.deadline : undefined;
  let last = failure("internal", "Internal error.");
  for (const delivery of verdict.deliver) {
    const to = {};
    const answer = await within(deadline, bring(delivery, env, deadline, to));
    if (answer === UNBOUND) return verdict.unbound ?? failure("not_found", "No workspace is bound here.", "An admin binds one with PUT …/config.");
    if (answer === LATE || (!answer.committed && answer.status >= 500)) return instead(verdict, env, ctx, to.actor, answer);
    if (!ok(answer)) return answer;
    if (!delivery.quiet) last = answer;
  }
  return last;
}

// instead answers for an actor that did not, and takes back what it may still do.
function instead(verdict, env, ctx, actor, answer) {
  if (verdict.late === undefined) return answer === LATE ? unavailable() : answer;
  if (verdict.withdraw !== "" && actor !== undefined) ctx.waitUntil(withdraw(env, actor, verdict.withdraw));
  return verdict.late;
}

async function withdraw(env, actor, key) {
  for (let i = 0; i < WITHDRAWALS; i++) {
    const { committed } = await send(env, actor, "withdraw", JSON.stringify({ key }));
    if (committed) return;
    await scheduler.wait(1000);
  }
  console.error("front.withdraw.failed", actor, key);
}

// batch answers for each event what became of it. Whatever went wrong with one, the relay sends it again; so that an
// actor gets its events in order, the later ones of the same actor are then not delivered either.
async function batch(verdict, env) {
  const results = [];
  const stuck = new Set();
  for (const delivery of verdict.deliver) results.push(await event(delivery, env, stuck));
  return { committed: true, status: 200, headers: {}, body: `{"results":[${results.join(",")}],"gaps":[]}` };
}

async function event(delivery, env, stuck) {
  const { id } = delivery;
  const to = { stuck };
  const answer = await bring(delivery, env, undefined, to);
  if (answer === UNBOUND) return JSON.stringify({ id, status: "ignored", reason: "unbound" });
  if (ok(answer) && answer.body !== "") return answer.body;
  stuck.add(to.actor);
  return JSON.stringify({ id, status: "retry" });
}

// bring delivers one event and gives the answer, or UNBOUND. It notes in to.actor where it went, and goes to none that
// is in to.stuck. A workspace that says it is the wrong one is believed once.
async function bring(delivery, env, deadline, to) {
  if (delivery.answer) return delivery.answer;
  for (let again = false; ; again = true) {
    const actor = delivery.resolve ? await resolve(delivery, env, again) : delivery.actor;
    if (typeof actor !== "string") return actor;
    to.actor = actor;
    const late = deadline !== undefined && Date.now() >= deadline; // the caller was answered: nothing may be begun
    if (late || to.stuck?.has(actor)) return unavailable();
    const answer = await send(env, actor, delivery.type, delivery.data, deadline);
    if (again || !delivery.resolve || !moved(answer)) return answer;
  }
}

// moved says that a workspace knows that its binding went elsewhere (spec 2.3).
const moved = ({ status, body }) => status === 409 && body.includes('"moved"');

// within gives what promise comes to, or LATE once the deadline (unix ms; undefined: none) has passed.
async function within(deadline, promise) {
  if (deadline === undefined) return promise;
  let timer;
  const late = new Promise((done) => {
    timer = setTimeout(done, Math.max(0, deadline - Date.now()), LATE);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
