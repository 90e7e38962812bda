// What the guilds' directories know: which workspace a place belongs to, an answer that is kept for a minute, and which
// workspaces there are.

import { send } from "./actors.mjs";
import { ok, unavailable } from "./answer.mjs";

// How long an answer is good, in ms, and how many are kept.
const GOOD = 60_000;
const MAX_KEPT = 10_000;

const GUILD = /^[0-9]{1,20}$/;
const WORKSPACE = /^[a-z0-9][a-z0-9-]{0,31}$/;

// UNBOUND means that a place belongs to no workspace.
export const UNBOUND = Symbol("unbound");

const kept = new Map(); // place → {actor, id, until}

// resolve names the actor of a delivery's place; or it is UNBOUND, or the answer of a directory that does not know now.
// afresh asks whatever is kept.
export async function resolve({ resolve: { place, id }, question }, env, afresh) {
  if (!GUILD.test(place.guild)) return UNBOUND;
  const key = JSON.stringify(place);
  const known = kept.get(key);
  // A binding holds from a snowflake on, so what was said of one id holds for later ones, not for earlier ones.
  if (!afresh && known !== undefined && known.until > Date.now() && !before(id, known.id)) return known.actor;
  const data = `{"op":"resolve","principal":{"name":"front","roles":["read"]},"args":${question}}`;
  const answer = await send(env, `directory:${place.guild}`, "operator", data);
  if (answer.status === 404) return UNBOUND;
  const workspace = answer.status === 200 ? JSON.parse(answer.body).workspace : undefined;
  if (!WORKSPACE.test(workspace)) return unavailable("The directory does not answer.");
  const actor = `workspace:${place.guild}/${workspace}`;
  keep(key, { actor, id, until: Date.now() + GOOD });
  return actor;
}

// workspaces is an answer whose body lists those of all guilds, as "<guild>/<workspace>"; or the answer of a directory
// that does not know now. A guild without a directory has none.
export async function workspaces(env, guilds) {
  const data = '{"op":"workspaces","principal":{"name":"front","roles":["read"]}}';
  const answers = await Promise.all(guilds.map((guild) => send(env, `directory:${guild}`, "operator", data)));
  const failed = answers.find((answer) => !ok(answer) && answer.status !== 404);
  if (failed !== undefined) return failed;
  const names = answers.flatMap(({ status, body }, i) => (status === 404 ? [] : JSON.parse(body).workspaces.map((name) => `${guilds[i]}/${name}`)));
  return { status: 200, headers: {}, body: JSON.stringify(names) };
}

function keep(key, value) {
  if (kept.size >= MAX_KEPT) kept.clear();
  kept.set(key, value);
}

// before compares snowflakes, which are longer than a number holds.
const before = (a, b) => (a.length !== b.length ? a.length < b.length : a < b);
