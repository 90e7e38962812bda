// The stateless half of the core, asked about each request.

import { COMMIT, ROLL_BACK } from "./core.mjs";
import { core } from "./instance.mjs";
import { errorReply } from "./sql.mjs";
import { fault, refusal, reply } from "./answer.mjs";
import * as raw from "./raw.mjs";

// Headers that the core need not and must not see.
const HIDDEN = new Set(["authorization", "cookie", "x-holdfast-key", "x-holdfast-timestamp", "x-holdfast-signature"]);

// route gives the verdict on a request: {answer} when it needs no actor; else mode, deliver, deadline, late, withdraw
// and unbound as in interactions.Verdict, with replies made into answers and data as raw JSON.
export function route(request, url, body, caller, deploy) {
  const input = encode(request, url, body, caller, deploy);
  const world = () => ({ now: Date.now(), entropy: crypto.getRandomValues(new Uint8Array(32)), sql: () => errorReply("misuse", "no database here") });
  let call = core.call("route", input, world());
  if (call.error) call = core.call("route", input, world()); // once more, in a fresh instance
  if (call.rc === ROLL_BACK) return { answer: refusal(new TextDecoder().decode(call.output)) };
  if (call.rc !== COMMIT) {
    console.error("front.route.crashed", String(call.error));
    return { answer: fault() };
  }
  try {
    return read(new TextDecoder().decode(call.output));
  } catch (error) {
    console.error("front.route.failed", String(error));
    return { answer: fault() };
  }
}

function encode(request, url, body, caller, deploy) {
  const head = JSON.stringify({
    now: Date.now(),
    method: request.method,
    path: url.pathname,
    query: Object.fromEntries([...url.searchParams].reverse()), // the first of a name counts
    headers: Object.fromEntries([...request.headers].filter(([name]) => !HIDDEN.has(name))),
    caller: caller === null ? undefined : { kind: caller.kind, subject: caller.subject, roles: caller.roles },
  });
  const line = new TextEncoder().encode(`${head.slice(0, -1)},"config":${deploy.json}}\n`);
  const input = new Uint8Array(line.length + body.length);
  input.set(line);
  input.set(body, line.length);
  return input;
}

function read(text) {
  const verdict = JSON.parse(text);
  const pieces = raw.members(text);
  const answer = (name) => (verdict[name] ? reply(verdict[name], raw.members(pieces[name]).body) : undefined);
  if (verdict.reply) return { answer: answer("reply") };
  const texts = raw.elements(pieces.deliver ?? "[]");
  return {
    mode: verdict.mode,
    deliver: (verdict.deliver ?? []).map((d, i) => delivery(d, raw.members(texts[i]))),
    deadline: verdict.deadline_ms || 0,
    late: answer("late"),
    withdraw: verdict.withdraw ?? "",
    unbound: answer("unbound"),
  };
}

// delivery keeps what the core wrote as it is: data, the question to the directory, the answer's body.
function delivery(d, { data, resolve, answer }) {
  return { ...d, data, question: resolve, answer: d.answer && reply(d.answer, raw.members(answer).body) };
}
