// The way to an actor: its name says its class and its object.

import { failure } from "./answer.mjs";

const NAMES = [
  [/^workspace:[0-9]{1,20}\/[a-z0-9][a-z0-9-]{0,31}$/, "WORKSPACE"],
  [/^directory:[0-9]{1,20}$/, "DIRECTORY"],
  [/^application$/, "APPLICATION"],
];

// stub gives a fresh stub of an actor, or null when there can be none of that name. A stub that failed stays broken:
// who tries again asks for another.
export function stub(env, actor) {
  const found = NAMES.find(([form]) => form.test(actor));
  return found === undefined ? null : env[found[1]].getByName(actor);
}

// send gives an actor an event and its answer back; undefined when the object broke down, committed or not.
export async function send(env, actor, { type, data }, deadline) {
  try {
    const object = stub(env, actor);
    return object === null ? failure("invalid", "No such actor.") : await object.deliver(type, data, deadline);
  } catch (error) {
    console.error("front.delivery.failed", actor, type, String(error));
    return undefined;
  }
}
