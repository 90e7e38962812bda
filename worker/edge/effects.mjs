// What follows from a commit: effects are performed side by side, and their outcomes handed back as events.

import { send, stub } from "./actors.mjs";
import { outcome } from "./event.mjs";
import { randomHex } from "./config.mjs";
import * as http from "./http.mjs";
import * as rig from "./rig.mjs";
import * as sockets from "./sockets.mjs";

// Waits in ms before an outcome that was not committed is handed over again. Later the claim's lease decides.
const AGAIN = [1000, 5000, 20000];

// A message to another actor is repeated at this pace, in ms, and given up after as many tries: its row is then due again.
const ACTOR_PACE = 1000;
const ACTOR_TRIES = 30;

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

// tell delivers a message to another actor until that committed it.
async function tell(actor, { id, actor: to, raw }) {
  if (stub(actor.env, to) === null) return { kind: "refused", detail: "no such actor" };
  // The epoch is no part of the id: a new owner that sends the same row again means the same message.
  const data = `{"id":${JSON.stringify(`${actor.name}#${id}`)},"from":${JSON.stringify(actor.name)},"data":${raw.data ?? "null"}}`;
  for (let i = 0; i < ACTOR_TRIES; i++) {
    const { committed } = await send(actor.env, to, "actor", data);
    if (committed) return { kind: "response", status: 200 };
    await scheduler.wait(ACTOR_PACE);
  }
  return { kind: "network", detail: "the other actor does not answer" };
}

// hand gives an event to the actor until it commits it or refuses it, and says whether it did.
async function hand(actor, type, data) {
  const id = randomHex(8);
  for (const wait of [...AGAIN, 0]) {
    const { committed, status } = actor.run(type, data, { id });
    if (committed) return true;
    if (status < 500 || wait === 0) return false;
    await scheduler.wait(wait);
  }
}
