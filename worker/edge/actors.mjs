// The way to an actor: its name says its class and its object.

import { failure, unavailable } from "./answer.mjs";

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

// send hands an event to an actor and gives its answer. When the object broke down it is "unavailable", committed or not.
export async function send(env, actor, type, data, deadline) {
  try {
    const object = stub(env, actor);
    return object === null ? failure("not_found", "There is no such workspace.") : await object.deliver(type, data, deadline);
  } catch (error) {
    console.error("actor.delivery.failed", actor, type, String(error));
    return unavailable();
  }
}
