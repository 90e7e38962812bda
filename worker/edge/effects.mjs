// What follows from a commit: effects are performed side by side, and their outcomes handed back as events.

import { send, stub } from "./actors.mjs";
import { outcome } from "./event.mjs";
import { randomHex } from "./config.mjs";
import * as http from "./http.mjs";
import * as rig from "./rig.mjs";
import * as sockets from "./sockets.mjs";

// What another actor or this one did not commit is handed over again after 1 s, then twice as long each time, at most 30 s,
// for as long as this object lives. Its successor's start takes care of what has a row.
const FIRST_WAIT = 1_000;
const LONGEST_WAIT = 30_000;

// UNAVAILABLE is the status of a failure that passes (actor/errs).
const UNAVAILABLE = 503;

// perform does an effect of actor once held, if it is anything, is done. landed is called when the effect is over, before
// its outcome is handed back. It never throws.
export async function perform(actor, effect, held, landed) {
  let result;
  try {
    await held;
    await rig.effect(actor.env, actor.ctx, "before", effect.point);
    result = await act(actor, effect);
    await rig.effect(actor.env, actor.ctx, "after", effect.point);
  } catch (error) {
    console.error("actor.effect.failed", actor.name, effect.type, effect.id, String(error));
  }
  landed();
  if (result !== undefined) await land(actor, effect, result);
}

async function land(actor, effect, result) {
  try {
    for (const [type, data] of outcome(effect, result)) {
      if (!(await hand(actor, type, data))) return;
    }
  } catch (error) {
    console.error("actor.outcome.failed", actor.name, effect.id, String(error));
  }
}

function act(actor, effect) {
  switch (effect.type) {
    case "http":
      return request(actor, effect);
    case "runner.send":
      return sockets.send(actor, effect.socket, effect.raw.message);
    case "runner.close":
      return sockets.close(actor, effect.socket, effect.code, effect.reason);
    case "actor":
      return tell(actor, effect);
  }
  return { kind: "refused", detail: "unknown type of effect" };
}

// request sends an effect's request, one with the bot's token at the pace of all.
async function request(actor, effect) {
  if (effect.credential === "bot" && !(await actor.pace.permit())) return { kind: "held", detail: "the deployment's pace left no room" };
  return http.perform(effect, absent(effect.raw.body), actor.deploy, (bytes) => {
    actor.run("progress", JSON.stringify({ id: effect.id, epoch: effect.epoch ?? 0, bytes }));
  });
}

const absent = (raw) => (raw === "null" ? undefined : raw);

// tell delivers a message to another actor until that committed it. A report to the application directory has no row here
// that would be due again: given up, it would be told only when Discord tells this workspace to stop once more.
async function tell(actor, { id, actor: to, raw }) {
  if (stub(actor.env, to) === null) return { kind: "refused", detail: "no such actor" };
  // The epoch is no part of the id: a new owner that sends the same row again means the same message.
  const data = `{"id":${JSON.stringify(`${actor.name}#${id}`)},"from":${JSON.stringify(actor.name)},"data":${raw.data ?? "null"}}`;
  await untilCommitted(() => send(actor.env, to, "actor", data));
  return { kind: "response", status: 200 };
}

// hand gives an event to the actor until it commits it, or has a reason against it that does not pass, and says whether
// it did.
async function hand(actor, type, data) {
  const id = randomHex(8);
  const { committed } = await untilCommitted(() => actor.run(type, data, { id }), (answer) => answer.status !== UNAVAILABLE);
  return committed;
}

// untilCommitted makes an attempt until its answer is committed or over, and gives that answer.
async function untilCommitted(attempt, over = () => false) {
  for (let wait = FIRST_WAIT; ; wait = Math.min(2 * wait, LONGEST_WAIT)) {
    const answer = await attempt();
    if (answer.committed || over(answer)) return answer;
    await scheduler.wait(wait);
  }
}
