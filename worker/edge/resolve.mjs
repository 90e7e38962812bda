// Which workspace a place belongs to, as the guild's directory says. Its answer is kept for a minute.

import { send } from "./actors.mjs";

// How long an answer is good, in ms, and how many are kept.
const GOOD = 60_000;
const MAX_KEPT = 10_000;

const kept = new Map(); // place → {actor, id, until}

// resolve names the actor of a delivery's place: null when it belongs to no workspace, undefined when the directory did
// not say.
export async function resolve({ resolve: { place, id }, question }, env) {
  const key = JSON.stringify([place.guild, place.channel, place.parent, place.category]);
  const known = kept.get(key);
  // A binding holds from a snowflake on, so what was said of one id holds for later ones, not for earlier ones.
  if (known !== undefined && known.until > Date.now() && !before(id, known.id)) return known.actor;
  const data = `{"op":"resolve","principal":{"name":"front","roles":["read"]},"args":${question}}`;
  const answer = await send(env, `directory:${place.guild}`, { type: "operator", data });
  if (answer === undefined || answer.status >= 500) return undefined;
  const actor = answer.status === 200 ? `workspace:${place.guild}/${JSON.parse(answer.body).workspace}` : null;
  if (actor !== null) keep(key, { actor, id, until: Date.now() + GOOD });
  return actor;
}

function keep(key, value) {
  if (kept.size >= MAX_KEPT) kept.clear();
  kept.set(key, value);
}

// before compares snowflakes, which are longer than a number holds.
const before = (a, b) => a.length !== b.length ? a.length < b.length : a < b;
