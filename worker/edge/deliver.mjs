// The way of a verdict's deliveries to their actors.

import { send } from "./actors.mjs";
import { failure, ok, unavailable } from "./answer.mjs";
import { resolve } from "./resolve.mjs";

// A withdrawal is tried so often, a second apart: nothing may come of what was answered without the actor.
const WITHDRAWALS = 10;

const LATE = Symbol("late");

// deliver brings a verdict's events to their actors, one after another, and gives the answer.
export function deliver(verdict, env, ctx) {
  return verdict.mode === "gateway" ? batch(verdict, env) : one(verdict, env, ctx);
}

// one answers with the last answer, or the first that is no success.
async function one(verdict, env, ctx) {
  const deadline = verdict.deadline > 0 ? Date.now() + verdict.deadline : undefined;
  let answer = failure("internal", "Internal error.");
  for (const delivery of verdict.deliver) {
    const actor = delivery.resolve ? await within(deadline, resolve(delivery, env)) : delivery.actor;
    if (actor === null) return verdict.unbound ?? failure("not_found", "No workspace here.");
    answer = actor === LATE || actor === undefined ? undefined : await within(deadline, send(env, actor, delivery, deadline));
    if (answer === undefined || answer === LATE || answer.status >= 500) return late(verdict, env, ctx, actor, answer);
    if (!ok(answer)) return answer;
  }
  return answer;
}

// late answers for an actor that did not, and takes back what it may still do.
function late(verdict, env, ctx, actor, answer) {
  if (verdict.late === undefined) return answer === undefined || answer === LATE ? unavailable() : answer;
  if (verdict.withdraw !== "" && typeof actor === "string") ctx.waitUntil(withdraw(env, actor, verdict.withdraw));
  return verdict.late;
}

async function withdraw(env, actor, key) {
  for (let i = 0; i < WITHDRAWALS; i++) {
    const answer = await send(env, actor, { type: "withdraw", data: JSON.stringify({ key }) });
    if (answer?.committed) return;
    await scheduler.wait(1000);
  }
  console.error("front.withdraw.failed", actor, key);
}

// batch answers for each event what became of it. Whatever went wrong with one, the relay sends it again.
async function batch(verdict, env) {
  const results = [];
  for (const delivery of verdict.deliver) results.push(await event(delivery, env));
  return { committed: true, status: 200, headers: {}, body: `{"results":[${results.join(",")}],"gaps":[]}` };
}

async function event(delivery, env) {
  const { id } = delivery;
  const actor = delivery.resolve ? await resolve(delivery, env) : delivery.actor;
  if (actor === null) return JSON.stringify({ id, status: "ignored", reason: "unbound" });
  const answer = actor === undefined ? undefined : await send(env, actor, delivery);
  if (answer === undefined || !ok(answer) || answer.body === "") return JSON.stringify({ id, status: "retry" });
  return answer.body;
}

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
