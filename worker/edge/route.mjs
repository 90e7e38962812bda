// The stateless half of the core, asked about each request.

import { COMMIT, ROLL_BACK } from "./core.mjs";
import { core } from "./instance.mjs";
import { errorReply } from "./sql.mjs";
import { fault, refusal, reply } from "./answer.mjs";
import * as raw from "./raw.mjs";

// Headers that the core reads.
const HEADERS = ["x-signature-timestamp", "x-signature-ed25519"];

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const misuse = () => errorReply("misuse", "no database here");

// route gives the verdict on a request, which signed is the signing key of ("": unknown): {answer} when it needs no actor; else mode, deliver, deadline, late, withdraw
// and unbound as in interactions.Verdict, with replies made into answers and data as raw JSON.
export function route(request, url, body, caller, signed, deploy) {
  const now = Date.now();
  const input = encode(now, request, url, body, caller, signed, deploy);
  const world = () => ({ now, entropy: crypto.getRandomValues(new Uint8Array(32)), sql: misuse });
  let call = core.call("route", input, world());
  if (call.error) call = core.call("route", input, world()); // once more, in a fresh instance
  if (call.rc === ROLL_BACK) return { answer: refusal(decoder.decode(call.output)) };
  if (call.rc !== COMMIT) {
    console.error("front.route.crashed", String(call.error));
    return { answer: fault() };
  }
  try {
    return read(decoder.decode(call.output));
  } catch (error) {
    console.error("front.route.failed", String(error));
    return { answer: fault() };
  }
}

function encode(now, request, url, body, caller, signed, deploy) {
  const head = JSON.stringify({
    now,
    method: request.method,
    path: url.pathname,
    query: url.search === "" ? undefined : Object.fromEntries([...url.searchParams].reverse()), // the first of a name counts
    headers: Object.fromEntries(HEADERS.map((name) => [name, request.headers.get(name) ?? undefined])),
    caller: caller === null ? undefined : { kind: caller.kind, subject: caller.subject, roles: caller.roles },
    signer: signed || undefined,
  });
  const line = encoder.encode(`${head.slice(0, -1)},"config":${deploy.json}}\n`);
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
